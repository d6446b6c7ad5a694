/* SPDX-License-Identifier: Apache-2.0 */
/* What a store is, for `lk doctor`. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/sqlite/events.h"
#include "sql/integrity.h"

enum {
    REPORT_BYTES_MAX = PATH_MAX + 1024,
    WARNINGS_BYTES_MAX = 1024,
    WAL_BYTES_LARGE = 64 * 1024 * 1024,    /* a checkpoint is being kept from its work */
    CHECKED_BYTES_MAX = 256 * 1024 * 1024, /* about a second, if the disk has to read them */
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
    bool is_checked; /* all pages, and they are sound */
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
    lk_text_format(text, "integrity: %s\n",
                   findings->is_checked
                       ? "all pages are sound"
                       : "not checked, the file is large; PRAGMA quick_check does it");
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

static void write_warnings(const struct lk_sqlite *store, const struct findings *findings,
                           struct lk_text *text) {
    mode_t mode = 0;

    if (strcmp(findings->journal_mode, "wal") != 0) {
        lk_text_format(text, "the journal mode is not wal; waiting and writing are slow\n");
    }
    if (findings->wal_bytes > WAL_BYTES_LARGE) {
        lk_text_format(text, "the write-ahead log is large: a program keeps reading the file\n");
    }
    if (findings->meta.format > LK_SQL_FORMAT) {
        lk_text_format(text, "a newer program has written here; upgrade this one\n");
    }
    (void)size_beside(store, "", &mode);
    if ((mode & S_IWOTH) != 0) {
        lk_text_format(text, "every user of this machine may write the file\n");
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

/* In a reading transaction, which keeps no process from writing meanwhile. */
static lk_outcome check_integrity(struct lk_sqlite *store, const struct lk_patience *patience,
                                  struct findings *findings, lk_error *error) {
    struct lk_sqlite_transaction transaction;
    int code;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_READ, patience, &transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    code = lk_sql_integrity_check(&store->sql, CHECKED_BYTES_MAX, &findings->is_checked);
    return lk_sqlite_transaction_end(&transaction, code, error);
}

lk_outcome lk_sqlite_examine(struct lk_engine *engine, const struct lk_patience *patience,
                             lk_report **ret_report, struct lk_error *error) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    struct findings findings = {.live = 0};
    struct lk_sqlite_transaction transaction;
    lk_report *report;
    int64_t begun_us = lk_clock_now_us();
    int64_t round_trip_us;
    int code;
    /* A writing transaction, so that the round trip is that of an ask; nothing is written in it. */
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_WRITE, patience, &transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    code = find_out(&transaction, &findings);
    outcome = lk_sqlite_transaction_end(&transaction, code, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    round_trip_us = lk_clock_now_us() - begun_us;
    outcome = check_integrity(store, patience, &findings, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    report = make_report(store, &findings);
    if (report == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    report->round_trip_us = round_trip_us;
    report->clock_offset_us = 0; /* one machine, one clock */
    *ret_report = report;
    return LK_OK;
}
