/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of a store's tables: telling a store from any other file before anything is written,
 * creating the tables, upgrading those of an older format, and finding code in a file that is not
 * the store's. docs/operations.md, Formats, says what programs may expect of each other.
 */
#ifndef LK_SQL_FORMAT_H
#define LK_SQL_FORMAT_H

#include "sql/database.h"

enum {
    LK_SQL_FORMAT = 1,               /* this program reads, writes and creates it */
    LK_SQL_FORMAT_WRITABLE_FROM = 1, /* programs of this format may write what this one creates */
    LK_SQL_FORMAT_NONE = 0,          /* there are no tables of a store */
    LK_SQL_FORMAT_UNTOLD = -1,       /* there are some, which tell no format */
    LK_SQL_BOOT_ID_MAX = 64,         /* bytes of a boot's id */
    LK_SQL_NAME_MAX = 64,            /* room for a name of the schema */
};

/*
 * What a program knows of formats. steps[n] leads from format n to n + 1, as SQL; NULL: there is no
 * such step. A step keeps lk_meta with its columns `format` and `writable_from`. No step runs while
 * something is held, claimed or waiting.
 */
struct lk_sql_formats {
    int format;
    int writable_from;
    const char *const *steps; /* `format` of them, steps[0] is not used; NULL: there are none */
};
extern const struct lk_sql_formats lk_sql_formats; /* this program's */

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
 * The format of the file's tables, and the oldest format whose programs may write them; or
 * LK_SQL_FORMAT_NONE or LK_SQL_FORMAT_UNTOLD. Inside a transaction.
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

/* Whether steps lead from that format to the program's. */
bool lk_sql_format_has_steps(const struct lk_sql_formats *formats, int64_t from);

/* Runs these steps, and records the format; inside a write transaction. */
int lk_sql_format_upgrade(struct lk_sql *sql, const struct lk_sql_formats *formats, int64_t from);

/* Whether the program may use a file of that format. */
static inline bool lk_sql_format_is_usable(const struct lk_sql_formats *formats, int64_t format,
                                           int64_t writable_from) {
    return format == formats->format
           || (format > formats->format && writable_from >= 1 && writable_from <= formats->format);
}

/*
 * LK_UNSUPPORTED, with the sentence for a store of a format that is not usable by a program that
 * knows another one: `what` of the store, which is `where`.
 */
lk_outcome lk_sql_format_refuse(const char *what, int64_t format, int known, const char *where,
                                lk_error *error);

/*
 * A trigger at the store's tables, or a trigger or view under a name of the store's, that no
 * statement of this library has made; or the empty name. Inside a transaction.
 */
int lk_sql_find_foreign(struct lk_sql *sql, char ret_name[LK_SQL_NAME_MAX]);

#endif
