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
    .capabilities = LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_BREAK | LK_CAN_EXCLUSIVE
                    | LK_CAN_VALUES | LK_CAN_WORK | LK_CAN_TABLE | LK_CAN_PERSIST | LK_CAN_EVENTS
                    | LK_CAN_LIMITS,
    .open = open_by_url,
    .close = close_engine,
    .is_read_only = lk_procedures_is_read_only,
    .ask = lk_procedures_ask,
    .renew = lk_procedures_renew,
    .release = lk_procedures_release,
    .await = lk_mysql_await,
    .break_ = lk_procedures_break,
    .list = lk_procedures_list,
    .show = lk_procedures_show,
    .audit = lk_procedures_audit,
    .value_get = lk_procedures_value_get,
    .value_put = lk_procedures_value_put,
    .push = lk_procedures_push,
    .take = lk_procedures_take,
    .finish = lk_procedures_finish,
    .unpark = lk_procedures_unpark,
    .items = lk_procedures_items,
    .stats = lk_procedures_stats,
    .await_work = lk_mysql_await_work,
    .events = lk_procedures_events,
    .await_events = lk_mysql_await_events,
    .limits_get = lk_procedures_limits_get,
    .limits_set = lk_procedures_limits_set,
    .table_check = lk_mysql_table_check,
    .table_announce = lk_procedures_table_announce,
    .table_take = lk_procedures_table_take,
    .table_finish = lk_procedures_table_finish,
    .table_finish_and_take = lk_procedures_table_finish_and_take,
    .examine = lk_mysql_examine,
};
