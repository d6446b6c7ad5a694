/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and items as rows. */
#include "sql/items.h"

#include <stdio.h>

#include "base/text.h"
#include "sql/requests.h"

/* The columns of every statement that loads items. */
enum {
    COLUMN_ID,
    COLUMN_SEQUENCE,
    COLUMN_STATE,
    COLUMN_DUE,
    COLUMN_ATTEMPTS,
    COLUMN_WAS_LOST,
    COLUMN_NEEDS,
    COLUMN_PRIORITY,
    COLUMN_LAST_EXIT,
    COLUMN_LAST_ERROR,
    COLUMN_DUE_UNIX,
    COLUMN_IS_HEAD,
    COLUMN_KEEP,
    COLUMN_PROGRESS,
    COLUMN_BYTES,       /* LK_SQL_ITEMS_OF and LK_SQL_ITEMS_LOAD only */
    COLUMN_VALUE_BYTES, /* ... as well */
    COLUMN_QUEUE,       /* LK_SQL_ITEMS_LOAD only */
};

static const char *const state_texts[] = {
    [LK_ITEM_READY] = "ready",   [LK_ITEM_DELAYED] = "delayed",     [LK_ITEM_CLAIMED] = "claimed",
    [LK_ITEM_PARKED] = "parked", [LK_ITEM_CANCELLED] = "cancelled", [LK_ITEM_AGAIN] = "again",
    [LK_ITEM_DONE] = "done",
};
enum { STATES = sizeof state_texts / sizeof state_texts[0] };

static int complain(struct lk_sql *sql, struct lk_slice queue, const char *about) {
    (void)snprintf(sql->complaint, sizeof sql->complaint, "an item of %.*s: %s",
                   (int)(queue.size < 64 ? queue.size : 64), queue.bytes, about);
    return SQLITE_CORRUPT;
}

/* ---- needs ----------------------------------------------------------------------------------- */

bool lk_sql_needs_parse(struct lk_slice text, struct lk_part ret_needs[LK_NEEDS_MAX],
                        size_t *ret_count) {
    return lk_parts_read(text, ret_needs, LK_NEEDS_MAX, ret_count);
}

/* ---- decoding -------------------------------------------------------------------------------- */

static bool decode_state(struct lk_slice text, enum lk_item_state *ret_state) {
    for (int state = 0; state < STATES; state++) {
        if (lk_slice_equal(text, lk_slice_of(state_texts[state]))) {
            *ret_state = (enum lk_item_state)state;
            return true;
        }
    }
    return false;
}

static bool decode_queue(struct lk_slice queue, struct lk_item_record *record) {
    if (queue.size > LK_PATH_BYTES_MAX) {
        return false;
    }
    memcpy(record->text, queue.bytes, queue.size);
    return lk_path_parse((struct lk_slice){record->text, queue.size}, &record->queue, NULL) == LK_OK
           && record->queue.size == queue.size;
}

static bool decode_failure(sqlite3_stmt *statement, struct lk_sql_item *item) {
    struct lk_item_failure *failure = &item->record.last_failure;
    struct lk_slice text = lk_sql_column_bytes(statement, COLUMN_LAST_ERROR);

    failure->has_exit = sqlite3_column_type(statement, COLUMN_LAST_EXIT) != SQLITE_NULL;
    failure->exit_code = sqlite3_column_int(statement, COLUMN_LAST_EXIT);
    failure->text = (struct lk_slice){item->failure_text, text.size};
    if (text.size > sizeof item->failure_text) {
        return false;
    }
    if (text.size > 0) {
        memcpy(item->failure_text, text.bytes, text.size);
    }
    return true;
}

static bool decode_progress(sqlite3_stmt *statement, struct lk_sql_item *item) {
    struct lk_slice text = lk_sql_column_bytes(statement, COLUMN_PROGRESS);

    item->record.progress = (struct lk_slice){item->progress_text, text.size};
    if (text.size > sizeof item->progress_text) {
        return false;
    }
    if (text.size > 0) {
        memcpy(item->progress_text, text.bytes, text.size);
    }
    return true;
}

