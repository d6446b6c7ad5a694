/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of changes: made from the model, and written. */
#include "sql/rows.h"

#include "sql/counts.h"
#include "sql/events.h"
#include "sql/items.h"
#include "sql/meta.h"
#include "sql/requests.h"
#include "sql/values.h"

/* ---- making ---------------------------------------------------------------------------------- */

static struct lk_row row_of_value(const struct lk_model *model, const struct lk_change *change,
                                  char room[LK_PATH_BYTES_MAX + 1]) {
    struct lk_row row = {.kind = change->kind == LK_CHANGE_VALUE_PUT       ? LK_ROW_VALUE
                                 : change->kind == LK_CHANGE_VALUE_DELETED ? LK_ROW_VALUE_GONE
                                                                           : LK_ROW_VALUE_DOUBT};
    struct lk_value_record record;

    lk_model_value_record(model, change->value, &record);
    memcpy(room, record.path, sizeof record.path);
    row.value.path = lk_slice_of(room);
    if (row.kind == LK_ROW_VALUE) {
        row.value.bytes = record.bytes;
    }
    return row;
}

/* Whether the value and the needs of an item that was there are others now. */
static bool has_other_value(enum lk_change_kind kind, enum lk_item_state state) {
    return kind == LK_CHANGE_ITEM_REPLACED
           || (kind == LK_CHANGE_ITEM_DONE && state == LK_ITEM_DONE);
}

static struct lk_row row_of_item(const struct lk_model *model, const struct lk_change *change,
                                 const struct lk_times *times, struct lk_item_record *room) {
    struct lk_row row = {.kind = LK_ROW_ITEM};

    lk_model_item_record(model, change->item, room);
    if (change->kind == LK_CHANGE_ITEM_PUSHED || has_other_value(change->kind, room->state)) {
        row.kind = LK_ROW_ITEM_NEW;
        row.item.replaces = change->kind != LK_CHANGE_ITEM_PUSHED;
    } else if (room->state == LK_ITEM_GONE) { /* by this change, or by a later one of the step */
        row.kind = LK_ROW_ITEM_GONE;
    }
    if (row.kind != LK_ROW_ITEM_NEW) { /* they are as they were, and not copied again */
        room->value = (struct lk_slice){NULL, 0};
        room->need_count = 0;
    }
    row.item.record = room;
    if (room->state != LK_ITEM_READY) {
        row.item.due_unix_us = lk_times_unix_us(times, room->due_us);
    } else if (change->kind != LK_CHANGE_ITEM_PUSHED) { /* a new one is so since its push: 0 */
        row.item.due_unix_us = room->ready_unix_us;
    }
    return row;
}

struct lk_row lk_row_of_change(const struct lk_model *model, const struct lk_change *change,
                               const struct lk_times *times, struct lk_item_record *room) {
    struct lk_row row = {.kind = change->kind == LK_CHANGE_QUEUE_FORGOTTEN ? LK_ROW_QUEUE_GONE
                                                                           : LK_ROW_QUEUE};

    if (change->kind <= LK_CHANGE_VALUE_DOUBTED) {
        return row_of_value(model, change, room->text);
    }
    if (change->kind < LK_CHANGE_QUEUE_COUNTED) {
        return row_of_item(model, change, times, room);
    }
    lk_model_queue_record(model, change->queue, room->text, &row.queue.counts);
    row.queue.path = lk_slice_of(room->text);
    return row;
}

const struct lk_target *lk_row_named(const struct lk_command *command, struct lk_row_named *room) {
    const struct lk_finish *finish = &command->finish;

    if (command->kind == LK_COMMAND_RELEASE && command->release.target.token != 0) {
        return &command->release.target;
    }
    if (command->kind != LK_COMMAND_FINISH || finish->token == 0
        || finish->kind == LK_FINISH_PROGRESS /* which ends nothing */
        || lk_item_path_make(&finish->queue, finish->id, &room->item, NULL) != LK_OK) {
        return NULL;
    }
    room->part = (struct lk_part){.path = room->item.path, .mode = LK_EXCLUSIVE};
    room->target = (struct lk_target){
        .owner = finish->owner, .parts = &room->part, .part_count = 1, .token = finish->token};
    return &room->target;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_request(struct lk_sql *sql, const struct lk_row *row) {
    const struct lk_record *record = row->request.record;
    int code = lk_sql_request_save(sql, record, row->request.expires_unix_us, row->request.bound);

    return code == SQLITE_OK && row->request.has_parts ? lk_sql_parts_save(sql, record) : code;
}

static int write_new_item(struct lk_sql *sql, const struct lk_row *row) {
    int code = row->item.replaces ? lk_sql_item_delete(sql, row->item.record) : SQLITE_OK;

    return code == SQLITE_OK ? lk_sql_item_add(sql, row->item.record, row->item.due_unix_us) : code;
}

int lk_sql_row_write(struct lk_sql *sql, const struct lk_row *row) {
    switch (row->kind) {
    case LK_ROW_REQUEST:
        return write_request(sql, row);
    case LK_ROW_REQUEST_GONE:
        return lk_sql_request_delete(sql, row->gone);
    case LK_ROW_VALUE:
        return lk_sql_value_save(sql, row->value.path, row->value.bytes);
    case LK_ROW_VALUE_DOUBT:
        return lk_sql_value_doubt(sql, row->value.path);
    case LK_ROW_VALUE_GONE:
        return lk_sql_value_delete(sql, row->value.path);
    case LK_ROW_ITEM_NEW:
        return write_new_item(sql, row);
    case LK_ROW_ITEM:
        return lk_sql_item_save(sql, row->item.record, row->item.due_unix_us);
    case LK_ROW_ITEM_GONE:
        return lk_sql_item_delete(sql, row->item.record);
    case LK_ROW_QUEUE:
        return lk_sql_queue_save(sql, row->queue.path, &row->queue.counts);
    case LK_ROW_QUEUE_GONE:
        return lk_sql_queue_delete(sql, row->queue.path);
    case LK_ROW_ENDED:
        return lk_sql_ended_save(sql, &row->ended.target, row->ended.ended_us);
    case LK_ROW_AUDIT:
        return lk_sql_audit_save(sql, &row->audit, LK_AUDITS_MAX);
    case LK_ROW_EVENT:
        return lk_sql_event_add(sql, &row->event);
    case LK_ROW_LIMITS:
        return lk_sql_quotas_save(sql, &row->limits.quotas, row->limits.events_max);
    case LK_ROW_PROBE:
        break;
    }
    /* SQLite does not write a page whose bytes do not change. */
    return lk_sql_execute(sql, "UPDATE lk_meta SET draw_floor = draw_floor + 1");
}
