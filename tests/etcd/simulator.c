/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: simulator [--worlds N] [--from N] [--replay N]
 *
 * The service's core in generated worlds (tests/server/sim.h) on its store in etcd: after every
 * crash and every write that failed, what is loaded is what was written. Entries are divided
 * and snapshots begun as soon as there is anything to be divided or replaced.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../server/sim.h"
#include "../server/worlds.h"
#include "server/store/etcd/store_etcd.h"

enum { WORLDS = 15, PART_BYTES = 1000, SNAPSHOT_BYTES_MIN = 1, URL_BYTES = 200 };

#define LEASE_US INT64_C(10000000)
#define SLACK_US INT64_C(5000000) /* the real time that a load may take on a slow machine */

/* A store of its own for each world: keys that no other has. */
static struct lk_storage *begin(uint64_t world) {
    struct lk_store_etcd_options options = {.address = "127.0.0.1:1",
                                            .lease_us = LEASE_US,
                                            .part_bytes = PART_BYTES,
                                            .snapshot_bytes_min = SNAPSHOT_BYTES_MIN};
    struct lk_storage *storage;
    char url[URL_BYTES];
    lk_error error;

    (void)snprintf(url, sizeof url, "etcd://%s/world/%" PRIu64, getenv("LK_TEST_ETCD"), world);
    options.url = url;
    if (lk_store_etcd_open(&options, &storage, &error) != LK_OK) {
        (void)fprintf(stderr, "simulator: the store cannot be opened: %s\n", error.text);
        exit(1);
    }
    return storage;
}

int main(int argc, char **argv) {
    const struct worlds worlds = worlds_read(argc, argv, WORLDS);
    struct sim *sim = calloc(1, sizeof *sim);
    uint64_t crashes = 0;
    uint64_t grants = 0;
    uint64_t wrong_count = 0;

    if (sim == NULL) {
        return 1;
    }
    sim->talks = worlds.talks;
    sim->slack_us = SLACK_US;
    for (uint64_t i = 0; i < worlds.count && wrong_count < WORLDS_WRONG_MAX; i++) {
        struct lk_storage *storage = begin(worlds.from + i);
        const char *wrong = sim_run(sim, worlds.from + i, SIM_SOUND, storage);

        crashes += sim->crashes;
        grants += sim->grants;
        if (wrong != NULL) {
            worlds_complain(&worlds, argv[0], worlds.from + i, wrong);
            wrong_count++;
        }
        storage->ops->close(storage);
    }
    (void)printf("# %" PRIu64 " crashes, %" PRIu64 " grants answered\n", crashes, grants);
    sim_done(sim);
    free(sim);
    return worlds_end(&worlds, wrong_count, "what is loaded is what was written");
}