/* Returns what is wrong with the row, or NULL. */
static const char *decode_item(sqlite3_stmt *statement, struct lk_slice queue,
                               struct lk_sql_item *item) {
    struct lk_item_record *record = &item->record;
    struct lk_slice id = lk_sql_column_text(statement, COLUMN_ID);
    struct lk_slice needs = lk_sql_column_text(statement, COLUMN_NEEDS);
    int64_t attempts = sqlite3_column_int64(statement, COLUMN_ATTEMPTS);
    int64_t priority = sqlite3_column_int64(statement, COLUMN_PRIORITY);

    if (!decode_queue(queue, record)) {
        return "its queue is no path";
    }
    if (id.size < 1 || id.size > sizeof item->id) {
        return "its id has not 1 to 255 bytes";
    }
    memcpy(item->id, id.bytes, id.size);
    record->id = (struct lk_slice){item->id, id.size};
    if (!decode_state(lk_sql_column_text(statement, COLUMN_STATE), &record->state)) {
        return "its state is none";
    }
    if (attempts < 0 || attempts > UINT32_MAX) {
        return "its attempts are out of range";
    }
    if (priority < LK_PRIORITY_MIN || priority > LK_PRIORITY_MAX) {
        return "its priority is out of range";
    }
    if (!decode_failure(statement, item)) {
        return "the text of its failure is too long";
    }
    if (!decode_progress(statement, item)) {
        return "the text of its progress is too long";
    }
    if (needs.size > sizeof item->needs_text) {
        return "it needs too much";
    }
    if (needs.size > 0) {
        memcpy(item->needs_text, needs.bytes, needs.size);
    }
    item->needs = (struct lk_slice){item->needs_text, needs.size};
    if (!lk_sql_needs_parse(item->needs, record->needs, &record->need_count)) {
        return "what it needs are no parts";
    }
    record->priority = (int32_t)priority;
    record->sequence = (uint64_t)sqlite3_column_int64(statement, COLUMN_SEQUENCE);
    record->due_us = sqlite3_column_int64(statement, COLUMN_DUE);
    record->ready_unix_us =
        record->state == LK_ITEM_READY ? sqlite3_column_int64(statement, COLUMN_DUE_UNIX) : 0;
    record->attempts = (uint32_t)attempts;
    record->was_lost = sqlite3_column_int(statement, COLUMN_WAS_LOST) != 0;
    record->is_head = sqlite3_column_int(statement, COLUMN_IS_HEAD) != 0;
    record->keep_ms = sqlite3_column_int64(statement, COLUMN_KEEP);
    record->claim = 0;
    record->value = (struct lk_slice){NULL, 0};
    return record->due_us > INT64_MAX / 4 ? "it is due too late" : NULL;
}

/*
 * The value in `column`, with the size it was pushed with behind it. A lost value would be an empty
 * one to a worker. Without a size it is taken as it is (load.c). Returns what is wrong, or NULL.
 */
static const char *decode_value(sqlite3_stmt *statement, int column, struct lk_slice *ret_value) {
    bool has_size = sqlite3_column_type(statement, column + 1) != SQLITE_NULL;

    *ret_value = lk_sql_column_bytes(statement, column);
    if (ret_value->size > LK_VALUE_BYTES_MAX) {
        return "its value is too large";
    }
    return has_size && sqlite3_column_int64(statement, column + 1) != (int64_t)ret_value->size
               ? "it does not have the value it was pushed with"
               : NULL;
}

/* ---- one item -------------------------------------------------------------------------------- */

/* A statement about one item, with queue and id bound. */
static int prepare_item(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice queue,
                        struct lk_slice id, sqlite3_stmt **ret_statement) {
    int code = lk_sql_statement(sql, which, ret_statement);

    if (code == SQLITE_OK) {
        (void)lk_sql_bind_text(*ret_statement, 1, queue);
        (void)lk_sql_bind_text(*ret_statement, 2, id);
    }
    return code;
}

