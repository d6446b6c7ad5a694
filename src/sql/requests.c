/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as rows. */
#include "sql/requests.h"

#include <stdio.h>

/* The columns of LK_SQL_REQUEST_LOAD and LK_SQL_REQUESTS_LOAD. */
enum {
    COLUMN_OWNER,
    COLUMN_NOTE,
    COLUMN_STATE,
    COLUMN_REVOKED,
    COLUMN_ATTENDED,
    COLUMN_FIXED,
    COLUMN_GRACED,
    COLUMN_TICKET,
    COLUMN_TOKEN,
    COLUMN_TTL,
    COLUMN_DEADLINE,
    COLUMN_EXPIRES,
    COLUMN_WANTS_VALUE,
    COLUMN_IS_CLAIM,
    COLUMN_ASK_NUMBER,
    COLUMN_MAX_ATTEMPTS,
    COLUMN_PATH,
    COLUMN_MODE,
    COLUMN_LIMIT,
    COLUMN_UNITS,
    COLUMN_BOUND,
    COLUMN_POSITION,
    COLUMN_ID, /* the latter only */
};

static const char waiting_text[] = "waiting";
static const char held_text[] = "held";
static const char exclusive_text[] = "exclusive";
static const char shared_text[] = "shared";

static int complain(struct lk_sql *sql, uint64_t id, const char *about) {
    (void)snprintf(sql->complaint, sizeof sql->complaint, "request %llu: %s",
                   (unsigned long long)id, about);
    return SQLITE_CORRUPT;
}

/* Copies a column into `buffer`; false when it does not fit. */
static bool copy_column(sqlite3_stmt *statement, int column, char *buffer, size_t capacity,
                        struct lk_slice *ret_copy) {
    struct lk_slice text = lk_sql_column_text(statement, column);

    if (text.size > capacity) {
        return false;
    }
    if (text.size > 0) {
        memcpy(buffer, text.bytes, text.size);
    }
    *ret_copy = (struct lk_slice){.bytes = buffer, .size = text.size};
    return true;
}

static bool is_instant(int64_t instant_us) {
    return instant_us >= -LK_SQL_INSTANT_MAX && instant_us <= LK_SQL_INSTANT_MAX;
}

/* R4: a reading of the wall clock, or slightly more; 0: none. */
static bool is_draw(int64_t draw) {
    return draw >= 0 && draw <= LK_SQL_INSTANT_MAX;
}

/* Values and work (R15, R16). Returns what is wrong, or NULL. */
static const char *decode_purpose(sqlite3_stmt *statement, struct lk_record *record) {
    int64_t max_attempts = sqlite3_column_int64(statement, COLUMN_MAX_ATTEMPTS);

    record->wants_value = sqlite3_column_int(statement, COLUMN_WANTS_VALUE) != 0;
    record->is_claim = sqlite3_column_int(statement, COLUMN_IS_CLAIM) != 0;
    record->ask_number = (uint64_t)sqlite3_column_int64(statement, COLUMN_ASK_NUMBER);
    if (max_attempts < 0 || max_attempts > LK_ATTEMPTS_MAX) {
        return "its greatest number of attempts is out of range";
    }
    record->max_attempts = (uint32_t)max_attempts;
    return NULL;
}

/* Everything but the parts. Returns what is wrong with it, or NULL. */
static const char *decode_request(sqlite3_stmt *statement, uint64_t id,
                                  struct lk_sql_request *request) {
    struct lk_record *record = &request->record;
    struct lk_slice state = lk_sql_column_text(statement, COLUMN_STATE);

    if (lk_slice_equal(state, lk_slice_of(held_text))) {
        record->state = LK_STATE_HELD;
    } else if (lk_slice_equal(state, lk_slice_of(waiting_text))) {
        record->state = LK_STATE_WAITING;
    } else {
        return "its state is neither waiting nor held";
    }
    if (!copy_column(statement, COLUMN_OWNER, request->owner, sizeof request->owner, &record->owner)
        || record->owner.size == 0) {
        return "its owner is empty or too long";
    }
    if (!copy_column(statement, COLUMN_NOTE, request->note, sizeof request->note, &record->note)) {
        return "its note has more than 255 bytes";
    }
    record->id = id;
    record->revoked = sqlite3_column_int(statement, COLUMN_REVOKED) != 0;
    record->attended = sqlite3_column_int(statement, COLUMN_ATTENDED) != 0;
    record->fixed = sqlite3_column_int(statement, COLUMN_FIXED) != 0;
    record->ticket = (uint64_t)sqlite3_column_int64(statement, COLUMN_TICKET);
    record->token = (uint64_t)sqlite3_column_int64(statement, COLUMN_TOKEN);
    record->ttl_ms = sqlite3_column_int64(statement, COLUMN_TTL);
    record->deadline_us = sqlite3_column_int64(statement, COLUMN_DEADLINE);
    request->graced = sqlite3_column_int(statement, COLUMN_GRACED) != 0;
    request->expires_unix_us = sqlite3_column_int64(statement, COLUMN_EXPIRES);
    request->bound = sqlite3_column_int(statement, COLUMN_BOUND) != 0;
    if (record->ttl_ms <= 0 || record->ttl_ms > LK_TTL_MAX_MS) {
        return "its ttl is out of range";
    }
    if (!is_draw((int64_t)record->ticket) || !is_draw((int64_t)record->token)
        || record->ticket == 0) {
        return "its ticket or its token is out of range";
    }
    if ((record->state == LK_STATE_HELD) != (record->token != 0)) {
        return "it is held without a token, or waits with one";
    }
    if (!is_instant(record->deadline_us) || !is_instant(request->expires_unix_us)) {
        return "its deadline is out of range";
    }
    return decode_purpose(statement, record);
}

