/* SPDX-License-Identifier: Apache-2.0 */
/* A run of generated worlds: its arguments, its complaints, and its end (worlds.h). */
#include "worlds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support.h"
#include "base/random.h"

struct worlds worlds_read(int argc, char **argv, unsigned count) {
    const char *said = getenv("LK_TEST_SEED");
    struct worlds worlds = {
        .from = said != NULL ? strtoull(said, NULL, 10) : lk_random_draw() >> 24,
        .count = test_scaled(count),
    };

    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t number = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--worlds") == 0) {
            worlds.count = number;
        } else if (strcmp(argv[i], "--from") == 0) {
            worlds.from = number;
        } else if (strcmp(argv[i], "--flaw") == 0) {
            worlds.flaw = (int)number;
        } else if (strcmp(argv[i], "--replay") == 0) {
            worlds.from = number;
            worlds.count = 1;
            worlds.talks = true;
        }
    }
    (void)printf("# worlds %" PRIu64 " to %" PRIu64 "\n", worlds.from,
                 worlds.from + worlds.count - 1);
    return worlds;
}

void worlds_complain(const struct worlds *worlds, const char *program, uint64_t number,
                     const char *wrong) {
    (void)printf("# world %" PRIu64 ": %s\n# again: %s --flaw %d --replay %" PRIu64 "\n", number,
                 wrong, program, worlds->flaw, number);
}

int worlds_end(const struct worlds *worlds, uint64_t wrong_count, const char *good) {
    bool is_well = (worlds->flaw == 0) == (wrong_count == 0);

    (void)printf("%s 1 - %s\n1..1\n", is_well ? "ok" : "not ok",
                 worlds->flaw == 0 ? good : "the flaw is seen");
    return is_well ? 0 : 1;
}
