/* SPDX-License-Identifier: Apache-2.0 */
/* The list of open stores, and what fork() does with it. */
#include "engine/sqlite/fork_guard.h"

#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/sqlite/source.h"

/* A disk that does not answer must not block fork(); the child then gets an error. */
enum { FORK_WAIT_S = 2 };

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER; /* taken before any store's */
static struct lk_sqlite *first;                                /* of those that are open */
static bool is_watching;                                       /* fork() calls what is below */

/* ---- around fork() --------------------------------------------------------------------------- */

static void hold_all(void) {
    struct timespec until;

    (void)pthread_mutex_lock(&list_mutex);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FORK_WAIT_S;
    for (struct lk_sqlite *store = first; store != NULL; store = store->next) {
        store->is_held =
            store->process == getpid() && pthread_mutex_timedlock(&store->mutex, &until) == 0;
    }
}

/* In parent and child. A mutex that stays locked in the child belongs to a thread it lacks. */
static void let_all_go(void) {
    for (struct lk_sqlite *store = first; store != NULL; store = store->next) {
        if (store->is_held) {
            store->is_held = false;
            (void)pthread_mutex_unlock(&store->mutex);
        }
    }
    (void)pthread_mutex_unlock(&list_mutex);
}

/* ---- the list -------------------------------------------------------------------------------- */

/*
 * Closes the connection of a store that the parent had opened. The file is not checkpointed: its
 * users do that. false: a thread that this process lacks holds the mutex.
 */
static bool shed(struct lk_sqlite *store) {
    if (pthread_mutex_trylock(&store->mutex) != 0) {
        return false;
    }
    if (store->sql.handle != NULL) {
        (void)sqlite3_db_config(store->sql.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        lk_sqlite_sources_done(store->sources);
        store->sources = NULL;
        lk_sql_close(&store->sql);
    }
    (void)pthread_mutex_unlock(&store->mutex);
    return true;
}

lk_outcome lk_sqlite_fork_guard_add(struct lk_sqlite *store, lk_error *error) {
    lk_outcome outcome = LK_OK;

    (void)pthread_mutex_lock(&list_mutex);
    is_watching = is_watching || pthread_atfork(hold_all, let_all_go, let_all_go) == 0;
    if (!is_watching) {
        outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    for (struct lk_sqlite *other = first; other != NULL && outcome == LK_OK; other = other->next) {
        if (other->process != store->process && !shed(other)) {
            outcome = lk_error_set(error, LK_INTERNAL,
                                   "this process was forked in the middle of a transaction that "
                                   "took too long; fork before a store is opened: %s",
                                   other->address.path);
        }
    }
    if (outcome == LK_OK) {
        store->next = first;
        first = store;
    }
    (void)pthread_mutex_unlock(&list_mutex);
    return outcome;
}

void lk_sqlite_fork_guard_remove(struct lk_sqlite *store) {
    (void)pthread_mutex_lock(&list_mutex);
    for (struct lk_sqlite **at = &first; *at != NULL; at = &(*at)->next) {
        if (*at == store) {
            *at = store->next;
            break;
        }
    }
    (void)pthread_mutex_unlock(&list_mutex);
}
