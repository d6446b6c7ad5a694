/* SPDX-License-Identifier: Apache-2.0 */
/* Values written (R15), items pushed, finished, unparked (R16): one turn each, as in decide.c. */
#include "base/error.h"
#include "engine/sqlite/decide.h"
#include "engine/sqlite/source.h"
#include "sql/done_rows.h"

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

/* ---- a table of the owner's (R17) ------------------------------------------------------------ */

/* What goes with the end of a claim: the owner's statement, and a mark where the row still fits. */
static int complete(struct lk_sqlite *store, struct lk_sqlite_source *source,
                    const struct lk_neighbourhood *hood, const struct lk_effects *effects,
                    const struct lk_finish *finish) {
    const struct lk_slice queue = {finish->queue.bytes, finish->queue.size};
    struct lk_item_record *record = &store->item.record;
    bool fits = false;
    int code;

    lk_model_item_record(hood->model, effects->answer.item, record);
    const struct lk_sqlite_completion completion = {.id = finish->id,
                                                    .owner = finish->owner,
                                                    .token = finish->token,
                                                    .attempt = record->attempts};
    code = lk_sqlite_source_complete(store, source, &completion);
    if (code == SQLITE_OK) {
        code = lk_sqlite_source_fits(store, source, finish->id, &fits);
    }
    return code == SQLITE_OK && fits ? lk_sql_done_row_add(&store->sql, queue, finish->id) : code;
}

/* R3: a repetition finds the claim ended, and the statement has run. */
static bool ends_now(const struct lk_effects *effects, const struct lk_finish *finish) {
    return effects->answer.outcome == LK_OK && effects->answer.item != 0
           && finish->kind == LK_FINISH_DONE;
}

lk_outcome lk_sqlite_table_finish(struct lk_engine *engine, const struct lk_source *text,
                                  const struct lk_finish *finish,
                                  const struct lk_patience *patience, lk_error *error) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    struct lk_event event = {.kind = LK_EVENT_FINISH, .finish = *finish};
    struct lk_sqlite_source *source = NULL;
    struct lk_sqlite_turn turn;
    struct lk_neighbourhood hood = {.model = NULL};
    const struct lk_effects *effects;
    lk_outcome decided = LK_OK;
    lk_outcome outcome = lk_sqlite_turn_begin(store, LK_SQLITE_WRITE, patience, &turn, error);
    int code;

    if (outcome != LK_OK) {
        return outcome;
    }
    code = lk_sqlite_source_get(store, text, &source);
    if (code == SQLITE_OK) {
        code = lk_sqlite_decide(&turn, &event, &hood, &effects);
    }
    if (code == SQLITE_OK) {
        decided = effects->answer.outcome;
        (void)lk_error_set(error, decided, "%s", effects->answer.text);
        if (ends_now(effects, finish)) {
            code = complete(store, source, &hood, effects, finish);
        }
    }
    outcome = lk_sqlite_source_end(&turn, source, code, error);
    lk_neighbourhood_done(&hood);
    return outcome == LK_OK ? decided : outcome;
}
