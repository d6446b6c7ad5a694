/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of a store's tables: telling a store from any other file before anything is written,
 * creating the tables, and migrating an older format.
 */
#ifndef LK_SQL_FORMAT_H
#define LK_SQL_FORMAT_H

#include "sql/database.h"

enum {
    LK_SQL_FORMAT = 8,               /* this program reads, writes and creates it */
    LK_SQL_FORMAT_WRITABLE_FROM = 7, /* programs of this format may write what this one creates */
    LK_SQL_BOOT_ID_MAX = 64,         /* bytes of a boot's id */
    LK_SQL_NAME_MAX = 64,            /* room for a name of the schema */
};

enum lk_sql_identity {
    LK_SQL_IS_STORE,   /* carries the application id of schema.sql */
    LK_SQL_IS_EMPTY,   /* no byte yet: free to become a store */
    LK_SQL_IS_FOREIGN, /* a SQLite file of something else */
    LK_SQL_IS_NO_DATABASE,
};

/*
 * Reads the file's first bytes. Takes no lock and writes nothing, so that no file appears beside
 * one that is not a store.
 */
int lk_sql_identify(struct lk_sql *sql, enum lk_sql_identity *ret_identity);

/*
 * The format of the file's tables, and the oldest format whose programs may write them. 0 and 0:
 * there are none. Inside a transaction.
 */
int lk_sql_format_read(struct lk_sql *sql, int64_t *ret_format, int64_t *ret_writable_from);

/* Visits the name of everything that the schema makes. Returns the first code that is not OK. */
typedef int lk_sql_visit_name(void *context, struct lk_slice name);
int lk_sql_format_each_name(lk_sql_visit_name *visit, void *context);

/* A name of the schema that the file already uses, or the empty name. */
int lk_sql_format_clash(struct lk_sql *sql, char ret_name[LK_SQL_NAME_MAX]);

/*
 * Creates the tables, inside a write transaction. A file that has tables already keeps its
 * application id, unless that is 0.
 */
int lk_sql_format_create(struct lk_sql *sql, const char *boot_id);

/*
 * Runs steps[from] to steps[to - 1], where steps[n] leads from format n to n + 1, and
 * records the format `to`; inside a write transaction.
 */
int lk_sql_format_migrate(struct lk_sql *sql, const char *const *steps, int from, int to);

/* The steps from every former format to LK_SQL_FORMAT. */
extern const char *const lk_sql_format_steps[LK_SQL_FORMAT];

/* Whether this program may use a file of that format. */
static inline bool lk_sql_format_is_usable(int64_t format, int64_t writable_from) {
    return format >= 1 && (format <= LK_SQL_FORMAT || writable_from <= LK_SQL_FORMAT);
}

#endif
