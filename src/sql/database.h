/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to one SQLite file: opening, prepared statements, transactions, and what SQLite's
 * result codes mean in words.
 *
 * Functions return SQLite's own result codes, so that whoever runs a transaction sees in one place
 * whether to try again (busy), to give up, or to go on; lk_sql_explain() turns what is left into an
 * outcome with a sentence. Nothing here waits: a busy file is answered at once.
 * Threads: one at a time; whoever shares a connection brings a lock.
 */
#ifndef LK_SQL_DATABASE_H
#define LK_SQL_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/slice.h"
#include "lockkeeper/terms.h"
#include "sql/statements.h"

enum { LK_SQL_COMPLAINT_MAX = 160 };

/* No instant and no draw of a sound store is greater; the sum of two cannot overflow. */
#define LK_SQL_INSTANT_MAX (INT64_MAX / 4)

/* A file, whatever its name. Inode 0: not known yet. */
struct lk_sql_file {
    dev_t device;
    ino_t inode;
};

enum { LK_SQL_BESIDE_COUNT = 2 }; /* -wal, -shm */

struct lk_sql {
    sqlite3 *handle;
    sqlite3_stmt *prepared[LK_SQL_STATEMENT_COUNT];
    const char *path;                               /* borrowed from lk_sql_open() */
    int system_error;                               /* errno of an open that failed */
    bool is_writing;                                /* in a write transaction */
    struct lk_sql_file beside[LK_SQL_BESIDE_COUNT]; /* moved.h */
    char complaint[LK_SQL_COMPLAINT_MAX]; /* which row is impossible, after SQLITE_CORRUPT */
};

/*
 * Opens `path`, which must outlive the connection, with the SQLITE_OPEN_ flags given. On failure
 * `*sql` needs no close. Neither reads nor writes anything yet, unless the flags create the file.
 */
int lk_sql_open(struct lk_sql *sql, const char *path, int flags);
void lk_sql_close(struct lk_sql *sql); /* accepts one that is closed */

/* Several statements without results, which are not kept. */
int lk_sql_execute(struct lk_sql *sql, const char *text);

/* The one integer that `text` selects. */
int lk_sql_integer(struct lk_sql *sql, const char *text, int64_t *ret_value);

/*
 * A statement, prepared when first used, with nothing bound. It is the connection's. Every use ends
 * with lk_sql_run() or lk_sql_done().
 */
int lk_sql_statement(struct lk_sql *sql, enum lk_sql_statement which, sqlite3_stmt **ret_statement);

/* Binds bytes that stay in place until the statement is done. Never SQL's NULL. */
int lk_sql_bind_text(sqlite3_stmt *statement, int index, struct lk_slice text);
int lk_sql_bind_bytes(sqlite3_stmt *statement, int index, struct lk_slice bytes);
int lk_sql_bind_integer(sqlite3_stmt *statement, int index, int64_t value);

/* A column's bytes, valid until the statement's next step. */
struct lk_slice lk_sql_column_text(sqlite3_stmt *statement, int column);
struct lk_slice lk_sql_column_bytes(sqlite3_stmt *statement, int column);

/* Steps a statement that gives no rows, and is done with it. */
int lk_sql_run(sqlite3_stmt *statement);

/* Done with a statement. `code` is its last: SQLITE_ROW and SQLITE_DONE become SQLITE_OK. */
int lk_sql_done(sqlite3_stmt *statement, int code);

/*
 * A transaction that writes is a critical section of its thread (base/critical.h), until it is
 * committed or, whatever has become of it, rolled back.
 */
int lk_sql_begin_read(struct lk_sql *sql);  /* one consistent look */
int lk_sql_begin_write(struct lk_sql *sql); /* takes the write lock, or SQLITE_BUSY */
int lk_sql_commit(struct lk_sql *sql);
void lk_sql_rollback(struct lk_sql *sql); /* also when SQLite has done so itself */

/* Whether the code means "somebody else is at it: try again". */
bool lk_sql_is_busy(int code);

/* What went wrong and what to do about it. `code` is neither SQLITE_OK nor busy. */
lk_outcome lk_sql_explain(const struct lk_sql *sql, int code, lk_error *error);

#endif
