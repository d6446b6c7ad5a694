/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking, renewing, releasing, breaking: one turn each.
 *
 *     begin  -  load the neighbourhood  -  step  -  write what changed  -  commit  -  answer
 *
 * The answer is made before the commit, so that nothing can fail after it, and given after it, so
 * that nobody hears of what a power cut could undo. A refused try changes nothing, and its commit
 * writes nothing.
 */
#include "engine/sqlite/decide.h"

#include "base/error.h"
#include "engine/reply.h"
#include "engine/sqlite/changes.h"
#include "engine/sqlite/events.h"

/* R3: tells the model when the token that this release names ended, if it did. */
static int load_ended(struct lk_neighbourhood *hood, const struct lk_target *target) {
    int64_t ended_us = 0;
    int code;

    if (target->token == 0) {
        return SQLITE_OK;
    }
    code = lk_sql_ended_load(&hood->store->sql, target, &ended_us);
    if (code == SQLITE_EMPTY) {
        return SQLITE_OK;
    }
    if (code == SQLITE_OK && lk_model_restore_ended(hood->model, target, ended_us) == LK_INTERNAL) {
        code = SQLITE_NOMEM;
    }
    return code;
}

int lk_sqlite_write(struct lk_sqlite_turn *turn, const struct lk_event *event,
                    const struct lk_neighbourhood *hood, const struct lk_effects *effects) {
    int code = lk_changes_write(hood, effects, &turn->times);

    if (code == SQLITE_OK) {
        code = lk_sqlite_events_keep(turn, hood->model, effects, event);
    }
    if (code == SQLITE_OK && effects->change_count > 0) {
        code = lk_changes_mark_format(turn, event);
    }
    if (code == SQLITE_OK && effects->change_count > 0) {
        code = lk_changes_upkeep(turn, lk_random_next(&turn->store->random));
    }
    return code;
}

int lk_sqlite_sweep(struct lk_sqlite_turn *turn, const struct lk_path *queue) {
    const struct lk_event tick = {.kind = LK_EVENT_TICK, .times = turn->times};
    struct lk_neighbourhood hood;
    int code =
        lk_neighbourhood_load_overdue(&hood, turn, &tick, queue, turn->store->options.overdue_max);

    if (code == SQLITE_OK && hood.requests.item_count > 0) {
        const struct lk_effects *effects = lk_model_step(hood.model, &tick);
        code = lk_changes_write(&hood, effects, &turn->times);
        if (code == SQLITE_OK) {
            code = lk_sqlite_events_keep(turn, hood.model, effects, &tick);
        }
    }
    lk_neighbourhood_done(&hood);
    return code;
}

/* R3: whom and what a release or the end of a claim names; else NULL. `part` is room. */
static const struct lk_target *target_of(const struct lk_event *event,
                                         const struct lk_neighbourhood *hood, struct lk_part *part,
                                         struct lk_target *target) {
    if (event->kind == LK_EVENT_RELEASE) {
        return &event->release.target;
    }
    if (event->kind != LK_EVENT_FINISH || hood->item.size == 0) {
        return NULL;
    }
    *part = (struct lk_part){.path = hood->item, .mode = LK_EXCLUSIVE};
    *target = (struct lk_target){
        .owner = event->finish.owner, .parts = part, .part_count = 1, .token = event->finish.token};
    return target;
}

