/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which generated worlds a simulator runs, and what it says at the end; and a store in a folder of
 * its own, for worlds that begin with nothing in it.
 */
#ifndef LK_TESTS_SERVER_WORLDS_H
#define LK_TESTS_SERVER_WORLDS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/store/store.h"

enum { WORLDS_WRONG_MAX = 3 }; /* a simulator stops after so many worlds that went wrong */

struct worlds {
    uint64_t from; /* the number of the first: its seed */
    uint64_t count;
    int flaw; /* the deliberate defect; 0: none */
    bool talks;
};

/*
 * Reads --worlds N, --from N, --flaw N and --replay N. What is not said: `count` worlds, scaled by
 * LK_TEST_SCALE, from a random one or that of LK_TEST_SEED, without a flaw. Prints which they are.
 */
struct worlds worlds_read(int argc, char **argv, unsigned count);

/* Prints what was wrong with a world, and the command that replays it. */
void worlds_complain(const struct worlds *worlds, const char *program, uint64_t number,
                     const char *wrong);

/* Prints the line of TAP, `good` where there is no flaw. Returns the exit status: 0 if none of the
 * worlds went wrong, or if the flaw was seen. */
int worlds_end(const struct worlds *worlds, uint64_t wrong_count, const char *good);

/* ---- scratch_store.c: a store for these worlds ----------------------------------------------- */

struct scratch_store {
    char directory[200];
    struct lk_storage *storage;
};

/* Ends the program with a message if it cannot. */
void scratch_store_open(struct scratch_store *scratch);
void scratch_store_clear(const struct scratch_store *scratch);
void scratch_store_close(struct scratch_store *scratch);

#endif
