/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories on one file through several stores, beside one model that has everything: the
 * neighbourhood that a store loads must give the same answers and leave the same requests behind,
 * step by step (neighbourhood.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "answer.h"
#include "told.h"

enum { HISTORIES = 60, STEPS = 250 };

static void expect(const struct play *play, const char *difference) {
    if (difference != NULL) {
        play_differs(play, difference);
    }
}

static void look_around(struct play *play, struct lk_engine *engine) {
    const struct lk_path path = play_some_path(play);
    const struct lk_path *prefix = play_chance(play, 50) ? NULL : &path;
    bool is_lazy = play->variant->is_lazy;

    expect(play, look_at_list(play, engine, is_lazy, prefix));
    expect(play, look_at_path(play, engine, is_lazy, &path));
    expect(play, look_at_value(play, engine, &path));
    expect(play, look_at_queue(play, engine));
}

static void play_step(struct play *play) {
    struct lk_engine **engine = &play->engines[play_between(play, 0, PLAY_STORES - 1)];
    const struct lk_effects *effects;
    struct answer answer;

    ground_clock_advance(&play->clock, play_between(play, 1000, play->variant->pause_max_us));
    if (play_chance(play, 2)) {
        ground_close(*engine);
        *engine = ground_open(play->ground.file, &play->options);
    }
    play_invent(play);
    play->event.times = (struct lk_times){play->clock.now_us, play->clock.wall_us};
    effects = lk_model_step(play->model, &play->event);
    assert_null(lk_model_check(play->model));
    answer = answer_of(*engine, &play->event);
    expect(play, answer_differs(play, effects, play->variant->is_lazy, &answer));
    answer_clear(&answer);
    if (play->variant->is_told) {
        expect(play, told_differs(play, effects, false, TOLD_IN_ORDER));
    }
    if (play_chance(play, 30)) {
        look_around(play, play->engines[play_between(play, 0, PLAY_STORES - 1)]);
    }
}

static void write_quotas(const struct play *play) {
    const struct lk_quotas *quotas = &play->variant->quotas;
    char text[256];

    (void)snprintf(text, sizeof text,
                   "UPDATE meta SET live_max = %d, live_per_owner_max = %d,"
                   " live_per_root_max = %d, waiters_per_path_max = %d, events_max = %d",
                   (int)quotas->live_max, (int)quotas->live_per_owner_max,
                   (int)quotas->live_per_root_max, (int)quotas->waiters_per_path_max,
                   play->variant->is_told ? LK_EVENTS_KEPT_MAX : 0);
    (void)ground_sql(play->ground.file, text);
}

static void play_history(const struct variant *variant, struct lk_random *random) {
    struct play play = {.variant = variant, .random = random, .ground = ground_make()};
    const struct lk_model_config config = {.quotas = variant->quotas};

    ground_clock_init(&play.clock);
    play.options = (struct lk_sqlite_options){
        .time = &play.clock.source, .boot_id = "boot", .overdue_max = variant->overdue_max};
    for (size_t i = 0; i < PLAY_STORES; i++) {
        play.engines[i] = ground_open(play.ground.file, &play.options);
    }
    write_quotas(&play);
    play.model = lk_model_new(&config);
    assert_non_null(play.model);
    for (play.step = 1; play.step <= STEPS; play.step++) {
        play_step(&play);
    }
    lk_model_free(play.model);
    for (size_t i = 0; i < PLAY_STORES; i++) {
        ground_close(play.engines[i]);
    }
    if (variant->quotas.live_max != 0) { /* the first ask began to count */
        assert_int_equal(ground_sql(play.ground.file, "SELECT requests FROM lk_request_count"),
                         ground_sql(play.ground.file, "SELECT count(*) FROM requests"));
    }
    ground_remove(&play.ground);
}

static void play_variant(const struct variant *variant) {
    struct lk_random random = ground_random();
    unsigned histories = ground_scaled(HISTORIES);

    for (unsigned i = 0; i < histories; i++) {
        play_history(variant, &random);
    }
}

/* ---- variants -------------------------------------------------------------------------------- */

static void busy_store_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){
        .name = "busy", .overdue_max = 1000, .pause_max_us = 60000, .is_told = true});
}

static void quiet_store_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){.name = "quiet", .overdue_max = 1000, .pause_max_us = 1000000});
}

/* Overdue requests elsewhere are left alone until somebody comes by (R11). */
static void lazy_store_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){
        .name = "lazy", .overdue_max = 0, .is_lazy = true, .pause_max_us = 200000});
}

static void bounded_store_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){
        .name = "bounded",
        .overdue_max = 1000,
        .quotas = {.live_max = 12,
                   .live_per_owner_max = 5,
                   .live_per_root_max = 7,
                   .waiters_per_path_max = 2},
        .pause_max_us = 60000,
        .is_told = true,
    });
}

static void working_store_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){
        .name = "working", .overdue_max = 1000, .pause_max_us = 60000, .work_percent = 65});
}

static void slow_work_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){

        .name = "slow work",
        .overdue_max = 1000,
        .pause_max_us = 600000,
        .work_percent = 50,
        .is_told = true});
}

static void lazy_work_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){.name = "lazy work",
                                   .overdue_max = 0,
                                   .is_lazy = true,
                                   .pause_max_us = 200000,
                                   .work_percent = 65});
}

static void bounded_work_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){
        .name = "bounded work",
        .overdue_max = 1000,
        .quotas = {.live_max = 9, .live_per_owner_max = 4, .live_per_root_max = 5},
        .pause_max_us = 60000,
        .work_percent = 65,
        .is_told = true,
    });
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_store_answers_like_the_model),
        cmocka_unit_test(quiet_store_answers_like_the_model),
        cmocka_unit_test(lazy_store_answers_like_the_model),
        cmocka_unit_test(bounded_store_answers_like_the_model),
        cmocka_unit_test(working_store_answers_like_the_model),
        cmocka_unit_test(slow_work_answers_like_the_model),
        cmocka_unit_test(lazy_work_answers_like_the_model),
        cmocka_unit_test(bounded_work_answers_like_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
