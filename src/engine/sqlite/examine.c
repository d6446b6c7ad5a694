/* SPDX-License-Identifier: Apache-2.0 */
/* What a store is, for `lk doctor`. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/sqlite/changes.h"
#include "sql/load.h"

#define DISK_BYTES_SMALL INT64_C(268435456) /* 256 MiB */

enum {
    REPORT_BYTES_MAX = PATH_MAX + 1024,
    WARNINGS_BYTES_MAX = 1024,
    WAL_BYTES_LARGE = 64 * 1024 * 1024, /* a checkpoint is being kept from its work */
    STEPS_A_LOOK = 100000,    /* of SQLite's machine, between two looks whether to go on */
    PROBE_BYTES = 256 * 1024, /* a writing call takes a few pages of the log */
};

struct findings {
    struct lk_sql_meta meta;
    int64_t live;
    int64_t queues;
    int64_t items;
    int64_t values;
    int64_t events; /* kept */
    bool is_watched;
    int64_t wal_bytes;
    int64_t free_bytes; /* on the disk of the file, for this user; -1: unknown */
    bool is_full;       /* a file beside it could not grow by PROBE_BYTES */
    bool is_over_quota; /* ... because of this user's quota */
    bool is_limited;    /* files of this process may not grow by that (ulimit -f) */
    bool is_served;     /* by a running service: nothing is written but by that */
    char journal_mode[16];
};

static int count_live(struct lk_sql *sql, int64_t now_us, int64_t *ret_live) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_COUNT_LIVE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, now_us);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *ret_live = sqlite3_column_int64(statement, 0);
    }
    return lk_sql_done(statement, code);
}

static int count_kept(struct lk_sql *sql, struct findings *findings) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_COUNT_KEPT, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        findings->queues = sqlite3_column_int64(statement, 0);
        findings->items = sqlite3_column_int64(statement, 1);
        findings->values = sqlite3_column_int64(statement, 2);
        findings->events = sqlite3_column_int64(statement, 3);
    }
    return lk_sql_done(statement, code);
}

static int read_journal_mode(struct lk_sql *sql, char *ret_mode, size_t capacity) {
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(sql->handle, "PRAGMA journal_mode", -1, &statement, NULL);

    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        (void)snprintf(ret_mode, capacity, "%s", (const char *)sqlite3_column_text(statement, 0));
        code = SQLITE_OK;
    }
    (void)sqlite3_finalize(statement);
    return code;
}

/* The size of the file beside the store's whose name ends in `suffix`; 0: there is none. */
static int64_t size_beside(const struct lk_sqlite *store, const char *suffix, mode_t *ret_mode) {
    char path[PATH_MAX + 8];
    struct stat status;

    (void)snprintf(path, sizeof path, "%s%s", store->address.path, suffix);
    if (stat(path, &status) != 0) {
        return 0;
    }
    *ret_mode = status.st_mode;
    return (int64_t)status.st_size;
}

static void write_report(const struct lk_sqlite *store, const struct findings *findings,
                         struct lk_text *text) {
    mode_t mode = 0;

    lk_text_format(text, "path: %s\n", sqlite3_db_filename(store->sql.handle, "main"));
    lk_text_format(text, "format: %lld, written by programs of format %lld and newer\n",
                   (long long)findings->meta.format, (long long)findings->meta.writable_from);
    lk_text_format(text, "sqlite: %s\n", sqlite3_libversion());
    lk_text_format(text, "journal mode: %s\n", findings->journal_mode);
    lk_text_format(text, "durability: %s\n",
                   store->address.is_relaxed ? "relaxed (a power cut may undo the last moments)"
                                             : "full (what is answered survives a power cut)");
    lk_text_format(text, "file size: %lld bytes, write-ahead log %lld\n",
                   (long long)size_beside(store, "", &mode), (long long)findings->wal_bytes);
    if (findings->free_bytes >= 0) {
        lk_text_format(text, "disk free: %lld bytes\n", (long long)findings->free_bytes);
    }
    lk_text_format(text, "integrity: all pages are sound, and all rows add up\n");
    if (findings->is_served) {
        lk_text_format(text, "served by: %s\n", findings->meta.served);
    }
    lk_text_format(text, "live requests: %lld\n", (long long)findings->live);
    lk_text_format(text, "queues: %lld\nitems: %lld\nvalues: %lld\nevents kept: %lld\n",
                   (long long)findings->queues, (long long)findings->items,
                   (long long)findings->values, (long long)findings->events);
    lk_limits_report(text, &findings->meta.quotas, findings->meta.events_max, findings->is_watched);
    lk_text_format(text, "shared by: %s\n",
                   (mode & (S_IRWXG | S_IRWXO)) == 0
                       ? "one user of this machine (a store is per user by default; for several, "
                         "name one that all may write)"
                       : "all users that the file's permissions allow");
}

