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
#include "../worlds.h"
#include "world.h"

enum { WORLDS = 200 };

struct totals {
    uint64_t grants;
    uint64_t gets;
    uint64_t takeovers;
    uint64_t replaced;
    uint64_t unknown;
    uint64_t wrong;
};

static void run(struct world *world, const struct worlds *worlds, uint64_t number,
                const struct scratch_store *scratch, struct totals *totals, const char *program) {
    const char *wrong;

    scratch_store_clear(scratch);
    wrong = world_run(world, number, (enum flaw)worlds->flaw, worlds->talks, scratch->storage);
    totals->grants += world->grant_count;
    totals->gets += world->get_count;
    totals->takeovers += world->takeovers;
    totals->replaced += world->replaced;
    totals->unknown += world->unknown;
    if (wrong != NULL) {
        worlds_complain(worlds, program, number, wrong);
        totals->wrong++;
    }
}

int main(int argc, char **argv) {
    const struct worlds worlds = worlds_read(argc, argv, WORLDS);
    struct world *world = calloc(1, sizeof *world);
    struct totals totals = {.wrong = 0};
    struct scratch_store scratch;

    if (world == NULL) {
        return 1;
    }
    scratch_store_open(&scratch);
    for (uint64_t i = 0; i < worlds.count && totals.wrong < WORLDS_WRONG_MAX; i++) {
        run(world, &worlds, worlds.from + i, &scratch, &totals, argv[0]);
    }
    (void)printf("# %" PRIu64 " grants, %" PRIu64 " reads, %" PRIu64 " takeovers, %" PRIu64
                 " batches refused, %" PRIu64 " without an answer\n",
                 totals.grants, totals.gets, totals.takeovers, totals.replaced, totals.unknown);
    scratch_store_close(&scratch);
    free(world);
    return worlds_end(&worlds, totals.wrong, "no violation, and every client makes progress");
}
