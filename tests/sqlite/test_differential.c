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

#include "compare.h"
#include "play.h"
#include "told.h"

enum { HISTORIES = 60, STEPS = 250 };

/* ---- comparing ------------------------------------------------------------------------------- */

static _Noreturn void differ(const struct play *play, const char *what) {
    static const char *const kinds[] = {"ask", "renew", "release", "break",  "tick",
                                        "put", "push",  "take",    "finish", "unpark"};

    fail_msg("%s, step %u (%s of %s for %s, style %d): the store and the model differ in %s",
             play->variant->name, play->step, kinds[play->event.kind], play->owner,
             play->parts.text, play->event.kind == LK_EVENT_ASK ? (int)play->event.ask.style : -1,
             what);
    abort();
}

static void expect_same_listings(struct play *play, lk_listing *a, lk_listing *b) {
    const char *difference = compare_listings(play->variant->is_lazy, a, b);

    lk_listing_free(a);
    lk_listing_free(b);
    if (difference != NULL) {
        differ(play, difference);
    }
}

/* ---- playing --------------------------------------------------------------------------------- */

static void play_break(struct play *play, struct lk_engine *engine,
                       const struct lk_effects *effects) {
    struct lk_patience patience = ground_patience(20000000);
    size_t count = 0;
    lk_error error;
    lk_outcome outcome = engine->ops->break_(engine, &play->event.broken, lk_slice_of("root"),
                                             lk_slice_of("for a test"), &patience, &count, &error);

    if (outcome != effects->answer.outcome || count != effects->answer.broken) {
        differ(play, "the count of the broken");
    }
}

static void play_answered(struct play *play, struct lk_engine *engine,
                          const struct lk_effects *effects) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_event *event = &play->event;
    lk_result expected = {.outcome = LK_OK};
    lk_result result = {.outcome = LK_OK};
    struct lk_stand stand;
    const char *difference;

    assert_true(lk_result_from_effects(play->model, effects, &event->times, &expected));
    if (event->kind == LK_EVENT_ASK) {
        (void)engine->ops->ask(engine, &event->ask, &patience, &result, &stand);
    } else if (event->kind == LK_EVENT_RENEW) {
        (void)engine->ops->renew(engine, &event->renew, &patience, &result);
    } else {
        (void)engine->ops->release(engine, &event->release, &patience, &result);
    }
    if (result.token != 0) {
        play->tokens[play_between(play, 0, PLAY_TOKENS - 1)] = result.token;
    }
    difference = compare_results(play->variant->is_lazy, &result, &expected);
    if (difference != NULL) {
        (void)fprintf(stderr, "store: %s (%s), model: %s (%s)\n", lk_outcome_name(result.outcome),
                      result.error ? result.error : "", lk_outcome_name(expected.outcome),
                      expected.error ? expected.error : "");
    }
    lk_result_clear(&result);
    lk_result_clear(&expected);
    if (difference != NULL) {
        differ(play, difference);
    }
}

static void expect_same_claim(struct play *play, const lk_claim_info *claim,
                              const struct lk_effects *effects, const lk_error *error) {
    lk_claim_info *expected = NULL;
    lk_error expected_error;
    const char *difference;

    (void)lk_claim_from_effects(play->model, effects, &play->event.times, &expected,
                                &expected_error);
    if (claim != NULL) {
        play->tokens[play_between(play, 0, PLAY_TOKENS - 1)] = claim->token;
    }
    difference = compare_errors(error, &expected_error);
    if (difference == NULL) {
        difference = compare_claims(play->variant->is_lazy, claim, expected);
    }
    lk_claim_free(expected);
    if (difference != NULL) {
        differ(play, difference);
    }
}

static void play_take(struct play *play, struct lk_engine *engine,
                      const struct lk_effects *effects) {
    struct lk_patience patience = ground_patience(20000000);
    lk_claim_info *claim = NULL;
    struct lk_stand stand;
    lk_error error = {.outcome = LK_OK};

    error.outcome = engine->ops->take(engine, &play->event.take, &patience, &claim, &stand, &error);
    expect_same_claim(play, claim, effects, &error);
    lk_claim_free(claim);
}

/* What is answered with an outcome and a sentence alone, but for whether it was added. */
static void play_plain(struct play *play, struct lk_engine *engine,
                       const struct lk_effects *effects) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_event *event = &play->event;
    const struct lk_engine_ops *ops = engine->ops;
    lk_error expected = {.outcome = effects->answer.outcome};
    lk_error error = {.outcome = LK_OK};
    bool added = effects->answer.created;
    const char *difference;

    (void)snprintf(expected.text, sizeof expected.text, "%s", effects->answer.text);
    if (event->kind == LK_EVENT_PUT) {
        error.outcome = ops->value_put(engine, &event->put, &patience, &error);
    } else if (event->kind == LK_EVENT_PUSH) {
        error.outcome = ops->push(engine, &event->push, &patience, &added, &error);
    } else if (event->kind == LK_EVENT_FINISH) {
        error.outcome = ops->finish(engine, &event->finish, &patience, &error);
    } else {
        error.outcome = ops->unpark(engine, &event->unpark, &patience, &error);
    }
    difference = compare_errors(&error, &expected);
    if (difference != NULL) {
        (void)fprintf(stderr, "store: %s (%s), model: %s (%s)\n", lk_outcome_name(error.outcome),
                      error.text, lk_outcome_name(expected.outcome), expected.text);
        differ(play, difference);
    }
    if (added != effects->answer.created) {
        differ(play, "whether it was added");
    }
}

