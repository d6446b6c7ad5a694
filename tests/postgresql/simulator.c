/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: simulator [--worlds N] [--from N] [--replay N]
 *
 * The service's core in generated worlds (tests/server/sim.h) on its store in PostgreSQL: after
 * every crash and every write that failed, what is loaded is what was written. The clock of the
 * database follows that of the world.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../server/sim.h"
#include "../server/worlds.h"
#include "base/clock.h"
#include "engine/postgresql/store.h"
#include "server/store/postgresql/store_postgresql.h"

enum { WORLDS = 30 };

#define LEASE_US INT64_C(10000000)
#define SLACK_US INT64_C(5000000) /* the real time that a load may take on a slow machine */

struct clocked {
    struct lk_storage storage; /* first */
    struct lk_storage *real;
    PGconn *connection; /* of the test */
};

static void give_up(const char *what, const char *why) {
    (void)fprintf(stderr, "simulator: %s: %s\n", what, why);
    exit(1);
}

static void run_sql(PGconn *connection, const char *sql) {
    const struct lk_patience patience = {.until_us = lk_clock_now_us() + LEASE_US};
    PGresult *result = NULL;
    lk_error error;

    if (lk_postgresql_execute(connection, sql, "", &patience, &result, &error) != LK_OK) {
        give_up(sql, error.text);
    }
    PQclear(result);
}

static void set_clock(const struct clocked *clocked, const struct lk_times *times) {
    char sql[100];

    (void)snprintf(sql, sizeof sql, "UPDATE lockkeeper_service.sim_clock SET us = %" PRId64,
                   times->now_us);
    run_sql(clocked->connection, sql);
}

static lk_outcome load(struct lk_storage *storage, const struct lk_model_config *config,
                       const struct lk_times *times, struct lk_core_snapshot **ret_snapshot,
                       lk_error *error) {
    struct clocked *clocked = (struct clocked *)storage;

    set_clock(clocked, times);
    return clocked->real->ops->load(clocked->real, config, times, ret_snapshot, error);
}

static lk_outcome write_batch(struct lk_storage *storage, const struct lk_batch *batch,
                              lk_error *error) {
    struct clocked *clocked = (struct clocked *)storage;

    set_clock(clocked, &batch->times);
    return clocked->real->ops->write(clocked->real, batch, error);
}

static const struct lk_storage_ops clocked_ops = {.load = load, .write = write_batch};

static void begin(struct clocked *clocked) {
    const struct lk_patience patience = {.until_us = lk_clock_now_us() + LEASE_US};
    struct lk_store_postgresql_options options = {.address = "127.0.0.1:1", .lease_us = LEASE_US};
    char url[300];
    lk_error error;

    (void)snprintf(url, sizeof url, "postgresql://postgres@/postgres?host=%s",
                   getenv("LK_TEST_SERVER"));
    options.url = url;
    clocked->storage.ops = &clocked_ops;
    if (lk_store_postgresql_open(&options, &clocked->real, &error) != LK_OK
        || lk_postgresql_connect(url, &patience, &clocked->connection, &error) != LK_OK) {
        give_up("the store cannot be opened", error.text);
    }
    run_sql(clocked->connection,
            "CREATE TABLE lockkeeper_service.sim_clock (us bigint NOT NULL);"
            " INSERT INTO lockkeeper_service.sim_clock VALUES (0);"
            " CREATE OR REPLACE FUNCTION lockkeeper_service.now_us() RETURNS bigint"
            " LANGUAGE sql VOLATILE AS 'SELECT us FROM lockkeeper_service.sim_clock'");
}

static void clear(const struct clocked *clocked) {
    run_sql(clocked->connection,
            "SET client_min_messages = error; TRUNCATE lockkeeper_service.request,"
            " lockkeeper_service.value, lockkeeper_service.item, lockkeeper_service.queue,"
            " lockkeeper_service.ended, lockkeeper_service.audit, lockkeeper_service.event;"
            " UPDATE lockkeeper_service.leader SET draw_floor = 0, last_event = 0, watched_us = 0");
}

int main(int argc, char **argv) {
    const struct worlds worlds = worlds_read(argc, argv, WORLDS);
    struct sim *sim = calloc(1, sizeof *sim);
    struct clocked clocked = {.real = NULL};
    uint64_t crashes = 0;
    uint64_t grants = 0;
    uint64_t wrong_count = 0;

    if (sim == NULL) {
        return 1;
    }
    sim->talks = worlds.talks;
    sim->slack_us = SLACK_US;
    begin(&clocked);
    for (uint64_t i = 0; i < worlds.count && wrong_count < WORLDS_WRONG_MAX; i++) {
        const char *wrong;

        clear(&clocked);
        wrong = sim_run(sim, worlds.from + i, SIM_SOUND, &clocked.storage);
        crashes += sim->crashes;
        grants += sim->grants;
        if (wrong != NULL) {
            worlds_complain(&worlds, argv[0], worlds.from + i, wrong);
            wrong_count++;
        }
    }
    (void)printf("# %" PRIu64 " crashes, %" PRIu64 " grants answered\n", crashes, grants);
    clocked.real->ops->close(clocked.real);
    PQfinish(clocked.connection);
    sim_done(sim);
    free(sim);
    return worlds_end(&worlds, wrong_count, "what is loaded is what was written");
}
