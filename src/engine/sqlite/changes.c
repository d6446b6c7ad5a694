/* SPDX-License-Identifier: Apache-2.0 */
/* What a step changed, as rows. */
#include "engine/sqlite/changes.h"

#include "engine/sqlite/events.h"
#include "engine/sqlite/wake_up.h"

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
    int code = SQLITE_OK;

    for (size_t i = 0; i < effects->change_count && code == SQLITE_OK; i++) {
        const struct lk_change *change = &effects->changes[i];
        struct lk_row row = {.kind = LK_ROW_AUDIT};

        if (change->kind != LK_CHANGE_BROKEN && change->kind != LK_CHANGE_REVOKED) {
            continue;
        }
        lk_model_record(closure->model, change->request, record);
        row.audit = lk_audit_row_of(broken, record, command->times.wall_us);
        code = lk_sql_row_write(&closure->store->sql, &row);
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