/* The next part, its path at *used in the record's text. Returns what is wrong, or NULL. */
static const char *decode_part(sqlite3_stmt *statement, struct lk_record *record, size_t *used) {
    struct lk_slice path = lk_sql_column_text(statement, COLUMN_PATH);
    struct lk_slice mode = lk_sql_column_text(statement, COLUMN_MODE);
    int64_t limit = sqlite3_column_int64(statement, COLUMN_LIMIT);
    int64_t units = sqlite3_column_int64(statement, COLUMN_UNITS);
    struct lk_part *part = &record->parts[record->part_count];

    if (sqlite3_column_type(statement, COLUMN_PATH) == SQLITE_NULL) {
        return "it has no parts";
    }
    if (record->part_count == LK_PARTS_MAX) {
        return "it has more than 16 parts";
    }
    if (sqlite3_column_int64(statement, COLUMN_POSITION) != (int64_t)record->part_count) {
        return "a part of its is missing";
    }
    if (path.size > LK_PATH_BYTES_MAX) {
        return "a path of its has more than 512 bytes";
    }
    if (path.size > 0) {
        memcpy(record->text + *used, path.bytes, path.size);
    }
    path.bytes = record->text + *used;
    if (lk_path_parse(path, &part->path, NULL) != LK_OK || part->path.size != path.size) {
        return "a path of its is not one";
    }
    *used += path.size;
    if (lk_slice_equal(mode, lk_slice_of(shared_text))) {
        part->mode = LK_SHARED;
    } else if (lk_slice_equal(mode, lk_slice_of(exclusive_text))) {
        part->mode = LK_EXCLUSIVE;
    } else {
        return "a mode of its is neither exclusive nor shared";
    }
    if (limit < 0 || limit > LK_LIMIT_MAX || units < 0 || units > LK_LIMIT_MAX) {
        return "a limit or its units are out of range";
    }
    part->limit = (uint32_t)limit;
    part->units = (uint32_t)units;
    part->strict = false;
    record->part_count++;
    return NULL;
}

int lk_sql_request_load(struct lk_sql *sql, uint64_t id, struct lk_sql_request *ret_request) {
    sqlite3_stmt *statement;
    const char *wrong = NULL;
    size_t used = 0;
    int code = lk_sql_statement(sql, LK_SQL_REQUEST_LOAD, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    ret_request->record.part_count = 0;
    (void)lk_sql_bind_integer(statement, 1, (int64_t)id);
    while (wrong == NULL && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (ret_request->record.part_count == 0) {
            wrong = decode_request(statement, id, ret_request);
        }
        if (wrong == NULL) {
            wrong = decode_part(statement, &ret_request->record, &used);
        }
    }
    code = lk_sql_done(statement, code);
    if (wrong == NULL && code == SQLITE_OK && ret_request->record.part_count == 0) {
        wrong = "it has no row, or no parts";
    }
    return wrong != NULL ? complain(sql, id, wrong) : code;
}

/*
 * Decodes the current row, which continues its request's last row. Returns what is wrong, or NULL.
 */
static const char *decode_row(sqlite3_stmt *statement, struct lk_sql_request *request,
                              size_t *used) {
    const char *wrong = NULL;

    if (request->record.part_count == 0) {
        uint64_t id = (uint64_t)sqlite3_column_int64(statement, COLUMN_ID);
        wrong = decode_request(statement, id, request);
        *used = 0;
    }
    return wrong != NULL ? wrong : decode_part(statement, &request->record, used);
}

int lk_sql_requests_each(struct lk_sql *sql, struct lk_sql_request *request,
                         lk_sql_visit_request *visit, void *context) {
    uint64_t id = 0;
    size_t used = 0;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_REQUESTS_LOAD, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    request->record.part_count = 0;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *wrong;
        uint64_t row_id = (uint64_t)sqlite3_column_int64(statement, COLUMN_ID);

        if (row_id != id && request->record.part_count > 0) {
            code = visit(context, request);
            request->record.part_count = 0;
            if (code != SQLITE_OK) {
                return lk_sql_done(statement, code);
            }
        }
        id = row_id;
        wrong = decode_row(statement, request, &used);
        if (wrong != NULL) {
            (void)lk_sql_done(statement, SQLITE_OK);
            return complain(sql, id, wrong);
        }
    }
    code = lk_sql_done(statement, code);
    return code == SQLITE_OK && request->record.part_count > 0 ? visit(context, request) : code;
}

