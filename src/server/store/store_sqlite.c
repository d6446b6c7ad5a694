/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's store in a SQLite file: the tables of the embedded engine, in a folder of the
 * service's own. One transaction per batch, flushed when it commits (synchronous FULL).
 *
 * The writer itself checkpoints the WAL into the file when it has grown by CHECKPOINT_PAGES, and at
 * the end. A checkpoint takes two more flushes, so it is rare.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/reply/reply.h"
#include "engine/sqlite/changes.h"
#include "engine/sqlite/files.h"
#include "engine/sqlite/sqlite.h"
#include "engine/sqlite/upgrade.h"
#include "server/core/core.h"
#include "server/store/commit_log.h"
#include "server/store/sql_snapshot.h"
#include "server/store/store.h"
#include "sql/load.h"
#include "sql/restart.h"

enum {
    CHECKPOINT_PAGES = 8192,
    BUSY_MS_MAX = 10000, /* how long to wait for a reader or a backup that locks the file */
    ENDED_MAX = 65536,   /* ended tokens kept (R3), as the model does */
    ENDED_SLACK = 8192,  /* ... and up to this many more */
    ENDED_SWEEP = 256,   /* examined at a time */
    EVENTS_SWEEP = 256,  /* deleted by each batch, and as many again as it adds */
    OPEN_MS_MAX = 10000,
    CHECKED_BYTES_MAX = 64 * 1024 * 1024, /* some 300,000 leases, about a second */
    EXIT_WAIT_MS_MAX = 1000, /* how long to wait for a service that has been killed to exit */
    /* Ended tokens that are not bounded by ENDED_MAX come at 220 a second; ten sweeps examine
     * 2560. */
    ENDED_SWEEP_EVERY_US = 100000,
};

struct store {
    struct lk_storage storage; /* first */
    struct lk_sql sql;
    struct lk_sqlite_beside beside[LK_SQLITE_BESIDE_COUNT];
    struct lk_sql_meta meta;
    int lock;
    int64_t ended_count;
    int64_t sweep_after_us; /* ended tokens are swept no earlier */
    uint64_t forgotten;     /* the file has no event up to this number */
    bool is_ours;           /* only services have changed the file since its mark was set */
    char boot_id[LK_SQL_BOOT_ID_MAX + 1];
    char path[PATH_MAX];
    struct lk_sql_load_room room;
};

/* ---- writing ------------------------------------------------------------------------------ */

/* Deletes ended tokens that are too old, or too many (R3); most batches do not look for them. */
static int sweep_ended(struct store *store, int64_t now_us) {
    int before = sqlite3_total_changes(store->sql.handle);
    int code = SQLITE_OK;

    if (now_us >= store->sweep_after_us) {
        code = lk_sql_ended_sweep(&store->sql, now_us - LK_ENDED_MEMORY_US, ENDED_SWEEP);
        store->sweep_after_us = now_us + ENDED_SWEEP_EVERY_US;
    }
    if (code == SQLITE_OK && store->ended_count > ENDED_MAX + ENDED_SLACK) {
        code = lk_sql_ended_bound(&store->sql, ENDED_MAX);
    }
    store->ended_count -= sqlite3_total_changes(store->sql.handle) - before;
    return code;
}

/* Updates the state of the event log in the store's row, and deletes old events. */
static int keep_events(struct store *store, const struct lk_batch *batch) {
    const struct lk_batch_events *events = &batch->events;
    struct lk_sql *sql = &store->sql;
    int max = EVENTS_SWEEP + (int)batch->row_count;
    int before = sqlite3_total_changes(sql->handle);
    int code = SQLITE_OK;

    if (events->last > store->meta.last_event) {
        store->meta.last_event = events->last;
        code = lk_sql_events_set_last(sql, events->last);
    }
    if (code == SQLITE_OK && events->has_mark) {
        code = lk_sql_events_set_watched(sql, events->watched_until_us);
    }
    if (code == SQLITE_OK && events->forgotten > store->forgotten) {
        before = sqlite3_total_changes(sql->handle);
        code = lk_sql_events_forget(sql, events->forgotten, max);
        if (sqlite3_total_changes(sql->handle) - before < max) {
            store->forgotten = events->forgotten;
        }
    }
    return code;
}

/*
 * R4: the floor in the file is the greatest draw. Raised ahead of the draws it would be written
 * less often; but the draws after a crash would be ahead of the wall clock then, and a copy that is
 * restored at once could make them again.
 */
