/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: simulator [--worlds N] [--from N] [--replay N]
 *
 * The service's core in generated worlds (tests/server/sim.h) on a journal at a home in memory:
 * after every crash and every write that failed, what is loaded is what was written. Entries are
 * divided and snapshots begun as soon as there is anything to be divided or replaced. As
 * tests/etcd/simulator.c, with many more worlds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../server/sim.h"
#include "../server/worlds.h"
#include "memory_home.h"
#include "server/store/journal/home.h"

enum { WORLDS = 300, PART_BYTES = 1000, SNAPSHOT_BYTES_MIN = 1 };

#define LEASE_US INT64_C(10000000)
#define SLACK_US INT64_C(5000000) /* the real time that a load may take on a slow machine */

static struct lk_storage *open_store(struct place *place) {
    const struct lk_journal_options options = {
        .address = "127.0.0.1:1", .lease_us = LEASE_US, .snapshot_bytes_min = SNAPSHOT_BYTES_MIN};
    struct lk_storage *storage;
    lk_error error;

    if (lk_journal_open(place_open_home(place), &options, &storage, &error) != LK_OK) {
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
        struct place place = {.part_bytes = PART_BYTES};
        struct lk_storage *storage = open_store(&place);
        const char *wrong = sim_run(sim, worlds.from + i, SIM_SOUND, storage);

        crashes += sim->crashes;
        grants += sim->grants;
        if (wrong != NULL) {
            worlds_complain(&worlds, argv[0], worlds.from + i, wrong);
            wrong_count++;
        }
        storage->ops->close(storage);
        place_done(&place);
    }
    (void)printf("# %" PRIu64 " crashes, %" PRIu64 " grants answered\n", crashes, grants);
    sim_done(sim);
    free(sim);
    return worlds_end(&worlds, wrong_count, "what is loaded is what was written");
}
