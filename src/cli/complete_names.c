/* SPDX-License-Identifier: Apache-2.0 */
/* Each list is cut where it has LK_NAMES_MAX names: a longer one is of no use. */
#include "cli/complete_names.h"

#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/url.h"
#include "lockkeeper/lockkeeper.h"

/* NULL: there is none, or it cannot be opened. */
static lk_store *open_store(const char *url) {
    lk_store *store;

    return lk_open_if_there(url, NULL, &store, NULL) == LK_OK ? store : NULL;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the names and leaves each once. */
static void sort(struct lk_names *names) {
    size_t count = 0;

    if (names->count > 1) {
        qsort(names->texts, names->count, sizeof names->texts[0], compare_texts);
    }
    for (size_t i = 0; i < names->count; i++) {
        if (count > 0 && strcmp(names->texts[count - 1], names->texts[i]) == 0) {
            free(names->texts[i]);
        } else {
            names->texts[count++] = names->texts[i];
        }
    }
    names->count = count;
}

/* A name that was added just now is not added again: paths of one folder come one after another. */
static void add(struct lk_names *names, const char *text, size_t size) {
    const char *last = names->count > 0 ? names->texts[names->count - 1] : NULL;

    if (names->count == LK_NAMES_MAX
        || (last != NULL && strncmp(last, text, size) == 0 && last[size] == '\0')) {
        return;
    }
    if (names->texts == NULL) {
        names->texts = calloc(LK_NAMES_MAX, sizeof names->texts[0]);
    }
    char *copy = names->texts != NULL ? strndup(text, size) : NULL;
    if (copy != NULL) {
        names->texts[names->count++] = copy;
    }
}

static bool is_slash_or_end(char byte) {
    return byte == '/' || byte == '\0';
}

/*
 * A path, and every path above it, if it begins with `word`: what does not would take the place of
 * what does. `former` is the path that was added before, with its own: what the two share is there.
 */
static void add_with_parents(struct lk_names *names, const char *path, const char *former,
                             const char *word) {
    if (strncmp(path, word, strlen(word)) != 0) {
        return;
    }
    for (size_t size = strcspn(path, "/");; size += 1 + strcspn(path + size + 1, "/")) {
        if (strncmp(path, former, size) != 0 || !is_slash_or_end(former[size])) {
            add(names, path, size);
        }
        if (path[size] == '\0') {
            return;
        }
    }
}

/* ---- of requests ----------------------------------------------------------------------------- */

/* NULL when the store (NULL: none) cannot be read. */
static lk_listing *read_requests(lk_store *store, const char *prefix) {
    lk_listing *listing = NULL;

    return store != NULL && lk_list(store, prefix, &listing, NULL) == LK_OK ? listing : NULL;
}

/* The complete segments of a word, for free(); NULL: there are none. */
static char *prefix_of(const char *word) {
    const char *end = strrchr(word, '/');

    return end != NULL ? strndup(word, (size_t)(end - word)) : NULL;
}

static void add_paths(struct lk_names *names, lk_store *store, const char *word) {
    char *prefix = prefix_of(word);
    lk_listing *listing = read_requests(store, prefix);

    for (size_t i = 0; listing != NULL && i < listing->count; i++) {
        add_with_parents(names, listing->entries[i].path, i > 0 ? listing->entries[i - 1].path : "",
                         word);
    }
    lk_listing_free(listing);
    free(prefix);
}

struct lk_names lk_complete_owners(const char *url) {
    struct lk_names names = {.texts = NULL};
    lk_store *store = open_store(url);
    lk_listing *listing = read_requests(store, NULL);

    for (size_t i = 0; listing != NULL && i < listing->count; i++) {
        add(&names, listing->entries[i].owner, strlen(listing->entries[i].owner));
    }
    lk_listing_free(listing);
    lk_close(store);
    sort(&names);
    return names;
}

struct lk_names lk_complete_paths(const char *url, const char *word) {
    struct lk_names names = {.texts = NULL};
    lk_store *store = open_store(url);

    add_paths(&names, store, word);
    lk_close(store);
    sort(&names);
    return names;
}

/* ---- in the order of paths ------------------------------------------------------------------- */

/*
 * A text that is smaller than `word` and all paths that begin with it, and that hardly a path lies
 * between: the last character is one less, and the greatest one follows. So what a store reads
 * behind it begins with the word. NULL: there is none, or memory is exhausted.
 */
static char *text_before(const char *word) {
    static const char greatest[] = "\xf4\x8f\xbf\xbf";
    size_t size = strlen(word);
    char *text = malloc(size + sizeof greatest);

    if (text == NULL) {
        return NULL;
    }
    (void)memcpy(text, word, size + 1);
    while (size > 0 && ((unsigned char)word[size - 1] & 0xc0) == 0x80) {
        size--;
    }
    if (size > 0 && (unsigned char)word[size - 1] < 0x80) {
        text[size - 1]--; /* no path has such a small character that this becomes none */
        (void)memcpy(text + size, greatest, sizeof greatest);
    } else if (size > 0) {
        text[size - 1] = '\0'; /* the part before it will do */
    }
    return text;
}

/* ---- of values ------------------------------------------------------------------------------- */

/* Those that begin with the word, and perhaps the paths above them. */
static void add_values(struct lk_names *all, lk_store *store, const char *word, bool with_parents) {
    char *prefix = prefix_of(word);
    char *behind = text_before(word);
    struct lk_names names = {.texts = NULL};

    if (store != NULL && behind != NULL) {
        names = lk_names_values(store, prefix, behind);
    }
    for (size_t i = 0; i < names.count && strncmp(names.texts[i], word, strlen(word)) == 0; i++) {
        if (with_parents) {
            add_with_parents(all, names.texts[i], i > 0 ? names.texts[i - 1] : "", word);
        } else {
            add(all, names.texts[i], strlen(names.texts[i]));
        }
    }
    lk_names_done(&names);
    free(behind);
    free(prefix);
}

struct lk_names lk_complete_values_and_paths(const char *url, const char *word) {
    struct lk_names names = {.texts = NULL};
    lk_store *store = open_store(url);

    add_values(&names, store, word, false);
    add_paths(&names, store, word);
    lk_close(store);
    sort(&names);
    return names;
}

struct lk_names lk_complete_value_prefixes(const char *url, const char *word) {
    struct lk_names names = {.texts = NULL};
    lk_store *store = open_store(url);

    add_values(&names, store, word, true);
    lk_close(store);
    sort(&names);
    return names;
}

/* ---- of queues ------------------------------------------------------------------------------- */

struct lk_names lk_complete_queues(const char *url, const char *word) {
    struct lk_names names = {.texts = NULL};
    char *behind = text_before(word);
    lk_store *store = behind != NULL ? open_store(url) : NULL;

    if (store != NULL) {
        names = lk_names_queues(store, behind);
    }
    lk_close(store);
    free(behind);
    sort(&names);
    return names;
}

struct lk_names lk_complete_queue_prefixes(const char *url, const char *word) {
    struct lk_names queues = lk_complete_queues(url, word);
    struct lk_names names = {.texts = NULL};

    for (size_t i = 0; i < queues.count; i++) {
        add_with_parents(&names, queues.texts[i], i > 0 ? queues.texts[i - 1] : "", word);
    }
    lk_names_done(&queues);
    sort(&names);
    return names;
}

struct lk_names lk_complete_items(const char *url, const char *queue,
                                  enum lk_names_of_items which) {
    struct lk_names names = {.texts = NULL};
    lk_store *store = open_store(url);

    if (store != NULL) {
        names = lk_names_items(store, queue, which);
    }
    lk_close(store);
    sort(&names);
    return names;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* glob(3) reads the directory and sorts. */

/* A pattern for all names that begin with `path`. */
static char *pattern_of(const char *path) {
    char *pattern = malloc(2 * strlen(path) + sizeof "*");
    char *end = pattern;

    for (const char *next = path; pattern != NULL && *next != '\0'; next++) {
        if (strchr("*?[\\", *next) != NULL) {
            *end++ = '\\';
        }
        *end++ = *next;
    }
    if (pattern != NULL) {
        memcpy(end, "*", sizeof "*");
    }
    return pattern;
}

char **lk_complete_files(const char *path, size_t max, size_t *ret_count) {
    char *pattern = pattern_of(path);
    glob_t found = {0};
    char **paths = NULL;
    size_t count = 0;

    if (pattern != NULL && glob(pattern, GLOB_MARK, NULL, &found) == 0) {
        paths = calloc(found.gl_pathc, sizeof paths[0]);
        for (; paths != NULL && count < found.gl_pathc && count < max; count++) {
            paths[count] = strdup(found.gl_pathv[count]);
            if (paths[count] == NULL) {
                break;
            }
        }
    }
    globfree(&found);
    free(pattern);
    *ret_count = count;
    return paths;
}

void lk_complete_files_free(char **paths, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(paths[i]);
    }
    free(paths);
}
