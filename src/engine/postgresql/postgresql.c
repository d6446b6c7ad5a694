/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing `postgresql://...`, and its table of operations. */
#include "engine/postgresql/postgresql.h"

#include <stdlib.h>

#include "base/error.h"
#include "engine/postgresql/schema.h"
#include "engine/postgresql/store.h"
#include "sql/schema.h"

static void free_store(struct lk_postgresql *store) {
    lk_postgresql_table_infos_done(store);
    lk_procedures_done(&store->common);
    lk_postgresql_address_done(&store->address);
    free(store);
}

static lk_outcome open_store(struct lk_slice rest, bool must_exist,
                             const struct lk_patience *patience, struct lk_engine **ret_engine,
                             struct lk_error *error) {
    const struct lk_postgresql_format format = {LK_POSTGRESQL_FORMAT, lk_sql_schema_postgresql()};
    struct lk_postgresql *store = calloc(1, sizeof *store);
    lk_outcome outcome;

    if (store == NULL
        || !lk_procedures_init(&store->common, &lk_engine_postgresql, &lk_postgresql_database)) {
        free(store);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_libpq_load(error);
    if (outcome == LK_OK) {
        outcome = lk_postgresql_address_parse(rest, &store->address, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_postgresql_prepare(store, &format, must_exist, patience, error);
    }
    if (outcome == LK_OK) {
        store->listener = lk_postgresql_listener_join(&store->address);
        if (store->listener == NULL) {
            outcome = lk_error_set(error, LK_INTERNAL, "the system has no more mutexes or pipes");
        }
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
    struct lk_postgresql *store = lk_postgresql_of(engine);

    if (!lk_procedures_is_forked(&store->common, NULL)) {
        lk_postgresql_listener_leave(store->listener);
        free_store(store);
    }
}

static const char *const file_options[] = {"passfile", "sslcert",   "sslkey", "sslrootcert",
                                           "sslcrl",   "sslcrldir", NULL};
static const struct lk_url_files files = {.options = file_options, .url_option = "listen"};

static const struct lk_event_ops event_ops = {
    .read = lk_procedures_events,
    .await = lk_postgresql_await_events,
};

static const struct lk_table_ops table_ops = {
    .check = lk_postgresql_table_check,
    LK_PROCEDURES_TABLE_OPERATIONS,
};

static const struct lk_revoked_ops revoked_ops = {.await = lk_postgresql_await_revoked};

const struct lk_engine_ops lk_engine_postgresql = {
    .files = &files,
    .scheme = "postgresql",
    .alias = "postgres",
    .is_remote = true,
    .title = "a PostgreSQL database",
    LK_PROCEDURES_OPERATIONS,
    .open = open_by_url,
    .open_existing = open_existing,
    .close = close_engine,
    .await = lk_postgresql_await,
    .examine = lk_postgresql_examine,
    .events = &event_ops,
    .table = &table_ops,
    .revoked = &revoked_ops,
};
