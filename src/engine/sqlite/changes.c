/* SPDX-License-Identifier: Apache-2.0 */
/* What a step changed, as rows: requests, items, values; and events. */
#include "engine/sqlite/changes.h"

#include "engine/sqlite/change_watch.h"

/* ---- requests, items and values -------------------------------------------------------------- */

/* R4: a draw counts at every root of the request. */
static int write_draws(struct lk_sql *sql, const struct lk_record *record) {
    uint64_t draw = record->ticket > record->token ? record->ticket : record->token;

    for (size_t i = 0; i < record->part_count; i++) {
        int code = lk_sql_root_save(sql, lk_path_root(&record->parts[i].path), draw);
        if (code != SQLITE_OK) {
            return code;
        }
    }
    return SQLITE_OK;
}

static bool has_drawn(enum lk_change_kind kind) {
    return kind == LK_CHANGE_QUEUED || kind == LK_CHANGE_GRANTED || kind == LK_CHANGE_CONVERTED;
}

/* Whether a call that waits for the request has to look again: it is granted, or gone. */
static bool ends_wait(enum lk_change_kind kind) {
    return kind == LK_CHANGE_GRANTED || kind == LK_CHANGE_WITHDRAWN || kind == LK_CHANGE_PERISHED
           || kind == LK_CHANGE_BROKEN;
}

/* Whether the request's parts may differ from the rows: it is new, or the command asked for it. */
static bool has_new_parts(const struct lk_closure *closure, const struct lk_effects *effects,
                          lk_ref request, uint64_t id) {
    return request == effects->answer.request || !lk_closure_has(closure, id);
}

static int write_request(const struct lk_closure *closure, const struct lk_effects *effects,
                         lk_ref request, const struct lk_times *times) {
    const struct lk_record *record = &closure->store->request.record;
    struct lk_row row = {.kind = LK_ROW_REQUEST_GONE, .gone = record->id};

    if (record->state != LK_STATE_ENDED) {
        row = (struct lk_row){
            .kind = LK_ROW_REQUEST,
            .request.record = record,
            .request.expires_unix_us = lk_times_unix_us(times, record->deadline_us),
            .request.has_parts = has_new_parts(closure, effects, request, record->id),
        };
    } else if (!lk_closure_has(closure, record->id)) {
        return SQLITE_OK;
    }
    return lk_sql_row_write(&closure->store->sql, &row);
}

/* `is_last`: no later change of the step is about the same request. */
static int write_request_change(const struct lk_closure *closure, const struct lk_effects *effects,
                                const struct lk_change *change, bool is_last,
                                const struct lk_times *times) {
    struct lk_record *record = &closure->store->request.record;
    int code = SQLITE_OK;

    lk_model_record(closure->model, change->request, record);
    if (ends_wait(change->kind) && lk_closure_has(closure, record->id)) {
        lk_sqlite_wake_note(closure->store, record->id);
    }
    if (has_drawn(change->kind)) {
        code = write_draws(&closure->store->sql, record);
    }
    return code == SQLITE_OK && is_last ? write_request(closure, effects, change->request, times)
                                        : code;
}

/* A push draws (R4), as its place in the queue. */
static int write_other_change(const struct lk_closure *closure, const struct lk_change *change,
                              const struct lk_times *times) {
    struct lk_sql *sql = &closure->store->sql;
    struct lk_item_record *record = &closure->store->item.record;
    const struct lk_row row = lk_row_of_change(closure->model, change, times, record);
    int code = lk_sql_row_write(sql, &row);

    return code == SQLITE_OK && row.kind == LK_ROW_ITEM_NEW
               ? lk_sql_root_save(sql, lk_path_root(&record->queue), record->sequence)
               : code;
}

static bool is_of_request(const struct lk_change *change) {
    return change->kind <= LK_CHANGE_BROKEN;
}

/* Whether the next change is of the same request, which is then written once. */
static bool is_followed(const struct lk_effects *effects, size_t index) {
    const struct lk_change *change = &effects->changes[index];

    return index + 1 < effects->change_count && is_of_request(&change[1])
           && change[1].request == change->request;
}

int lk_changes_write(const struct lk_closure *closure, const struct lk_effects *effects,
                     const struct lk_times *times) {
    int code = SQLITE_OK;

    for (size_t i = 0; i < effects->change_count && code == SQLITE_OK; i++) {
        const struct lk_change *change = &effects->changes[i];

        code = is_of_request(change)
                   ? write_request_change(closure, effects, change, !is_followed(effects, i), times)
                   : write_other_change(closure, change, times);
    }
    return code;
}

int lk_changes_record(const struct lk_closure *closure, const struct lk_effects *effects,
                      const struct lk_command *command) {
    struct lk_record *record = &closure->store->request.record;
    const struct lk_break *broken = &command->broken;
    bool are_leases_revoked = false;
    int code = SQLITE_OK;

    for (size_t i = 0; i < effects->change_count && code == SQLITE_OK; i++) {
        const struct lk_change *change = &effects->changes[i];
        struct lk_row row = {.kind = LK_ROW_AUDIT};

        if (lk_audit_row_of(closure->model, effects, change, broken, command->times.wall_us, record,
                            &row.audit)) {
            code = lk_sql_row_write(&closure->store->sql, &row);
            are_leases_revoked = are_leases_revoked || row.audit.token != 0;
        }
    }
    if (are_leases_revoked) {
        lk_sqlite_wake_note(closure->store, LK_SQLITE_WAKE_REVOKED);
    }
    return code;
}

int lk_changes_upkeep(struct lk_sqlite_transaction *transaction, uint64_t draw) {
    struct lk_sql *sql = &transaction->store->sql;
    int64_t before_us = transaction->times.wall_us - LK_ROOT_IDLE_US;
    int code;

    if (draw % LK_SQLITE_SWEEP_EVERY != 0) {
        return SQLITE_OK;
    }
    code = lk_sql_ended_sweep(sql, transaction->times.now_us - LK_ENDED_MEMORY_US,
                              LK_SQLITE_SWEEP_ENDED);
    if (code == SQLITE_OK) {
        code = lk_sql_items_forget(sql, transaction->times.now_us, LK_SQLITE_SWEEP_DONE);
    }
    if (code == SQLITE_OK) {
        code = lk_sqlite_events_upkeep(transaction);
    }
    if (code != SQLITE_OK || draw % LK_SQLITE_UPKEEP_EVERY != 0) {
        return code;
    }
    code = lk_sql_ended_bound(sql, LK_SQLITE_ENDED_MAX);
    if (code == SQLITE_OK && before_us > 0) {
        code = lk_sql_roots_sweep(sql, &transaction->meta, (uint64_t)before_us,
                                  LK_SQLITE_UPKEEP_ROOTS);
    }
    return code;
}

/* ---- events (R21) ---------------------------------------------------------------------------- */

/* They are written in the transaction of the decision that they tell of. */

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
