/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that several services share, in MySQL or MariaDB: leading, writing, handing over.
 *
 * A text of a connection that was given up may still run at the server. It holds the row of
 * lk_service_leader locked while it does: the next load, which locks that row to begin its epoch,
 * waits for its commit. If it comes behind the load, its epoch is an old one, and it ends without
 * having written anything.
 */
#include "server/store/mysql/store_mysql.h"

#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "engine/mysql/script.h"
#include "server/store/mysql/store.h"
#include "sql/store_name.h"

/* ---- making the tables ----------------------------------------------------------------------- */

/*
 * Makes the tables and procedures, one service at a time. Each DDL statement commits by itself, and
 * the row of lk_service_leader is added last: without it all is made again. What cannot be
 * completed is removed.
 */

enum { SQL_BYTES_MAX = 256 };

#define MAKING_US                                                                                  \
    INT64_C(60000000) /* at least, to make the tables or to wait for another service */

/* The name depends on database and prefix. */
#define LOCK "CONCAT('lockkeeper service ', LEFT(SHA2(CONCAT(DATABASE(), '.%s'), 256), 40))"

/* Runs one statement, whose rows are not of interest. */
static lk_outcome run(const struct lk_store_mysql *store, struct lk_slice sql,
                      const struct lk_patience *patience, lk_error *error) {
    MYSQL_RES *result = NULL;
    lk_outcome outcome = lk_mysql_query(store->link, sql, patience, &result, error);

    if (outcome == LK_INTERNAL) {
        return lk_store_mysql_explain(store, error);
    }
    if (outcome == LK_OK) {
        mysql_free_result(result);
    }
    return outcome;
}

/* *ret_format: -1 if there are no tables, or not all of them. */
static lk_outcome query_format(const struct lk_store_mysql *store,
                               const struct lk_patience *patience, long *ret_format,
                               lk_error *error) {
    char sql[SQL_BYTES_MAX];
    MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    lk_outcome outcome;

    *ret_format = -1;
    (void)snprintf(sql, sizeof sql, "SELECT format FROM %sservice_leader", store->address.prefix);
    outcome = lk_mysql_query(store->link, lk_slice_of(sql), patience, &result, error);
    if (outcome == LK_INTERNAL) {
        return mysql_errno(store->link->mysql) == ER_NO_SUCH_TABLE
                   ? LK_OK
                   : lk_store_mysql_explain(store, error);
    }
    if (outcome == LK_OK) {
        row = result != NULL ? mysql_fetch_row(result) : NULL;
        *ret_format = row != NULL && row[0] != NULL ? strtol(row[0], NULL, 10) : -1;
        mysql_free_result(result);
    }
    return outcome;
}

/* No service can have used what this part of the script has made. What cannot be removed stays. */
static void take_back(const struct lk_store_mysql *store, struct lk_slice script,
                      const struct lk_patience *patience) {
    struct lk_slice statement;
    struct lk_slice kind;
    struct lk_slice name;

    while (!store->link->is_lost && lk_mysql_script_next(&script, &statement)) {
        char sql[SQL_BYTES_MAX];

        if (lk_mysql_script_creates(statement, &kind, &name)) {
            (void)snprintf(sql, sizeof sql, "DROP %.*s IF EXISTS %.*s", (int)kind.size, kind.bytes,
                           (int)name.size, name.bytes);
            (void)run(store, lk_slice_of(sql), patience, NULL);
        }
    }
}

static lk_outcome run_script(const struct lk_store_mysql *store, const char *text,
                             const struct lk_patience *patience, lk_error *error) {
    struct lk_slice script = lk_slice_of(text);
    struct lk_slice statement;
    lk_outcome outcome = LK_OK;

    while (outcome == LK_OK && lk_mysql_script_next(&script, &statement)) {
        outcome = run(store, statement, patience, error);
    }
    if (outcome != LK_OK) {
        take_back(store, (struct lk_slice){text, (size_t)(statement.bytes - text)}, patience);
    }
    return outcome;
}

