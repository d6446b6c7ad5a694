/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries about requests: reads the rows of one snapshot into a model, which answers from there
 * (R20).
 *
 * lk_tick() is called first and applies what is overdue, so that the rows contain nothing overdue.
 * The model is never stepped.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/random.h"
#include "engine/procedures/procedures.h"
#include "engine/procedures/rows.h"
#include "engine/reply/reply.h"

/* Columns of lk_list() and lk_show(). */
enum {
    ROW_NOW_US,
    ROW_ID,
    ROW_OWNER,
    ROW_NOTE,
    ROW_HELD,
    ROW_REVOKED,
    ROW_FIXED,
    ROW_TICKET,
    ROW_TOKEN,
    ROW_TTL_MS,
    ROW_DEADLINE_US,
    ROW_IS_CLAIM,
    ROW_PATH,
    ROW_LIMIT,
    ROW_UNITS,
};

static void fill_record(const struct lk_rows *rows, int row, struct lk_record *record) {
    bool held = lk_row_boolean(rows, row, ROW_HELD);

    record->id = (uint64_t)lk_row_integer(rows, row, ROW_ID);
    record->owner = lk_row_text(rows, row, ROW_OWNER);
    record->note = lk_row_text(rows, row, ROW_NOTE);
    record->state = held ? LK_STATE_HELD : LK_STATE_WAITING;
    record->revoked = lk_row_boolean(rows, row, ROW_REVOKED);
    record->attended = false;
    record->fixed = lk_row_boolean(rows, row, ROW_FIXED);
    record->ticket = (uint64_t)lk_row_integer(rows, row, ROW_TICKET);
    record->token = (uint64_t)lk_row_integer(rows, row, ROW_TOKEN);
    record->ttl_ms = lk_row_integer(rows, row, ROW_TTL_MS);
    record->deadline_us = lk_row_integer(rows, row, ROW_DEADLINE_US);
    record->wants_value = false;
    record->is_claim = lk_row_boolean(rows, row, ROW_IS_CLAIM);
    record->ask_number = 0;
    record->max_attempts = 0;
    record->part_count = 0;
}

/*
 * Reads the request that begins at `row`. Returns the row after it, or -1 if no store can contain
 * such a request.
 */
static int read_record(const struct lk_rows *rows, int row, struct lk_record *record) {
    int64_t id = lk_row_integer(rows, row, ROW_ID);

    fill_record(rows, row, record);
    for (; row < rows->count && lk_row_integer(rows, row, ROW_ID) == id; row++) {
        struct lk_part *part = &record->parts[record->part_count];
        if (record->part_count == LK_PARTS_MAX
            || lk_path_parse(lk_row_text(rows, row, ROW_PATH), &part->path, NULL) != LK_OK) {
            return -1;
        }
        part->limit = (uint32_t)lk_row_integer(rows, row, ROW_LIMIT);
        lk_part_set_code(part, lk_row_integer(rows, row, ROW_UNITS));
        record->part_count++;
    }
    return row;
}

/* A claim can only be restored together with its item, of which only the name matters here. */
static lk_outcome restore_item_of(struct lk_model *model, const struct lk_record *record) {
    const struct lk_path *path = &record->parts[0].path;
    struct lk_item_record *item = calloc(1, sizeof *item);
    lk_outcome outcome = LK_INTERNAL;

    if (item != NULL && path->depth > 1) {
        size_t size = path->ends[path->depth - 2];
        outcome = lk_path_parse((struct lk_slice){path->bytes, size}, &item->queue, NULL);
        item->id = lk_path_segment(path, path->depth - 1u);
        item->sequence = 1;
        item->state = LK_ITEM_READY;
        item->need_count = record->part_count - 1;
        memcpy(item->needs, record->parts + 1, item->need_count * sizeof item->needs[0]);
        if (outcome == LK_OK) {
            outcome = lk_model_restore_item(model, item);
        }
    }
    free(item);
    return outcome;
}

static lk_outcome restore(struct lk_model *model, const struct lk_rows *rows,
                          struct lk_record *record) {
    lk_outcome outcome = LK_OK;

    for (int row = 0; row < rows->count && outcome == LK_OK;) {
        row = read_record(rows, row, record);
        if (row < 0) {
            return LK_INVALID;
        }
        if (record->is_claim) {
            outcome = restore_item_of(model, record);
        }
        if (outcome == LK_OK) {
            outcome = lk_model_restore(model, record);
        }
    }
    return outcome;
}

/*
 * Applies what is overdue below `path`, or everywhere. A user that may only read leaves that to
 * others: what is read next leaves out what has ended.
 */
lk_outcome lk_procedures_tick(struct lk_procedures *store, const struct lk_path *path,
                              const struct lk_patience *patience, lk_error *error) {
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    lk_arguments_init(&arguments, store->database->lists);
    if (path != NULL) {
        lk_arguments_add_root(&arguments, path);
    } else {
        lk_arguments_add_null(&arguments);
    }
    outcome =
        lk_procedures_call(store, "lk_tick", LK_REPEATABLE, &arguments, patience, &rows, error);
    lk_rows_free(rows);
    return outcome == LK_DENIED ? lk_error_clear(error, LK_OK) : outcome;
}

