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

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "server/store/mysql/store.h"

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
