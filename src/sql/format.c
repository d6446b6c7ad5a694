/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises, creates and migrates a store's tables. */
#include "sql/format.h"

#include <stdio.h>

#include "format_2.sql.h"
#include "format_3.sql.h"
#include "format_4.sql.h"
#include "format_5.sql.h"
#include "format_6.sql.h"
#include "format_7.sql.h"
#include "format_8.sql.h"
#include "sql/schema.h"

enum {
    HEADER_BYTES = 100,         /* of every SQLite file (sqlite.org/fileformat2.html) */
    APPLICATION_ID_OFFSET = 68, /* in that header, big-endian */
};

static const char sqlite_magic[16] = "SQLite format 3";
static const unsigned char application_id[4] = {'L', 'K', 'p', 'r'};

/* There is no format 0. */
const char *const lk_sql_format_steps[LK_SQL_FORMAT] = {NULL,          format_2_text, format_3_text,
                                                        format_4_text, format_5_text, format_6_text,
                                                        format_7_text, format_8_text};

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

int lk_sql_format_read(struct lk_sql *sql, int64_t *ret_format, int64_t *ret_writable_from) {
    bool is_present = false;
    bool is_former = false;
    int code = has(sql, "lk_meta", &is_present);

    *ret_format = *ret_writable_from = 0;
    if (code == SQLITE_OK && !is_present) {
        /* A table called meta may be any program's; the view is in all formats. */
        code = has(sql, "lk_locks", &is_former);
    }
    if (code != SQLITE_OK || (!is_present && !is_former)) {
        return code;
    }
    code = lk_sql_integer(
        sql, is_present ? "SELECT format FROM lk_meta" : "SELECT format FROM meta", ret_format);
    if (code != SQLITE_OK) {
        return code;
    }
    return lk_sql_integer(
        sql, is_present ? "SELECT writable_from FROM lk_meta" : "SELECT writable_from FROM meta",
        ret_writable_from);
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

int lk_sql_format_migrate(struct lk_sql *sql, const char *const *steps, int from, int to) {
    char update[64];

    for (int format = from; format < to; format++) {
        int code = lk_sql_execute(sql, steps[format]);
        if (code != SQLITE_OK) {
            return code;
        }
    }
    (void)snprintf(update, sizeof update, "UPDATE lk_meta SET format = %d", to);
    return lk_sql_execute(sql, update);
}
