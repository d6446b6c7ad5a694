/* SPDX-License-Identifier: Apache-2.0 */
/* Checking again and again, unless a wake-up comes. */
#include "engine/sqlite/change_watch.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/minmax.h"

/* ---- wake-ups -------------------------------------------------------------------------------- */

/* Words of FILE-shm; its layout is in sqlite.org/walformat.html. */

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

/* ---- change watches -------------------------------------------------------------------------- */

/* The longest pause, however many waiters are ahead. */
#define PAUSE_MAX_US INT64_C(100000)

/* The pause grows by this part of the time since the last commit that changed anything here. */
enum { QUIET_PART = 32 };

struct lk_change_watch lk_change_watch_make(struct lk_sqlite *store,
                                            int (*query)(struct lk_change_watch *watch),
                                            int64_t pace_us, int64_t rest_us) {
    return (struct lk_change_watch){
        .store = store,
        .query = query,
        .due_us = LK_NEVER,
        .pace_us = pace_us,
        .rest_us = rest_us,
        .changed_us = lk_clock_now_us(),
        .random = {lk_random_draw()},
    };
}

struct lk_change_watch lk_change_watch_make_from(uint64_t version, struct lk_sqlite *store,
                                                 int (*query)(struct lk_change_watch *watch),
                                                 int64_t pace_us, int64_t rest_us) {
    struct lk_change_watch watch = lk_change_watch_make(store, query, pace_us, rest_us);

    watch.has_checked = true;
    watch.version = version;
    return watch;
}

/*
 * Queries the rows, unless they have become those of a newer program: then nothing is left to wait
 * for, and the next transaction reports it.
 */
static int query(struct lk_change_watch *watch) {
    struct lk_sql *sql = &watch->store->sql;
    bool is_usable = false;
    int code = lk_sql_begin_read(sql);

    if (code == SQLITE_OK) {
        code = lk_sql_meta_is_usable(sql, watch->store->options.formats, &is_usable);
    }
    if (code == SQLITE_OK && !is_usable) {
        watch->is_over = true;
        return SQLITE_OK;
    }
    return code == SQLITE_OK ? watch->query(watch) : code;
}

/* The mutex is held. */
static int check(struct lk_change_watch *watch) {
    struct lk_sqlite *store = watch->store;
    uint64_t version = 0;
    int code;

    store->looks++;
    /* Before the rows are read: a commit after that changes the first word. */
    watch->is_wakeable =
        watch->request != 0 && lk_sqlite_wake_words(store, watch->request, watch->words);
    code = lk_sqlite_version(store, &version);

    if (lk_sqlite_has_moved(store->sql.handle, store->beside)) {
        watch->is_over = true; /* the next transaction reports it */
        return SQLITE_OK;
    }
    if (code != SQLITE_OK || (watch->has_checked && version == watch->version)) {
        return code;
    }
    watch->is_unmoved = false;
    if (watch->query == NULL) {
        watch->is_over = true;
    } else {
        code = query(watch);
    }
    if (code == SQLITE_OK) {
        watch->has_checked = true;
        watch->version = version;
        watch->changed_us = watch->is_unmoved ? watch->changed_us : lk_clock_now_us();
    }
    return code;
}

lk_outcome lk_change_watch_check(struct lk_change_watch *watch) {
    struct lk_sqlite *store = watch->store;
    lk_outcome outcome = LK_OK;
    int code;

    if (lk_sqlite_is_forked(store, NULL)) {
        return LK_INTERNAL;
    }
    pthread_mutex_lock(&store->mutex);
    code = check(watch);
    if (code != SQLITE_OK && !lk_sql_is_busy(code)) {
        outcome = lk_sql_explain(&store->sql, code, NULL);
    }
    lk_sql_rollback(&store->sql);
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

/* The pause grows with the number of waiters ahead: no waiter is granted before those in front. */
static int64_t pause_us(struct lk_change_watch *watch) {
    bool is_woken = watch->is_wakeable;
    int64_t pace_us = is_woken ? watch->woken_pace_us : watch->pace_us;
    int64_t rest_us = is_woken ? watch->woken_rest_us : watch->rest_us;
    int64_t max_us = lk_max(PAUSE_MAX_US, rest_us);
    int64_t quiet_us = lk_clock_now_us() - watch->changed_us;
    int64_t first_us = lk_min(pace_us + quiet_us / QUIET_PART, rest_us);
    int64_t ahead = lk_min(watch->ahead, max_us / pace_us);
    int64_t mean_us = lk_min(first_us * (1 + ahead), max_us);

    return lk_random_between(&watch->random, mean_us * 3 / 4, mean_us * 5 / 4);
}

static int64_t due_in_us(const struct lk_change_watch *watch) {
    const struct lk_time_source *time = watch->store->options.time;

    return watch->due_us > LK_NEVER / 2 ? LK_NEVER : watch->due_us - time->now_us(time->context);
}

/* Returns whether the waker was thrown. */
static bool pause_for(struct lk_change_watch *watch, int64_t left_us, struct lk_waker *waker) {
    int64_t duration_us = lk_min(pause_us(watch), left_us);

    return watch->is_wakeable ? lk_waker_sleep_on_words(waker, watch->words, duration_us)
                              : lk_waker_sleep(waker, duration_us);
}

lk_outcome lk_change_watch_wait(struct lk_change_watch *watch, int64_t until_us,
                                struct lk_waker *waker) {
    lk_outcome outcome = LK_OK;
    bool has_looked_when_due = false;

    while (outcome == LK_OK && !watch->is_over) {
        int64_t due_us = due_in_us(watch);
        int64_t left_us = until_us - lk_clock_now_us();

        if (left_us <= 0 || (due_us <= 0 && has_looked_when_due)) {
            break;
        }
        /* What is due may have been renewed since the last check. */
        has_looked_when_due = due_us <= 0;
        if (!has_looked_when_due && pause_for(watch, lk_min(left_us, due_us), waker)) {
            return LK_CANCELLED;
        }
        outcome = lk_change_watch_check(watch);
    }
    return outcome;
}
