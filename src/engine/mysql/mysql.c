/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing `mysql://...`, and its table of operations. */
#include "engine/mysql/mysql.h"

#include <stdlib.h>

#include "base/error.h"
#include "engine/mysql/store.h"

static void free_store(struct lk_mysql *store) {
    lk_procedures_done(&store->common);
    lk_mysql_place_done(&store->place);
    free(store->known);
    free(store);
}

static lk_outcome open_by_url(struct lk_slice rest, const struct lk_patience *patience,
                              struct lk_engine **ret_engine, struct lk_error *error) {
    struct lk_mysql *store = calloc(1, sizeof *store);
    lk_outcome outcome;

    if (store == NULL
        || !lk_procedures_init(&store->common, &lk_engine_mysql, &lk_mysql_database)) {
        free(store);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_mysql_place_parse(rest, &store->place, error);
    if (outcome == LK_OK) {
        outcome = lk_mysql_prepare(store, patience, error);
    }
    if (outcome != LK_OK) {
        free_store(store);
        return outcome;
    }
    *ret_engine = &store->common.engine;
    return LK_OK;
}

static void close_engine(struct lk_engine *engine) {
    struct lk_mysql *store = lk_mysql_of(engine);

    if (!lk_procedures_is_forked(&store->common, NULL)) {
        free_store(store);
    }
}

const struct lk_engine_ops lk_engine_mysql = {
    .scheme = "mysql",
    .alias = "mariadb",
    .title = "a MySQL or MariaDB database",
    LK_PROCEDURES_OPERATIONS,
    .open = open_by_url,
    .close = close_engine,
    .await = lk_mysql_await,
    .await_work = lk_mysql_await_work,
    .await_events = lk_mysql_await_events,
    .table_check = lk_mysql_table_check,
    .examine = lk_mysql_examine,
};
