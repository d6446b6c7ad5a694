/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions: begun when the file is free, and ended before a call sleeps.
 *
 * The clocks are read inside the transaction. Only one process writes at a time, so the readings
 * never decrease from one decision to the next. Here too: what fork() does with open stores.
 */
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "engine/sqlite/change_watch.h"
#include "engine/sqlite/files.h"
#include "engine/sqlite/source.h"
#include "engine/sqlite/store.h"
#include "engine/sqlite/upgrade.h"
#include "sql/restart.h"
#include "sql/wait_rows.h"

/* ---- transactions ---------------------------------------------------------------------------- */

#define BACK_OFF_FIRST_US INT64_C(700)
#define BACK_OFF_MAX_US INT64_C(13000)

bool lk_sqlite_is_forked(const struct lk_sqlite *store, lk_error *error) {
    if (store->process == getpid()) {
        return false;
    }
    lk_error_set(error, LK_INTERNAL,
                 "this store was opened before fork(); a child must open it again: %s",
                 store->address.path);
    return true;
}

lk_outcome lk_sqlite_back_off(const struct lk_sqlite *store, const struct lk_patience *patience,
                              uint32_t *retries, lk_error *error) {
    int64_t delay_us = lk_backoff_delay(BACK_OFF_FIRST_US, BACK_OFF_MAX_US, (*retries)++);
    int64_t left_us = patience->until_us - lk_clock_now_us();

    if (left_us <= 0) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "another process has kept the store's write lock all the time; if it "
                            "is stopped, let it go on or end it: %s",
                            store->address.path);
    }
    if (lk_waker_sleep(patience->waker, lk_min(delay_us, left_us))) {
        return lk_error_set(error, LK_CANCELLED, "cancelled while another process was writing");
    }
    return LK_OK;
}

/* The transaction and the row about the store. */
static int begin(struct lk_sql *sql, enum lk_sqlite_access access, struct lk_sql_meta *ret_meta) {
    int code = access == LK_SQLITE_WRITE ? lk_sql_begin_write(sql) : lk_sql_begin_read(sql);

    return code == SQLITE_OK ? lk_sql_meta_load(sql, ret_meta) : code;
}

/*
 * A service decides with the whole file in memory, and would not notice another process's change.
 * The address of a service that has ended is removed. *ret_code is SQLite's.
 */
static lk_outcome check_served(struct lk_sqlite *store, const struct lk_sql_meta *meta,
                               int *ret_code, lk_error *error) {
    *ret_code = SQLITE_OK;
    if (meta->served[0] == '\0') {
        return LK_OK;
    }
    if (lk_sqlite_service_lock_is_held(sqlite3_db_filename(store->sql.handle, "main"))) {
        return lk_error_set(error, LK_DENIED,
                            "a running service keeps this store, and only it may change it; use "
                            "-S %s in place of %s",
                            meta->served, store->address.path);
    }
    *ret_code = lk_sql_meta_set_served(&store->sql, "");
    return LK_OK;
}

/* Checked in each transaction: the files and the format may change while the store is open. */
static lk_outcome check_file(struct lk_sqlite *store, const struct lk_sql_meta *meta,
                             lk_error *error) {
    bool is_gone = lk_sqlite_has_moved(store->sql.handle, store->beside);

    atomic_store(&store->is_gone, is_gone);
    if (is_gone) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "the store's file, or one beside it (-wal, -shm), was moved, replaced "
                            "or deleted while it was open; open it again: %s",
                            store->address.path);
    }
    return lk_sqlite_check_format(store, meta->format, meta->writable_from, error);
}

static void read_clocks(const struct lk_sqlite *store, struct lk_times *ret_times) {
    const struct lk_time_source *time = store->options.time;

    ret_times->now_us = time->now_us(time->context);
    ret_times->wall_us = time->wall_us(time->context);
}

/* The rows were written under another boot id: after a restart, or in a container with its own. */
static int enter_boot(struct lk_sqlite *store, struct lk_sqlite_transaction *transaction) {
    bool is_same = false;
    int code = lk_sql_is_same_boot(&store->sql, &transaction->times, &is_same);

    if (code != SQLITE_OK) {
        return code;
    }
    if (is_same) {
        return lk_sql_meta_set_boot(&store->sql, store->boot_id);
    }
    transaction->meta.watched_until_us = 0; /* on a clock that is gone */
    return lk_sql_restart(&store->sql, &transaction->meta, store->boot_id, &transaction->times);
}

/*
 * In tables of a newer format even the row about the store may not be read as in this one. So what
 * fails is looked at again by what all formats have.
 */
static lk_outcome explain_format(struct lk_sqlite *store, lk_error *error) {
    int64_t format = 0;
    int64_t writable_from = 0;

    return lk_sql_format_read(&store->sql, &format, &writable_from) == SQLITE_OK
               ? lk_sqlite_check_format(store, format, writable_from, error)
               : LK_OK;
}

/* Before the transaction begins: what its access asks of the tables. */
static lk_outcome prepare(struct lk_sqlite *store, struct lk_sqlite_transaction *transaction,
                          int *ret_code, lk_error *error) {
    lk_outcome outcome = LK_OK;

    if (store->is_behind) {
        outcome = lk_sqlite_upgrade(store, transaction->access, ret_code, error);
    }
    if (transaction->access == LK_SQLITE_LOOK) {
        transaction->access = LK_SQLITE_READ;
    }
    return outcome;
}

