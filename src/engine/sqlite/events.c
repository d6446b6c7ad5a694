/* SPDX-License-Identifier: Apache-2.0 */
/* Events as rows, written in the transaction of the decision that they tell of. */
#include "engine/sqlite/events.h"

struct keeping {
    struct lk_sqlite_transaction *transaction;
    int count;
    int code;
};

static bool keep_one(void *context, const struct lk_event *step_event) {
    struct keeping *keeping = context;
    struct lk_sqlite_transaction *transaction = keeping->transaction;
    char parts[LK_SQL_EVENT_PARTS_MAX];
    struct lk_row row = {.kind = LK_ROW_EVENT};

    row.event = (struct lk_sql_event){
        .sequence = transaction->meta.last_event + 1,
        .at_unix_us = transaction->times.wall_us,
        .event = lk_slice_of(lk_watch_kind_name(step_event->kind)),
        .refusal =
            lk_slice_of(step_event->refusal != LK_OK ? lk_outcome_name(step_event->refusal) : ""),
        .parts = {parts, lk_parts_write(step_event->parts, step_event->part_count, parts)},
        .owner = step_event->owner,
        .note = step_event->note,
        .by = step_event->by,
        .reason = step_event->reason,
        .ticket = step_event->ticket,
        .token = step_event->token,
        .attempt = step_event->attempt,
        .is_of_item = step_event->is_of_item,
        .is_deletion = step_event->is_deletion,
    };
    keeping->code = lk_sql_row_write(&transaction->store->sql, &row);
    if (keeping->code == SQLITE_OK) {
        transaction->meta.last_event++;
        keeping->count++;
    }
    return keeping->code == SQLITE_OK;
}

/* Deletes twice as many as were added, so that any excess ends. */
static int forget_old(struct lk_sqlite_transaction *transaction, int count) {
    uint64_t kept_max = transaction->meta.events_max > 0 ? transaction->meta.events_max
                                                         : (uint64_t)LK_WATCHED_EVENTS_MAX;

    if (transaction->meta.last_event <= kept_max) {
        return SQLITE_OK;
    }
    return lk_sql_events_forget(&transaction->store->sql, transaction->meta.last_event - kept_max,
                                2 * count);
}

int lk_sqlite_events_keep(struct lk_sqlite_transaction *transaction, const struct lk_model *model,
                          const struct lk_effects *effects, const struct lk_command *command) {
    struct keeping keeping = {.transaction = transaction, .code = SQLITE_OK};

    if (!lk_sqlite_events_are_kept(transaction)) {
        return SQLITE_OK;
    }
    (void)lk_events_of_step(model, effects, command, keep_one, &keeping);
    if (keeping.code == SQLITE_OK && keeping.count > 0) {
        keeping.code =
            lk_sql_events_set_last(&transaction->store->sql, transaction->meta.last_event);
    }
    if (keeping.code == SQLITE_OK && keeping.count > 0) {
        keeping.code = forget_old(transaction, keeping.count);
    }
    return keeping.code;
}

int lk_sqlite_events_begin(struct lk_sqlite_transaction *transaction) {
    if (lk_sqlite_events_are_kept(transaction)) {
        return SQLITE_OK;
    }
    transaction->meta.last_event++;
    return lk_sql_events_set_last(&transaction->store->sql, transaction->meta.last_event);
}

int lk_sqlite_events_upkeep(struct lk_sqlite_transaction *transaction) {
    bool is_recent =
        transaction->meta.watched_until_us > transaction->times.now_us - LK_EVENTS_LINGER_US;

    if (transaction->meta.last_event == 0 || is_recent || lk_sqlite_events_are_kept(transaction)) {
        return SQLITE_OK;
    }
    return lk_sql_events_forget(&transaction->store->sql, transaction->meta.last_event,
                                LK_SQLITE_SWEEP_EVENTS);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool parse_outcome(struct lk_slice name, lk_outcome *ret_outcome) {
    for (int outcome = 0; outcome < LK_OUTCOME_COUNT; outcome++) {
        if (lk_slice_equal(name, lk_slice_of(lk_outcome_name((lk_outcome)outcome)))) {
            *ret_outcome = (lk_outcome)outcome;
            return true;
        }
    }
    return name.size == 0;
}

bool lk_sqlite_event_read(const struct lk_sql_event *row, struct lk_part parts[LK_PARTS_MAX],
                          struct lk_event *ret_event) {
    struct lk_event step_event = {
        .refusal = LK_OK,
        .parts = parts,
        .owner = row->owner,
        .note = row->note,
        .by = row->by,
        .reason = row->reason,
        .ticket = row->ticket,
        .token = row->token,
        .attempt = row->attempt,
        .is_of_item = row->is_of_item,
        .is_deletion = row->is_deletion,
    };

    if (!lk_watch_kind_parse(row->event, &step_event.kind)
        || !parse_outcome(row->refusal, &step_event.refusal)
        || !lk_parts_read(row->parts, parts, LK_PARTS_MAX, &step_event.part_count)
        || step_event.part_count == 0) {
        return false;
    }
    *ret_event = step_event;
    return true;
}
