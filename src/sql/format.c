/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises, creates and upgrades a store's tables. */
#include "sql/format.h"

#include <ctype.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "sql/counts.h"
#include "sql/lines.h"
#include "sql/schema.h"

enum {
    HEADER_BYTES = 100,         /* of every SQLite file (sqlite.org/fileformat2.html) */
    APPLICATION_ID_OFFSET = 68, /* in that header, big-endian */
    APPLICATION_ID = 0x4c4b7072,
};

static const char sqlite_magic[16] = "SQLite format 3";
static const unsigned char application_id[4] = {'L', 'K', 'p', 'r'};

/* Format 1 is the first one: no step leads to it. */
const struct lk_sql_formats lk_sql_formats = {
    .format = LK_SQL_FORMAT,
    .writable_from = LK_SQL_FORMAT_WRITABLE_FROM,
    .steps = NULL,
};

int lk_sql_identify(struct lk_sql *sql, enum lk_sql_identity *ret_identity) {
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    unsigned char header[HEADER_BYTES];
    int code = sqlite3_file_control(sql->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);

    /*
     * Through SQLite's own handle: a descriptor opened and closed here would, by the rules of
     * POSIX, drop the locks that other connections of this process have on the file.
     */
    if (code == SQLITE_OK) {
        code = file->pMethods->xFileSize(file, &size);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    if (size == 0) {
        /* SQLite gives the size of a file of one byte as 0. */
        code = file->pMethods->xRead(file, header, 1, 0);
        *ret_identity = code == SQLITE_OK ? LK_SQL_IS_NO_DATABASE : LK_SQL_IS_EMPTY;
        return code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
    }
    if (size < HEADER_BYTES) {
        *ret_identity = LK_SQL_IS_NO_DATABASE;
        return SQLITE_OK;
    }
    code = file->pMethods->xRead(file, header, HEADER_BYTES, 0);
    if (code != SQLITE_OK) {
        return code;
    }
    if (memcmp(header, sqlite_magic, sizeof sqlite_magic) != 0) {
        *ret_identity = LK_SQL_IS_NO_DATABASE;
    } else if (memcmp(header + APPLICATION_ID_OFFSET, application_id, sizeof application_id) != 0) {
        *ret_identity = LK_SQL_IS_FOREIGN;
    } else {
        *ret_identity = LK_SQL_IS_STORE;
    }
    return SQLITE_OK;
}

/* Whether the file has a table or view of that name. */
static int has(struct lk_sql *sql, const char *name, bool *ret_has) {
    char query[128];
    int64_t count = 0;
    int code;

    (void)sqlite3_snprintf((int)sizeof query, query,
                           "SELECT count(*) FROM sqlite_schema WHERE name = %Q", name);
    code = lk_sql_integer(sql, query, &count);
    *ret_has = count > 0;
    return code;
}

static int is_marked(struct lk_sql *sql, bool *ret_is_marked) {
    int64_t id = 0;
    int code = lk_sql_integer(sql, "PRAGMA application_id", &id);

    *ret_is_marked = id == APPLICATION_ID;
    return code;
}

/* The first number that the query gives, or LK_SQL_FORMAT_UNTOLD: none that is positive. */
static int read_number(struct lk_sql *sql, const char *query, int64_t *ret_number) {
    int64_t number = 0;
    int code = lk_sql_integer(sql, query, &number);

    *ret_number = number > 0 ? number : LK_SQL_FORMAT_UNTOLD;
    return code;
}

int lk_sql_format_read(struct lk_sql *sql, int64_t *ret_format, int64_t *ret_writable_from) {
    bool is_present = false;
    bool is_marked_file = false;
    int code = has(sql, "lk_meta", &is_present);

    *ret_format = *ret_writable_from = LK_SQL_FORMAT_NONE;
    if (code != SQLITE_OK) {
        return code;
    }
    if (!is_present) {
        code = is_marked(sql, &is_marked_file);
        if (code == SQLITE_OK && is_marked_file) {
            code = has(sql, "lk_locks", &is_present);
        }
        if (is_present) {
            *ret_format = *ret_writable_from = LK_SQL_FORMAT_UNTOLD;
        }
        return code;
    }
    code = read_number(sql, "SELECT max(format) FROM lk_meta", ret_format);
    if (code == SQLITE_OK) {
        code = read_number(sql, "SELECT max(writable_from) FROM lk_meta", ret_writable_from);
    }
    if (code == SQLITE_ERROR) { /* it has no such column */
        sql->rejected[0] = '\0';
        *ret_format = *ret_writable_from = LK_SQL_FORMAT_UNTOLD;
        code = SQLITE_OK;
    }
    return code;
}

int lk_sql_format_each_name(lk_sql_visit_name *visit, void *context) {
    sqlite3 *scratch = NULL;
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_open(":memory:", &scratch);

    if (code == SQLITE_OK) {
        code = sqlite3_exec(scratch, lk_sql_schema_sqlite(), NULL, NULL, NULL);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_prepare_v2(scratch,
                                  "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'",
                                  -1, &statement, NULL);
    }
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        code = visit(context, lk_sql_column_text(statement, 0));
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(scratch);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

struct clash {
    struct lk_sql *sql;
    char *name; /* LK_SQL_NAME_MAX bytes */
};

static int note_clash(void *context, struct lk_slice name) {
    struct clash *clash = context;
    char query[256];
    int64_t count = 0;
    int code;

    (void)sqlite3_snprintf((int)sizeof query, query,
                           "SELECT count(*) FROM sqlite_schema WHERE lower(name) = %.*Q",
                           (int)name.size, name.bytes);
    code = lk_sql_integer(clash->sql, query, &count);
    if (code == SQLITE_OK && count > 0) {
        (void)snprintf(clash->name, LK_SQL_NAME_MAX, "%.*s", (int)name.size, name.bytes);
    }
    return code;
}

int lk_sql_format_clash(struct lk_sql *sql, char ret_name[LK_SQL_NAME_MAX]) {
    struct clash clash = {.sql = sql, .name = ret_name};

    ret_name[0] = '\0';
    return lk_sql_format_each_name(note_clash, &clash);
}

int lk_sql_format_create(struct lk_sql *sql, const char *boot_id) {
    char insert[256];
    char keep[64];
    int64_t tables = 0;
    int64_t id = 0;
    int code = lk_sql_integer(sql, "SELECT count(*) FROM sqlite_schema", &tables);

    if (code == SQLITE_OK) {
        code = lk_sql_integer(sql, "PRAGMA application_id", &id);
    }
    if (code == SQLITE_OK) {
        code = lk_sql_execute(sql, lk_sql_schema_sqlite());
    }
    if (code == SQLITE_OK && tables > 0 && id != 0) {
        (void)snprintf(keep, sizeof keep, "PRAGMA application_id = %d", (int)id);
        code = lk_sql_execute(sql, keep);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    (void)sqlite3_snprintf(
        (int)sizeof insert, insert,
        "INSERT INTO lk_meta (only_row, format, writable_from, boot_id, draw_floor,"
        " sweep_root) VALUES (1, %d, %d, %Q, 0, '')",
        LK_SQL_FORMAT, LK_SQL_FORMAT_WRITABLE_FROM, boot_id);
    return lk_sql_execute(sql, insert);
}

bool lk_sql_format_has_steps(const struct lk_sql_formats *formats, int64_t from) {
    if (from < 1 || from >= formats->format || formats->steps == NULL) {
        return false;
    }
    for (int64_t format = from; format < formats->format; format++) {
        if (formats->steps[format] == NULL) {
            return false;
        }
    }
    return true;
}

int lk_sql_format_upgrade(struct lk_sql *sql, const struct lk_sql_formats *formats, int64_t from) {
    char update[96];

    for (int64_t format = from; format < formats->format; format++) {
        int code = lk_sql_execute(sql, formats->steps[format]);
        if (code != SQLITE_OK) {
            return code;
        }
    }
    (void)snprintf(update, sizeof update, "UPDATE lk_meta SET format = %d, writable_from = %d",
                   formats->format, formats->writable_from);
    return lk_sql_execute(sql, update);
}

lk_outcome lk_sql_format_refuse(const char *what, int64_t format, int known, const char *where,
                                lk_error *error) {
    char bytes[64];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);

    if (format == LK_SQL_FORMAT_UNTOLD) {
        lk_text_format(&text, "tell no format");
    } else {
        lk_text_format(&text, "have format %lld", (long long)format);
    }
    return lk_error_set(error, LK_UNSUPPORTED,
                        "%s %s, and this program knows format %d: use the program that made them "
                        "or brought them up to date, or a new store: %s",
                        what, bytes, known, where);
}

/* ---- code of strangers ----------------------------------------------------------------------- */

/*
 * Triggers and views that this library has not made. SQLite runs a trigger with the rights of the
 * program that writes the row, so one in a file that others may write changes what is promised.
 *
 * Those at the store's tables, or under a name of the store's. Others run for nothing that this
 * library does: a view of the owner's over lk_locks, a trigger at a table of the owner's. SQLite
 * keeps the text as it was written, from the name on.
 */
static const char code_query[] =
    "SELECT name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view')"
    " AND (lower(tbl_name) GLOB 'lk_*' OR lower(name) GLOB 'lk_*')";

/* Behind "CREATE TRIGGER" or "CREATE VIEW"; NULL: the text begins otherwise. */
static const char *from_name(const char *text) {
    static const char *const beginnings[] = {"CREATE TRIGGER ", "CREATE VIEW "};

    for (size_t i = 0; text != NULL && i < sizeof beginnings / sizeof beginnings[0]; i++) {
        size_t size = strlen(beginnings[i]);
        if (strncmp(text, beginnings[i], size) == 0) {
            return text + size;
        }
    }
    return NULL;
}

/* Whether the text is one whole statement of `script`, but for its beginning. */
static bool is_in(const char *script, const char *text) {
    size_t size = strlen(text);

    for (const char *at = strstr(script, text); at != NULL; at = strstr(at + 1, text)) {
        if (at > script && isspace((unsigned char)at[-1]) && at[size] == ';') {
            return true;
        }
    }
    return false;
}

static bool is_own(const char *text) {
    const char *const scripts[] = {lk_sql_schema_sqlite(), lk_sql_counting_script,
                                   lk_sql_hidden_cycle_script};
    const char *from = from_name(text);

    for (size_t i = 0; from != NULL && i < sizeof scripts / sizeof scripts[0]; i++) {
        if (is_in(scripts[i], from)) {
            return true;
        }
    }
    return false;
}

int lk_sql_find_foreign(struct lk_sql *sql, char ret_name[LK_SQL_NAME_MAX]) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(sql->handle, code_query, -1, &statement, NULL);

    ret_name[0] = '\0';
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        code = SQLITE_OK;
        if (!is_own((const char *)sqlite3_column_text(statement, 1))) {
            const char *name = (const char *)sqlite3_column_text(statement, 0);
            (void)snprintf(ret_name, LK_SQL_NAME_MAX, "%s",
                           name != NULL && name[0] != '\0' ? name : "?");
            break;
        }
    }
    (void)sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}
