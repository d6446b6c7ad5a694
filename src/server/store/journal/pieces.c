/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the image, written out row by row in pieces, and read back. A row is the number of
 * its table and its columns; each column has its type before it. Pieces name no columns: the list
 * below is the format, so it only grows, at its end.
 */
#include "base/error.h"
#include "server/store/journal/image.h"

enum { COLUMNS_MAX = 20, COLUMN_BYTES_MAX = 1 << 20 };

enum { TYPE_NULL, TYPE_INTEGER, TYPE_TEXT, TYPE_BYTES };

/* Rows in the order of their keys, which are the first columns; behind a key that is bound. */
#define TABLE(NAME, KEYS, COUNT, COLUMNS, BEHIND, VALUES)                                          \
    {                                                                                              \
        .keys = (KEYS), .columns = (COUNT),                                                        \
        .select = "SELECT " COLUMNS " FROM " NAME " WHERE " BEHIND,                                \
        .insert = "INSERT OR REPLACE INTO " NAME " (" COLUMNS ") VALUES (" VALUES ")"              \
    }

static const struct table {
    int keys;
    int columns;
    const char *select;
    const char *insert;
} tables[] = {
    {1, 10,
     "SELECT only_row, draw_floor, live_max, live_per_owner_max, live_per_root_max,"
     " waiters_per_path_max, events_max, watched_until_us, last_event, 0 FROM lk_meta"
     " WHERE only_row > ?1",
     "UPDATE lk_meta SET draw_floor = ?2, live_max = ?3, live_per_owner_max = ?4,"
     " live_per_root_max = ?5, waiters_per_path_max = ?6, events_max = ?7, watched_until_us = ?8,"
     " last_event = ?9 WHERE only_row = ?1 AND ?10 = 0"},
    TABLE("lk_value", 1, 3, "path, in_doubt, bytes", "path > ?1 ORDER BY path", "?1, ?2, ?3"),
    TABLE("lk_queue", 1, 8, "path, pushed, duplicates, claims, steals, done, retried, parked",
          "path > ?1 ORDER BY path", "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8"),
    TABLE("lk_item", 1, 16,
          "number, queue, id, sequence, state, due_us, due_unix_us, attempts, was_lost, is_head,"
          " needs, priority, last_exit, last_error, keep_ms, progress",
          "number > ?1 ORDER BY number",
          "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16"),
    TABLE("lk_strict_need", 2, 4, "item, path, queue, is_head",
          "(item, path) > (?1, ?2) ORDER BY item, path", "?1, ?2, ?3, ?4"),
    TABLE("lk_item_value", 1, 2, "item, bytes", "item > ?1 ORDER BY item", "?1, ?2"),
    TABLE("lk_request", 1, 18,
          "id, owner, note, state, revoked, attended, fixed, graced, ticket, token, ttl_ms,"
          " deadline_us, expires_unix_us, wants_value, is_claim, ask_number, max_attempts, bound",
          "id > ?1 ORDER BY id",
          "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18"),
    TABLE("lk_part", 2, 6, "request, position, path, mode, unit_limit, units",
          "(request, position) > (?1, ?2) ORDER BY request, position", "?1, ?2, ?3, ?4, ?5, ?6"),
    TABLE("lk_ended", 3, 4, "token, owner, paths, ended_us",
          "(token, owner, paths) > (?1, ?2, ?3) ORDER BY token, owner, paths", "?1, ?2, ?3, ?4"),
    TABLE("lk_audit", 1, 10,
          "id, at_unix_us, broken_by, reason, path, owner, note, ticket, token, held",
          "id > ?1 ORDER BY id", "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10"),
    TABLE("lk_event", 1, 14,
          "sequence, at_unix_us, event, refusal, parts, owner, note, ticket, token, attempt,"
          " is_of_item, is_deletion, broken_by, reason",
          "sequence > ?1 ORDER BY sequence",
          "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14"),
};
enum { TABLES = sizeof tables / sizeof tables[0] };

void lk_journal_progress_clear(struct lk_journal_progress *progress) {
    for (size_t i = 0; i < LK_JOURNAL_KEYS_MAX; i++) {
        sqlite3_value_free(progress->behind[i]);
    }
    *progress = (struct lk_journal_progress){.table = 0};
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_column(struct lk_journal_codec *codec, sqlite3_stmt *statement, int column) {
    struct lk_slice bytes;
    uint64_t type = TYPE_NULL;
    int64_t number;

    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        lk_journal_code_number(codec, &type);
        break;
    case SQLITE_TEXT:
    case SQLITE_BLOB:
        type = sqlite3_column_type(statement, column) == SQLITE_TEXT ? TYPE_TEXT : TYPE_BYTES;
        bytes = lk_sql_column_bytes(statement, column);
        lk_journal_code_number(codec, &type);
        lk_journal_code_text(codec, &bytes, COLUMN_BYTES_MAX);
        break;
    default:
        type = TYPE_INTEGER;
        number = sqlite3_column_int64(statement, column);
        lk_journal_code_number(codec, &type);
        lk_journal_code_signed(codec, &number);
        break;
    }
}

/* A key is smaller than all others, in the order of SQLite, as long as it is this number. */
static int bind_behind(sqlite3_stmt *statement, const struct lk_journal_progress *progress,
                       int keys) {
    int code = SQLITE_OK;

    for (int i = 0; i < keys && code == SQLITE_OK; i++) {
        code = progress->behind[i] != NULL
                   ? sqlite3_bind_value(statement, i + 1, progress->behind[i])
                   : sqlite3_bind_int64(statement, i + 1, INT64_MIN);
    }
    return code;
}

