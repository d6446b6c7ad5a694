/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to one SQLite file: opening, prepared statements, transactions, and what SQLite's
 * result codes mean in words.
 *
 * Functions return SQLite's own result codes, so that a transaction sees in one place whether to
 * try again (busy), to give up, or to go on. lk_sql_explain() turns any other code into an outcome
 * with a sentence. No function waits: a busy file is reported at once.
 *
 * Threads: one at a time. Threads that share a connection need a lock.
 */
#ifndef LK_SQL_DATABASE_H
#define LK_SQL_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "lockkeeper/terms.h"
#include "sql/statements.h"

enum { LK_SQL_COMPLAINT_MAX = 160 };

/* Upper bound of instants and draws in a sound store; the sum of two cannot overflow. */
#define LK_SQL_INSTANT_MAX (INT64_MAX / 4)

/* Whether a walk of rows reads the values in them, which may be large. */
enum lk_sql_depth { LK_SQL_WITHOUT_BYTES, LK_SQL_WITH_BYTES };

struct lk_sql {
    sqlite3 *handle;
    sqlite3_stmt *prepared[LK_SQL_STATEMENT_COUNT];
    const char *path;                     /* borrowed from lk_sql_open() */
    int system_error;                     /* errno of an open that failed */
    bool is_writing;                      /* in a write transaction */
    bool keeps_log;                       /* the last to close empties it, and lets it stay */
    char complaint[LK_SQL_COMPLAINT_MAX]; /* which row is impossible, after SQLITE_CORRUPT */
    char rejected[LK_SQL_COMPLAINT_MAX];  /* SQLite's words, after the last SQLITE_ERROR */
};

/*
 * Opens `path`, which must outlive the connection, with the SQLITE_OPEN_ flags given and the
 * VFS of that name. NULL is SQLite's own; that of lk_sql_log_file_system() keeps the log, too. On
 * failure `*sql` needs no close. Neither reads nor writes anything yet, unless the flags create the
 * file.
 */
int lk_sql_open(struct lk_sql *sql, const char *path, int flags, const char *vfs);
void lk_sql_close(struct lk_sql *sql); /* accepts one that is closed */

/* Runs several statements that give no rows. They are not kept. */
int lk_sql_execute(struct lk_sql *sql, const char *text);

/* The one integer that `text` selects. */
int lk_sql_integer(struct lk_sql *sql, const char *text, int64_t *ret_value);

/*
 * A statement, prepared on first use, with nothing bound. The connection owns it. Every use ends
 * with lk_sql_run() or lk_sql_done().
 */
int lk_sql_statement(struct lk_sql *sql, enum lk_sql_statement which, sqlite3_stmt **ret_statement);

/* Binds bytes that must stay valid until the statement is done. Never SQL's NULL. */
int lk_sql_bind_text(sqlite3_stmt *statement, int index, struct lk_slice text);
int lk_sql_bind_bytes(sqlite3_stmt *statement, int index, struct lk_slice bytes);
int lk_sql_bind_integer(sqlite3_stmt *statement, int index, int64_t value);

/* A column's bytes, valid until the statement's next step. */
struct lk_slice lk_sql_column_text(sqlite3_stmt *statement, int column);
struct lk_slice lk_sql_column_bytes(sqlite3_stmt *statement, int column);

/* Steps a statement that gives no rows, and ends its use. */
int lk_sql_run(sqlite3_stmt *statement);

/* Ends the use of a statement. `code` is its last: SQLITE_ROW and SQLITE_DONE become SQLITE_OK. */
int lk_sql_done(sqlite3_stmt *statement, int code);

/*
 * A write transaction is a critical section of its thread (base/thread.h) until it is committed
 * or rolled back, whatever happened to it.
 */
int lk_sql_begin_read(struct lk_sql *sql);  /* one consistent snapshot */
int lk_sql_begin_write(struct lk_sql *sql); /* takes the write lock, or SQLITE_BUSY */
int lk_sql_commit(struct lk_sql *sql);
void lk_sql_rollback(struct lk_sql *sql); /* also after SQLite has rolled back itself */

/*
 * The same after an error, `code`. If the disk is full, the write-ahead log is moved to the file:
 * the next transaction writes over it from its beginning, and needs no more room than it has.
 * Otherwise a log that has filled the disk itself would keep it full for ever.
 */
void lk_sql_fail(struct lk_sql *sql, int code);

/* Whether the code means that another connection has a lock, so that a retry may succeed. */
bool lk_sql_is_busy(int code);

/* Describes the error and what to do about it. `code` is neither SQLITE_OK nor busy. */
lk_outcome lk_sql_explain(const struct lk_sql *sql, int code, lk_error *error);

#endif
