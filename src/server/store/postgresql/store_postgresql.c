/* SPDX-License-Identifier: Apache-2.0 */
/* A store that several services share, in PostgreSQL: leading, writing, handing over. */
#include "server/store/postgresql/store_postgresql.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "server/store/postgresql/store.h"

#define OPEN_US_MIN INT64_C(5000000) /* to connect for the first time */
#define LOOK_US INT64_C(5000000)     /* how often the one that leads looks at the standbys */

/* ---- leading --------------------------------------------------------------------------------- */

enum { LEAD_LEADS, LEAD_EPOCH, LEAD_ADDRESS, LEAD_LEFT, LEAD_AT, LEAD_COLUMNS };

static lk_outcome connect_store(struct lk_tables *tables, lk_error *error) {
    const struct lk_patience patience = lk_tables_patience(tables);

    return lk_pg_connect(lk_store_pg_of(tables), &patience, error);
}

static lk_outcome lead(struct lk_tables *tables, struct lk_tables_lead *ret_lead, lk_error *error) {
    const struct lk_patience patience = lk_tables_patience(tables);
    char lease[LK_PG_NUMBER_BYTES];
    const char *const parameters[] = {tables->process, tables->advertised, lease};
    PGresult *rows = NULL;
    lk_outcome outcome;

    (void)snprintf(lease, sizeof lease, "%" PRId64, tables->lease_us);
    outcome = lk_pg_ask(lk_store_pg_of(tables), "lk_lead", 3, parameters, &patience, &rows, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    ret_lead->leads = PQgetvalue(rows, 0, LEAD_LEADS)[0] != 0;
    ret_lead->epoch = (uint64_t)lk_array_get64(PQgetvalue(rows, 0, LEAD_EPOCH));
    ret_lead->at_us = lk_array_get64(PQgetvalue(rows, 0, LEAD_AT));
    ret_lead->left_us = lk_array_get64(PQgetvalue(rows, 0, LEAD_LEFT));
    (void)snprintf(ret_lead->address, sizeof ret_lead->address, "%.*s",
                   PQgetlength(rows, 0, LEAD_ADDRESS), PQgetvalue(rows, 0, LEAD_ADDRESS));
    PQclear(rows);
    return LK_OK;
}

/* ---- having begun to lead -------------------------------------------------------------------- */

static const struct lk_store_risk standby_risk = {
    "commits are not waited for on a standby of the database",
    "a fail-over of the database may lose the last commits, which were acknowledged; name the "
    "standby in its synchronous_standby_names"};

static void note_standbys(struct lk_store_pg *store, const PGresult *rows) {
    if (rows != NULL) {
        store->look_after_us = lk_clock_now_us() + LOOK_US;
        atomic_store(&store->tables.storage.risk,
                     PQgetvalue(rows, 0, 0)[0] != 0 ? &standby_risk : NULL);
    }
}

/* Before anything is read: a stranger may have come since the connection was made. */
static lk_outcome led(struct lk_tables *tables, lk_error *error) {
    struct lk_store_pg *store = lk_store_pg_of(tables);
    const struct lk_patience patience = lk_tables_patience(tables);
    PGresult *rows = NULL;
    lk_outcome outcome = lk_pg_ask(store, "lk_owners", 0, NULL, &patience, NULL, error);

    atomic_store(&tables->storage.risk, NULL);
    if (outcome == LK_OK && store->can_look) {
        outcome = lk_pg_ask(store, "lk_standbys", 0, NULL, &patience, &rows, error);
        note_standbys(store, rows);
        PQclear(rows);
    }
    return outcome;
}

static const struct lk_tables_ops tables_ops = {
    .connect = connect_store,
    .lead = lead,
    .led = led,
    .fetch = lk_pg_fetch,
    .next = lk_pg_next,
    .cell = lk_pg_cell,
    .number = lk_pg_number,
    .truth = lk_pg_truth,
    .fetched = lk_pg_fetched,
    .add_row = lk_pg_add_row,
    .add_number = lk_pg_add_number,
    .add_left = lk_pg_add_number, /* the statements add the present */
    .add_truth = lk_pg_add_truth,
    .add_bytes = lk_pg_add_bytes,
    .flush = lk_pg_flush,
    .clear = lk_pg_clear,
    .sweep = lk_pg_sweep,
};

/* ---- writing --------------------------------------------------------------------------------- */

static lk_outcome store_write(struct lk_storage *storage, const struct lk_batch *batch,
                              lk_error *error) {
    struct lk_store_pg *store = lk_store_pg_of(lk_tables_of(storage));
    const struct lk_patience patience = lk_tables_patience(&store->tables);
    const struct lk_batch_events *events = &batch->events;
    char numbers[LK_PG_RENEW_PARAMETERS][LK_PG_NUMBER_BYTES];
    const char *renew[LK_PG_RENEW_PARAMETERS] = {numbers[0], numbers[1], numbers[2],
                                                 events->has_mark ? numbers[3] : NULL};
    int64_t watch_us =
        events->watched_until_us != 0 ? events->watched_until_us - batch->times.now_us : 0;
    bool looks = store->can_look && lk_clock_now_us() >= store->look_after_us;
    PGresult *rows = NULL;
    lk_outcome outcome;
    bool is_sent;

    if (store->connection == NULL) {
        return lk_error_set(error, LK_UNAVAILABLE, "the connection to the database was lost");
    }
    (void)snprintf(numbers[0], sizeof numbers[0], "%" PRIu64, store->tables.epoch);
    (void)snprintf(numbers[1], sizeof numbers[1], "%" PRIu64, batch->draw_floor);
    (void)snprintf(numbers[2], sizeof numbers[2], "%" PRIu64, events->last);
    (void)snprintf(numbers[3], sizeof numbers[3], "%" PRId64, watch_us);
    is_sent = lk_pg_begin(store, renew) && lk_tables_send_rows(&store->tables, batch)
              && (!looks || lk_pg_send(store, "lk_standbys", 0, NULL, NULL, NULL));
    outcome = lk_pg_commit(store, is_sent, &patience, &rows, error);
    note_standbys(store, looks ? rows : NULL);
    PQclear(rows);
    return outcome;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static lk_outcome store_resign(struct lk_storage *storage, lk_error *error) {
    struct lk_store_pg *store = lk_store_pg_of(lk_tables_of(storage));
    const struct lk_patience patience = lk_tables_patience(&store->tables);
    char epoch[LK_PG_NUMBER_BYTES];
    const char *const parameters[] = {epoch};

    if (store->connection == NULL || store->tables.epoch == 0) {
        return LK_OK;
    }
    (void)snprintf(epoch, sizeof epoch, "%" PRIu64, store->tables.epoch);
    return lk_pg_ask(store, "lk_resign", 1, parameters, &patience, NULL, error);
}

static void store_close(struct lk_storage *storage) {
    struct lk_store_pg *store = lk_store_pg_of(lk_tables_of(storage));

    lk_pg_disconnect(store);
    lk_pg_columns_done(store);
    lk_tables_done(&store->tables);
    lk_postgresql_address_done(&store->address);
    free(store);
}

static const struct lk_storage_ops store_ops = {
    .load = lk_tables_load,
    .write = store_write,
    .announce = lk_tables_announce,
    .resign = store_resign,
    .close = store_close,
};

/* Each host may be the one that is waited for in vain. */
static lk_outcome connect_first(struct lk_store_pg *store, lk_error *error) {
    lk_outcome outcome = LK_UNAVAILABLE;

    for (size_t i = lk_pg_hosts_count(store->address.url); i > 0 && outcome == LK_UNAVAILABLE;
         i--) {
        const struct lk_patience patience = {
            .until_us = lk_clock_now_us() + lk_max(store->tables.lease_us, OPEN_US_MIN)};

        outcome = lk_pg_connect(store, &patience, error);
    }
    return outcome;
}

lk_outcome lk_store_postgresql_open(const struct lk_tables_options *options,
                                    struct lk_storage **ret_storage, lk_error *error) {
    const char *place = strstr(options->url, "//"); /* behind `postgresql:` or `postgres:` */
    struct lk_store_pg *store;
    lk_outcome outcome = lk_libpq_load(error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (place == NULL) {
        return lk_error_set(error, LK_INVALID, "a shared store is postgresql://...");
    }
    store = calloc(1, sizeof *store);
    if (store == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    store->tables.storage.ops = &store_ops;
    store->tables.ops = &tables_ops;
    store->tables.name = "lockkeeper_service";
    lk_tables_init(&store->tables, options);
    outcome = lk_postgresql_address_parse(lk_slice_of(place), &store->address, error);
    if (outcome == LK_OK && strcmp(store->address.schema, LK_POSTGRESQL_SCHEMA_DEFAULT) != 0) {
        outcome = lk_error_set(error, LK_INVALID,
                               "the services of a database share the schema lockkeeper_service: "
                               "remove schema= from the URL, or name another database");
    }
    if (outcome == LK_OK) {
        outcome = connect_first(store, error);
    }
    if (outcome != LK_OK) {
        store_close(&store->tables.storage);
        return outcome;
    }
    *ret_storage = &store->tables.storage;
    return LK_OK;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/*
 * The hosts of a URL, in another order. libpq tries one after the other, and goes on from a host
 * that refuses; but one that does not answer at all, because its machine is lost, is waited for
 * while its share of the patience lasts. So the next attempt begins with the next host.
 */

static void add_encoded(struct lk_buffer *url, struct lk_slice text) {
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        const char encoded[] = {'%', digits[byte >> 4], digits[byte & 15]};

        lk_buffer_add(url, isalnum(byte) ? &text.bytes[i] : encoded, isalnum(byte) ? 1 : 3);
    }
}

/* A list of one entry is for all hosts. What stands last in a URL counts. */
static void add_turned(struct lk_buffer *url, const char *name, const char *list, size_t first) {
    size_t count = lk_postgresql_list_count(list);

    if (count < 2) {
        return;
    }
    lk_buffer_add_text(url, memchr(url->bytes, '?', url->size) != NULL ? "&" : "?");
    lk_buffer_add_text(url, name);
    lk_buffer_add_text(url, "=");
    for (size_t i = 0; i < count; i++) {
        lk_buffer_add_text(url, i > 0 ? "," : "");
        add_encoded(url, lk_postgresql_list_entry(list, (first + i) % count));
    }
}

size_t lk_pg_hosts_count(const char *url) {
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    size_t count = 1;

    for (const PQconninfoOption *each = options; each != NULL && each->keyword != NULL; each++) {
        bool is_host = strcmp(each->keyword, "host") == 0 || strcmp(each->keyword, "hostaddr") == 0;

        if (is_host && lk_postgresql_list_count(each->val) > count) {
            count = lk_postgresql_list_count(each->val);
        }
    }
    PQconninfoFree(options);
    return count;
}

char *lk_pg_hosts_turn(const char *url, size_t first) {
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    struct lk_buffer turned = {.max = 0};

    lk_buffer_add_text(&turned, url);
    for (const PQconninfoOption *each = options; each != NULL && each->keyword != NULL; each++) {
        if (strcmp(each->keyword, "host") == 0 || strcmp(each->keyword, "hostaddr") == 0
            || strcmp(each->keyword, "port") == 0) {
            add_turned(&turned, each->keyword, each->val, first);
        }
    }
    PQconninfoFree(options);
    lk_buffer_add(&turned, "", 1);
    if (turned.failed) {
        lk_buffer_done(&turned);
        return NULL;
    }
    return turned.bytes;
}