static lk_outcome make(const struct lk_store_mysql *store, const struct lk_patience *patience,
                       long *ret_format, lk_error *error) {
    char *script = lk_sql_schema_service_with_prefix(store->address.prefix);
    char sql[SQL_BYTES_MAX];
    lk_outcome outcome;

    if (script == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    (void)snprintf(sql, sizeof sql, "SELECT GET_LOCK(" LOCK ", 31536000)", store->address.prefix);
    outcome = run(store, lk_slice_of(sql), patience, error);
    if (outcome == LK_OK) {
        outcome = query_format(store, patience, ret_format, error);
    }
    if (outcome == LK_OK && *ret_format < 0) {
        outcome = run_script(store, script, patience, error);
    }
    free(script);
    if (outcome == LK_OK) {
        (void)snprintf(sql, sizeof sql, "DO RELEASE_LOCK(" LOCK ")", store->address.prefix);
        outcome = run(store, lk_slice_of(sql), patience, error);
    }
    return outcome == LK_OK ? query_format(store, patience, ret_format, error) : outcome;
}

lk_outcome lk_store_mysql_prepare(struct lk_store_mysql *store, const struct lk_patience *patience,
                                  lk_error *error) {
    const struct lk_patience longer = {
        .until_us = lk_max(patience->until_us, lk_clock_now_us() + MAKING_US)};
    long format = -1;
    lk_outcome outcome = query_format(store, patience, &format, error);

    if (outcome == LK_OK && format < 0) {
        outcome = make(store, &longer, &format, error);
    }
    return outcome == LK_OK && format != LK_TABLES_FORMAT
               ? lk_tables_refuse_format(&store->tables, format, error)
               : outcome;
}

#define OPEN_US_MIN INT64_C(5000000) /* to connect for the first time */

/* ---- leading --------------------------------------------------------------------------------- */

enum { LEAD_LEADS, LEAD_EPOCH, LEAD_ADDRESS, LEAD_LEFT, LEAD_AT };

static lk_outcome connect_store(struct lk_tables *tables, lk_error *error) {
    const struct lk_patience patience = lk_tables_patience(tables);

    return lk_store_mysql_connect(lk_store_mysql_of(tables), &patience, error);
}

static lk_outcome lead(struct lk_tables *tables, struct lk_tables_lead *ret_lead, lk_error *error) {
    struct lk_store_mysql *store = lk_store_mysql_of(tables);
    const struct lk_patience patience = lk_tables_patience(tables);
    struct lk_buffer *text = &store->text;
    lk_outcome outcome;

    atomic_store(&tables->storage.risk, NULL);
    lk_store_mysql_put(store, text, "CALL lk_service_lead(");
    lk_store_mysql_put_literal(text, lk_slice_of(tables->process));
    lk_buffer_add_text(text, ",");
    lk_store_mysql_put_literal(text, lk_slice_of(tables->advertised));
    lk_buffer_add_text(text, ",");
    lk_buffer_add_number(text, tables->lease_us);
    lk_buffer_add_text(text, ",");
    lk_buffer_add_number(text, LK_TABLES_FORMAT);
    lk_buffer_add_text(text, ")");
    outcome = lk_store_mysql_run(store, text, &patience, &store->rows, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    if (!lk_store_mysql_next(tables)) {
        outcome = lk_error_set(error, LK_UNAVAILABLE,
                               "the table %sleader is empty; restore it, or remove all of %s...",
                               store->name, store->name);
    } else {
        struct lk_slice address = lk_store_mysql_cell(tables, LEAD_ADDRESS);

        ret_lead->leads = lk_store_mysql_truth(lk_store_mysql_cell(tables, LEAD_LEADS));
        ret_lead->epoch = (uint64_t)lk_store_mysql_number(lk_store_mysql_cell(tables, LEAD_EPOCH));
        ret_lead->left_us = lk_store_mysql_number(lk_store_mysql_cell(tables, LEAD_LEFT));
        ret_lead->at_us = lk_store_mysql_number(lk_store_mysql_cell(tables, LEAD_AT));
        (void)snprintf(ret_lead->address, sizeof ret_lead->address, "%.*s", (int)address.size,
                       address.bytes != NULL ? address.bytes : "");
        atomic_store(&tables->storage.risk, ret_lead->leads ? store->risk : NULL);
    }
    lk_store_mysql_fetched(tables);
    return outcome;
}

/* Before anything is read: a stranger may have come since the connection was made. */
static lk_outcome led(struct lk_tables *tables, lk_error *error) {
    struct lk_store_mysql *store = lk_store_mysql_of(tables);
    const struct lk_patience patience = lk_tables_patience(tables);
    lk_outcome outcome = lk_mysql_check_owners(&store->address, store->link, &patience, error);

    if (outcome != LK_OK) {
        lk_store_mysql_disconnect(store);
    }
    return outcome;
}

static const struct lk_tables_ops tables_ops = {
    .connect = connect_store,
    .lead = lead,
    .led = led,
    .fetch = lk_store_mysql_fetch,
    .next = lk_store_mysql_next,
    .cell = lk_store_mysql_cell,
    .number = lk_store_mysql_number,
    .truth = lk_store_mysql_truth,
    .fetched = lk_store_mysql_fetched,
    .add_row = lk_store_mysql_add_row,
    .add_number = lk_store_mysql_add_number,
    .add_left = lk_store_mysql_add_left,
    .add_truth = lk_store_mysql_add_truth,
    .add_bytes = lk_store_mysql_add_bytes,
    .flush = lk_store_mysql_flush,
    .clear = lk_store_mysql_clear,
    .sweep = lk_store_mysql_sweep,
};

/* ---- writing --------------------------------------------------------------------------------- */

static lk_outcome store_write(struct lk_storage *storage, const struct lk_batch *batch,
                              lk_error *error) {
    struct lk_store_mysql *store = lk_store_mysql_of(lk_tables_of(storage));
    const struct lk_batch_events *events = &batch->events;
    int64_t watch_us =
        events->watched_until_us != 0 ? events->watched_until_us - batch->times.now_us : 0;
    struct lk_patience patience = lk_tables_patience(&store->tables);

    if (store->link == NULL) {
        return lk_error_set(error, LK_UNAVAILABLE, "the connection to the database was lost");
    }
    store->error = error;
    store->outcome = LK_OK;
    store->is_split = false;
    lk_buffer_add_text(&store->text, "START TRANSACTION;");
    lk_store_mysql_put_renew(store, &store->text, batch->draw_floor, events->last,
                             events->has_mark ? &watch_us : NULL);
    if (!lk_tables_send_rows(&store->tables, batch)) {
        lk_buffer_cut(&store->text, 0);
        store->text.failed = false;
        lk_store_mysql_disconnect(store); /* which rolls back */
        return store->outcome != LK_OK ? store->outcome
                                       : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    lk_buffer_add_text(&store->text, "COMMIT");
    if (store->is_split) {
        lk_buffer_add_text(&store->text, ";");
        lk_store_mysql_put_idle(store, &store->text);
        patience = lk_tables_patience(&store->tables);
    }
    return lk_store_mysql_run(store, &store->text, &patience, NULL, error);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static lk_outcome store_resign(struct lk_storage *storage, lk_error *error) {
    struct lk_store_mysql *store = lk_store_mysql_of(lk_tables_of(storage));
    const struct lk_patience patience = lk_tables_patience(&store->tables);

    if (store->link == NULL || store->tables.epoch == 0) {
        return LK_OK;
    }
    lk_store_mysql_put(store, &store->text,
                       "UPDATE lk_service_leader SET is_free = 1"
                       " WHERE only_row = 1 AND epoch = ");
    lk_buffer_add_number(&store->text, (int64_t)store->tables.epoch);
    return lk_store_mysql_run(store, &store->text, &patience, NULL, error);
}

static void store_close(struct lk_storage *storage) {
    struct lk_store_mysql *store = lk_store_mysql_of(lk_tables_of(storage));

    lk_store_mysql_disconnect(store);
    lk_store_mysql_texts_done(store);
    lk_tables_done(&store->tables);
    lk_mysql_address_done(&store->address);
    free(store);
}

static const struct lk_storage_ops store_ops = {
    .load = lk_tables_load,
    .write = store_write,
    .announce = lk_tables_announce,
    .resign = store_resign,
    .close = store_close,
};

lk_outcome lk_store_mysql_open(const struct lk_tables_options *options,
                               struct lk_storage **ret_storage, lk_error *error) {
    const char *place = strstr(options->url, "//"); /* behind `mysql:` or `mariadb:` */
    struct lk_patience patience = {.waker = NULL};
    struct lk_store_mysql *store;
    lk_outcome outcome = lk_libmariadb_load(error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (place == NULL) {
        return lk_error_set(error, LK_INVALID, "a shared store is mysql://...");
    }
    store = calloc(1, sizeof *store);
    if (store == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    store->tables.storage.ops = &store_ops;
    store->tables.ops = &tables_ops;
    store->tables.name = store->name;
    lk_tables_init(&store->tables, options);
    outcome = lk_mysql_address_parse(lk_slice_of(place), &store->address, error);
    if (outcome == LK_OK) {
        (void)snprintf(store->name, sizeof store->name, "%sservice_", store->address.prefix);
        patience.until_us = lk_clock_now_us() + lk_max(store->tables.lease_us, OPEN_US_MIN);
        outcome = lk_store_mysql_connect(store, &patience, error);
    }
    if (outcome != LK_OK) {
        store_close(&store->tables.storage);
        return outcome;
    }
    *ret_storage = &store->tables.storage;
    return LK_OK;
}
