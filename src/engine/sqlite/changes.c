/* SPDX-License-Identifier: Apache-2.0 */
/* What a step changed, as rows. */
#include "engine/sqlite/changes.h"

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

/* Whether the request's parts may differ from the rows: it is new, or it is what was asked for. */
static bool has_new_parts(const struct lk_neighbourhood *hood, const struct lk_effects *effects,
                          lk_ref request, uint64_t id) {
    return request == effects->answer.request || !lk_neighbourhood_has(hood, id);
}

static int write_request(const struct lk_neighbourhood *hood, const struct lk_effects *effects,
                         lk_ref request, const struct lk_times *times) {
    struct lk_sql *sql = &hood->store->sql;
    const struct lk_record *record = &hood->store->request.record;
    int code;

    if (record->state == LK_STATE_ENDED) {
        return lk_neighbourhood_has(hood, record->id) ? lk_sql_request_delete(sql, record->id)
                                                      : SQLITE_OK;
    }
    code = lk_sql_request_save(sql, record, times->wall_us + record->deadline_us - times->now_us,
                               false);
    if (code == SQLITE_OK && has_new_parts(hood, effects, request, record->id)) {
        code = lk_sql_parts_save(sql, record);
    }
    return code;
}

int lk_changes_write(const struct lk_neighbourhood *hood, const struct lk_effects *effects,
                     const struct lk_times *times) {
    struct lk_record *record = &hood->store->request.record;
    int code = SQLITE_OK;

    for (size_t i = 0; i < effects->change_count && code == SQLITE_OK; i++) {
        const struct lk_change *change = &effects->changes[i];

        lk_model_record(hood->model, change->request, record);
        if (has_drawn(change->kind)) {
            code = write_draws(&hood->store->sql, record);
        }
        /* What changed twice in a row is written once. */
        if (code == SQLITE_OK
            && (i + 1 == effects->change_count
                || effects->changes[i + 1].request != change->request)) {
            code = write_request(hood, effects, change->request, times);
        }
    }
    return code;
}

int lk_changes_remember(const struct lk_neighbourhood *hood, const struct lk_effects *effects,
                        const struct lk_target *target, int64_t now_us) {
    if (target->token == 0 || effects->answer.outcome != LK_OK || effects->answer.request == 0) {
        return SQLITE_OK;
    }
    return lk_sql_ended_save(&hood->store->sql, target, now_us);
}

int lk_changes_record(const struct lk_neighbourhood *hood, const struct lk_effects *effects,
                      const struct lk_event *event, struct lk_slice by, struct lk_slice reason) {
    struct lk_record *record = &hood->store->request.record;
    const struct lk_path *path = &event->broken.path;
    int code = SQLITE_OK;

    for (size_t i = 0; i < effects->change_count && code == SQLITE_OK; i++) {
        const struct lk_change *change = &effects->changes[i];
        struct lk_sql_audit audit;

        if (change->kind != LK_CHANGE_BROKEN && change->kind != LK_CHANGE_REVOKED) {
            continue;
        }
        lk_model_record(hood->model, change->request, record);
        audit = (struct lk_sql_audit){
            .at_unix_us = event->times.wall_us,
            .by = by,
            .reason = reason,
            .path = {path->bytes, path->size},
            .owner = record->owner,
            .note = record->note,
            .ticket = record->ticket,
            .token = record->token,
        };
        code = lk_sql_audit_save(&hood->store->sql, &audit, LK_SQLITE_AUDIT_MAX);
    }
    return code;
}

int lk_changes_upkeep(struct lk_sqlite_turn *turn, uint64_t draw) {
    struct lk_sql *sql = &turn->store->sql;
    int64_t before_us = turn->times.wall_us - LK_SQLITE_ROOT_IDLE_US;
    int code;

    if (draw % LK_SQLITE_SWEEP_EVERY != 0) {
        return SQLITE_OK;
    }
    code = lk_sql_ended_sweep(sql, turn->times.now_us - LK_ENDED_MEMORY_US, LK_SQLITE_SWEEP_ENDED);
    if (code != SQLITE_OK || draw % LK_SQLITE_UPKEEP_EVERY != 0) {
        return code;
    }
    code = lk_sql_ended_bound(sql, LK_SQLITE_ENDED_MAX);
    if (code == SQLITE_OK && before_us > 0) {
        code = lk_sql_roots_sweep(sql, &turn->meta, (uint64_t)before_us, LK_SQLITE_UPKEEP_ROOTS);
    }
    return code;
}
