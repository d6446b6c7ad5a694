/* SPDX-License-Identifier: Apache-2.0 */
/* From options to a request: what the options mean for each other is decided here alone. */
#include "cli/parse/ask.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/program.h"
#include "cli/parse/caller.h"
#include "cli/parse/value.h"
#include "model/part.h"

/* ---- the lease of a lk run ------------------------------------------------------------------- */

/* Reads the environment that lk run has made for its command; a list there is parted by spaces. */

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

uint64_t lk_run_lease_token_at(const char *path) {
    const char *paths = getenv("LK_PATH");
    const char *tokens = getenv("LK_TOKENS");

    while (paths != NULL && tokens != NULL) {
        struct lk_slice held = next_word(&paths);
        struct lk_slice token = next_word(&tokens);

        if (held.size == 0 || token.size == 0) {
            return 0;
        }
        if (lk_slice_equal(held, lk_slice_of(path))) {
            return strtoumax(token.bytes, NULL, 10);
        }
    }
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct lk_part_defaults part_defaults(const struct lk_command_line *line) {
    return (struct lk_part_defaults){
        .shared = lk_command_line_has(line, LK_OPTION_SHARED),
        .limit = (uint32_t)lk_command_line_number(line, LK_OPTION_LIMIT, 0),
        .units = (uint32_t)lk_command_line_number(line, LK_OPTION_UNITS, 0),
    };
}

lk_outcome lk_ask_check_parts(const struct lk_command_line *line, lk_error *error) {
    struct lk_part_defaults defaults = part_defaults(line);
    struct lk_part parts[LK_PARTS_MAX];
    lk_error why;

    for (size_t i = 0; i < line->word_count && i < LK_PARTS_MAX; i++) {
        if (lk_part_parse(lk_slice_of(line->words[i]), &defaults, &parts[i], &why) != LK_OK) {
            return lk_error_set(error, LK_INVALID, "part %zu, \"%.*s\": %s", i + 1,
                                LK_ERROR_TEXT_MAX / 2, line->words[i], why.text);
        }
    }
    return lk_parts_check(parts, line->word_count, error);
}

/* --wait 0 is a try. */
static lk_style style_of(const struct lk_command_line *line) {
    if (lk_command_line_has(line, LK_OPTION_TRY)
        || lk_command_line_number(line, LK_OPTION_WAIT, LK_FOREVER) == 0) {
        return LK_TRY;
    }
    return lk_command_line_has(line, LK_OPTION_QUEUE) ? LK_QUEUE : LK_WAIT;
}

int64_t lk_ask_delay_ms(const struct lk_command_line *line) {
    return lk_command_line_has(line, LK_OPTION_AT)
               ? lk_delay_until_ms(lk_command_line_number(line, LK_OPTION_AT, 0),
                                   lk_clock_wall_us() / 1000)
               : lk_command_line_number(line, LK_OPTION_DELAY, 0);
}

lk_request lk_ask_from_line(const struct lk_command_line *line) {
    struct lk_part_defaults defaults = part_defaults(line);
    lk_request request = lk_request_init((const char *const *)line->words, line->word_count);

    request.style = style_of(line);
    request.wait_ms = lk_command_line_number(line, LK_OPTION_WAIT, LK_FOREVER);
    request.ttl_ms = lk_command_line_number(line, LK_OPTION_TTL, 0);
    request.until_unix_ms = lk_command_line_number(line, LK_OPTION_UNTIL, 0);
    request.shared = defaults.shared;
    request.limit = defaults.limit;
    request.units = defaults.units;
    request.note = lk_command_line_text(line, LK_OPTION_NOTE);
    request.value = lk_command_line_has(line, LK_OPTION_VALUE);
    request.bound = lk_command_line_has(line, LK_OPTION_BIND);
    return request;
}

lk_outcome lk_ask_path(const char *text, char **ret_path, lk_error *error) {
    struct lk_path path;
    char *copy;

    if (lk_path_parse(lk_slice_of(text), &path, error) != LK_OK) {
        return LK_INVALID;
    }
    copy = strndup(path.bytes, path.size);
    if (copy == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    *ret_path = copy;
    return LK_OK;
}

/* NULL: none is named, and one has to be made. */
static const char *named_owner(const struct lk_command_line *line) {
    const char *owner = lk_command_line_text(line, LK_OPTION_OWNER);

    if (owner != NULL) {
        return owner;
    }
    owner = getenv("LK_OWNER");
    return owner != NULL && owner[0] != '\0' ? owner : NULL;
}

const char *lk_ask_owner(const struct lk_command_line *line, size_t path_count, char made[129]) {
    const char *owner = named_owner(line);
    const struct lk_part_defaults defaults = part_defaults(line);

    if (owner == NULL
        || (lk_run_lease_owns(line)
            && !lk_run_lease_is_near((const char *const *)line->words, path_count, &defaults))) {
        lk_caller_owner(made);
        owner = made;
    }
    return owner;
}

const char *lk_ask_claimant(const struct lk_command_line *line, char made[129]) {
    const char *owner = named_owner(line);

    if (owner == NULL) {
        lk_caller_claimant(made);
        owner = made;
    }
    return owner;
}

lk_outcome lk_ask_table(const struct lk_command_line *line, lk_work_table *ret_table,
                        lk_error *error) {
    static const enum lk_option_id of_table[] = {
        LK_OPTION_ID,   LK_OPTION_WHERE,         LK_OPTION_ORDER,
        LK_OPTION_DONE, LK_OPTION_ANNOUNCE_ONLY, LK_OPTION_NO_ANNOUNCE};

    for (size_t i = 0; i < sizeof of_table / sizeof of_table[0]; i++) {
        if (lk_command_line_has(line, of_table[i]) && !lk_command_line_has(line, LK_OPTION_TABLE)) {
            return lk_error_set(error, LK_INVALID, "%s: --%s needs --table; see: %s help %s",
                                line->command->name, lk_option_at(of_table[i])->name, lk_program(),
                                line->command->name);
        }
    }
    *ret_table = (lk_work_table){
        .size = sizeof *ret_table,
        .name = lk_command_line_text(line, LK_OPTION_TABLE),
        .id = lk_command_line_text(line, LK_OPTION_ID),
        .where = lk_command_line_text(line, LK_OPTION_WHERE),
        .order = lk_command_line_text(line, LK_OPTION_ORDER),
        .done = lk_command_line_text(line, LK_OPTION_DONE),
    };
    return LK_OK;
}
