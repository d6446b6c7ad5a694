/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: shared_simulator [--worlds N] [--from N] [--replay N] [--flaw 1..6]
 *
 * Runs N generated worlds of several services on one store, the first with a random seed unless
 * LK_TEST_SEED or --from sets it. A failure is printed with the command that replays it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../scratch_store.h"
#include "world.h"

enum { WORLDS = 200, WRONG_MAX = 3 };

struct options {
    uint64_t from;
    uint64_t worlds;
    enum flaw flaw;
    bool talks;
};

struct totals {
    uint64_t grants;
    uint64_t gets;
    uint64_t takeovers;
    uint64_t replaced;
    uint64_t unknown;
    uint64_t wrong;
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
            options.flaw = (enum flaw)number;
        } else if (strcmp(argv[i], "--replay") == 0) {
            options.from = number;
            options.worlds = 1;
            options.talks = true;
        }
    }
    return options;
}

static void run(struct world *world, const struct options *options, uint64_t number,
                const struct scratch_store *scratch, struct totals *totals, const char *program) {
    const char *wrong;

    scratch_store_clear(scratch);
    wrong = world_run(world, number, options->flaw, options->talks, scratch->storage);
    totals->grants += world->grant_count;
    totals->gets += world->get_count;
    totals->takeovers += world->takeovers;
    totals->replaced += world->replaced;
    totals->unknown += world->unknown;
    if (wrong != NULL) {
        (void)printf("# world %" PRIu64 ": %s\n# again: %s --flaw %d --replay %" PRIu64 "\n",
                     number, wrong, program, (int)options->flaw, number);
        totals->wrong++;
    }
}

int main(int argc, char **argv) {
    const struct options options = read_options(argc, argv);
    struct world *world = calloc(1, sizeof *world);
    struct totals totals = {.wrong = 0};
    struct scratch_store scratch;
    bool is_well;

    if (world == NULL) {
        return 1;
    }
    scratch_store_open(&scratch);
    (void)printf("# worlds %" PRIu64 " to %" PRIu64 "\n", options.from,
                 options.from + options.worlds - 1);
    for (uint64_t i = 0; i < options.worlds && totals.wrong < WRONG_MAX; i++) {
        run(world, &options, options.from + i, &scratch, &totals, argv[0]);
    }
    (void)printf("# %" PRIu64 " grants, %" PRIu64 " reads, %" PRIu64 " takeovers, %" PRIu64
                 " batches refused, %" PRIu64 " without an answer\n",
                 totals.grants, totals.gets, totals.takeovers, totals.replaced, totals.unknown);
    scratch_store_close(&scratch);
    free(world);
    is_well = (options.flaw == SOUND) == (totals.wrong == 0);
    (void)printf("%s 1 - %s\n1..1\n", is_well ? "ok" : "not ok",
                 options.flaw == SOUND ? "no violation, and every client makes progress"
                                       : "the flaw is seen");
    return is_well ? 0 : 1;
}