lk_outcome lk_procedures_read(struct lk_procedures *store, const char *name,
                              const struct lk_path *path, const struct lk_patience *patience,
                              struct lk_rows **ret_rows, lk_error *error) {
    struct lk_arguments arguments;
    lk_outcome outcome = lk_procedures_tick(store, path, patience, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    if (path != NULL) {
        lk_arguments_add_path(&arguments, path);
    } else {
        lk_arguments_add_null(&arguments);
    }
    return lk_procedures_call(store, name, LK_READING, &arguments, patience, ret_rows, error);
}

typedef lk_outcome make_listing(const struct lk_model *model, const struct lk_times *times,
                                const struct lk_path *path, lk_listing **ret_listing);

static lk_outcome list_rows(const struct lk_rows *rows, make_listing *make,
                            const struct lk_path *path, lk_listing **ret_listing, lk_error *error) {
    const struct lk_model_config config = {.hash_seed = lk_random_draw()};
    struct lk_model *model = lk_model_new(&config);
    struct lk_record *record = malloc(sizeof *record);
    int64_t now_us = rows->count > 0 ? lk_row_integer(rows, 0, ROW_NOW_US) : 0;
    const struct lk_times times = {.now_us = now_us, .wall_us = now_us};
    lk_outcome outcome = LK_INTERNAL;

    if (model != NULL && record != NULL) {
        outcome = restore(model, rows, record);
    }
    if (outcome == LK_OK) {
        outcome = make(model, &times, path, ret_listing);
    }
    lk_model_free(model);
    free(record);
    if (outcome == LK_INVALID) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "the store is damaged: a request there that no program can have made");
    }
    return outcome == LK_OK ? lk_error_clear(error, LK_OK)
                            : lk_error_set(error, outcome, "memory is exhausted");
}

static lk_outcome query(struct lk_engine *engine, const char *name, make_listing *make,
                        const struct lk_path *path, const struct lk_patience *patience,
                        lk_listing **ret_listing, lk_error *error) {
    struct lk_rows *rows = NULL;
    lk_outcome outcome =
        lk_procedures_read(lk_procedures_of(engine), name, path, patience, &rows, error);

    if (outcome == LK_OK) {
        outcome = list_rows(rows, make, path, ret_listing, error);
        lk_rows_free(rows);
    }
    return outcome;
}

lk_outcome lk_procedures_list(struct lk_engine *engine, const struct lk_path *prefix,
                              const struct lk_patience *patience, lk_listing **ret_listing,
                              struct lk_error *error) {
    return query(engine, "lk_list", lk_listing_from_model, prefix, patience, ret_listing, error);
}

lk_outcome lk_procedures_show(struct lk_engine *engine, const struct lk_path *path,
                              const struct lk_patience *patience, lk_listing **ret_listing,
                              struct lk_error *error) {
    return query(engine, "lk_show", lk_listing_from_model_with_blockers, path, patience,
                 ret_listing, error);
}

/* ---- audits ---------------------------------------------------------------------------------- */

enum {
    AUDIT_AT_US,
    AUDIT_BY,
    AUDIT_REASON,
    AUDIT_PATH,
    AUDIT_OWNER,
    AUDIT_NOTE,
    AUDIT_TICKET,
    AUDIT_TOKEN
};

static bool add_audit(lk_audit *audit, const struct lk_rows *rows, int row) {
    const struct lk_audit_row entry = {
        .at_unix_us = lk_row_integer(rows, row, AUDIT_AT_US),
        .by = lk_row_text(rows, row, AUDIT_BY),
        .reason = lk_row_text(rows, row, AUDIT_REASON),
        .path = lk_row_text(rows, row, AUDIT_PATH),
        .owner = lk_row_text(rows, row, AUDIT_OWNER),
        .note = lk_row_text(rows, row, AUDIT_NOTE),
        .ticket = (uint64_t)lk_row_integer(rows, row, AUDIT_TICKET),
        .token = (uint64_t)lk_row_integer(rows, row, AUDIT_TOKEN),
    };

    return lk_audit_add(audit, &entry);
}

lk_outcome lk_procedures_audit(struct lk_engine *engine, const struct lk_path *prefix,
                               const struct lk_patience *patience, lk_audit **ret_audit,
                               struct lk_error *error) {
    struct lk_rows *rows = NULL;
    lk_outcome outcome =
        lk_procedures_read(lk_procedures_of(engine), "lk_audit", prefix, patience, &rows, error);
    lk_audit *audit;
    bool is_whole;

    if (outcome != LK_OK) {
        return outcome;
    }
    audit = lk_audit_new();
    is_whole = audit != NULL;
    for (int row = 0; row < rows->count && is_whole; row++) {
        is_whole = add_audit(audit, rows, row);
    }
    lk_rows_free(rows);
    if (!is_whole) {
        lk_audit_free(audit);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    *ret_audit = audit;
    return lk_error_clear(error, LK_OK);
}
