/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to one SQLite file. */
#include "sql/database.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/error.h"
#include "base/thread.h"
#include "sql/log_file.h"

/*
 * The last to close the file empties its log into it. The empty log and its index stay: to make and
 * to remove them takes a short process as long as its transactions. If others may write the file,
 * they are removed: a group could not always open what one of its users has made.
 */
static void keep_log(struct lk_sql *sql) {
    struct stat status;
    int keep = 1;

    if (stat(sql->path, &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0) {
        sql->keeps_log =
            sqlite3_file_control(sql->handle, "main", SQLITE_FCNTL_PERSIST_WAL, &keep) == SQLITE_OK;
    }
}

int lk_sql_open(struct lk_sql *sql, const char *path, int flags, const char *vfs) {
    int code;

    memset(sql, 0, sizeof *sql);
    code = sqlite3_open_v2(path, &sql->handle, flags | SQLITE_OPEN_NOMUTEX, vfs);
    sql->path = path;
    if (code != SQLITE_OK) {
        code = sql->handle != NULL ? sqlite3_extended_errcode(sql->handle) : code;
        sql->system_error = sql->handle != NULL ? sqlite3_system_errno(sql->handle) : 0;
        (void)sqlite3_close(sql->handle);
        sql->handle = NULL;
        return code;
    }
    (void)sqlite3_extended_result_codes(sql->handle, 1);
    /*
     * The file may come from an untrusted source: its schema may call no function that does harm.
     */
    (void)sqlite3_db_config(sql->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(sql->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_busy_timeout(sql->handle, 0);
    if (vfs != NULL && vfs == lk_sql_log_file_system()) {
        keep_log(sql);
    }
    return SQLITE_OK;
}

static void end_writing(struct lk_sql *sql) {
    if (sql->is_writing) {
        sql->is_writing = false;
        lk_critical_leave();
    }
}

void lk_sql_close(struct lk_sql *sql) {
    for (int i = 0; i < LK_SQL_STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(sql->prepared[i]);
        sql->prepared[i] = NULL;
    }
    if (sql->keeps_log && sql->handle != NULL) {
        (void)lk_sql_execute(sql, "PRAGMA journal_size_limit = 0"); /* of a log that is emptied */
    }
    lk_critical_enter(); /* the last connection to close empties the log */
    (void)sqlite3_close(sql->handle);
    lk_critical_leave();
    sql->handle = NULL;
    end_writing(sql);
}

/* Keeps why SQLite does not take a statement: the rollback that follows has no error. */
static int note_rejected(struct lk_sql *sql, int code) {
    if (code == SQLITE_ERROR) {
        (void)snprintf(sql->rejected, sizeof sql->rejected, "%s", sqlite3_errmsg(sql->handle));
    }
    return code;
}

int lk_sql_execute(struct lk_sql *sql, const char *text) {
    return note_rejected(sql, sqlite3_exec(sql->handle, text, NULL, NULL, NULL));
}

int lk_sql_integer(struct lk_sql *sql, const char *text, int64_t *ret_value) {
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(sql->handle, text, -1, &statement, NULL);

    if (code != SQLITE_OK) {
        return note_rejected(sql, code);
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *ret_value = sqlite3_column_int64(statement, 0);
        code = SQLITE_OK;
    } else if (code == SQLITE_DONE) {
        code = SQLITE_EMPTY;
    }
    (void)sqlite3_finalize(statement);
    return code;
}

int lk_sql_statement(struct lk_sql *sql, enum lk_sql_statement which,
                     sqlite3_stmt **ret_statement) {
    if (sql->prepared[which] == NULL) {
        int code = sqlite3_prepare_v3(sql->handle, lk_sql_statement_text(which), -1,
                                      SQLITE_PREPARE_PERSISTENT, &sql->prepared[which], NULL);
        if (code != SQLITE_OK) {
            return note_rejected(sql, code);
        }
    }
    *ret_statement = sql->prepared[which];
    return SQLITE_OK;
}

int lk_sql_bind_text(sqlite3_stmt *statement, int index, struct lk_slice text) {
    /* A NULL pointer would bind SQL's NULL; the empty string is meant. */
    return sqlite3_bind_text64(statement, index, text.size > 0 ? text.bytes : "", text.size,
                               SQLITE_STATIC, SQLITE_UTF8);
}

int lk_sql_bind_bytes(sqlite3_stmt *statement, int index, struct lk_slice bytes) {
    return sqlite3_bind_blob64(statement, index, bytes.size > 0 ? bytes.bytes : "", bytes.size,
                               SQLITE_STATIC);
}

int lk_sql_bind_integer(sqlite3_stmt *statement, int index, int64_t value) {
    return sqlite3_bind_int64(statement, index, value);
}

struct lk_slice lk_sql_column_text(sqlite3_stmt *statement, int column) {
    const unsigned char *bytes = sqlite3_column_text(statement, column);
    int size = sqlite3_column_bytes(statement, column);

    return (struct lk_slice){.bytes = (const char *)bytes,
                             .size = bytes != NULL ? (size_t)size : 0};
}

struct lk_slice lk_sql_column_bytes(sqlite3_stmt *statement, int column) {
    const void *bytes = sqlite3_column_blob(statement, column);
    int size = sqlite3_column_bytes(statement, column);

    return (struct lk_slice){.bytes = bytes, .size = bytes != NULL ? (size_t)size : 0};
}

int lk_sql_run(sqlite3_stmt *statement) {
    int code = sqlite3_step(statement);

    return lk_sql_done(statement, code);
}

int lk_sql_done(sqlite3_stmt *statement, int code) {
    /* The reset returns the step's error again, which `code` has already. */
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static int run_bare(struct lk_sql *sql, enum lk_sql_statement which) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    return code == SQLITE_OK ? lk_sql_run(statement) : code;
}

int lk_sql_begin_read(struct lk_sql *sql) {
    sql->rejected[0] = '\0';
    return run_bare(sql, LK_SQL_BEGIN);
}

int lk_sql_begin_write(struct lk_sql *sql) {
    lk_critical_enter();
    sql->is_writing = true;
    sql->rejected[0] = '\0';
    int code = run_bare(sql, LK_SQL_BEGIN_IMMEDIATE);

    if (code != SQLITE_OK) {
        end_writing(sql);
    }
    return code;
}

int lk_sql_commit(struct lk_sql *sql) {
    int code = run_bare(sql, LK_SQL_COMMIT);

    if (code == SQLITE_OK) {
        end_writing(sql);
    }
    return code;
}

void lk_sql_rollback(struct lk_sql *sql) {
    if (sql->handle != NULL && sqlite3_get_autocommit(sql->handle) == 0) {
        (void)run_bare(sql, LK_SQL_ROLLBACK);
    }
    end_writing(sql);
}

void lk_sql_fail(struct lk_sql *sql, int code) {
    lk_sql_rollback(sql);
    if (sql->handle != NULL && ((code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_WRITE)) {
        (void)sqlite3_wal_checkpoint_v2(sql->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
}

bool lk_sql_is_busy(int code) {
    int primary = code & 0xff;

    /* PROTOCOL: the lock of the write-ahead log was not available in time. LOCKED cannot occur. */
    return primary == SQLITE_BUSY || primary == SQLITE_PROTOCOL;
}

/* The path is last in each sentence, where cutting it does least harm. */

static lk_outcome explain_corrupt(const struct lk_sql *sql, lk_error *error) {
    if (sql->complaint[0] != '\0') {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "the store's file is damaged (%s); move it away or restore it: %s",
                            sql->complaint, sql->path);
    }
    return lk_error_set(error, LK_UNAVAILABLE,
                        "the store's file is damaged; move it away or restore it from a copy: %s",
                        sql->path);
}

/*
 * The statements are fixed, and fit the tables of their format: where SQLite does not take one, the
 * tables are not those that were made.
 */
static lk_outcome explain_schema(const struct lk_sql *sql, lk_error *error) {
    return lk_error_set(error, LK_UNAVAILABLE,
                        "the store's file is damaged: its tables are not those of its format%s%s; "
                        "move it away or restore it from a copy: %s",
                        sql->rejected[0] != '\0' ? ", " : "", sql->rejected, sql->path);
}

static lk_outcome explain_cannot_open(const struct lk_sql *sql, int system_error, lk_error *error) {
    if (system_error == EACCES || system_error == EPERM || system_error == EROFS) {
        return lk_error_set(error, LK_DENIED,
                            "the store needs the right to write its file, the two beside it "
                            "(-wal, -shm) and their directory: %s",
                            sql->path);
    }
    return lk_error_set(error, LK_UNAVAILABLE, "the store's file cannot be opened (%s): %s",
                        system_error != 0 ? strerror(system_error) : "no reason given", sql->path);
}

static lk_outcome explain_no_write(const struct lk_sql *sql, lk_error *error) {
    struct statvfs system;

    if (statvfs(sql->path, &system) == 0 && (system.f_flag & ST_RDONLY) != 0) {
        return lk_error_set(error, LK_DENIED,
                            "the store's file system can only be read; mount it for writing, or "
                            "name another store: %s",
                            sql->path);
    }
    return lk_error_set(error, LK_DENIED,
                        "the store cannot be written by this user; give the right to write its "
                        "file and its directory: %s",
                        sql->path);
}

lk_outcome lk_sql_explain(const struct lk_sql *sql, int code, lk_error *error) {
    int system_error = sql->handle != NULL ? sqlite3_system_errno(sql->handle) : sql->system_error;

    switch (code & 0xff) {
    case SQLITE_FULL:
        return lk_error_set(error, LK_UNAVAILABLE,
                            "the disk is full, nothing was changed; free some space and ask "
                            "again: %s",
                            sql->path);
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_NOMEM) {
            break;
        }
        return lk_error_set(error, LK_UNAVAILABLE,
                            "reading or writing failed (%s); look after the disk and ask again: %s",
                            system_error != 0 ? strerror(system_error) : sqlite3_errstr(code),
                            sql->path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return explain_no_write(sql, error);
    case SQLITE_CANTOPEN:
        return explain_cannot_open(sql, system_error, error);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return explain_corrupt(sql, error);
    case SQLITE_NOMEM:
        break;
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA:
    case SQLITE_RANGE:
    case SQLITE_EMPTY: /* the row about the store, or a count of rows */
        return explain_schema(sql, error);
    default:
        return lk_error_set(
            error, LK_INTERNAL, "sql: SQLite answered %d (%s) on %s", code,
            sql->handle != NULL ? sqlite3_errmsg(sql->handle) : sqlite3_errstr(code), sql->path);
    }
    return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}