int lk_sql_item_load(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id,
                     struct lk_sql_item *ret_item) {
    const char *wrong = NULL;
    bool found;
    sqlite3_stmt *statement;
    int code = prepare_item(sql, LK_SQL_ITEM_LOAD, queue, id, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    found = code == SQLITE_ROW;
    if (found) {
        wrong = decode_item(statement, queue, ret_item);
    }
    code = lk_sql_done(statement, code);
    if (wrong != NULL) {
        return complain(sql, queue, wrong);
    }
    return code == SQLITE_OK && !found ? SQLITE_EMPTY : code;
}

static struct lk_slice queue_of(const struct lk_item_record *record) {
    return (struct lk_slice){record->queue.bytes, record->queue.size};
}

/* What LK_SQL_ITEM_ADD and LK_SQL_ITEM_SAVE have in common. */
static int prepare_change(struct lk_sql *sql, enum lk_sql_statement which,
                          const struct lk_item_record *record, int64_t due_unix_us,
                          sqlite3_stmt **ret_statement) {
    bool has_due = lk_item_has_due(record->state);
    bool has_since = has_due || record->state == LK_ITEM_READY;
    int code = prepare_item(sql, which, queue_of(record), record->id, ret_statement);

    if (code == SQLITE_OK) {
        (void)lk_sql_bind_text(*ret_statement, 3, lk_slice_of(state_texts[record->state]));
        (void)lk_sql_bind_integer(*ret_statement, 4, has_due ? record->due_us : 0);
        (void)lk_sql_bind_integer(*ret_statement, 5, has_since ? due_unix_us : 0);
        (void)lk_sql_bind_integer(*ret_statement, 6, record->attempts);
        (void)lk_sql_bind_integer(*ret_statement, 7, record->was_lost);
    }
    return code;
}

static void bind_if_any(sqlite3_stmt *statement, int at, struct lk_slice bytes) {
    if (bytes.size > 0) {
        (void)lk_sql_bind_bytes(statement, at, bytes);
    }
}

/* What is not given is NULL. */
static void bind_failure(sqlite3_stmt *statement, int at, const struct lk_item_failure *failure) {
    if (failure->has_exit) {
        (void)lk_sql_bind_integer(statement, at, failure->exit_code);
    }
    bind_if_any(statement, at + 1, failure->text);
}

static int add_strict_needs(struct lk_sql *sql, const struct lk_item_record *record) {
    sqlite3_stmt *statement;
    int code = SQLITE_OK;

    for (size_t i = 0; i < record->need_count && code == SQLITE_OK; i++) {
        const struct lk_part *need = &record->needs[i];
        if (!need->strict) {
            continue;
        }
        code = prepare_item(sql, LK_SQL_STRICT_NEED_ADD, queue_of(record), record->id, &statement);
        if (code == SQLITE_OK) {
            (void)lk_sql_bind_text(statement, 3,
                                   (struct lk_slice){need->path.bytes, need->path.size});
            code = lk_sql_run(statement);
        }
    }
    return code;
}

int lk_sql_item_add(struct lk_sql *sql, const struct lk_item_record *record, int64_t due_unix_us) {
    char needs[LK_SQL_NEEDS_TEXT_MAX];
    struct lk_slice text = {needs, 0};
    sqlite3_stmt *statement;
    int code = prepare_change(sql, LK_SQL_ITEM_ADD, record, due_unix_us, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 8, (int64_t)record->sequence);
    if (record->need_count > 0) {
        text.size = lk_parts_write(record->needs, record->need_count, needs);
    }
    (void)lk_sql_bind_text(statement, 9, text);
    (void)lk_sql_bind_integer(statement, 10, record->priority);
    if (record->value.size > 0) {
        (void)lk_sql_bind_integer(statement, 11, (int64_t)record->value.size);
    }
    bind_failure(statement, 12, &record->last_failure);
    (void)lk_sql_bind_integer(statement, 14, record->is_head);
    (void)lk_sql_bind_integer(statement, 15, record->keep_ms);
    bind_if_any(statement, 16, record->progress);
    code = lk_sql_run(statement);
    if (code == SQLITE_OK) {
        code = add_strict_needs(sql, record);
    }
    if (code == SQLITE_OK && record->value.size > 0) {
        code = prepare_item(sql, LK_SQL_ITEM_VALUE_ADD, queue_of(record), record->id, &statement);
        if (code == SQLITE_OK) {
            (void)lk_sql_bind_bytes(statement, 3, record->value);
            code = lk_sql_run(statement);
        }
    }
    return code;
}

int lk_sql_item_save(struct lk_sql *sql, const struct lk_item_record *record, int64_t due_unix_us) {
    sqlite3_stmt *statement;
    int code = prepare_change(sql, LK_SQL_ITEM_SAVE, record, due_unix_us, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    bind_failure(statement, 8, &record->last_failure);
    (void)lk_sql_bind_integer(statement, 10, record->is_head);
    bind_if_any(statement, 11, record->progress);
    return lk_sql_run(statement);
}

int lk_sql_strict_is_taken(struct lk_sql *sql, struct lk_slice queue, const struct lk_path *path,
                           bool *ret_taken) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_HEAD_FIND, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, queue);
    (void)lk_sql_bind_text(statement, 2, (struct lk_slice){path->bytes, path->size});
    code = sqlite3_step(statement);
    *ret_taken = code == SQLITE_ROW;
    return lk_sql_done(statement, code);
}