/* What the model has counted, and how many items it has in each state, by their list. */
static void expect_stats(const struct play *play, const lk_item_list *list,
                         lk_queue_stats *ret_stats) {
    struct lk_queue_counts counts;

    lk_model_queue_counts(play->model, &play->queue, &counts);
    lk_stats_from_counts(&counts, ret_stats);
    ret_stats->ready_now = ret_stats->delayed_now = 0;
    ret_stats->claimed_now = ret_stats->parked_now = 0;
    for (size_t i = 0; i < list->count; i++) {
        const char *state = list->items[i].state;
        ret_stats->ready_now += strcmp(state, "ready") == 0;
        ret_stats->delayed_now += strcmp(state, "delayed") == 0;
        ret_stats->claimed_now += strcmp(state, "claimed") == 0;
        ret_stats->parked_now += strcmp(state, "parked") == 0;
    }
}

static void look_at_queue(struct play *play, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_times times = {play->clock.now_us, play->clock.wall_us};
    lk_item_list *list = NULL;
    lk_item_list *expected = NULL;
    lk_queue_stats stats;
    lk_queue_stats expected_stats;
    lk_error error;
    const char *difference;

    play_choose_queue(play);
    assert_int_equal(engine->ops->items(engine, &play->queue, &patience, &list, &error), LK_OK);
    assert_int_equal(engine->ops->stats(engine, &play->queue, &patience, &stats, &error), LK_OK);
    assert_int_equal(lk_items_from_model(play->model, &times, &play->queue, &expected), LK_OK);
    expect_stats(play, expected, &expected_stats);
    difference = compare_items(list, expected);
    if (difference == NULL) {
        difference = compare_stats(&stats, &expected_stats);
    }
    lk_item_list_free(list);
    lk_item_list_free(expected);
    if (difference != NULL) {
        differ(play, difference);
    }
}

static void look_at_value(struct play *play, struct lk_engine *engine, const struct lk_path *path) {
    struct lk_patience patience = ground_patience(20000000);
    lk_value *value = NULL;
    lk_value *expected = NULL;
    lk_error error;
    lk_outcome outcome = engine->ops->value_get(engine, path, &patience, &value, &error);
    const char *difference;

    assert_int_equal(outcome, lk_value_from_model(play->model, path, &expected));
    difference = compare_values(value, expected);
    lk_value_free(value);
    lk_value_free(expected);
    if (difference != NULL) {
        differ(play, difference);
    }
}

static void look_around(struct play *play, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_times times = {play->clock.now_us, play->clock.wall_us};
    lk_listing *listing = NULL;
    lk_listing *expected = NULL;
    const struct lk_path path = play_some_path(play);
    const struct lk_path *prefix = play_chance(play, 50) ? NULL : &path;
    lk_error error;

    assert_int_equal(engine->ops->list(engine, prefix, &patience, &listing, &error), LK_OK);
    assert_int_equal(lk_listing_from_model(play->model, &times, prefix, &expected), LK_OK);
    expect_same_listings(play, listing, expected);

    assert_int_equal(engine->ops->show(engine, &path, &patience, &listing, &error), LK_OK);
    assert_int_equal(lk_listing_from_model_with_blockers(play->model, &times, &path, &expected),
                     LK_OK);
    expect_same_listings(play, listing, expected);
    look_at_value(play, engine, &path);
    look_at_queue(play, engine);
}

static void play_step(struct play *play) {
    struct lk_engine **engine = &play->engines[play_between(play, 0, PLAY_STORES - 1)];
    const struct lk_effects *effects;

    ground_clock_advance(&play->clock, play_between(play, 1000, play->variant->pause_max_us));
    if (play_chance(play, 2)) {
        ground_close(*engine);
        *engine = ground_open(play->ground.file, &play->options);
    }
    play_invent(play);
    play->event.times = (struct lk_times){play->clock.now_us, play->clock.wall_us};
    effects = lk_model_step(play->model, &play->event);
    assert_null(lk_model_check(play->model));
    if (play->event.kind == LK_EVENT_BREAK) {
        play_break(play, *engine, effects);
    } else if (play->event.kind == LK_EVENT_TAKE) {
        play_take(play, *engine, effects);
    } else if (play->event.kind < LK_EVENT_PUT) {
        play_answered(play, *engine, effects);
    } else {
        play_plain(play, *engine, effects);
    }
    if (play->variant->is_told) {
        const char *difference = told_differs(play, effects, false, TOLD_IN_ORDER);
        if (difference != NULL) {
            differ(play, difference);
        }
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
