/* SPDX-License-Identifier: Apache-2.0 */
/* Words of FILE-shm; its layout is in sqlite.org/walformat.html. */
#include "engine/sqlite/wake_up.h"

#include <stdlib.h>

#include "base/hash.h"

enum {
    INDEX_BYTES = 32768, /* of the first block, which always exists */
    COMMITS_AT = 2,      /* the word iChange: a counter of commits */
    FIRST_AT = 136 / 4,  /* behind the header */
    LAST_AT = INDEX_BYTES / 4 - 1,
    WAKES_MAX = 1 << 16, /* more than one commit grants */
};

/* NULL: this connection has no index in shared memory. The mutex is held. */
static const uint32_t *find_index(struct lk_sqlite *store) {
    sqlite3_file *file = NULL;
    void volatile *index = NULL;

    if (sqlite3_file_control(store->sql.handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
            != SQLITE_OK
        || file == NULL || file->pMethods == NULL || file->pMethods->iVersion < 2
        || file->pMethods->xShmMap(file, 0, INDEX_BYTES, 0, &index) != SQLITE_OK) {
        return NULL;
    }
    return (const uint32_t *)(uintptr_t)index;
}

static uint32_t place_of(uint64_t request) {
    return FIRST_AT + (uint32_t)(lk_hash_number(0, request) % (LAST_AT - FIRST_AT + 1));
}

bool lk_sqlite_wake_words(struct lk_sqlite *store, uint64_t request,
                          struct lk_word ret_words[LK_WORDS]) {
    const uint32_t *index = lk_words_are_known() ? find_index(store) : NULL;

    if (index == NULL) {
        return false;
    }
    ret_words[0] = lk_word_read(&index[COMMITS_AT]);
    ret_words[1] = lk_word_read(&index[place_of(request)]);
    return true;
}

void lk_sqlite_wake_note(struct lk_sqlite *store, uint64_t request) {
    struct lk_sqlite_wakes *wakes = &store->wakes;

    if (wakes->count == wakes->capacity) {
        size_t capacity = wakes->capacity == 0 ? 16 : 2 * wakes->capacity;
        uint64_t *requests =
            capacity <= WAKES_MAX ? realloc(wakes->requests, capacity * sizeof *requests) : NULL;
        if (requests == NULL) {
            return;
        }
        wakes->requests = requests;
        wakes->capacity = capacity;
    }
    wakes->requests[wakes->count++] = request;
}

void lk_sqlite_wake_end(struct lk_sqlite *store, bool is_committed) {
    struct lk_sqlite_wakes *wakes = &store->wakes;
    const uint32_t *index = NULL;

    if (is_committed && wakes->count > 0 && !store->options.wakes_none) {
        index = find_index(store);
    }
    for (size_t i = 0; index != NULL && i < wakes->count; i++) {
        lk_words_wake(&index[place_of(wakes->requests[i])]);
    }
    wakes->count = 0;
}
