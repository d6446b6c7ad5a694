/* SPDX-License-Identifier: Apache-2.0 */
/* Each list is cut where it has LK_NAMES_MAX names: a longer one is of no use. */
#include "cli/complete_names.h"

#include <stdlib.h>
#include <string.h>

#include "cli/store/store_is_there.h"
#include "lockkeeper/lockkeeper.h"

/* NULL: there is none, or it cannot be opened. */
static lk_store *open_store(const char *url) {
    lk_store *store;

    return lk_open_if_there(url, &store, NULL) == LK_OK ? store : NULL;
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

/* A path, and every path above it. */
static void add_with_parents(struct lk_names *names, const char *path) {
    for (size_t size = strcspn(path, "/");; size += 1 + strcspn(path + size + 1, "/")) {
        add(names, path, size);
        if (path[size] == '\0') {
            return;
        }
    }
}

/* ---- of requests ----------------------------------------------------------------------------- */

/* NULL when the store cannot be read. */
static lk_listing *read_requests(const char *url, const char *prefix) {
    lk_listing *listing = NULL;
    lk_store *store = open_store(url);

    if (store != NULL && lk_list(store, prefix, &listing, NULL) != LK_OK) {
        listing = NULL;
    }
    lk_close(store);
    return listing;
}

struct lk_names lk_complete_owners(const char *url) {
    struct lk_names names = {.texts = NULL};
    lk_listing *listing = read_requests(url, NULL);

    for (size_t i = 0; listing != NULL && i < listing->count; i++) {
        add(&names, listing->entries[i].owner, strlen(listing->entries[i].owner));
    }
    lk_listing_free(listing);
    sort(&names);
    return names;
}

struct lk_names lk_complete_paths(const char *url, const char *word) {
    const char *end = strrchr(word, '/');
    char *prefix = end != NULL ? strndup(word, (size_t)(end - word)) : NULL;
    struct lk_names names = {.texts = NULL};
    lk_listing *listing = read_requests(url, prefix);

    for (size_t i = 0; listing != NULL && i < listing->count; i++) {
        add_with_parents(&names, listing->entries[i].path);
    }
    lk_listing_free(listing);
    free(prefix);
    sort(&names);
    return names;
}

/* ---- of queues ------------------------------------------------------------------------------- */

/*
 * The greatest path that is certainly smaller than one that begins with `word`: all but its last
 * character, and no slash at its end. NULL when memory is exhausted.
 */
static char *path_before(const char *word) {
    size_t size = strlen(word);

    while (size > 0 && ((unsigned char)word[size - 1] & 0xc0) == 0x80) {
        size--;
    }
    size -= size > 0 ? 1 : 0;
    size -= size > 0 && word[size - 1] == '/' ? 1 : 0;
    return strndup(word, size);
}

struct lk_names lk_complete_queues(const char *url, const char *word) {
    struct lk_names names = {.texts = NULL};
    char *behind = path_before(word);
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
        add_with_parents(&names, queues.texts[i]);
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