int lk_sqlite_decide(struct lk_sqlite_turn *turn, struct lk_event *event,
                     struct lk_neighbourhood *hood, const struct lk_effects **ret_effects) {
    const struct lk_effects *effects;
    const struct lk_target *target;
    struct lk_target room;
    struct lk_part part;
    int code;

    event->times = turn->times;
    code = lk_neighbourhood_load(hood, turn, event, NULL);
    target = target_of(event, hood, &part, &room);
    if (code == SQLITE_OK && target != NULL) {
        code = load_ended(hood, target);
    }
    if (code == SQLITE_OK && event->kind == LK_EVENT_ASK) {
        code = lk_neighbourhood_count(hood, &turn->meta.quotas, event->ask.owner);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    effects = lk_model_step(hood->model, event);
    code = lk_sqlite_write(turn, event, hood, effects);
    if (code == SQLITE_OK && target != NULL) {
        code = lk_changes_remember(hood, effects, target, turn->times.now_us);
    }
    *ret_effects = effects;
    return code;
}

/* Where a waiting request stands, for lk_sqlite_await(). */
static void fill_stand(const struct lk_neighbourhood *hood, const struct lk_effects *effects,
                       struct lk_stand *stand) {
    lk_model_record(hood->model, effects->answer.request, &hood->store->request.record);
    stand->id = hood->store->request.record.id;
    stand->version = 0;
    stand->in_the_way = effects->answer.in_the_way;
}

/* A whole turn that ends in an lk_result. `stand` may be NULL. */
static lk_outcome answer(struct lk_engine *engine, struct lk_event *event,
                         const struct lk_patience *patience, lk_result *result,
                         struct lk_stand *stand) {
    struct lk_sqlite_turn turn;
    struct lk_neighbourhood hood;
    const struct lk_effects *effects;
    struct lk_stand found = {.id = 0};
    lk_error error;
    bool is_complete;
    int code;
    lk_outcome outcome =
        lk_sqlite_turn_begin(lk_sqlite_of(engine), LK_SQLITE_WRITE, patience, &turn, &error);

    if (outcome != LK_OK) {
        return lk_result_fail(result, outcome, "%s", error.text);
    }
    code = lk_sqlite_decide(&turn, event, &hood, &effects);
    if (code == SQLITE_OK) {
        is_complete = lk_result_from_effects(hood.model, effects, &turn.times, result);
        code = is_complete ? SQLITE_OK : SQLITE_NOMEM;
        if (effects->answer.outcome == LK_WAITING) {
            fill_stand(&hood, effects, &found);
        }
    }
    outcome = lk_sqlite_turn_end(&turn, code, &error);
    lk_neighbourhood_done(&hood);
    if (outcome != LK_OK) {
        lk_result_clear(result);
        return lk_result_fail(result, outcome, "%s", error.text);
    }
    if (stand != NULL && result->outcome == LK_WAITING) {
        *stand = found;
    }
    return result->outcome;
}

lk_outcome lk_sqlite_ask(struct lk_engine *engine, const struct lk_ask *ask,
                         const struct lk_patience *patience, lk_result *result,
                         struct lk_stand *ret_stand) {
    struct lk_event event = {.kind = LK_EVENT_ASK, .ask = *ask};

    return answer(engine, &event, patience, result, ret_stand);
}

lk_outcome lk_sqlite_renew(struct lk_engine *engine, const struct lk_renew *renew,
                           const struct lk_patience *patience, lk_result *result) {
    struct lk_event event = {.kind = LK_EVENT_RENEW, .renew = *renew};

    return answer(engine, &event, patience, result, NULL);
}

lk_outcome lk_sqlite_release(struct lk_engine *engine, const struct lk_release *release,
                             const struct lk_patience *patience, lk_result *result) {
    struct lk_event event = {.kind = LK_EVENT_RELEASE, .release = *release};

    return answer(engine, &event, patience, result, NULL);
}

lk_outcome lk_sqlite_break(struct lk_engine *engine, const struct lk_break *broken,
                           struct lk_slice by, struct lk_slice reason,
                           const struct lk_patience *patience, size_t *ret_count,
                           struct lk_error *error) {
    struct lk_event event = {.kind = LK_EVENT_BREAK, .broken = *broken};
    struct lk_sqlite_turn turn;
    struct lk_neighbourhood hood;
    const struct lk_effects *effects;
    size_t count = 0;
    lk_outcome decided = LK_OK;
    int code;
    lk_outcome outcome =
        lk_sqlite_turn_begin(lk_sqlite_of(engine), LK_SQLITE_WRITE, patience, &turn, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    code = lk_sqlite_decide(&turn, &event, &hood, &effects);
    if (code == SQLITE_OK) {
        decided = effects->answer.outcome;
        count = effects->answer.broken;
        (void)lk_error_set(error, decided, "%s", effects->answer.text);
        code = lk_changes_record(&hood, effects, &event, by, reason);
    }
    outcome = lk_sqlite_turn_end(&turn, code, error);
    lk_neighbourhood_done(&hood);
    if (outcome == LK_OK && decided == LK_OK) {
        *ret_count = count;
    }
    return outcome == LK_OK ? decided : outcome;
}
