/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing `postgresql://...`, and its table of operations. */
#include "engine/postgresql/postgresql.h"

#include <stdlib.h>

#include "base/error.h"
#include "engine/postgresql/store.h"

static void free_store(struct lk_postgresql *store) {
    lk_postgresql_shapes_done(store);
    lk_procedures_done(&store->common);
    lk_postgresql_place_done(&store->place);
    free(store);
}

static lk_outcome open_by_url(struct lk_slice rest, const struct lk_patience *patience,
                              struct lk_engine **ret_engine, struct lk_error *error) {
    struct lk_postgresql *store = calloc(1, sizeof *store);
    lk_outcome outcome;

    if (store == NULL
        || !lk_procedures_init(&store->common, &lk_engine_postgresql, &lk_postgresql_database)) {
        free(store);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_postgresql_place_parse(rest, &store->place, error);
    if (outcome == LK_OK) {
        outcome = lk_postgresql_prepare(store, patience, error);
    }
    if (outcome == LK_OK && !lk_listener_init(&store->listener, &store->place)) {
        outcome = lk_error_set(error, LK_INTERNAL, "the system has no more mutexes or pipes");
    }
    if (outcome != LK_OK) {
        free_store(store);
        return outcome;
    }
    *ret_engine = &store->common.engine;
    return LK_OK;
}

static void close_engine(struct lk_engine *engine) {
    struct lk_postgresql *store = lk_postgresql_of(engine);

    if (!lk_procedures_is_forked(&store->common, NULL)) {
        lk_listener_done(&store->listener);
        free_store(store);
    }
}

const struct lk_engine_ops lk_engine_postgresql = {
    .scheme = "postgresql",
    .alias = "postgres",
    .title = "a PostgreSQL database",
    LK_PROCEDURES_OPERATIONS,
    .open = open_by_url,
    .close = close_engine,
    .await = lk_postgresql_await,
    .has_items = lk_procedures_has_items,
    .await_work = lk_postgresql_await_work,
    .await_events = lk_postgresql_await_events,
    .table_check = lk_postgresql_table_check,
    .examine = lk_postgresql_examine,
};
