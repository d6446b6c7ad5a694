/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing `sqlite:PATH`, and its table of operations. */
#include "engine/sqlite/sqlite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/minmax.h"
#include "base/thread.h"
#include "engine/sqlite/source.h"
#include "engine/sqlite/store.h"
#include "engine/sqlite/upgrade.h"
#include "sql/log_file.h"

#define READERS_WAIT_MAX_MS 1000

const struct lk_sqlite_options lk_sqlite_options_default = {
    .overdue_max = LK_SQLITE_OVERDUE_MAX,
    .crowd_max = LK_SQLITE_CROWD_MAX,
};

/* ---- the boot -------------------------------------------------------------------------------- */

/* Deadlines in the file are on the machine's clock; in a time namespace it may be shifted. */
static lk_outcome check_clock(lk_error *error) {
    FILE *file = fopen("/proc/self/timens_offsets", "re"); /* what is not there shifts nothing */
    char clock[32];
    long long seconds;
    long long nanoseconds;
    bool is_shifted = false;

    while (file != NULL && fscanf(file, "%31s %lld %lld", clock, &seconds, &nanoseconds) == 3) {
        is_shifted =
            is_shifted || (strcmp(clock, "boottime") == 0 && (seconds != 0 || nanoseconds != 0));
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return is_shifted ? lk_error_set(error, LK_UNSUPPORTED,
                                     "this process is in a time namespace with a clock of its own, "
                                     "on which no deadline can be shared; use a service (lk://)")
                      : LK_OK;
}

lk_outcome lk_sqlite_boot_id(char ret_boot_id[LK_SQL_BOOT_ID_MAX + 1], lk_error *error) {
    static const char source[] = "/proc/sys/kernel/random/boot_id";
    int file = open(source, O_RDONLY | O_CLOEXEC);
    ssize_t size = -1;

    if (file >= 0) {
        size = read(file, ret_boot_id, LK_SQL_BOOT_ID_MAX);
        (void)close(file);
    }
    if (size <= 0) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "this machine does not tell one boot from the next; mount /proc (%s)",
                            source);
    }
    while (size > 0 && ret_boot_id[size - 1] == '\n') {
        size--;
    }
    ret_boot_id[size] = '\0';
    return LK_OK;
}

static lk_outcome set_boot_id(struct lk_sqlite *store, lk_error *error) {
    const char *given = store->options.boot_id;

    if (check_clock(error) != LK_OK) {
        return LK_UNSUPPORTED;
    }
    if (given == NULL) {
        return lk_sqlite_boot_id(store->boot_id, error);
    }
    if (strlen(given) > LK_SQL_BOOT_ID_MAX) {
        return lk_error_set(error, LK_INVALID, "a boot's id has at most %d bytes",
                            LK_SQL_BOOT_ID_MAX);
    }
    memcpy(store->boot_id, given, strlen(given) + 1);
    return LK_OK;
}

/* ---- the tables ------------------------------------------------------------------------------ */

/* Whether the tables can be made beside what there is. *ret_code as in try_set_up(). */
static lk_outcome check_room(struct lk_sqlite *store, int *ret_code, lk_error *error) {
    char name[LK_SQL_NAME_MAX] = "";
    int64_t count = 0;

    if (store->address.is_shared) {
        *ret_code = lk_sql_format_clash(&store->sql, name);
    } else {
        *ret_code = lk_sql_integer(&store->sql, "SELECT count(*) FROM sqlite_schema", &count);
    }
    if (*ret_code == SQLITE_OK && name[0] != '\0') {
        return lk_error_set(
            error, LK_INVALID,
            "this database has a table, view or index '%s' of its own, which is a name "
            "that a store needs; nothing was changed: %s",
            name, store->address.path);
    }
    if (*ret_code == SQLITE_OK && count > 0) {
        return lk_error_set(error, LK_INVALID,
                            "this database has no store's tables, only another application's; "
                            "nothing was changed (its owner may share it: ?share=yes): %s",
                            store->address.path);
    }
    return LK_OK;
}