static void warn_of_disk(const struct findings *findings, struct lk_text *text) {
    if (findings->is_limited) {
        lk_text_format(text, "files of this process may not grow (ulimit -f): nothing can be "
                             "granted by it\n");
    }
    if (findings->is_over_quota) {
        lk_text_format(text, "the disk quota of this user is used up: nothing can be granted until "
                             "there is room\n");
    } else if (findings->is_full) {
        lk_text_format(text,
                       "the disk is full: nothing can be granted until some space is freed\n");
    } else if (findings->free_bytes >= 0 && findings->free_bytes < DISK_BYTES_SMALL) {
        lk_text_format(text, "only %lld MiB are left on the disk of the store\n",
                       (long long)(findings->free_bytes >> 20));
    }
}

static void write_warnings(const struct lk_sqlite *store, const struct findings *findings,
                           struct lk_text *text) {
    mode_t mode = 0;

    if (strcmp(findings->journal_mode, "wal") != 0) {
        lk_text_format(text, "the journal mode is not wal; waiting and writing are slow\n");
    }
    if (findings->wal_bytes > WAL_BYTES_LARGE) {
        lk_text_format(text, "the write-ahead log is large: a program keeps reading the file\n");
    }
    if (findings->meta.format > store->options.formats->format) {
        lk_text_format(text, "a newer program has written here; upgrade this one\n");
    }
    warn_of_disk(findings, text);
    (void)size_beside(store, "", &mode);
    if ((mode & S_IWOTH) != 0) {
        lk_text_format(text, "every user of this machine may write the file\n");
    }
}

/* By a file without a name beside the store's; 0: it could, or there are no such files here. */
static int try_to_grow(const char *path) {
    char directory[PATH_MAX];
    char *slash;
    int failure = 0;
    int file;

    (void)snprintf(directory, sizeof directory, "%s", path);
    slash = strrchr(directory, '/');
    if (slash != NULL) {
        slash[slash == directory] = '\0';
    }
    file = open(slash != NULL ? directory : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0) {
        failure = posix_fallocate(file, 0, PROBE_BYTES);
        (void)close(file);
    }
    return failure;
}

/*
 * Room for a file beside the store's. What the file system says leaves out quotas, so a file
 * without a name grows a little; where there are no such files, what it says is all.
 */
static void find_room(const struct lk_sqlite *store, struct findings *findings) {
    struct statvfs disk;
    struct rlimit limit;

    findings->free_bytes = -1;
    if (statvfs(store->address.path, &disk) == 0) {
        findings->free_bytes = (int64_t)((uint64_t)disk.f_bavail * (uint64_t)disk.f_frsize);
        findings->is_full = findings->free_bytes < PROBE_BYTES;
    }
    findings->is_limited =
        getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)PROBE_BYTES;
    if (!findings->is_limited) { /* else the attempt would be a signal */
        int failure = try_to_grow(store->address.path);
        findings->is_full = findings->is_full || failure == ENOSPC;
        findings->is_over_quota = failure == EDQUOT;
    }
}

