/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories on one server through several stores, beside the model: the script must give the
 * same answers and leave the same requests behind, step by step. test_differential URL
 *
 * Everything happens under one root, where the script decides at the moments at which the model
 * does; the model is told the server's time of each step, and both clocks are moved on together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "answer.h"
#include "engine/redis/redis.h"

enum { HISTORIES = 24, STEPS = 250 };

/* The rest of the store's URL. */
static const char *store_rest;
static unsigned histories_played;

/* For whoever looks into a failure. */
static void print_listing(const char *whose, const lk_listing *listing) {
    (void)fprintf(stderr, "# %s:\n", whose);
    for (size_t i = 0; listing != NULL && i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        (void)fprintf(stderr, "# %zu %s %s %s %s limit %u units %u, %lld ms\n",
                      entry->request_index, entry->owner, entry->held ? "holds" : "awaits",
                      entry->path, entry->shared ? "shared" : "exclusive", entry->limit,
                      entry->units, (long long)entry->expires_in_ms);
    }
}

static void print_live(const struct play *play) {
    const struct lk_times times = {play->clock.now_us, play->clock.wall_us};
    struct lk_patience patience = ground_patience(20000000);
    struct lk_path root;
    lk_listing *listing = NULL;
    lk_error error;

    (void)lk_listing_from_model(play->model, &times, NULL, &listing);
    print_listing("the model", listing);
    lk_listing_free(listing);
    listing = NULL;
    (void)lk_path_parse(lk_slice_of("r"), &root, NULL);
    (void)play->engines[0]->ops->list(play->engines[0], &root, &patience, &listing, &error);
    print_listing("the store", listing);
    lk_listing_free(listing);
    (void)fprintf(stderr, "# time: %lld, model %lld\n",
                  (long long)lk_redis_last_now_us(play->engines[0]), (long long)times.now_us);
}