/*
 * Makes the tables, unless another process has done so meanwhile: in a rollback journal, so that
 * the application id is in the file itself and not in a log beside it from the first moment on; or,
 * in a database that its owner shares, beside what there is. *ret_code as in try_set_up().
 */
static lk_outcome make_tables(struct lk_sqlite *store, int *ret_code, lk_error *error) {
    struct lk_sql *sql = &store->sql;
    int64_t format = 0;
    int64_t writable_from = 0;
    lk_outcome outcome;
    int code = lk_sql_begin_write(sql);

    if (code == SQLITE_OK) {
        code = lk_sql_format_read(sql, &format, &writable_from);
    }
    if (code == SQLITE_OK && format == LK_SQL_FORMAT_NONE) {
        outcome = check_room(store, &code, error);
        if (outcome != LK_OK) {
            *ret_code = code;
            return outcome;
        }
        code = code == SQLITE_OK ? lk_sql_format_create(sql, store->boot_id) : code;
    }
    *ret_code = code == SQLITE_OK ? lk_sql_commit(sql) : code;
    return *ret_code == SQLITE_OK ? LK_OK : LK_UNAVAILABLE;
}

/* In one transaction: another process may upgrade the file meanwhile. */
static int read_format(struct lk_sql *sql, int64_t *ret_format, int64_t *ret_writable_from) {
    int code = lk_sql_begin_read(sql);

    if (code == SQLITE_OK) {
        code = lk_sql_format_read(sql, ret_format, ret_writable_from);
    }
    return code == SQLITE_OK ? lk_sql_commit(sql) : code;
}

/* The settings of a connection. The journal mode stays with the file, the rest does not. */
static int set_up_connection(struct lk_sqlite *store) {
    struct lk_sql *sql = &store->sql;
    char page_max[64];
    int code = lk_sql_execute(sql, "PRAGMA journal_mode = WAL");

    if (code == SQLITE_OK) {
        code = lk_sql_execute(sql, store->address.is_relaxed ? "PRAGMA synchronous = NORMAL"
                                                             : "PRAGMA synchronous = FULL");
    }
    if (code == SQLITE_OK) {
        /* A decision changes a dozen pages: what is flushed now and then must not count. */
        code = sqlite3_wal_autocheckpoint(sql->handle, LK_SQLITE_CHECKPOINT_PAGES);
    }
    if (code == SQLITE_OK && store->address.is_shared) {
        /* What the owner's statements write keeps to the owner's rules. */
        code = lk_sql_execute(sql, "PRAGMA foreign_keys = ON");
    }
    if (code == SQLITE_OK && store->options.page_max != 0) {
        (void)sqlite3_snprintf((int)sizeof page_max, page_max, "PRAGMA max_page_count = %d",
                               store->options.page_max);
        code = lk_sql_execute(sql, page_max);
    }
    return code;
}

/*
 * One attempt at everything. *ret_code is SQLite's where the outcome is LK_UNAVAILABLE, and else
 * SQLITE_OK.
 */
static lk_outcome try_set_up(struct lk_sqlite *store, int *ret_code, lk_error *error) {
    struct lk_sql *sql = &store->sql;
    int64_t format = 0;
    int64_t writable_from = 0;
    lk_outcome outcome = LK_OK;
    int code = read_format(sql, &format, &writable_from);

    if (code == SQLITE_OK && format == LK_SQL_FORMAT_NONE) {
        outcome = make_tables(store, &code, error);
        if (outcome == LK_OK) {
            code = read_format(sql, &format, &writable_from);
        }
    }
    if (code == SQLITE_OK && outcome == LK_OK) {
        store->is_behind = lk_sql_format_has_steps(store->options.formats, format);
        outcome =
            store->is_behind ? LK_OK : lk_sqlite_check_format(store, format, writable_from, error);
    }
    if (code == SQLITE_OK && outcome == LK_OK) {
        code = set_up_connection(store);
    }
    if (code == SQLITE_OK && outcome == LK_OK && !store->is_behind) {
        outcome = lk_sqlite_check_foreign(store, &code, error);
    }
    *ret_code = code;
    return code == SQLITE_OK ? outcome : LK_UNAVAILABLE;
}

