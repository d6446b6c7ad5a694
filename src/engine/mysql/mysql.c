/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing `mysql://...`, and its table of operations. */
#include "engine/mysql/mysql.h"

#include <stdlib.h>

#include "base/error.h"
#include "engine/mysql/script.h"
#include "engine/mysql/store.h"
#include "sql/schema.h"

static void free_store(struct lk_mysql *store) {
    lk_mysql_poll_links_done(store);
    lk_procedures_done(&store->common);
    lk_mysql_address_done(&store->address);
    free(store->known);
    free(store);
}

static lk_outcome open_store(struct lk_slice rest, bool must_exist,
                             const struct lk_patience *patience, struct lk_engine **ret_engine,
                             struct lk_error *error) {
    const struct lk_mysql_format format = {LK_MYSQL_FORMAT, lk_sql_schema_mysql()};
    struct lk_mysql *store = calloc(1, sizeof *store);
    lk_outcome outcome;

    if (store == NULL
        || !lk_procedures_init(&store->common, &lk_engine_mysql, &lk_mysql_database)) {
        free(store);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_libmariadb_load(error);
    if (outcome == LK_OK) {
        outcome = lk_mysql_address_parse(rest, &store->address, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_mysql_prepare(store, &format, must_exist, patience, error);
    }
    if (outcome != LK_OK) {
        free_store(store);
        return outcome;
    }
    *ret_engine = &store->common.engine;
    return LK_OK;
}

static lk_outcome open_by_url(struct lk_slice rest, const struct lk_patience *patience,
                              struct lk_engine **ret_engine, struct lk_error *error) {
    return open_store(rest, false, patience, ret_engine, error);
}

static lk_outcome open_existing(struct lk_slice rest, const struct lk_patience *patience,
                                struct lk_engine **ret_engine, struct lk_error *error) {
    return open_store(rest, true, patience, ret_engine, error);
}

static void close_engine(struct lk_engine *engine) {
    struct lk_mysql *store = lk_mysql_of(engine);

    if (!lk_procedures_is_forked(&store->common, NULL)) {
        free_store(store);
    }
}

static const char *const file_options[] = {"socket",   "ssl-ca",  "ssl-capath",
                                           "ssl-cert", "ssl-key", NULL};
static const struct lk_url_files files = {.options = file_options};

static const struct lk_event_ops event_ops = {
    .read = lk_procedures_events,
    .await = lk_mysql_await_events,
};

static const struct lk_table_ops table_ops = {
    .check = lk_mysql_table_check,
    LK_PROCEDURES_TABLE_OPERATIONS,
};

static const struct lk_revoked_ops revoked_ops = {.await = lk_mysql_await_revoked};

const struct lk_engine_ops lk_engine_mysql = {
    .files = &files,
    .scheme = "mysql",
    .alias = "mariadb",
    .is_remote = true,
    .title = "a MySQL or MariaDB database",
    LK_PROCEDURES_OPERATIONS,
    .open = open_by_url,
    .open_existing = open_existing,
    .close = close_engine,
    .await = lk_mysql_await,
    .examine = lk_mysql_examine,
    .events = &event_ops,
    .table = &table_ops,
    .revoked = &revoked_ops,
};