static int keep_behind(sqlite3_stmt *statement, struct lk_journal_progress *progress, int keys) {
    for (int i = 0; i < keys; i++) {
        sqlite3_value_free(progress->behind[i]);
        progress->behind[i] = sqlite3_value_dup(sqlite3_column_value(statement, i));
        if (progress->behind[i] == NULL) {
            return SQLITE_NOMEM;
        }
    }
    return SQLITE_OK;
}

/* Rows of one table, until the buffer has that size or there are no more. */
static int write_rows(struct lk_journal_image *image, struct lk_journal_progress *progress,
                      size_t size, struct lk_journal_codec *codec) {
    const struct table *table = &tables[progress->table];
    uint64_t number = progress->table;
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(image->sql.handle, table->select, -1, &statement, NULL);

    if (code == SQLITE_OK) {
        code = bind_behind(statement, progress, table->keys);
    }
    while (code == SQLITE_OK && codec->out->size < size) {
        if (sqlite3_step(statement) != SQLITE_ROW) {
            code = SQLITE_DONE;
            break;
        }
        lk_journal_code_number(codec, &number);
        for (int i = 0; i < table->columns; i++) {
            write_column(codec, statement, i);
        }
        code = codec->out->failed ? SQLITE_NOMEM : keep_behind(statement, progress, table->keys);
    }
    if (code == SQLITE_DONE) {
        return sqlite3_finalize(statement) == SQLITE_OK ? SQLITE_DONE : SQLITE_NOMEM;
    }
    (void)sqlite3_finalize(statement);
    return code;
}

int lk_journal_image_write_piece(struct lk_journal_image *image,
                                 struct lk_journal_progress *progress, size_t bytes,
                                 struct lk_buffer *out) {
    struct lk_journal_codec codec = {.out = out};
    size_t size = out->size + bytes;
    int code = SQLITE_OK;

    while (code == SQLITE_OK && !progress->is_done && out->size < size) {
        code = write_rows(image, progress, size, &codec);
        if (code == SQLITE_DONE) {
            size_t next = progress->table + 1;

            lk_journal_progress_clear(progress);
            progress->table = next;
            progress->is_done = next == TABLES;
            code = SQLITE_OK;
        }
    }
    return code;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_column(struct lk_journal_codec *codec, sqlite3_stmt *statement, int column) {
    struct lk_slice bytes = {NULL, 0};
    uint64_t type = TYPE_NULL;
    int64_t number = 0;

    lk_journal_code_number(codec, &type);
    if (type == TYPE_INTEGER) {
        lk_journal_code_signed(codec, &number);
        return sqlite3_bind_int64(statement, column, number);
    }
    if (type == TYPE_TEXT || type == TYPE_BYTES) {
        lk_journal_code_text(codec, &bytes, COLUMN_BYTES_MAX);
        return type == TYPE_TEXT ? lk_sql_bind_text(statement, column, bytes)
                                 : lk_sql_bind_bytes(statement, column, bytes);
    }
    codec->failed = codec->failed || type != TYPE_NULL;
    return sqlite3_bind_null(statement, column);
}

static int read_rows(struct lk_journal_image *image, struct lk_journal_codec *codec,
                     sqlite3_stmt *statements[TABLES]) {
    int code = SQLITE_OK;

    while (code == SQLITE_OK && lk_journal_has_more(codec)) {
        uint64_t number = 0;
        sqlite3_stmt **statement;

        lk_journal_code_number(codec, &number);
        if (number >= TABLES) {
            codec->failed = true;
            break;
        }
        statement = &statements[number];
        if (*statement == NULL) {
            code =
                sqlite3_prepare_v2(image->sql.handle, tables[number].insert, -1, statement, NULL);
        }
        for (int i = 1; i <= tables[number].columns && code == SQLITE_OK; i++) {
            code = read_column(codec, *statement, i);
        }
        if (code == SQLITE_OK && !codec->failed) {
            (void)sqlite3_step(*statement);
            code = sqlite3_reset(*statement);
        }
    }
    return code;
}

lk_outcome lk_journal_image_read_piece(struct lk_journal_image *image, struct lk_slice piece,
                                       lk_error *error) {
    struct lk_journal_codec codec = lk_journal_reader(piece);
    sqlite3_stmt *statements[TABLES] = {NULL};
    int code = read_rows(image, &codec, statements);

    for (size_t i = 0; i < TABLES; i++) {
        (void)sqlite3_finalize(statements[i]);
    }
    if (code == SQLITE_OK && codec.failed) {
        return lk_error_set(error, LK_INVALID, "what is kept in %s is damaged (a piece)",
                            image->title);
    }
    return code == SQLITE_OK ? LK_OK : lk_journal_image_explain(image, code, error);
}

/* An item may have gone, or changed, between the piece with its row and those with what is its. */
#define FIT_TO_ITEMS                                                                               \
    "DELETE FROM lk_item_value WHERE item NOT IN (SELECT number FROM lk_item);"                    \
    "DELETE FROM lk_strict_need WHERE item NOT IN (SELECT number FROM lk_item);"                   \
    "UPDATE lk_strict_need SET is_head = (SELECT is_head FROM lk_item WHERE number = item)"

lk_outcome lk_journal_image_finish(struct lk_journal_image *image, lk_error *error) {
    int64_t last = 0;
    int code = lk_sql_execute(&image->sql, FIT_TO_ITEMS);

    if (code == SQLITE_OK) {
        code = lk_sql_integer(&image->sql, "SELECT ifnull(max(id), 0) FROM lk_audit", &last);
    }
    if (code != SQLITE_OK) {
        return lk_journal_image_explain(image, code, error);
    }
    image->audit_last = (uint64_t)last;
    return LK_OK;
}