static int raise_floor(struct store *store, uint64_t greatest_draw) {
    if (greatest_draw <= store->meta.draw_floor) {
        return SQLITE_OK;
    }
    store->meta.draw_floor = greatest_draw;
    return lk_sql_meta_raise_floor(&store->sql, &store->meta, store->meta.draw_floor);
}

/* Checks that the path still leads to the files that are open. */
static int check_place(struct store *store) {
    return lk_sqlite_has_moved(store->sql.handle, store->beside) ? SQLITE_READONLY_DBMOVED
                                                                 : SQLITE_OK;
}

static int write_batch(struct store *store, const struct lk_batch *batch) {
    int code = check_place(store);

    if (code == SQLITE_OK) {
        code = lk_sql_begin_write(&store->sql);
    }
    for (const struct lk_row *row = batch->first; row != NULL && code == SQLITE_OK;
         row = row->next) {
        code = lk_sql_row_write(&store->sql, row);
        store->ended_count += row->kind == LK_ROW_ENDED;
    }
    if (code == SQLITE_OK) {
        code = raise_floor(store, batch->draw_floor);
    }
    if (code == SQLITE_OK) {
        code = keep_events(store, batch);
    }
    if (code == SQLITE_OK) {
        code = sweep_ended(store, batch->times.now_us);
    }
    return code == SQLITE_OK ? lk_sql_commit(&store->sql) : code;
}

static lk_outcome explain(struct store *store, int code, lk_error *error) {
    if (lk_sql_is_busy(code)) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "another process keeps the store's file locked; continue or end it: %s",
                            store->path);
    }
    if (code == SQLITE_READONLY_DBMOVED) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "the store's file, or one beside it (-wal, -shm), was moved, replaced "
                            "or deleted under the service; put it back, or restart the service: "
                            "%s",
                            store->path);
    }
    return lk_sql_explain(&store->sql, code, error);
}

static struct store *store_of(struct lk_storage *storage) {
    return (struct store *)storage;
}

static lk_outcome store_write(struct lk_storage *storage, const struct lk_batch *batch,
                              lk_error *error) {
    struct store *store = store_of(storage);
    int64_t ended_count = store->ended_count;
    uint64_t draw_floor = store->meta.draw_floor;
    uint64_t last_event = store->meta.last_event;
    uint64_t forgotten = store->forgotten;
    lk_outcome outcome;
    int code = write_batch(store, batch);

    if (code == SQLITE_OK) {
        return LK_OK;
    }
    outcome = explain(store, code, error);
    lk_sql_fail(&store->sql, code);
    store->ended_count = ended_count;
    store->meta.draw_floor = draw_floor;
    store->meta.last_event = last_event;
    store->forgotten = forgotten;
    return outcome;
}

/* ---- loading --------------------------------------------------------------------------------- */

/*
 * Whether the events that are kept include all that has happened since. That is so if a bound keeps
 * them, or if they were followed until now: the former service has left a mark, and any program
 * that changed the file since would have recorded events as well.
 */
static bool is_continuous(const struct store *store, const struct lk_times *times) {
    const struct lk_sql_meta *meta = &store->meta;
    int64_t left_us = meta->watched_until_us - times->now_us;

    return meta->events_max > 0 || (store->is_ours && meta->watched_until_us != 0)
           || (left_us > 0 && left_us <= LK_WATCHED_US);
}

/* No client follows events that are not all there. */
static int end_watch(struct store *store, bool has_all_events) {
    return has_all_events || store->meta.watched_until_us == 0
               ? SQLITE_OK
               : lk_sql_events_set_watched(&store->sql, 0);
}

/* Restarts (R11) and loads in one transaction: the loaded state is the state in the file. */
static int load(struct store *store, const struct lk_times *times,
                struct lk_core_snapshot *snapshot) {
    struct lk_sql *sql = &store->sql;
    int code = lk_sql_begin_write(sql);

    if (code == SQLITE_OK) {
        code = lk_sql_meta_load(sql, &store->meta);
    }
    if (code == SQLITE_OK) {
        code = lk_sql_restart(sql, &store->meta, store->boot_id, times);
    }
    if (code == SQLITE_OK) {
        bool has_all_events = is_continuous(store, times);

        code = end_watch(store, has_all_events);
        if (code == SQLITE_OK) {
            code = lk_sql_snapshot_fill(sql, &store->meta, &store->room, times->now_us,
                                        has_all_events, snapshot);
        }
        store->is_ours = true;
        store->sweep_after_us = 0;
        store->forgotten = 0;
    }
    if (code == SQLITE_OK) {
        code = lk_sql_commit(sql);
    }
    return code == SQLITE_OK
               ? lk_sql_integer(sql, "SELECT count(*) FROM lk_ended", &store->ended_count)
               : code;
}

