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

#include "compare.h"
#include "engine/redis/redis.h"
#include "play.h"

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

static _Noreturn void differ(const struct play *play, const char *what) {
    static const char *const kinds[] = {"ask", "renew", "release", "break",  "tick",
                                        "put", "push",  "take",    "finish", "unpark"};

    print_live(play);
    fail_msg("%s, step %u (%s of %s for %s, style %d): the store and the model differ in %s",
             play->variant->name, play->step, kinds[play->event.kind], play->owner,
             play->parts.text, play->event.kind == LK_EVENT_ASK ? (int)play->event.ask.style : -1,
             what);
    abort();
}

static void expect(const struct play *play, const char *difference) {
    if (difference != NULL) {
        differ(play, difference);
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
static struct lk_times tick_model(struct play *play, struct lk_engine *engine) {
    const struct lk_event former = play->event;
    struct lk_times times;

    play->event = (struct lk_event){.kind = LK_EVENT_TICK};
    (void)step_model(play, engine);
    times = play->event.times;
    play->event = former;
    return times;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void play_answered(struct play *play, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_event *event = &play->event;
    lk_result expected = {.outcome = LK_OK};
    lk_result result = {.outcome = LK_OK};
    const struct lk_effects *effects;
    struct lk_stand stand;
    const char *difference;

    if (event->kind == LK_EVENT_ASK) {
        (void)engine->ops->ask(engine, &event->ask, &patience, &result, &stand);
    } else if (event->kind == LK_EVENT_RENEW) {
        (void)engine->ops->renew(engine, &event->renew, &patience, &result);
    } else {
        (void)engine->ops->release(engine, &event->release, &patience, &result);
    }
    effects = step_model(play, engine);
    assert_true(lk_result_from_effects(play->model, effects, &event->times, &expected));
    if (result.token != 0) {
        play->tokens[play_between(play, 0, PLAY_TOKENS - 1)] = result.token;
    }
    difference = compare_results(false, &result, &expected);
    if (difference != NULL) {
        (void)fprintf(stderr, "store: %s (%s), model: %s (%s)\n", lk_outcome_name(result.outcome),
                      result.error ? result.error : "", lk_outcome_name(expected.outcome),
                      expected.error ? expected.error : "");
        (void)fprintf(stderr, "store: %llu %llu, model: %llu %llu\n",
                      (unsigned long long)result.ticket, (unsigned long long)result.token,
                      (unsigned long long)expected.ticket, (unsigned long long)expected.token);
        for (size_t i = 0; i < result.cycle_count; i++) {
            (void)fprintf(stderr, "# cycle: %s\n", result.cycle[i]);
        }
    }
    lk_result_clear(&result);
    lk_result_clear(&expected);
    expect(play, difference);
}

static void play_break(struct play *play, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    size_t count = 0;
    lk_error error;
    lk_outcome outcome = engine->ops->break_(engine, &play->event.broken, lk_slice_of("root"),
                                             lk_slice_of("for a test"), &patience, &count, &error);
    const struct lk_effects *effects = step_model(play, engine);

    if (outcome != effects->answer.outcome || count != effects->answer.broken) {
        differ(play, "the count of the broken");
    }
}

static void play_take(struct play *play, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    lk_claim_info *claim = NULL;
    lk_claim_info *expected = NULL;
    struct lk_stand stand;
    lk_error error = {.outcome = LK_OK};
    lk_error expected_error;
    const struct lk_effects *effects;
    const char *difference;

    error.outcome = engine->ops->take(engine, &play->event.take, &patience, &claim, &stand, &error);
    effects = step_model(play, engine);
    (void)lk_claim_from_effects(play->model, effects, &play->event.times, &expected,
                                &expected_error);
    if (claim != NULL) {
        play->tokens[play_between(play, 0, PLAY_TOKENS - 1)] = claim->token;
    }
    difference = compare_errors(&error, &expected_error);
    if (difference == NULL) {
        difference = compare_claims(false, claim, expected);
    }
    lk_claim_free(claim);
    lk_claim_free(expected);
    expect(play, difference);
}

/* What is answered with an outcome and a sentence alone, but for whether it was added. */
static void play_plain(struct play *play, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_event *event = &play->event;
    const struct lk_engine_ops *ops = engine->ops;
    const struct lk_effects *effects;
    lk_error expected;
    lk_error error = {.outcome = LK_OK};
    bool added = false;

    if (event->kind == LK_EVENT_PUT) {
        error.outcome = ops->value_put(engine, &event->put, &patience, &error);
    } else if (event->kind == LK_EVENT_PUSH) {
        error.outcome = ops->push(engine, &event->push, &patience, &added, &error);
    } else if (event->kind == LK_EVENT_FINISH) {
        error.outcome = ops->finish(engine, &event->finish, &patience, &error);
    } else {
        error.outcome = ops->unpark(engine, &event->unpark, &patience, &error);
    }
    effects = step_model(play, engine);
    expected.outcome = effects->answer.outcome;
    (void)snprintf(expected.text, sizeof expected.text, "%s", effects->answer.text);
    if (compare_errors(&error, &expected) != NULL) {
        (void)fprintf(stderr, "store: %s (%s), model: %s (%s)\n", lk_outcome_name(error.outcome),
                      error.text, lk_outcome_name(expected.outcome), expected.text);
        differ(play, "the outcome");
    }
    if (event->kind == LK_EVENT_PUSH && added != effects->answer.created) {
        differ(play, "whether it was added");
    }
}

/* ---- looking --------------------------------------------------------------------------------- */

static void compare_requests(struct play *play, struct lk_engine *engine,
                             const struct lk_path *path) {
    struct lk_patience patience = ground_patience(20000000);
    lk_listing *listing = NULL;
    lk_listing *expected = NULL;
    struct lk_times times;
    lk_error error;
    const char *difference;

    assert_int_equal(engine->ops->list(engine, path, &patience, &listing, &error), LK_OK);
    times = tick_model(play, engine);
    assert_int_equal(lk_listing_from_model(play->model, &times, path, &expected), LK_OK);
    difference = compare_listings(false, listing, expected);
    lk_listing_free(listing);
    lk_listing_free(expected);
    expect(play, difference);

    assert_int_equal(engine->ops->show(engine, path, &patience, &listing, &error), LK_OK);
    times = tick_model(play, engine);
    assert_int_equal(lk_listing_from_model_with_blockers(play->model, &times, path, &expected),
                     LK_OK);
    difference = compare_listings(false, listing, expected);
    lk_listing_free(listing);
    lk_listing_free(expected);
    expect(play, difference);
}

static void look_at_requests(struct play *play, struct lk_engine *engine) {
    const struct lk_path path = play_some_path(play);

    compare_requests(play, engine, &path);
}

static void look_at_value(struct play *play, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_path path = play_some_path(play);
    lk_value *value = NULL;
    lk_value *expected = NULL;
    lk_error error;
    lk_outcome outcome = engine->ops->value_get(engine, &path, &patience, &value, &error);
    const char *difference;

    (void)tick_model(play, engine);
    assert_int_equal(outcome, lk_value_from_model(play->model, &path, &expected));
    difference = compare_values(value, expected);
    lk_value_free(value);
    lk_value_free(expected);
    expect(play, difference);
}

static void look_at_queue(struct play *play, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    lk_item_list *list = NULL;
    lk_item_list *expected = NULL;
    lk_queue_stats stats;
    lk_queue_stats expected_stats;
    struct lk_queue_counts counts;
    struct lk_times times;
    lk_error error;
    const char *difference;

    play_choose_queue(play);
    assert_int_equal(engine->ops->items(engine, &play->queue, &patience, &list, &error), LK_OK);
    times = tick_model(play, engine);
    assert_int_equal(lk_items_from_model(play->model, &times, &play->queue, &expected), LK_OK);
    difference = compare_items(list, expected);
    lk_item_list_free(list);
    lk_item_list_free(expected);
    expect(play, difference);

    assert_int_equal(engine->ops->stats(engine, &play->queue, &patience, &stats, &error), LK_OK);
    (void)tick_model(play, engine);
    lk_model_queue_counts(play->model, &play->queue, &counts);
    lk_stats_from_counts(&counts, &expected_stats);
    /* What is delayed in the model until somebody comes is ready here when it is due. */
    stats.ready_now += stats.delayed_now;
    stats.delayed_now = 0;
    expected_stats.ready_now += expected_stats.delayed_now;
    expected_stats.delayed_now = 0;
    expect(play, compare_stats(&stats, &expected_stats));
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
    if (play->event.kind == LK_EVENT_BREAK) {
        play_break(play, engine);
    } else if (play->event.kind == LK_EVENT_TAKE) {
        play_take(play, engine);
    } else if (play->event.kind < LK_EVENT_PUT) {
        play_answered(play, engine);
    } else {
        play_plain(play, engine);
    }
    if (play_chance(play, 30)) {
        look_at_requests(play, engine);
        look_at_value(play, engine);
        look_at_queue(play, engine);
    }
}

static void play_history(struct variant variant, struct lk_random *random) {
    const struct lk_model_config config = {.ended_max = 0};
    struct play play = {.variant = &variant, .random = random};
    unsigned database = ++histories_played;

    variant.root = "r/";
    for (size_t i = 0; i < PLAY_STORES; i++) {
        play.engines[i] = open_store(database);
    }
    play.model = lk_model_new(&config);
    assert_non_null(play.model);
    look_at_value(&play, play.engines[0]); /* sets the clock */
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
    play_answered(play, play->engines[0]);
}

/*
 * A deadline that takes effect late does so as at its own moment (R11): who lived then is granted,
 * be it by what its owner is granted at that moment (R8), although its former deadline is over.
 */
static void late_deadlines_take_effect_as_at_their_moment(void **state) {
    const struct lk_model_config config = {.ended_max = 0};
    const struct variant variant = {.name = "late", .root = "r/"};
    struct lk_random random = {1};
    struct play play = {.variant = &variant, .random = &random};
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
    compare_requests(&play, play.engines[0], &root);
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
