/* SPDX-License-Identifier: Apache-2.0 */
/* A store on ground of its own for each case of a cmocka test, whose *state is the scene. */
#ifndef LK_TESTS_SQLITE_SCENE_H
#define LK_TESTS_SQLITE_SCENE_H

#include "ground.h"

struct scene {
    struct ground ground;
    struct ground_clock clock;
    struct lk_sqlite_options options; /* what the engine is opened with */
    struct lk_engine *engine;
    lk_result result; /* of the last call */
    lk_claim_info *claim;
};

/* On a clock that the test moves; or on the machine's. */
int scene_setup(void **state);
int scene_setup_on_machine_clock(void **state);
int scene_teardown(void **state);

/* Closes the store and opens it again, with the options as they are now. */
void scene_reopen(struct scene *scene);

/* The machine is down for `down_us`, and comes up with a clock that begins anew. */
void scene_restart(struct scene *scene, const char *boot_id, int64_t down_us);

#endif