static lk_outcome store_load(struct lk_storage *storage, const struct lk_model_config *config,
                             const struct lk_times *times, struct lk_core_snapshot **ret_snapshot,
                             lk_error *error) {
    struct store *store = store_of(storage);
    struct lk_core_snapshot *snapshot = lk_core_snapshot_new(config);
    lk_outcome outcome;
    int code;

    if (snapshot == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    code = check_place(store);
    if (code == SQLITE_OK) {
        code = load(store, times, snapshot);
    }
    if (code == SQLITE_OK) {
        lk_sql_snapshot_bound(&store->meta, config, snapshot);
        *ret_snapshot = snapshot;
        return LK_OK;
    }
    outcome = explain(store, code, error);
    lk_sql_fail(&store->sql, code);
    lk_core_snapshot_free(snapshot);
    return outcome;
}

static lk_outcome store_announce(struct lk_storage *storage, const char *address, lk_error *error) {
    struct store *store = store_of(storage);
    int code = lk_sql_meta_set_served(&store->sql, address);

    return code == SQLITE_OK ? LK_OK : explain(store, code, error);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void store_close(struct lk_storage *storage) {
    struct store *store = store_of(storage);

    if (store->sql.handle != NULL) {
        (void)lk_sql_meta_set_served(&store->sql, "");
        lk_sql_close(&store->sql);
    }
    if (store->lock >= 0) {
        (void)close(store->lock);
    }
    free(store);
}

static const struct lk_storage_ops store_ops = {
    .load = store_load,
    .write = store_write,
    .announce = store_announce,
    .close = store_close,
};

static lk_outcome make_directory(const char *directory, lk_error *error) {
    if (mkdir(directory, 0700) == 0 || errno == EEXIST) {
        return LK_OK;
    }
    return lk_error_set(error, errno == EACCES || errno == EROFS ? LK_DENIED : LK_INVALID,
                        "the service's directory cannot be made (%s): %s", strerror(errno),
                        directory);
}

/* Whether opening it will make it: SQLite makes a database of an empty file, too. */
static bool is_missing(const char *path) {
    struct stat status;

    return stat(path, &status) != 0 ? errno == ENOENT : status.st_size == 0;
}

/*
 * As the embedded engine does: checks the folder, the tables, their format, this boot's clock; and
 * upgrades tables, as a call that writes.
 */
static lk_outcome prepare_file(const struct store *store, lk_error *error) {
    const struct lk_patience patience = {
        .until_us = lk_clock_now_us() + (int64_t)OPEN_MS_MAX * 1000,
    };
    struct lk_engine *engine;
    lk_outcome outcome = lk_engine_sqlite.open(lk_slice_of(store->path), &patience, &engine, error);

    if (outcome == LK_OK) {
        outcome = lk_sqlite_bring_up_to_date(engine, &patience, error);
        engine->ops->close(engine);
    }
    return outcome;
}

/* Waits for a service that has just been killed and may not have exited yet. */
static lk_outcome lock_file(struct store *store, lk_error *error) {
    const struct timespec pause = {.tv_nsec = 10000000};
    int64_t until_us = lk_clock_now_us() + (int64_t)EXIT_WAIT_MS_MAX * 1000;
    int failure = lk_sqlite_service_lock_take(store->path, &store->lock);

    while (failure == EAGAIN && lk_clock_now_us() < until_us) {
        (void)nanosleep(&pause, NULL);
        failure = lk_sqlite_service_lock_take(store->path, &store->lock);
    }
    if (failure == 0) {
        return LK_OK;
    }
    if (failure == EAGAIN) {
        return lk_error_set(error, LK_DENIED, "another service keeps this store: %s", store->path);
    }
    return lk_error_set(error, LK_DENIED, "the lock on the store cannot be taken (%s): %s-served",
                        strerror(failure), store->path);
}

/* Whether the last program that changed the file was a service: then its mark is still there. */
static int find_mark(struct store *store) {
    int code = lk_sql_meta_load(&store->sql, &store->meta);

    store->is_ours = code == SQLITE_OK && store->meta.served[0] != '\0';
    return code;
}

/* Of a larger file only what loading it finds: it would keep its clients waiting for seconds. */
static int check_locks(struct lk_sql *sql) {
    int64_t pages = 0;
    int64_t page_bytes = 0;
    int code = lk_sql_integer(sql, "PRAGMA page_count", &pages);

    if (code == SQLITE_OK) {
        code = lk_sql_integer(sql, "PRAGMA page_size", &page_bytes);
    }
    return code == SQLITE_OK && page_bytes > 0 && pages <= CHECKED_BYTES_MAX / page_bytes
               ? lk_sql_integrity_check_locks(sql)
               : code;
}

static int set_up(struct store *store, const struct lk_store_sqlite_options *options) {
    struct lk_sql *sql = &store->sql;
    char pages[64];
    int code;

    (void)sqlite3_busy_timeout(sql->handle, BUSY_MS_MAX);
    (void)snprintf(pages, sizeof pages, "PRAGMA wal_autocheckpoint = %d", CHECKPOINT_PAGES);
    code = lk_sql_execute(sql, "PRAGMA journal_mode = WAL");
    if (code == SQLITE_OK) {
        code = lk_sql_execute(sql, options->is_relaxed ? "PRAGMA synchronous = NORMAL"
                                                       : "PRAGMA synchronous = FULL");
    }
    if (code == SQLITE_OK) {
        code = lk_sql_execute(sql, pages);
    }
    if (code == SQLITE_OK) {
        code = lk_sql_execute(sql, "PRAGMA cache_size = -32768");
    }
    if (code == SQLITE_OK) {
        code = lk_sql_begin_write(sql);
    }
    if (code == SQLITE_OK) {
        code = check_locks(sql);
    }
    if (code == SQLITE_OK) {
        code = find_mark(store);
    }
    if (code == SQLITE_OK) {
        code = lk_sql_meta_set_served(sql, "lk:// (it is only starting)");
    }
    return code == SQLITE_OK ? lk_sql_commit(sql) : code;
}

/* A newer program may have upgraded the tables before the lock was taken; since then none may. */
static lk_outcome check_format(const struct store *store, lk_error *error) {
    const struct lk_sql_meta *meta = &store->meta;

    return lk_sql_format_is_usable(&lk_sql_formats, meta->format, meta->writable_from)
               ? LK_OK
               : lk_sql_format_refuse("the store's tables", meta->format, LK_SQL_FORMAT,
                                      store->path, error);
}

static lk_outcome open_file(struct store *store, const struct lk_store_sqlite_options *options,
                            lk_error *error) {
    lk_outcome outcome;
    int code = lk_sql_open(&store->sql, store->path, SQLITE_OPEN_READWRITE,
                           options->is_relaxed ? NULL : lk_commit_log_vfs());

    if (code == SQLITE_OK) {
        code = set_up(store, options);
    }
    if (code == SQLITE_OK) {
        return check_format(store, error);
    }
    outcome = explain(store, code, error);
    lk_sql_rollback(&store->sql);
    return outcome;
}

lk_outcome lk_store_sqlite_open(const struct lk_store_sqlite_options *options,
                                struct lk_storage **ret_storage, lk_error *error) {
    struct store *store = calloc(1, sizeof *store);
    lk_outcome outcome;
    int size;

    if (store == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    store->storage.ops = &store_ops;
    store->lock = -1;
    size = snprintf(store->path, sizeof store->path, "%s/locks.db", options->directory);
    if (size < 0 || (size_t)size >= sizeof store->path) {
        free(store);
        return lk_error_set(error, LK_INVALID, "the service's directory has too long a name");
    }
    store->storage.is_new = is_missing(store->path);
    outcome = make_directory(options->directory, error);
    if (outcome == LK_OK) {
        outcome = prepare_file(store, error);
    }
    if (outcome == LK_OK) {
        outcome = lock_file(store, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_sqlite_boot_id(store->boot_id, error);
    }
    if (outcome == LK_OK) {
        outcome = open_file(store, options, error);
    }
    if (outcome != LK_OK) {
        store_close(&store->storage);
        return outcome;
    }
    *ret_storage = &store->storage;
    return LK_OK;
}
