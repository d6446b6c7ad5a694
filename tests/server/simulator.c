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

#include "scratch_store.h"
#include "sim.h"

enum { WORLDS = 500 };

struct options {
    uint64_t from;
    uint64_t worlds;
    enum sim_flaw flaw;
    bool talks;
};

static uint64_t scaled(uint64_t count) {
    const char *text = getenv("LK_TEST_SCALE");
    uint64_t percent = text != NULL ? strtoull(text, NULL, 10) : 100;
    uint64_t scaled_count = count * percent / 100;

    return scaled_count > 0 ? scaled_count : 1;
}

static struct options read_options(int argc, char **argv) {
    const char *said = getenv("LK_TEST_SEED");
    struct options options = {
        .from = said != NULL ? strtoull(said, NULL, 10) : lk_random_draw() >> 24,
        .worlds = scaled(WORLDS),
    };

    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t number = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--worlds") == 0) {
            options.worlds = number;
        } else if (strcmp(argv[i], "--from") == 0) {
            options.from = number;
        } else if (strcmp(argv[i], "--flaw") == 0) {
            options.flaw = (enum sim_flaw)number;
        } else if (strcmp(argv[i], "--replay") == 0) {
            options.from = number;
            options.worlds = 1;
            options.talks = true;
        }
    }
    return options;
}

int main(int argc, char **argv) {
    const struct options options = read_options(argc, argv);
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
    sim->talks = options.talks;
    scratch_store_open(&scratch);
    (void)printf("# worlds %" PRIu64 " to %" PRIu64 "\n", options.from,
                 options.from + options.worlds - 1);
    for (uint64_t i = 0; i < options.worlds && wrong_count < 3; i++) {
        const char *wrong;

        scratch_store_clear(&scratch);
        wrong = sim_run(sim, options.from + i, options.flaw, scratch.storage);
        steps += sim->steps;
        crashes += sim->crashes;
        failures += sim->failures;
        grants += sim->grants;
        events += sim->events_answered;
        gaps += sim->gaps_answered;
        if (wrong != NULL) {
            (void)printf("# world %" PRIu64 ": %s\n# again: %s --replay %" PRIu64 " --flaw %d\n",
                         options.from + i, wrong, argv[0], options.from + i, (int)options.flaw);
            wrong_count++;
        }
    }
    (void)printf("# %" PRIu64 " steps, %" PRIu64 " crashes, %" PRIu64 " failed writes, %" PRIu64
                 " grants answered, %" PRIu64 " events, %" PRIu64 " gaps\n",
                 steps, crashes, failures, grants, events, gaps);
    scratch_store_close(&scratch);
    sim_done(sim);
    free(sim);
    if (options.flaw == SIM_SOUND) {
        (void)printf("%s 1 - no violation, and every client makes progress\n1..1\n",
                     wrong_count == 0 ? "ok" : "not ok");
        return wrong_count == 0 ? 0 : 1;
    }
    (void)printf("%s 1 - the flaw is seen\n1..1\n", wrong_count > 0 ? "ok" : "not ok");
    return wrong_count > 0 ? 0 : 1;
}