int lk_sql_item_delete(struct lk_sql *sql, const struct lk_item_record *record) {
    sqlite3_stmt *statement;
    int code =
        prepare_item(sql, LK_SQL_ITEM_VALUE_DELETE, queue_of(record), record->id, &statement);

    if (code == SQLITE_OK) {
        code = lk_sql_run(statement);
    }
    if (code == SQLITE_OK) {
        code = prepare_item(sql, LK_SQL_ITEM_DELETE, queue_of(record), record->id, &statement);
    }
    return code == SQLITE_OK ? lk_sql_run(statement) : code;
}

int lk_sql_item_value_load(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id,
                           lk_sql_visit_bytes *visit, void *context) {
    struct lk_slice bytes = {NULL, 0};
    sqlite3_stmt *statement;
    int code = prepare_item(sql, LK_SQL_ITEM_VALUE_LOAD, queue, id, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        const char *wrong = decode_value(statement, 0, &bytes);
        code = wrong != NULL    ? complain(sql, queue, wrong)
               : bytes.size > 0 ? visit(context, bytes)
                                : SQLITE_DONE;
    }
    code = lk_sql_done(statement, code);
    return code == SQLITE_OK && bytes.size == 0 ? SQLITE_EMPTY : code;
}

int lk_sql_items_forget(struct lk_sql *sql, int64_t now_us, int max) {
    static const enum lk_sql_statement statements[] = {LK_SQL_DONE_VALUES_FORGET,
                                                       LK_SQL_DONE_FORGET};
    int code = SQLITE_OK;

    for (size_t i = 0; i < 2 && code == SQLITE_OK; i++) {
        sqlite3_stmt *statement;

        code = lk_sql_statement(sql, statements[i], &statement);
        if (code == SQLITE_OK) {
            (void)lk_sql_bind_integer(statement, 1, now_us);
            (void)lk_sql_bind_integer(statement, 2, max);
            code = lk_sql_run(statement);
        }
    }
    return code;
}

/* ---- the items of a queue -------------------------------------------------------------------- */

/*
 * Visits the items that a bound statement selects. `queue` is their queue if the rows do not name
 * it.
 */
static int walk(struct lk_sql *sql, sqlite3_stmt *statement, struct lk_slice queue,
                struct lk_sql_item *item, lk_sql_visit_item *visit, void *context) {
    bool has_bytes = sqlite3_column_count(statement) > COLUMN_BYTES;
    bool has_queue = sqlite3_column_count(statement) > COLUMN_QUEUE;
    int code;

    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *wrong;

        queue = has_queue ? lk_sql_column_text(statement, COLUMN_QUEUE) : queue;
        wrong = decode_item(statement, queue, item);
        if (wrong == NULL && has_bytes) {
            wrong = decode_value(statement, COLUMN_BYTES, &item->record.value);
        }
        code = wrong != NULL ? complain(sql, queue, wrong) : visit(context, item);
        if (code != SQLITE_OK) {
            break;
        }
    }
    return lk_sql_done(statement, code);
}

/* What the statements about ready items have in common. */
static int walk_after(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice queue,
                      struct lk_sql_place after, struct lk_sql_item *item, lk_sql_visit_item *visit,
                      void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, queue);
    (void)lk_sql_bind_integer(statement, 2, after.priority);
    (void)lk_sql_bind_integer(statement, 3, (int64_t)after.sequence);
    return walk(sql, statement, queue, item, visit, context);
}

int lk_sql_items_each_first(struct lk_sql *sql, struct lk_slice queue, struct lk_sql_place after,
                            struct lk_sql_item *item, lk_sql_visit_item *visit, void *context) {
    return walk_after(sql, LK_SQL_ITEMS_FIRST, queue, after, item, visit, context);
}

int lk_sql_items_each_ready(struct lk_sql *sql, struct lk_slice queue, struct lk_sql_place after,
                            struct lk_sql_item *item, lk_sql_visit_item *visit, void *context) {
    return walk_after(sql, LK_SQL_ITEMS_READY, queue, after, item, visit, context);
}

