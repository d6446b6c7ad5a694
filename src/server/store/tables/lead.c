/* SPDX-License-Identifier: Apache-2.0 */
/* Leading a store in a database, and loading it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "server/core/core.h"
#include "server/store/tables/tables.h"
#include "sql/format.h"

void lk_tables_init(struct lk_tables *tables, const struct lk_tables_options *options) {
    tables->lease_us = options->lease_us;
    (void)snprintf(tables->advertised, sizeof tables->advertised, "%s", options->address);
    (void)snprintf(tables->process, sizeof tables->process, "%016" PRIx64 "%016" PRIx64,
                   lk_random_draw(), lk_random_draw());
}

void lk_tables_done(struct lk_tables *tables) {
    free(tables->values.slots);
    free(tables->items.slots);
}

struct lk_patience lk_tables_patience(const struct lk_tables *tables) {
    return (struct lk_patience){.until_us = lk_clock_now_us() + tables->lease_us};
}

lk_outcome lk_tables_refuse_format(struct lk_tables *tables, int64_t format, lk_error *error) {
    atomic_store(&tables->storage.is_outdated, true);
    return lk_sql_format_refuse("the tables of services",
                                format > 0 ? format : LK_SQL_FORMAT_UNTOLD, LK_TABLES_FORMAT,
                                tables->name, error);
}

static lk_outcome lead(struct lk_tables *tables, struct lk_tables_lead *ret_lead, lk_error *error) {
    struct lk_leader *leader = &tables->storage.leader;
    lk_outcome outcome = tables->ops->connect(tables, error);

    if (outcome == LK_OK) {
        outcome = tables->ops->lead(tables, ret_lead, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    *leader = (struct lk_leader){.epoch = ret_lead->epoch, .left_us = ret_lead->left_us};
    if (!ret_lead->leads) {
        (void)snprintf(leader->address, sizeof leader->address, "%s", ret_lead->address);
        return lk_error_set(error, LK_BUSY, "another service leads this store: %s",
                            leader->address);
    }
    return LK_OK;
}

static lk_outcome load_snapshot(struct lk_tables *tables, const struct lk_model_config *config,
                                int64_t here_us, struct lk_core_snapshot **ret_snapshot,
                                lk_error *error) {
    struct lk_core_snapshot *snapshot = lk_core_snapshot_new(config);
    struct lk_quotas quotas;
    lk_outcome outcome;

    if (snapshot == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_tables_load_pages(tables, snapshot, here_us, error);
    if (outcome != LK_OK) {
        lk_core_snapshot_free(snapshot);
        return outcome;
    }
    quotas = lk_quotas_over(&config->quotas, &snapshot->quotas);
    lk_model_set_quotas(snapshot->model, &quotas);
    *ret_snapshot = snapshot;
    return LK_OK;
}

/* Another service has taken over while this one read. LK_BUSY: who leads is told. */
static lk_outcome look_again(struct lk_tables *tables, lk_error *error) {
    struct lk_tables_lead found = {.leads = false};
    lk_outcome outcome = lead(tables, &found, error);

    return outcome == LK_OK ? lk_error_set(error, LK_UNAVAILABLE,
                                           "the store was led by another service for a moment")
                            : outcome;
}

/*
 * An instant of the database is one of `times` plus the time since: the longer the call took, the
 * later a deadline is reckoned here, never the earlier.
 */
lk_outcome lk_tables_load(struct lk_storage *storage, const struct lk_model_config *config,
                          const struct lk_times *times, struct lk_core_snapshot **ret_snapshot,
                          lk_error *error) {
    struct lk_tables *tables = lk_tables_of(storage);
    int64_t begun_us = lk_clock_now_us();
    struct lk_tables_lead found = {.leads = false};
    lk_outcome outcome = lead(tables, &found, error);
    bool is_foreign;
    int64_t now_us;

    if (outcome != LK_OK) {
        return outcome;
    }
    now_us = times->now_us + lk_clock_now_us() - begun_us;
    is_foreign = tables->is_foreign || found.epoch != tables->epoch + 1;
    tables->epoch = found.epoch;
    tables->is_foreign = is_foreign; /* also when this load fails */
    tables->forgotten = 0;
    tables->sweep_after_us = 0;
    outcome = tables->ops->led != NULL ? tables->ops->led(tables, error) : LK_OK;
    if (outcome == LK_OK) {
        outcome = load_snapshot(tables, config, now_us - found.at_us, ret_snapshot, error);
    }
    if (outcome == LK_OK) {
        (*ret_snapshot)->is_foreign = is_foreign;
        tables->is_foreign = false;
    }
    return outcome == LK_LOST ? look_again(tables, error) : outcome;
}

/* The address is told to the others when this service begins to lead. */
lk_outcome lk_tables_announce(struct lk_storage *storage, const char *address, lk_error *error) {
    struct lk_tables *tables = lk_tables_of(storage);

    (void)error;
    (void)snprintf(tables->advertised, sizeof tables->advertised, "%s", address);
    return LK_OK;
}
