/* SPDX-License-Identifier: Apache-2.0 */
/* Values written (R15), items pushed, finished, unparked (R16): one turn each, as in decide.c. */
#include "base/error.h"
#include "engine/sqlite/decide.h"

/* A whole turn that ends in an outcome and a sentence; *ret_created as in the model's answer. */
static lk_outcome perform(struct lk_engine *engine, struct lk_event *event,
                          const struct lk_patience *patience, bool *ret_created, lk_error *error) {
    struct lk_sqlite_turn turn;
    struct lk_neighbourhood hood;
    const struct lk_effects *effects;
    bool created = false;
    lk_outcome decided = LK_OK;
    int code;
    lk_outcome outcome =
        lk_sqlite_turn_begin(lk_sqlite_of(engine), LK_SQLITE_WRITE, patience, &turn, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    code = lk_sqlite_decide(&turn, event, &hood, &effects);
    if (code == SQLITE_OK) {
        decided = effects->answer.outcome;
        created = effects->answer.created;
        (void)lk_error_set(error, decided, "%s", effects->answer.text);
    }
    outcome = lk_sqlite_turn_end(&turn, code, error);
    lk_neighbourhood_done(&hood);
    if (outcome != LK_OK) {
        return outcome;
    }
    *ret_created = created;
    return decided;
}

lk_outcome lk_sqlite_value_put(struct lk_engine *engine, const struct lk_put *put,
                               const struct lk_patience *patience, lk_error *error) {
    struct lk_event event = {.kind = LK_EVENT_PUT, .put = *put};
    bool created = false;

    return perform(engine, &event, patience, &created, error);
}

lk_outcome lk_sqlite_push(struct lk_engine *engine, const struct lk_push *push,
                          const struct lk_patience *patience, bool *ret_added, lk_error *error) {
    struct lk_event event = {.kind = LK_EVENT_PUSH, .push = *push};
    bool created = false;
    lk_outcome outcome = perform(engine, &event, patience, &created, error);

    if (outcome == LK_OK) {
        *ret_added = created;
    }
    return outcome;
}

lk_outcome lk_sqlite_finish(struct lk_engine *engine, const struct lk_finish *finish,
                            const struct lk_patience *patience, lk_error *error) {
    struct lk_event event = {.kind = LK_EVENT_FINISH, .finish = *finish};
    bool created = false;

    return perform(engine, &event, patience, &created, error);
}

lk_outcome lk_sqlite_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                            const struct lk_patience *patience, lk_error *error) {
    struct lk_event event = {.kind = LK_EVENT_UNPARK, .unpark = *unpark};
    bool created = false;

    return perform(engine, &event, patience, &created, error);
}