int lk_sql_request_save(struct lk_sql *sql, const struct lk_record *record, int64_t expires_unix_us,
                        bool bound) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_REQUEST_SAVE, &statement);
    const char *state = record->state == LK_STATE_HELD ? held_text : waiting_text;

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, (int64_t)record->id);
    (void)lk_sql_bind_text(statement, 2, record->owner);
    (void)lk_sql_bind_text(statement, 3, record->note);
    (void)lk_sql_bind_text(statement, 4, lk_slice_of(state));
    (void)lk_sql_bind_integer(statement, 5, record->revoked);
    (void)lk_sql_bind_integer(statement, 6, record->attended);
    (void)lk_sql_bind_integer(statement, 7, record->fixed);
    (void)lk_sql_bind_integer(statement, 8, false);
    (void)lk_sql_bind_integer(statement, 9, (int64_t)record->ticket);
    (void)lk_sql_bind_integer(statement, 10, (int64_t)record->token);
    (void)lk_sql_bind_integer(statement, 11, record->ttl_ms);
    (void)lk_sql_bind_integer(statement, 12, record->deadline_us);
    (void)lk_sql_bind_integer(statement, 13, expires_unix_us);
    (void)lk_sql_bind_integer(statement, 14, record->wants_value);
    (void)lk_sql_bind_integer(statement, 15, record->is_claim);
    (void)lk_sql_bind_integer(statement, 16, (int64_t)record->ask_number);
    (void)lk_sql_bind_integer(statement, 17, record->max_attempts);
    (void)lk_sql_bind_integer(statement, 18, bound);
    return lk_sql_run(statement);
}

int lk_sql_parts_save(struct lk_sql *sql, const struct lk_record *record) {
    for (size_t i = 0; i < record->part_count; i++) {
        const struct lk_part *part = &record->parts[i];
        struct lk_slice path = {part->path.bytes, part->path.size};
        const char *mode = part->mode == LK_SHARED ? shared_text : exclusive_text;
        sqlite3_stmt *statement;
        int code = lk_sql_statement(sql, LK_SQL_PART_SAVE, &statement);
        if (code != SQLITE_OK) {
            return code;
        }
        (void)lk_sql_bind_integer(statement, 1, (int64_t)record->id);
        (void)lk_sql_bind_integer(statement, 2, (int64_t)i);
        (void)lk_sql_bind_text(statement, 3, path);
        (void)lk_sql_bind_text(statement, 4, lk_slice_of(mode));
        (void)lk_sql_bind_integer(statement, 5, part->limit);
        (void)lk_sql_bind_integer(statement, 6, part->units);
        code = lk_sql_run(statement);
        if (code != SQLITE_OK) {
            return code;
        }
    }
    return SQLITE_OK;
}

int lk_sql_request_delete(struct lk_sql *sql, uint64_t id) {
    static const enum lk_sql_statement both[] = {LK_SQL_PARTS_DELETE, LK_SQL_REQUEST_DELETE};

    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
        sqlite3_stmt *statement;
        int code = lk_sql_statement(sql, both[i], &statement);
        if (code == SQLITE_OK) {
            (void)lk_sql_bind_integer(statement, 1, (int64_t)id);
            code = lk_sql_run(statement);
        }
        if (code != SQLITE_OK) {
            return code;
        }
    }
    return SQLITE_OK;
}

int lk_sql_request_greatest(struct lk_sql *sql, uint64_t *ret_id) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_REQUEST_GREATEST, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *ret_id = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    return lk_sql_done(statement, code);
}

int lk_sql_request_is_found(struct lk_sql *sql, uint64_t id) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_REQUEST_IS_FOUND, &statement);
    bool is_found;

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, (int64_t)id);
    code = sqlite3_step(statement);
    is_found = code == SQLITE_ROW;
    code = lk_sql_done(statement, code);
    return code == SQLITE_OK && !is_found ? complain(sql, id, "it is not found by its path") : code;
}

