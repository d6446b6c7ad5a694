/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of the owner's as a source of work (R17): the statements that its SQL makes, and what
 * that SQL may do.
 *
 * The owner's SQL is prepared and run under a guard. Only the --done statement may write,
 * and not to the store's own tables. No statement may change the schema, the transaction or the
 * connection. This guards against accidents: a caller that can pass SQL here can open the file.
 *
 * Functions return SQLite's codes. Where one of the owner's statements is to blame, `complaint`
 * says so, and lk_sqlite_source_end() makes LK_INVALID of it.
 */
#ifndef LK_ENGINE_SQLITE_SOURCE_H
#define LK_ENGINE_SQLITE_SOURCE_H

#include "engine/row_id.h"
#include "engine/sqlite/set.h"
#include "engine/sqlite/store.h"

/* What the current SQL may do. */
enum lk_sqlite_guard {
    LK_SQLITE_GUARD_NONE, /* it is the store's own */
    LK_SQLITE_GUARD_READ,
    LK_SQLITE_GUARD_WRITE,
};

enum { LK_SQLITE_SOURCES_MAX = 4 }; /* prepared at a time; a new one replaces the oldest */

struct lk_sqlite_source {
    struct lk_source text; /* borrowed from `bytes` */
    char *bytes;
    sqlite3_stmt *find;    /* rows to announce: ?1 queue, ?2 how many */
    sqlite3_stmt *skipped; /* rows that cannot be items: ?1 how many */
    sqlite3_stmt *fits;    /* whether a row fits: ?1, ?2 its id in two types */
    sqlite3_stmt *row;     /* the row, fitting or not: likewise */
    sqlite3_stmt *done;    /* NULL: none */
    char complaint[LK_ERROR_TEXT_MAX];
};

/* What a connection has for sources; made at the first one. */
struct lk_sqlite_sources {
    enum lk_sqlite_guard guard;
    bool is_guarded;   /* the authorizer is set, and own_tables filled */
    struct lk_set own; /* names of the store's tables, indexes and views */
    struct lk_sqlite_source *prepared[LK_SQLITE_SOURCES_MAX];
    size_t next;
    struct lk_sqlite_source *failed; /* the last that could not be; for its complaint */
    char refused[128];               /* what the guard refused last */
};

/*
 * The source with its statements, in a transaction; prepared again only where its text is new.
 * Owned by the store.
 */
int lk_sqlite_source_get(struct lk_sqlite *store, const struct lk_source *text,
                         struct lk_sqlite_source **ret_source);

/* Finalizes everything, before the connection is closed. */
void lk_sqlite_sources_done(struct lk_sqlite_sources *sources);

/* Up to `max` ids of rows to announce, as segments. */
int lk_sqlite_source_find(struct lk_sqlite *store, struct lk_sqlite_source *source, size_t max,
                          struct lk_set *ids);

/* Adds the rows that fit, but cannot be items. */
int lk_sqlite_source_skipped(struct lk_sqlite *store, struct lk_sqlite_source *source,
                             struct lk_skipped_rows *skipped_rows);

/* Whether the row of this id, a segment, fits the query now. */
int lk_sqlite_source_fits(struct lk_sqlite *store, struct lk_sqlite_source *source,
                          struct lk_slice id, bool *ret_fits);

/* A portion of lk_sqlite_table_purge(), behind the one that this store purged last. */
lk_outcome lk_sqlite_purge_some(struct lk_sqlite *store, const struct lk_source *source,
                                const struct lk_patience *patience, lk_error *error);

/* The parameters of the --done statement. */
struct lk_sqlite_completion {
    struct lk_slice id; /* a segment */
    struct lk_slice owner;
    uint64_t token;
    uint32_t attempt;
};

/* Runs that statement, if there is one. */
int lk_sqlite_source_complete(struct lk_sqlite *store, struct lk_sqlite_source *source,
                              const struct lk_sqlite_completion *completion);

/*
 * lk_sqlite_transaction_end(), but LK_INVALID and the complaint where one of the owner's statements
 * has failed. `source` may be NULL.
 */
lk_outcome lk_sqlite_source_end(struct lk_sqlite_transaction *transaction,
                                struct lk_sqlite_source *source, int code, lk_error *error);

/* Writes the complaint, if it is the owner's SQL that the code is about; returns the code. */
int lk_sqlite_source_blame(struct lk_sqlite *store, struct lk_sqlite_source *source,
                           const char *what, int code);

#endif