/* One attempt, with the mutex held. *ret_code is SQLite's, where the outcome is not LK_OK. */
static lk_outcome try_begin(struct lk_sqlite *store, struct lk_sqlite_transaction *transaction,
                            int *ret_code, lk_error *error) {
    struct lk_sql *sql = &store->sql;
    lk_outcome outcome = prepare(store, transaction, ret_code, error);
    int code;

    if (outcome != LK_OK) {
        return outcome;
    }
    code = begin(sql, transaction->access, &transaction->meta);
    if (code == SQLITE_ERROR && explain_format(store, error) != LK_OK) {
        return LK_UNSUPPORTED;
    }
    if (code == SQLITE_OK && transaction->access == LK_SQLITE_READ
        && strcmp(transaction->meta.boot_id, store->boot_id) != 0) {
        /* The rows must be moved to this boot's clock before they can be read. */
        lk_sql_rollback(sql);
        transaction->access = LK_SQLITE_WRITE;
        code = begin(sql, transaction->access, &transaction->meta);
    }
    if (code == SQLITE_OK) {
        outcome = check_file(store, &transaction->meta, error);
        if (outcome != LK_OK) {
            *ret_code = SQLITE_OK;
            return outcome;
        }
        if (transaction->access == LK_SQLITE_WRITE) {
            outcome = check_served(store, &transaction->meta, &code, error);
            if (outcome != LK_OK) {
                *ret_code = SQLITE_OK;
                return outcome;
            }
        }
        read_clocks(store, &transaction->times);
        if (code == SQLITE_OK && strcmp(transaction->meta.boot_id, store->boot_id) != 0) {
            code = enter_boot(store, transaction);
        }
    }
    if (code == SQLITE_OK) {
        return LK_OK;
    }
    *ret_code = code;
    return LK_UNAVAILABLE;
}

lk_outcome lk_sqlite_transaction_begin(struct lk_sqlite *store, enum lk_sqlite_access access,
                                       const struct lk_patience *patience,
                                       struct lk_sqlite_transaction *ret_transaction,
                                       lk_error *error) {
    uint32_t retries = 0;
    lk_outcome outcome;

    do {
        struct lk_sqlite_transaction transaction = {.store = store, .access = access};
        int code = SQLITE_OK;

        if (lk_sqlite_is_forked(store, error)) {
            return LK_INTERNAL;
        }
        pthread_mutex_lock(&store->mutex);
        outcome = try_begin(store, &transaction, &code, error);
        if (outcome == LK_OK) {
            *ret_transaction = transaction;
            lk_patience_note_sent(patience);
            return LK_OK;
        }
        if (code != SQLITE_OK && !lk_sql_is_busy(code)) {
            outcome = lk_sql_explain(&store->sql, code, error);
        }
        lk_sql_rollback(&store->sql);
        pthread_mutex_unlock(&store->mutex);
        if (!lk_sql_is_busy(code)) {
            return outcome;
        }
        outcome = lk_sqlite_back_off(store, patience, &retries, error);
    } while (outcome == LK_OK);
    return outcome;
}

bool lk_sqlite_transaction_has_written(const struct lk_sqlite_transaction *transaction) {
    return sqlite3_total_changes(transaction->store->sql.handle) != transaction->store->own_changes;
}

static uint64_t version_of(int64_t data_version, uint64_t own_commits) {
    return ((uint64_t)data_version << 32) | (own_commits & UINT32_MAX);
}

int lk_sqlite_transaction_version(const struct lk_sqlite_transaction *transaction,
                                  uint64_t *ret_version) {
    int64_t data_version = 0;
    int code = lk_sql_data_version(&transaction->store->sql, &data_version);

    *ret_version = version_of(data_version, transaction->store->own_commits
                                                + lk_sqlite_transaction_has_written(transaction));
    return code;
}

int lk_sqlite_version(struct lk_sqlite *store, uint64_t *ret_version) {
    int64_t data_version = 0;
    int code = lk_sql_data_version(&store->sql, &data_version);

    *ret_version = version_of(data_version, store->own_commits);
    return code;
}

lk_outcome lk_sqlite_transaction_end(struct lk_sqlite_transaction *transaction, int code,
                                     lk_error *error) {
    struct lk_sqlite *store = transaction->store;
    lk_outcome outcome = LK_OK;

    if (code == SQLITE_OK) {
        code = lk_sql_commit(&store->sql);
    }
    if (code == SQLITE_OK) {
        store->own_commits += lk_sqlite_transaction_has_written(transaction);
    } else {
        outcome = lk_sql_explain(&store->sql, code, error);
        lk_sql_fail(&store->sql, code);
    }
    store->own_changes = sqlite3_total_changes(store->sql.handle);
    lk_sqlite_wake_end(store, outcome == LK_OK);
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

/* ---- forks ----------------------------------------------------------------------------------- */

/* The list of open stores, and what fork() does with it. */

/* A disk that does not answer must not block fork(); the child then gets an error. */
enum { FORK_WAIT_S = 2 };

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER; /* taken before any store's */
static struct lk_sqlite *first;                                /* of those that are open */
static bool is_watching;                                       /* fork() calls what is below */

/* ---- forks: around fork() -------------------------------------------------------------------- */

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

/* ---- forks: the list ------------------------------------------------------------------------- */

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