int lk_sql_walk(sqlite3_stmt *statement, lk_sql_visit *visit, void *context) {
    int code;

    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        code = visit(context, (uint64_t)sqlite3_column_int64(statement, 0));
        if (code != SQLITE_OK) {
            break;
        }
    }
    return lk_sql_done(statement, code);
}

int lk_sql_each(struct lk_sql *sql, lk_sql_visit *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ALL, &statement);

    return code == SQLITE_OK ? lk_sql_walk(statement, visit, context) : code;
}

int lk_sql_walk_text(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice text,
                     lk_sql_visit *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, text);
    return lk_sql_walk(statement, visit, context);
}

int lk_sql_each_at(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit, void *context) {
    return lk_sql_walk_text(sql, LK_SQL_AT, path, visit, context);
}

int lk_sql_walk_of(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice path,
                   struct lk_slice owner, lk_sql_visit *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    (void)lk_sql_bind_text(statement, 2, owner);
    return lk_sql_walk(statement, visit, context);
}

int lk_sql_each_at_of(struct lk_sql *sql, struct lk_slice path, struct lk_slice owner,
                      lk_sql_visit *visit, void *context) {
    return lk_sql_walk_of(sql, LK_SQL_AT_OF, path, owner, visit, context);
}

int lk_sql_each_waiting_of(struct lk_sql *sql, struct lk_slice owner, lk_sql_visit *visit,
                           void *context) {
    return lk_sql_walk_text(sql, LK_SQL_WAITING_OF, owner, visit, context);
}

void lk_sql_range_below(struct lk_slice path, struct lk_sql_range *ret_range) {
    memcpy(ret_range->low, path.bytes, path.size);
    memcpy(ret_range->high, path.bytes, path.size);
    ret_range->low[path.size] = '/';
    ret_range->high[path.size] = '/' + 1;
    ret_range->size = path.size + 1;
}

/* Of every path where `prefix` is empty. */
static void range_from(struct lk_slice prefix, struct lk_sql_range *ret_range) {
    if (prefix.size > 0) {
        lk_sql_range_below(prefix, ret_range);
    } else { /* no path has such a byte, which is greater than any */
        *ret_range = (struct lk_sql_range){.size = 1, .low = "", .high = "\xff"};
    }
}

void lk_sql_bind_range(sqlite3_stmt *statement, int index, const struct lk_sql_range *range) {
    (void)lk_sql_bind_text(statement, index, (struct lk_slice){range->low, range->size});
    (void)lk_sql_bind_text(statement, index + 1, (struct lk_slice){range->high, range->size});
}

int lk_sql_page_from(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice prefix,
                     struct lk_slice behind, struct lk_sql_range *room,
                     sqlite3_stmt **ret_statement) {
    int code = lk_sql_statement(sql, which, ret_statement);

    if (code == SQLITE_OK) {
        range_from(prefix, room);
        (void)lk_sql_bind_text(*ret_statement, 1, prefix);
        lk_sql_bind_range(*ret_statement, 2, room);
        (void)lk_sql_bind_text(*ret_statement, 4, behind);
    }
    return code;
}

int lk_sql_walk_below(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice path,
                      lk_sql_visit *visit, void *context) {
    struct lk_sql_range range;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    lk_sql_range_below(path, &range);
    lk_sql_bind_range(statement, 1, &range);
    return lk_sql_walk(statement, visit, context);
}

int lk_sql_each_below(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit,
                      void *context) {
    return lk_sql_walk_below(sql, LK_SQL_BELOW, path, visit, context);
}

int lk_sql_each_claim_of(struct lk_sql *sql, struct lk_slice owner, uint64_t ask_number,
                         lk_sql_visit *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_CLAIMS_OF, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, owner);
    (void)lk_sql_bind_integer(statement, 2, (int64_t)ask_number);
    return lk_sql_walk(statement, visit, context);
}

int lk_sql_each_overdue_claim(struct lk_sql *sql, struct lk_slice queue, int64_t now_us,
                              lk_sql_visit *visit, void *context) {
    struct lk_sql_range range;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_OVERDUE_CLAIMS, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    lk_sql_range_below(queue, &range);
    lk_sql_bind_range(statement, 1, &range);
    (void)lk_sql_bind_integer(statement, 3, now_us);
    return lk_sql_walk(statement, visit, context);
}

int lk_sql_each_overdue(struct lk_sql *sql, int64_t now_us, int max, lk_sql_visit *visit,
                        void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_OVERDUE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, now_us);
    (void)lk_sql_bind_integer(statement, 2, max);
    return lk_sql_walk(statement, visit, context);
}
