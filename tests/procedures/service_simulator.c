/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: service_simulator [--worlds N] [--from N] [--replay N]
 *
 * The service's core in generated worlds (tests/server/sim.h) on its store in a database: after
 * every crash and every write that failed, what is loaded is what was written. The clock of the
 * database follows that of the world.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../server/sim.h"
#include "../server/worlds.h"
#include "../support.h"
#include "service_database.h"

enum { WORLDS = 30 };

#define LEASE_US INT64_C(10000000)
#define SLACK_US INT64_C(5000000) /* the real time that a load may take on a slow machine */

struct clocked {
    struct lk_storage storage; /* first */
    struct lk_storage *real;
    struct service_database *database; /* of the test */
};

static void set_clock(const struct clocked *clocked, const struct lk_times *times) {
    char sql[100];

    (void)snprintf(sql, sizeof sql, "UPDATE #sim_clock SET us = %" PRId64, times->now_us);
    service_database_run(clocked->database, sql);
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
    lk_error error;

    clocked->storage.ops = &clocked_ops;
    clocked->database = service_database_connect();
    if (service_database_open("127.0.0.1:1", LEASE_US, false, &clocked->real, &error) != LK_OK) {
        test_die("the store cannot be opened: %s", error.text);
    }
    service_database_run(clocked->database, service_words.freeze_clock);
}

static void clear(const struct clocked *clocked) {
    service_database_run(clocked->database, service_words.empty);
    service_database_run(clocked->database,
                         "UPDATE #leader SET draw_floor = 0, last_event = 0, watched_us = 0");
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
    service_database_close(clocked.database);
    sim_done(sim);
    free(sim);
    return worlds_end(&worlds, wrong_count, "what is loaded is what was written");
}
