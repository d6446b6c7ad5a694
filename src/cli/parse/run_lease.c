/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the environment that lk run has made for its command; a list there is parted by spaces. */
#include "cli/parse/run_lease.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool lk_run_lease_owns(const struct lk_command_line *line) {
    const char *owner = getenv("LK_OWNER");
    const char *owner_of_run = getenv("LK_RUN_OWNER");

    return !lk_command_line_has(line, LK_OPTION_OWNER) && owner != NULL && owner_of_run != NULL
           && strcmp(owner, owner_of_run) == 0;
}

/* The next word of a list, which *list is moved behind; of size 0: there is none. */
static struct lk_slice next_word(const char **list) {
    struct lk_slice word;

    *list += strspn(*list, " ");
    word = (struct lk_slice){*list, strcspn(*list, " ")};
    *list += word.size;
    return word;
}

typedef bool is_match(const struct lk_path *held, const struct lk_path *path);

/* How many paths of LK_PATH match the part's. */
static size_t count_matches(const char *part, const struct lk_part_defaults *defaults,
                            is_match *matches) {
    const char *list = getenv("LK_PATH");
    size_t count = 0;
    struct lk_part asked;
    struct lk_path held;

    if (list == NULL || lk_part_parse(lk_slice_of(part), defaults, &asked, NULL) != LK_OK) {
        return 0;
    }
    for (struct lk_slice word = next_word(&list); word.size > 0; word = next_word(&list)) {
        count += lk_path_parse(word, &held, NULL) == LK_OK && matches(&held, &asked.path);
    }
    return count;
}

bool lk_run_lease_is_near(const char *const *parts, size_t count,
                          const struct lk_part_defaults *defaults) {
    for (size_t i = 0; i < count; i++) {
        if (count_matches(parts[i], defaults, lk_path_related) > 0) {
            return true;
        }
    }
    return false;
}

bool lk_run_lease_has_paths(const char *const *parts, size_t count,
                            const struct lk_part_defaults *defaults) {
    const char *list = getenv("LK_PATH");
    size_t held = 0;

    for (size_t i = 0; i < count; i++) { /* R2: no path is named twice */
        if (count_matches(parts[i], defaults, lk_path_equal) == 0) {
            return false;
        }
    }
    while (list != NULL && next_word(&list).size > 0) {
        held++;
    }
    return count == held;
}

bool lk_run_lease_has_token(uint64_t token) {
    const char *list = getenv("LK_TOKENS");

    list = list != NULL ? list : "";
    for (struct lk_slice word = next_word(&list); word.size > 0; word = next_word(&list)) {
        if (strtoumax(word.bytes, NULL, 10) == token) {
            return true;
        }
    }
    return false;
}
