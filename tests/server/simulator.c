/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: simulator [--worlds N] [--from N] [--replay N] [--flaw 1|2|3|4]
 *
 * Runs N generated worlds, the first with a random seed unless LK_TEST_SEED or --from sets it. A
 * failure is printed with the command that replays it, event for event.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"
#include "worlds.h"

enum { WORLDS = 500 };

int main(int argc, char **argv) {
    const struct worlds worlds = worlds_read(argc, argv, WORLDS);
    struct sim *sim = calloc(1, sizeof *sim);
    uint64_t steps = 0;
    uint64_t crashes = 0;
    uint64_t failures = 0;
    uint64_t grants = 0;
    uint64_t events = 0;
    uint64_t gaps = 0;
    uint64_t wrong_count = 0;
    struct scratch_store scratch;

    if (sim == NULL) {
        return 1;
    }
    sim->talks = worlds.talks;
    scratch_store_open(&scratch);
    for (uint64_t i = 0; i < worlds.count && wrong_count < WORLDS_WRONG_MAX; i++) {
        const char *wrong;

        scratch_store_clear(&scratch);
        wrong = sim_run(sim, worlds.from + i, (enum sim_flaw)worlds.flaw, scratch.storage);
        steps += sim->steps;
        crashes += sim->crashes;
        failures += sim->failures;
        grants += sim->grants;
        events += sim->events_answered;
        gaps += sim->gaps_answered;
        if (wrong != NULL) {
            worlds_complain(&worlds, argv[0], worlds.from + i, wrong);
            wrong_count++;
        }
    }
    (void)printf("# %" PRIu64 " steps, %" PRIu64 " crashes, %" PRIu64 " failed writes, %" PRIu64
                 " grants answered, %" PRIu64 " events, %" PRIu64 " gaps\n",
                 steps, crashes, failures, grants, events, gaps);
    scratch_store_close(&scratch);
    sim_done(sim);
    free(sim);
    return worlds_end(&worlds, wrong_count, "no violation, and every client makes progress");
}
