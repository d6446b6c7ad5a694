/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing `postgresql://...`, and its table of operations. */
#include "engine/postgresql/postgresql.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/postgresql/store.h"

static void free_store(struct lk_postgresql *store) {
    for (size_t i = 0; i < store->idle_count; i++) {
        PQfinish(store->idle[i]);
    }
    lk_postgresql_shapes_done(store);
    lk_postgresql_place_done(&store->place);
    free(store);
}

/* The mutex and the listener; what is here is ended by close_engine(). */
static bool begin_sharing(struct lk_postgresql *store) {
    if (pthread_mutex_init(&store->mutex, NULL) != 0) {
        return false;
    }
    if (!lk_listener_init(&store->listener, &store->place)) {
        (void)pthread_mutex_destroy(&store->mutex);
        return false;
    }
    return true;
}

static lk_outcome open_by_url(struct lk_slice rest, const struct lk_patience *patience,
                              struct lk_engine **ret_engine, struct lk_error *error) {
    struct lk_postgresql *store = calloc(1, sizeof *store);
    lk_outcome outcome;

    if (store == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_postgresql_place_parse(rest, &store->place, error);
    if (outcome != LK_OK) {
        free(store);
        return outcome;
    }
    store->engine.ops = &lk_engine_postgresql;
    store->process = getpid();
    outcome = lk_postgresql_prepare(store, patience, error);
    if (outcome == LK_OK && !begin_sharing(store)) {
        outcome = lk_error_set(error, LK_INTERNAL, "the system has no more mutexes or pipes");
    }
    if (outcome != LK_OK) {
        free_store(store);
        return outcome;
    }
    *ret_engine = &store->engine;
    return LK_OK;
}

static void close_engine(struct lk_engine *engine) {
    struct lk_postgresql *store = lk_postgresql_of(engine);

    /* A child of fork() leaves the connections alone: they are the parent's. */
    if (!lk_postgresql_is_forked(store, NULL)) {
        lk_listener_done(&store->listener);
        (void)pthread_mutex_destroy(&store->mutex);
        free_store(store);
    }
}

const struct lk_engine_ops lk_engine_postgresql = {
    .scheme = "postgresql",
    .title = "a PostgreSQL database",
    .capabilities = LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_BREAK | LK_CAN_EXCLUSIVE
                    | LK_CAN_VALUES | LK_CAN_WORK | LK_CAN_TABLE | LK_CAN_PERSIST,
    .open = open_by_url,
    .close = close_engine,
    .ask = lk_postgresql_ask,
    .renew = lk_postgresql_renew,
    .release = lk_postgresql_release,
    .await = lk_postgresql_await,
    .break_ = lk_postgresql_break,
    .list = lk_postgresql_list,
    .show = lk_postgresql_show,
    .audit = lk_postgresql_audit,
    .value_get = lk_postgresql_value_get,
    .value_put = lk_postgresql_value_put,
    .push = lk_postgresql_push,
    .take = lk_postgresql_take,
    .finish = lk_postgresql_finish,
    .unpark = lk_postgresql_unpark,
    .items = lk_postgresql_items,
    .stats = lk_postgresql_stats,
    .await_work = lk_postgresql_await_work,
    .table_check = lk_postgresql_table_check,
    .table_announce = lk_postgresql_table_announce,
    .table_take = lk_postgresql_table_take,
    .table_finish = lk_postgresql_table_finish,
    .examine = lk_postgresql_examine,
};