static void expect(const struct play *play, const char *difference) {
    if (difference != NULL) {
        print_live(play);
        play_differs(play, difference);
    }
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* Every history has a database of its own. */
static struct lk_engine *open_store(unsigned database) {
    struct lk_patience patience = ground_patience(20000000);
    struct lk_engine *engine = NULL;
    lk_error error = {.text = ""};
    char rest[512];

    (void)snprintf(rest, sizeof rest, "%s?database=%u", store_rest, database);
    if (lk_engine_redis.open(lk_slice_of(rest), &patience, &engine, &error) != LK_OK) {
        ground_fail("%s", error.text);
    }
    return engine;
}

/* The model's step at the moment that the store has just answered for. */
static const struct lk_effects *step_model(struct play *play, struct lk_engine *engine) {
    const struct lk_effects *effects;
    int64_t now_us = lk_redis_last_now_us(engine);

    /* What is wrong in itself is refused without asking the server. */
    now_us = now_us > play->answered_us ? now_us : play->answered_us;
    play->answered_us = now_us;
    play->clock.now_us = now_us;
    play->clock.wall_us = now_us;
    play->event.times = (struct lk_times){now_us, now_us};
    effects = lk_model_step(play->model, &play->event);
    assert_null(lk_model_check(play->model));
    return effects;
}

/* Lets what is due by the store's last answer take effect in the model, too. */
static void tick_model(struct play *play, struct lk_engine *engine) {
    const struct lk_event former = play->event;

    play->event = (struct lk_event){.kind = LK_EVENT_TICK};
    (void)step_model(play, engine);
    play->event = former;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void play_event(struct play *play, struct lk_engine *engine) {
    struct answer answer = answer_of(engine, &play->event);

    expect(play, answer_differs(play, step_model(play, engine), false, &answer));
    answer_clear(&answer);
}

static void look_at_requests(struct play *play, struct lk_engine *engine,
                             const struct lk_path *path) {
    expect(play, look_at_list(play, engine, false, path));
    expect(play, look_at_path(play, engine, false, path));
}

static void look_around(struct play *play, struct lk_engine *engine) {
    struct lk_path path = play_some_path(play);

    look_at_requests(play, engine, &path);
    path = play_some_path(play);
    expect(play, look_at_value(play, engine, &path));
    expect(play, look_at_queue(play, engine));
}

/* ---- histories ------------------------------------------------------------------------------- */

static void move_clocks(struct play *play) {
    int64_t by_us = play_between(play, 1000, play->variant->pause_max_us);

    for (size_t i = 0; i < PLAY_STORES; i++) {
        lk_redis_shift_clock(play->engines[i], by_us);
    }
    play->clock.now_us += by_us;
    play->clock.wall_us += by_us;
}

static void play_step(struct play *play) {
    struct lk_engine *engine = play->engines[play_between(play, 0, PLAY_STORES - 1)];

    move_clocks(play);
    play_invent(play);
    play_event(play, engine);
    if (play_chance(play, 30)) {
        look_around(play, engine);
    }
}

static void play_history(struct variant variant, struct lk_random *random) {
    const struct lk_model_config config = {.ended_max = 0};
    struct play play = {.variant = &variant, .random = random, .catch_up = tick_model};
    unsigned database = ++histories_played;

    variant.root = "r/";
    for (size_t i = 0; i < PLAY_STORES; i++) {
        play.engines[i] = open_store(database);
    }
    play.model = lk_model_new(&config);
    assert_non_null(play.model);
    look_around(&play, play.engines[0]); /* sets the clock */
    for (play.step = 1; play.step <= STEPS; play.step++) {
        play_step(&play);
    }
    lk_model_free(play.model);
    for (size_t i = 0; i < PLAY_STORES; i++) {
        play.engines[i]->ops->close(play.engines[i]);
    }
}

static void play_ask(struct play *play, const char *owner, const char *parts, lk_style style,
                     int64_t ttl_ms) {
    ground_parts_parse(&play->parts, parts);
    play->step++;
    (void)snprintf(play->owner, sizeof play->owner, "%s", owner);
    play->event = (struct lk_event){.kind = LK_EVENT_ASK,
                                    .ask = {.owner = lk_slice_of(owner),
                                            .parts = play->parts.parts,
                                            .part_count = play->parts.count,
                                            .style = style,
                                            .ttl_ms = ttl_ms,
                                            .blockers_max = 5}};
    play_event(play, play->engines[0]);
}

/*
 * A deadline that takes effect late does so as at its own moment (R11): who lived then is granted,
 * be it by what its owner is granted at that moment (R8), although its former deadline is over.
 */
static void late_deadlines_take_effect_as_at_their_moment(void **state) {
    const struct lk_model_config config = {.ended_max = 0};
    const struct variant variant = {.name = "late", .root = "r/"};
    struct lk_random random = {1};
    struct play play = {.variant = &variant, .random = &random, .catch_up = tick_model};
    struct lk_path root;

    (void)state;
    assert_int_equal(lk_path_parse(lk_slice_of("r"), &root, NULL), LK_OK);
    play.engines[0] = open_store(++histories_played);
    play.model = lk_model_new(&config);
    assert_non_null(play.model);
    play_ask(&play, "Bob", "r/a?shared", LK_TRY, 20000);
    play_ask(&play, "Cy", "r/a", LK_WAIT, 60000);
    play_ask(&play, "Cy", "r/a/x r/c", LK_WAIT, 40000);
    lk_redis_shift_clock(play.engines[0], 50000000);
    look_at_requests(&play, play.engines[0], &root);
    lk_model_free(play.model);
    play.engines[0]->ops->close(play.engines[0]);
}

static void play_variant(const struct variant *variant) {
    struct lk_random random = ground_random();
    unsigned histories = ground_scaled(HISTORIES);

    for (unsigned i = 0; i < histories; i++) {
        play_history(*variant, &random);
    }
}

static void busy_store_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){.name = "busy", .pause_max_us = 60000});
}

static void quiet_store_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){.name = "quiet", .pause_max_us = 1000000});
}

static void working_store_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){.name = "working", .pause_max_us = 60000, .work_percent = 65});
}

static void slow_work_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){.name = "slow", .pause_max_us = 600000, .work_percent = 50});
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_deadlines_take_effect_as_at_their_moment),
        cmocka_unit_test(busy_store_answers_like_the_model),
        cmocka_unit_test(quiet_store_answers_like_the_model),
        cmocka_unit_test(working_store_answers_like_the_model),
        cmocka_unit_test(slow_work_answers_like_the_model),
    };

    if (argc != 2 || strncmp(argv[1], "redis:", 6) != 0) {
        ground_fail("usage: test_differential redis:URL");
    }
    store_rest = argv[1] + 6;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