/*
 * Making the tables, and switching to a write-ahead log, need a moment in which no other connection
 * reads. SQLite waits so long for those that read, and lets no other begin. Without that wait,
 * other openers that read in turn could keep each attempt from its end.
 */
static int wait_for_readers_ms(const struct lk_patience *patience) {
    int64_t left_ms = (patience->until_us - lk_clock_now_us()) / 1000;

    return (int)lk_max(0, lk_min(left_ms, READERS_WAIT_MAX_MS));
}

static lk_outcome set_up(struct lk_sqlite *store, const struct lk_patience *patience,
                         lk_error *error) {
    uint32_t retries = 0;
    lk_outcome outcome;

    do {
        int code = SQLITE_OK;

        pthread_mutex_lock(&store->mutex);
        lk_critical_enter(); /* making the file takes several locks */
        (void)sqlite3_busy_timeout(store->sql.handle, wait_for_readers_ms(patience));
        outcome = try_set_up(store, &code, error);
        (void)sqlite3_busy_timeout(store->sql.handle, 0);
        if (code != SQLITE_OK && !lk_sql_is_busy(code)) {
            outcome = lk_sql_explain(&store->sql, code, error);
        }
        lk_sql_rollback(&store->sql);
        lk_critical_leave();
        pthread_mutex_unlock(&store->mutex);
        if (!lk_sql_is_busy(code)) {
            return outcome;
        }
        outcome = lk_sqlite_back_off(store, patience, &retries, error);
    } while (outcome == LK_OK);
    return outcome;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* The mutex is held. */
static lk_outcome connect_file(struct lk_sqlite *store, lk_error *error) {
    lk_outcome outcome = lk_sqlite_address_prepare(&store->address, error);
    int code;

    if (outcome != LK_OK) {
        return outcome;
    }
    code = lk_sql_open(&store->sql, store->address.path, SQLITE_OPEN_READWRITE,
                       lk_sql_log_file_system());
    if (code != SQLITE_OK) {
        return lk_sql_explain(&store->sql, code, error);
    }
    if (sqlite3_db_readonly(store->sql.handle, "main") != 0) {
        return lk_sql_explain(&store->sql, SQLITE_READONLY, error);
    }
    return LK_OK;
}

static lk_outcome open_store(struct lk_sqlite *store, const struct lk_patience *patience,
                             lk_error *error) {
    struct lk_sqlite_transaction transaction;
    lk_outcome outcome = set_boot_id(store, error);

    if (outcome == LK_OK) {
        outcome = lk_sqlite_fork_guard_add(store, error);
    }
    if (outcome == LK_OK) {
        pthread_mutex_lock(&store->mutex);
        outcome = connect_file(store, error);
        pthread_mutex_unlock(&store->mutex);
    }
    if (outcome == LK_OK) {
        outcome = set_up(store, patience, error);
    }
    if (outcome != LK_OK || store->is_behind) {
        return outcome; /* what the call is for decides about an upgrade */
    }
    /* Another boot and damaged rows are found now, and not by the first call. */
    outcome = lk_sqlite_transaction_begin(store, LK_SQLITE_READ, patience, &transaction, error);
    return outcome == LK_OK ? lk_sqlite_transaction_end(&transaction, SQLITE_OK, error) : outcome;
}

static void free_store(struct lk_sqlite *store) {
    pthread_mutex_lock(&store->mutex);
    lk_sqlite_sources_done(store->sources);
    lk_sql_close(&store->sql);
    pthread_mutex_unlock(&store->mutex);
    lk_sqlite_fork_guard_remove(store);
    free(store->wakes.requests);
    (void)pthread_mutex_destroy(&store->mutex);
    free(store);
}

lk_outcome lk_sqlite_open_at(const struct lk_sqlite_address *address,
                             const struct lk_sqlite_options *options,
                             const struct lk_patience *patience, struct lk_engine **ret_engine,
                             struct lk_error *error) {
    struct lk_sqlite *store = calloc(1, sizeof *store);
    lk_outcome outcome;

    if (store == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    store->address = *address;
    if (pthread_mutex_init(&store->mutex, NULL) != 0) {
        free(store);
        return lk_error_set(error, LK_INTERNAL, "the system has no more mutexes");
    }
    store->engine.ops = &lk_engine_sqlite;
    store->options = *options;
    if (store->options.time == NULL) {
        store->options.time = &lk_time_source_system;
    }
    if (store->options.formats == NULL) {
        store->options.formats = &lk_sql_formats;
    }
    store->process = getpid();
    store->random.state = lk_random_draw();
    outcome = open_store(store, patience, error);
    if (outcome != LK_OK) {
        free_store(store);
        return outcome;
    }
    *ret_engine = &store->engine;
    return LK_OK;
}

lk_outcome lk_sqlite_open(struct lk_slice rest, const struct lk_sqlite_options *options,
                          const struct lk_patience *patience, struct lk_engine **ret_engine,
                          struct lk_error *error) {
    struct lk_sqlite_address address;
    lk_outcome outcome = lk_sqlite_address_parse(rest, &address, error);

    return outcome == LK_OK ? lk_sqlite_open_at(&address, options, patience, ret_engine, error)
                            : outcome;
}

static lk_outcome open_by_url(struct lk_slice rest, const struct lk_patience *patience,
                              struct lk_engine **ret_engine, struct lk_error *error) {
    return lk_sqlite_open(rest, &lk_sqlite_options_default, patience, ret_engine, error);
}

static void close_engine(struct lk_engine *engine) {
    struct lk_sqlite *store = lk_sqlite_of(engine);

    /* A child of fork() leaves the connection alone: it is the parent's. */
    if (!lk_sqlite_is_forked(store, NULL)) {
        free_store(store);
    }
}

static void tell_status(struct lk_engine *engine, struct lk_engine_status *status) {
    status->is_gone = atomic_load(&lk_sqlite_of(engine)->is_gone);
}

static const struct lk_url_files files = {.is_path = true};

static const struct lk_table_ops table_ops = {
    .check = lk_sqlite_table_check,
    .announce = lk_sqlite_table_announce,
    .purge = lk_sqlite_table_purge,
    .decide = lk_sqlite_table_decide,
    .await = lk_sqlite_table_await,
};

static const struct lk_batch_ops batch_ops = {
    .decide_many = lk_sqlite_decide_many,
    .parked = lk_sqlite_parked,
    .queues = lk_sqlite_queues,
};

static lk_outcome check_url(struct lk_slice rest, lk_error *error) {
    struct lk_sqlite_address ignored;

    return lk_sqlite_address_parse(rest, &ignored, error);
}

const struct lk_engine_ops lk_engine_sqlite = {
    .files = &files,
    .scheme = "sqlite",
    .title = "a file on this machine, without a server",
    .capabilities =
        LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_EXCLUSIVE | LK_CAN_PERSIST,
    .open = open_by_url,
    .check_url = check_url,
    .close = close_engine,
    .status = tell_status,
    .decide = lk_sqlite_decide,
    .await = lk_sqlite_await,
    .list = lk_sqlite_list,
    .show = lk_sqlite_show,
    .audit = lk_sqlite_audit,
    .value_get = lk_sqlite_value_get,
    .values = lk_sqlite_values,
    .items = lk_sqlite_items,
    .stats = lk_sqlite_stats,
    .examine = lk_sqlite_examine,
    .backup = lk_sqlite_backup,
    .events = &lk_sqlite_event_ops,
    .limits = &lk_sqlite_limit_ops,
    .table = &table_ops,
    .batches = &batch_ops,
    .revoked = &lk_sqlite_revoked_ops,
};