int lk_sql_items_each_parked(struct lk_sql *sql, struct lk_slice queue, uint64_t behind,
                             struct lk_sql_item *item, lk_sql_visit_item *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ITEMS_PARKED, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, queue);
    (void)lk_sql_bind_integer(statement, 2, behind < INT64_MAX ? (int64_t)behind : INT64_MAX);
    return walk(sql, statement, queue, item, visit, context);
}

int lk_sql_items_each(struct lk_sql *sql, struct lk_slice queue, struct lk_sql_item *item,
                      lk_sql_visit_item *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ITEMS_OF, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, queue);
    return walk(sql, statement, queue, item, visit, context);
}

int lk_sql_items_each_of(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id,
                         struct lk_sql_item *item, lk_sql_visit_item *visit, void *context) {
    sqlite3_stmt *statement;
    int code = prepare_item(sql, LK_SQL_ITEM_OF, queue, id, &statement);

    return code == SQLITE_OK ? walk(sql, statement, queue, item, visit, context) : code;
}

int lk_sql_items_each_anywhere(struct lk_sql *sql, enum lk_sql_depth depth,
                               struct lk_sql_item *item, lk_sql_visit_item *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(
        sql, depth == LK_SQL_WITH_BYTES ? LK_SQL_ITEMS_LOAD : LK_SQL_ITEMS_LOAD_HEADS, &statement);

    return code == SQLITE_OK
               ? walk(sql, statement, (struct lk_slice){NULL, 0}, item, visit, context)
               : code;
}

/* Runs one of the two statements about items that have become due; *ret_found: there is a row. */
static int run_on_ripe(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice queue,
                       int64_t now_us, bool *ret_found) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, queue);
    (void)lk_sql_bind_integer(statement, 2, now_us);
    code = sqlite3_step(statement);
    *ret_found = code == SQLITE_ROW;
    return lk_sql_done(statement, code);
}

/* Usually no item is due. A query costs less than an update of no row. */
int lk_sql_items_ripen(struct lk_sql *sql, struct lk_slice queue, int64_t now_us) {
    bool is_found;
    int code = run_on_ripe(sql, LK_SQL_QUEUE_HAS_RIPE, queue, now_us, &is_found);

    return code == SQLITE_OK && is_found
               ? run_on_ripe(sql, LK_SQL_QUEUE_RIPEN, queue, now_us, &is_found)
               : code;
}

int lk_sql_items_move(struct lk_sql *sql, const struct lk_times *times, int64_t known_us) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ITEMS_MOVE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, times->now_us);
    (void)lk_sql_bind_integer(statement, 2, times->wall_us);
    (void)lk_sql_bind_integer(statement, 3, known_us);
    return lk_sql_run(statement);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static uint64_t count_column(sqlite3_stmt *statement, int column) {
    int64_t value = sqlite3_column_int64(statement, column);

    return value > 0 ? (uint64_t)value : 0;
}

static struct lk_queue_counts decode_counts(sqlite3_stmt *statement) {
    return (struct lk_queue_counts){
        .pushed = count_column(statement, 0),
        .duplicates = count_column(statement, 1),
        .claims = count_column(statement, 2),
        .steals = count_column(statement, 3),
        .done = count_column(statement, 4),
        .retried = count_column(statement, 5),
        .parked = count_column(statement, 6),
        .oldest_ready_us = LK_NEVER,
    };
}

/* Visits the queues that a bound statement selects. */
static int walk_queues(sqlite3_stmt *statement, lk_sql_visit_queue *visit, void *context) {
    int code;

    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct lk_queue_counts counts = decode_counts(statement);
        code = visit(context, lk_sql_column_text(statement, 7), &counts);
        if (code != SQLITE_OK) {
            break;
        }
    }
    return lk_sql_done(statement, code);
}

int lk_sql_queues_each(struct lk_sql *sql, lk_sql_visit_queue *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_QUEUES_LOAD, &statement);

    return code == SQLITE_OK ? walk_queues(statement, visit, context) : code;
}

int lk_sql_queues_each_from(struct lk_sql *sql, struct lk_slice prefix, struct lk_slice behind,
                            lk_sql_visit_queue *visit, void *context) {
    struct lk_sql_range range;
    sqlite3_stmt *statement;
    int code = lk_sql_page_from(sql, LK_SQL_QUEUES_FROM, prefix, behind, &range, &statement);

    return code == SQLITE_OK ? walk_queues(statement, visit, context) : code;
}

