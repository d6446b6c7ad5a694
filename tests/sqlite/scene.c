/* SPDX-License-Identifier: Apache-2.0 */
/* What is set up before each case and taken away behind it. */
#include "scene.h"

#include <stdlib.h>

static struct scene *make_scene(void) {
    struct scene *scene = calloc(1, sizeof *scene);

    if (scene == NULL) {
        test_die("memory is exhausted");
    }
    scene->ground = ground_make();
    ground_clock_init(&scene->clock);
    scene->options = lk_sqlite_options_default;
    return scene;
}

int scene_setup(void **state) {
    struct scene *scene = make_scene();

    scene->options.time = &scene->clock.source;
    scene->options.boot_id = "first";
    scene->engine = ground_open(scene->ground.file, &scene->options);
    *state = scene;
    return 0;
}

int scene_setup_on_machine_clock(void **state) {
    struct scene *scene = make_scene();

    scene->engine = ground_open(scene->ground.file, &scene->options);
    *state = scene;
    return 0;
}

int scene_teardown(void **state) {
    struct scene *scene = *state;

    lk_claim_free(scene->claim);
    lk_result_clear(&scene->result);
    ground_close(scene->engine);
    ground_remove(&scene->ground);
    free(scene);
    return 0;
}

void scene_reopen(struct scene *scene) {
    ground_close(scene->engine);
    scene->engine = ground_open(scene->ground.file, &scene->options);
}

void scene_restart(struct scene *scene, const char *boot_id, int64_t down_us) {
    ground_close(scene->engine);
    scene->clock.now_us = 5000000;
    scene->clock.wall_us += down_us;
    scene->options.boot_id = boot_id;
    scene->engine = ground_open(scene->ground.file, &scene->options);
}