static int find_out(struct lk_sqlite_transaction *transaction, struct findings *findings) {
    struct lk_sqlite *store = transaction->store;
    mode_t mode = 0;
    int code = count_live(&store->sql, transaction->times.now_us, &findings->live);

    findings->meta = transaction->meta;
    findings->is_watched = lk_sqlite_events_are_watched(transaction);
    findings->wal_bytes = size_beside(store, "-wal", &mode);
    if (code == SQLITE_OK) {
        code = count_kept(&store->sql, findings);
    }
    if (code == SQLITE_OK) {
        code =
            read_journal_mode(&store->sql, findings->journal_mode, sizeof findings->journal_mode);
    }
    return code;
}

/* A report with its texts; NULL when memory is exhausted. */
static lk_report *make_report(const struct lk_sqlite *store, const struct findings *findings) {
    char report_bytes[REPORT_BYTES_MAX];
    char warnings_bytes[WARNINGS_BYTES_MAX];
    struct lk_text text = lk_text_in(report_bytes, sizeof report_bytes);
    struct lk_text warnings = lk_text_in(warnings_bytes, sizeof warnings_bytes);

    write_report(store, findings, &text);
    write_warnings(store, findings, &warnings);
    return lk_report_make(report_bytes, warnings_bytes);
}

/* Ends the check when the caller gives up. */
static int is_given_up(void *context) {
    return lk_waker_is_thrown(context);
}

/*
 * In a reading transaction of a connection of its own: it may take seconds, in which this process
 * goes on renewing leases by the other one, and other processes write.
 */
static lk_outcome check_integrity(const struct lk_sqlite *store, const struct lk_patience *patience,
                                  lk_error *error) {
    struct lk_engine *engine = NULL;
    struct lk_sqlite_transaction transaction;
    struct lk_sqlite *own;
    int code;
    lk_outcome outcome =
        lk_sqlite_open_at(&store->address, &store->options, patience, &engine, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    own = lk_sqlite_of(engine);
    outcome = lk_sqlite_transaction_begin(own, LK_SQLITE_READ, patience, &transaction, error);
    if (outcome == LK_OK) {
        sqlite3_progress_handler(own->sql.handle, STEPS_A_LOOK, is_given_up, patience->waker);
        code = lk_sql_integrity_check(&own->sql, &transaction.meta, transaction.times.now_us);
        sqlite3_progress_handler(own->sql.handle, 0, NULL, NULL);
        outcome = lk_sqlite_transaction_end(&transaction, code, error);
        if (code == SQLITE_INTERRUPT) {
            outcome = lk_error_set(error, LK_CANCELLED, "cancelled while the pages were read");
        }
    }
    engine->ops->close(engine);
    return outcome;
}

/*
 * A writing transaction, so that the round trip is that of an ask; nothing is written in it. Of a
 * file that a running service keeps, a reading one.
 */
static lk_outcome look(struct lk_sqlite *store, const struct lk_patience *patience,
                       struct findings *findings, lk_error *error) {
    struct lk_sqlite_transaction transaction;
    int code;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_WRITE, patience, &transaction, error);

    findings->is_served = outcome == LK_DENIED;
    if (findings->is_served) {
        outcome = lk_sqlite_transaction_begin(store, LK_SQLITE_READ, patience, &transaction, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    code = find_out(&transaction, findings);
    return lk_sqlite_transaction_end(&transaction, code, error);
}

lk_outcome lk_sqlite_examine(struct lk_engine *engine, const struct lk_patience *patience,
                             lk_report **ret_report, struct lk_error *error) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    struct findings findings = {.live = 0};
    lk_report *report;
    int64_t begun_us;
    int64_t round_trip_us;
    lk_outcome outcome = check_integrity(store, patience, error); /* reads: it upgrades nothing */

    if (outcome != LK_OK) {
        return outcome;
    }
    begun_us = lk_clock_now_us();
    outcome = look(store, patience, &findings, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    round_trip_us = lk_clock_now_us() - begun_us;
    find_room(store, &findings);
    report = make_report(store, &findings);
    if (report == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    report->round_trip_us = round_trip_us;
    report->clock_offset_us = 0; /* one machine, one clock */
    *ret_report = report;
    return LK_OK;
}