int lk_sql_queue_load(struct lk_sql *sql, struct lk_slice queue,
                      struct lk_queue_counts *ret_counts) {
    bool found;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_QUEUE_LOAD, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, queue);
    code = sqlite3_step(statement);
    found = code == SQLITE_ROW;
    if (found) {
        *ret_counts = decode_counts(statement);
    }
    code = lk_sql_done(statement, code);
    return code == SQLITE_OK && !found ? SQLITE_EMPTY : code;
}

int lk_sql_queue_save(struct lk_sql *sql, struct lk_slice queue,
                      const struct lk_queue_counts *counts) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_QUEUE_SAVE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, queue);
    (void)lk_sql_bind_integer(statement, 2, (int64_t)counts->pushed);
    (void)lk_sql_bind_integer(statement, 3, (int64_t)counts->duplicates);
    (void)lk_sql_bind_integer(statement, 4, (int64_t)counts->claims);
    (void)lk_sql_bind_integer(statement, 5, (int64_t)counts->steals);
    (void)lk_sql_bind_integer(statement, 6, (int64_t)counts->done);
    (void)lk_sql_bind_integer(statement, 7, (int64_t)counts->retried);
    (void)lk_sql_bind_integer(statement, 8, (int64_t)counts->parked);
    return lk_sql_run(statement);
}

int lk_sql_queue_delete(struct lk_sql *sql, struct lk_slice queue) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_QUEUE_DELETE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, queue);
    return lk_sql_run(statement);
}

/* The smaller of a known instant and a column that may be NULL. */
static int64_t sooner(sqlite3_stmt *statement, int column, int64_t instant_us) {
    int64_t other_us = sqlite3_column_int64(statement, column);

    return sqlite3_column_type(statement, column) != SQLITE_NULL && other_us < instant_us
               ? other_us
               : instant_us;
}

/* Ready items have it by the wall clock. */
static int find_oldest(struct lk_sql *sql, struct lk_slice queue, const struct lk_times *times,
                       int64_t *ret_ready_us) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_QUEUE_OLDEST, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, queue);
    (void)lk_sql_bind_integer(statement, 2, times->now_us);
    (void)lk_sql_bind_integer(statement, 3, times->wall_us - times->now_us);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *ret_ready_us = sooner(statement, 1, sooner(statement, 0, LK_NEVER));
    }
    return lk_sql_done(statement, code);
}

int lk_sql_queue_count(struct lk_sql *sql, struct lk_slice queue, const struct lk_times *times,
                       struct lk_queue_counts *counts) {
    uint64_t by_state[STATES] = {0};
    uint64_t due = 0;
    uint64_t over = 0;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_QUEUE_COUNT, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, queue);
    (void)lk_sql_bind_integer(statement, 2, times->now_us);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        enum lk_item_state state;
        if (!decode_state(lk_sql_column_text(statement, 0), &state)) {
            code = complain(sql, queue, "its state is none");
            break;
        }
        by_state[state] = count_column(statement, 1);
        due = count_column(statement, 2);
        over = count_column(statement, 3);
    }
    code = lk_sql_done(statement, code);
    if (code == SQLITE_OK) {
        counts->ready = by_state[LK_ITEM_READY] + due;
        counts->delayed = by_state[LK_ITEM_DELAYED] - due;
        counts->claimed =
            by_state[LK_ITEM_CLAIMED] + by_state[LK_ITEM_CANCELLED] + by_state[LK_ITEM_AGAIN];
        counts->parked_now = by_state[LK_ITEM_PARKED];
        counts->done_now = by_state[LK_ITEM_DONE] - over;
        code = find_oldest(sql, queue, times, &counts->oldest_ready_us);
    }
    return code;
}

int lk_sql_queue_probe(struct lk_sql *sql, struct lk_slice queue,
                       struct lk_sql_queue_probe *ret_look) {
    struct lk_sql_range range;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_QUEUE_PROBE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    lk_sql_range_below(queue, &range);
    (void)lk_sql_bind_text(statement, 1, queue);
    lk_sql_bind_range(statement, 2, &range);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        ret_look->has_ready = sqlite3_column_int(statement, 0) != 0;
        ret_look->next_due_us = sooner(statement, 2, sooner(statement, 1, LK_NEVER));
    }
    return lk_sql_done(statement, code);
}
