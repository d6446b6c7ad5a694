/* SPDX-License-Identifier: Apache-2.0 */
/* A store that several services share, in PostgreSQL: leading, loading, writing, handing over. */
#include "server/store/postgresql/store_postgresql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "server/core/core.h"
#include "server/store/postgresql/store.h"

#define OPEN_US_MIN INT64_C(5000000) /* to connect for the first time */
#define LOOK_US INT64_C(5000000)     /* how often the one that leads looks at the standbys */

/* ---- leading --------------------------------------------------------------------------------- */

enum { LEAD_LEADS, LEAD_EPOCH, LEAD_ADDRESS, LEAD_LEFT, LEAD_AT, LEAD_COLUMNS };

/* Begins the next epoch. *ret_at_us: the instant, on the clock of the database. */
static lk_outcome lead(struct lk_store_pg *store, uint64_t *ret_epoch, int64_t *ret_at_us,
                       lk_error *error) {
    const struct lk_patience patience = lk_pg_patience(store);
    struct lk_leader *leader = &store->storage.leader;
    char lease[LK_PG_NUMBER_BYTES];
    const char *const parameters[] = {store->process, store->advertised, lease};
    PGresult *rows = NULL;
    lk_outcome outcome;
    bool leads;

    (void)snprintf(lease, sizeof lease, "%" PRId64, store->lease_us);
    outcome = lk_pg_ask(store, "lk_lead", 3, parameters, &patience, &rows, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    leads = PQgetvalue(rows, 0, LEAD_LEADS)[0] != 0;
    *ret_epoch = (uint64_t)lk_array_get64(PQgetvalue(rows, 0, LEAD_EPOCH));
    *ret_at_us = lk_array_get64(PQgetvalue(rows, 0, LEAD_AT));
    *leader = (struct lk_leader){.epoch = *ret_epoch,
                                 .left_us = lk_array_get64(PQgetvalue(rows, 0, LEAD_LEFT))};
    if (!leads) {
        (void)snprintf(leader->address, sizeof leader->address, "%.*s",
                       PQgetlength(rows, 0, LEAD_ADDRESS), PQgetvalue(rows, 0, LEAD_ADDRESS));
        outcome =
            lk_error_set(error, LK_BUSY, "another service leads this store: %s", leader->address);
    }
    PQclear(rows);
    return outcome;
}

/* ---- standbys -------------------------------------------------------------------------------- */

static void note_standbys(struct lk_store_pg *store, const PGresult *rows) {
    if (rows != NULL) {
        store->look_after_us = lk_clock_now_us() + LOOK_US;
        atomic_store(&store->storage.may_lose, PQgetvalue(rows, 0, 0)[0] != 0);
    }
}

static lk_outcome look_at_standbys(struct lk_store_pg *store, lk_error *error) {
    const struct lk_patience patience = lk_pg_patience(store);
    PGresult *rows = NULL;
    lk_outcome outcome = LK_OK;

    atomic_store(&store->storage.may_lose, false);
    if (store->can_look) {
        outcome = lk_pg_ask(store, "lk_standbys", 0, NULL, &patience, &rows, error);
        note_standbys(store, rows);
        PQclear(rows);
    }
    return outcome;
}

/* ---- loading --------------------------------------------------------------------------------- */

static lk_outcome load_snapshot(struct lk_store_pg *store, const struct lk_model_config *config,
                                int64_t here_us, struct lk_core_snapshot **ret_snapshot,
                                lk_error *error) {
    struct lk_core_snapshot *snapshot = lk_core_snapshot_new(config);
    struct lk_quotas quotas;
    lk_outcome outcome;

    if (snapshot == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_pg_load_pages(store, snapshot, here_us, error);
    if (outcome != LK_OK) {
        lk_core_snapshot_free(snapshot);
        return outcome;
    }
    quotas = lk_quotas_over(&config->quotas, &snapshot->quotas);
    lk_model_set_quotas(snapshot->model, &quotas);
    *ret_snapshot = snapshot;
    return LK_OK;
}

/*
 * An instant of the database is one of `times` plus the time since: the longer the call took, the
 * later a deadline is reckoned here, never the earlier.
 */
static lk_outcome store_load(struct lk_storage *storage, const struct lk_model_config *config,
                             const struct lk_times *times, struct lk_core_snapshot **ret_snapshot,
                             lk_error *error) {
    struct lk_store_pg *store = lk_store_pg_of(storage);
    const struct lk_patience patience = lk_pg_patience(store);
    int64_t begun_us = lk_clock_now_us();
    lk_outcome outcome = lk_pg_connect(store, &patience, error);
    uint64_t epoch = 0;
    bool is_foreign;
    int64_t at_us = 0;
    int64_t now_us;

    if (outcome == LK_OK) {
        outcome = lead(store, &epoch, &at_us, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    now_us = times->now_us + lk_clock_now_us() - begun_us;
    is_foreign = store->is_foreign || epoch != store->epoch + 1;
    store->epoch = epoch;
    store->is_foreign = is_foreign; /* also when this load fails */
    store->forgotten = 0;
    store->sweep_after_us = 0;
    outcome = look_at_standbys(store, error);
    if (outcome == LK_OK) {
        outcome = load_snapshot(store, config, now_us - at_us, ret_snapshot, error);
    }
    if (outcome == LK_OK) {
        (*ret_snapshot)->is_foreign = is_foreign;
        store->is_foreign = false;
    }
    return outcome;
}

/* ---- writing --------------------------------------------------------------------------------- */

static lk_outcome store_write(struct lk_storage *storage, const struct lk_batch *batch,
                              lk_error *error) {
    struct lk_store_pg *store = lk_store_pg_of(storage);
    const struct lk_patience patience = lk_pg_patience(store);
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
    (void)snprintf(numbers[0], sizeof numbers[0], "%" PRIu64, store->epoch);
    (void)snprintf(numbers[1], sizeof numbers[1], "%" PRIu64, batch->draw_floor);
    (void)snprintf(numbers[2], sizeof numbers[2], "%" PRIu64, events->last);
    (void)snprintf(numbers[3], sizeof numbers[3], "%" PRId64, watch_us);
    is_sent = lk_pg_begin(store, renew) && lk_pg_send_rows(store, batch)
              && (!looks || lk_pg_send(store, "lk_standbys", 0, NULL, NULL, NULL));
    outcome = lk_pg_commit(store, is_sent, &patience, &rows, error);
    note_standbys(store, looks ? rows : NULL);
    PQclear(rows);
    return outcome;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* The address is told to the others when this service begins to lead. */
static lk_outcome store_announce(struct lk_storage *storage, const char *address, lk_error *error) {
    struct lk_store_pg *store = lk_store_pg_of(storage);

    (void)error;
    (void)snprintf(store->advertised, sizeof store->advertised, "%s", address);
    return LK_OK;
}

static lk_outcome store_resign(struct lk_storage *storage, lk_error *error) {
    struct lk_store_pg *store = lk_store_pg_of(storage);
    const struct lk_patience patience = lk_pg_patience(store);
    char epoch[LK_PG_NUMBER_BYTES];
    const char *const parameters[] = {epoch};

    if (store->connection == NULL || store->epoch == 0) {
        return LK_OK;
    }
    (void)snprintf(epoch, sizeof epoch, "%" PRIu64, store->epoch);
    return lk_pg_ask(store, "lk_resign", 1, parameters, &patience, NULL, error);
}

static void store_close(struct lk_storage *storage) {
    struct lk_store_pg *store = lk_store_pg_of(storage);

    lk_pg_disconnect(store);
    lk_pg_rows_done(store);
    lk_postgresql_address_done(&store->address);
    free(store);
}

static const struct lk_storage_ops store_ops = {
    .load = store_load,
    .write = store_write,
    .announce = store_announce,
    .resign = store_resign,
    .close = store_close,
};

/* Each host may be the one that is waited for in vain. */
static lk_outcome connect_first(struct lk_store_pg *store, lk_error *error) {
    lk_outcome outcome = LK_UNAVAILABLE;

    for (size_t i = lk_pg_hosts_count(store->address.url); i > 0 && outcome == LK_UNAVAILABLE;
         i--) {
        const struct lk_patience patience = {.until_us = lk_clock_now_us()
                                                         + lk_max(store->lease_us, OPEN_US_MIN)};

        outcome = lk_pg_connect(store, &patience, error);
    }
    return outcome;
}

lk_outcome lk_store_postgresql_open(const struct lk_store_postgresql_options *options,
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
    store->storage.ops = &store_ops;
    store->lease_us = options->lease_us;
    store->has_users = options->has_users;
    (void)snprintf(store->advertised, sizeof store->advertised, "%s", options->address);
    (void)snprintf(store->process, sizeof store->process, "%016" PRIx64 "%016" PRIx64,
                   lk_random_draw(), lk_random_draw());
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
        store_close(&store->storage);
        return outcome;
    }
    *ret_storage = &store->storage;
    return LK_OK;
}
