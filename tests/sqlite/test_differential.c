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
#include "ground.h"

enum { STORES = 3, HISTORIES = 40, STEPS = 250, TOKENS = 16 };

static const char *const paths[] = {"a", "a/x", "a/x/p", "a/x/q", "a/y", "a0",
                                    "b", "b/x", "b/x/p", "c",     "c/x", "d"};
enum { PATHS = sizeof paths / sizeof paths[0] };

/* Two of them are places where locks are, too. */
static const char *const queues[] = {"c", "b/x", "jobs"};
static const char *const ids[] = {"1", "2", "3", "x", "p"};
static const char *const needs[] = {"d", "a/x?shared", "pool?limit=2&units=1", "pool?limit=3&units=2",
                                    "b/x/q"};
enum {
    QUEUES = sizeof queues / sizeof queues[0],
    IDS = sizeof ids / sizeof ids[0],
    NEEDS = sizeof needs / sizeof needs[0],
};

static const char *const owners[] = {"Ann", "Bob", "Cy", "Dee", "Eve"};
enum { OWNERS = sizeof owners / sizeof owners[0] };

/* What a history varies. */
struct variant {
    const char *name;
    int overdue_max;
    bool is_lazy; /* draws later than the model: tickets and tokens differ, and are not named */
    struct lk_quotas quotas;
    int64_t pause_max_us; /* between steps */
    int work_percent;     /* of the steps are about values and work */
};

struct play {
    const struct variant *variant;
    struct lk_random *random;
    struct ground ground;
    struct ground_clock clock;
    struct lk_sqlite_options options;
    struct lk_engine *engines[STORES];
    struct lk_model *model;

    unsigned step;
    struct lk_event event;
    struct ground_parts parts; /* of the event */
    char owner[LK_OWNER_BYTES_MAX + 1];
    struct lk_path queue;
    char id[LK_SEGMENT_BYTES_MAX + 1];
    char value[200];
    uint64_t tokens[TOKENS]; /* granted lately, for later calls to name */
};

static int64_t between(struct play *play, int64_t low, int64_t high) {
    return lk_random_between(play->random, low, high);
}

static bool chance(struct play *play, int percent) {
    return between(play, 1, 100) <= percent;
}

/* ---- making events --------------------------------------------------------------------------- */

static void make_parts(struct play *play) {
    size_t count = chance(play, 70) ? 1 : (size_t)between(play, 2, 3);
    bool taken[PATHS] = {false};
    char text[256] = "";

    for (size_t i = 0; i < count; i++) {
        size_t path = (size_t)between(play, 0, PATHS - 1);
        size_t used = strlen(text);
        if (taken[path]) {
            continue;
        }
        taken[path] = true;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? " " : "",
                                 paths[path]);
        if (chance(play, 25)) {
            (void)snprintf(text + used, sizeof text - used, "?shared");
        } else if (chance(play, 40)) {
            int limit = (int)between(play, 1, 3);
            (void)snprintf(text + used, sizeof text - used, "?limit=%d&units=%d", limit,
                           (int)between(play, 1, limit));
        }
    }
    ground_parts_parse(&play->parts, text);
}

/* Makes the event's owner and parts those of a request that is there; its token, or 0. */
static uint64_t aim(struct play *play) {
    const struct lk_times times = {play->clock.now_us, play->clock.wall_us};
    lk_listing *listing = NULL;
    uint64_t token = 0;
    char text[256] = "";

    assert_int_equal(lk_listing_from_model(play->model, &times, NULL, &listing), LK_OK);
    if (listing->count > 0) {
        const lk_entry *chosen = &listing->entries[between(play, 0, (int64_t)listing->count - 1)];
        for (size_t i = 0; i < listing->count; i++) {
            size_t used = strlen(text);
            if (listing->entries[i].request_index == chosen->request_index) {
                (void)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? " " : "",
                               listing->entries[i].path);
            }
        }
        (void)snprintf(play->owner, sizeof play->owner, "%s", chosen->owner);
        token = chosen->token;
        ground_parts_parse(&play->parts, text);
    }
    lk_listing_free(listing);
    return token;
}

static void make_target(struct play *play, struct lk_target *ret_target) {
    uint64_t token = chance(play, 75) ? aim(play) : 0;

    if (chance(play, 15)) {
        token = play->tokens[between(play, 0, TOKENS - 1)];
    }
    *ret_target = (struct lk_target){
        .owner = lk_slice_of(play->owner),
        .parts = play->parts.parts,
        .part_count = play->parts.count,
        .token = play->variant->is_lazy || chance(play, 40) ? 0 : token,
    };
}

static void make_ask(struct play *play, struct lk_ask *ret_ask) {
    *ret_ask = (struct lk_ask){
        .owner = lk_slice_of(play->owner),
        .parts = play->parts.parts,
        .part_count = play->parts.count,
        .style = (lk_style)between(play, LK_TRY, LK_WAIT),
        .ttl_ms = chance(play, 20) ? 0 : between(play, 50, 2000),
        .until_us = chance(play, 8) ? play->clock.wall_us + between(play, 1, 3000000) : 0,
        .note_given = chance(play, 25),
        .note = lk_slice_of(chance(play, 50) ? "a note" : ""),
        .blockers_max = (size_t)between(play, 0, 5),
        .wants_value = chance(play, 30),
    };
}

/* Some bytes, unlike any other step's. */
static struct lk_slice make_value(struct play *play) {
    int used = snprintf(play->value, sizeof play->value, "value %u of %s", play->step, play->owner);

    return (struct lk_slice){play->value, chance(play, 90) ? (size_t)used : 0};
}

static void choose_queue(struct play *play) {
    const char *queue = queues[between(play, 0, QUEUES - 1)];

    assert_int_equal(lk_path_parse(lk_slice_of(queue), &play->queue, NULL), LK_OK);
    (void)snprintf(play->id, sizeof play->id, "%s", ids[between(play, 0, IDS - 1)]);
}

/* Makes owner and id those of a claim in the queue, if there is one. */
static void aim_at_claim(struct play *play) {
    const struct lk_times times = {play->clock.now_us, play->clock.wall_us};
    lk_item_list *list = NULL;

    assert_int_equal(lk_items_from_model(play->model, &times, &play->queue, &list), LK_OK);
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].owner != NULL && chance(play, 60)) {
            (void)snprintf(play->owner, sizeof play->owner, "%s", list->items[i].owner);
            (void)snprintf(play->id, sizeof play->id, "%s", list->items[i].id);
        }
    }
    lk_item_list_free(list);
}

static uint64_t some_token(struct play *play) {
    return play->variant->is_lazy || chance(play, 50) ? 0
                                                      : play->tokens[between(play, 0, TOKENS - 1)];
}

static void make_push(struct play *play, struct lk_push *ret_push) {
    ground_parts_parse(&play->parts, chance(play, 60) ? "" : needs[between(play, 0, NEEDS - 1)]);
    *ret_push = (struct lk_push){
        .queue = play->queue,
        .id = lk_slice_of(chance(play, 98) ? play->id : "a/b"),
        .value = make_value(play),
        .delay_ms = chance(play, 70) ? 0 : between(play, 1, 1000),
        .needs = play->parts.parts,
        .need_count = play->parts.count,
    };
}

static void make_take(struct play *play, struct lk_take *ret_take) {
    *ret_take = (struct lk_take){
        .queue = play->queue,
        .owner = lk_slice_of(play->owner),
        .ttl_ms = chance(play, 20) ? 0 : between(play, 50, 1000),
        .max_attempts = (uint32_t)between(play, 0, 3),
        .ask_number = (uint64_t)between(play, 0, 4),
        .note_given = chance(play, 25),
        .note = lk_slice_of("a worker"),
    };
}

static void make_finish(struct play *play, struct lk_finish *ret_finish) {
    aim_at_claim(play);
    *ret_finish = (struct lk_finish){
        .queue = play->queue,
        .id = lk_slice_of(play->id),
        .owner = lk_slice_of(play->owner),
        .token = some_token(play),
        .kind = chance(play, 60) ? LK_FINISH_DONE : LK_FINISH_RETRY,
        .delay_ms = chance(play, 60) ? 0 : between(play, 1, 1000),
    };
}

static void make_put(struct play *play, struct lk_put *ret_put) {
    *ret_put = (struct lk_put){
        .path = play->parts.parts[0].path,
        .owner = lk_slice_of(chance(play, 70) ? play->owner : ""),
        .token = some_token(play),
        .deletes = chance(play, 20),
        .bytes = make_value(play),
    };
}

static void make_work(struct play *play) {
    struct lk_event *event = &play->event;
    int64_t dice = between(play, 1, 100);

    choose_queue(play);
    if (dice <= 30) {
        event->kind = LK_EVENT_PUSH;
        make_push(play, &event->push);
    } else if (dice <= 60) {
        event->kind = LK_EVENT_TAKE;
        make_take(play, &event->take);
    } else if (dice <= 80) {
        event->kind = LK_EVENT_FINISH;
        make_finish(play, &event->finish);
    } else if (dice <= 85) {
        event->kind = LK_EVENT_UNPARK;
        event->unpark = (struct lk_unpark){.queue = play->queue, .id = lk_slice_of(play->id)};
    } else {
        event->kind = LK_EVENT_PUT;
        make_put(play, &event->put);
    }
}

static void make_event(struct play *play) {
    struct lk_event *event = &play->event;
    int64_t dice = between(play, 1, 100);

    *event = (struct lk_event){.kind = LK_EVENT_ASK};
    (void)snprintf(play->owner, sizeof play->owner, "%s", owners[between(play, 0, OWNERS - 1)]);
    make_parts(play);
    if (chance(play, play->variant->work_percent)) {
        make_work(play);
    } else if (dice <= 60) {
        make_ask(play, &event->ask);
    } else if (dice <= 72) {
        event->kind = LK_EVENT_RENEW;
        make_target(play, &event->renew.target);
        event->renew.ttl_ms = chance(play, 50) ? 0 : between(play, 50, 2000);
    } else if (dice <= 96) {
        event->kind = LK_EVENT_RELEASE;
        make_target(play, &event->release.target);
        event->release.puts = chance(play, 25);
        event->release.put = make_value(play);
    } else {
        event->kind = LK_EVENT_BREAK;
        event->broken = (struct lk_break){
            .path = play->parts.parts[0].path,
            .owner = lk_slice_of(chance(play, 30) ? play->owner : NULL),
            .at_once = chance(play, 50),
        };
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

static _Noreturn void differ(const struct play *play, const char *what) {
    static const char *const kinds[] = {"ask",  "renew", "release", "break",  "tick",
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
        play->tokens[between(play, 0, TOKENS - 1)] = result.token;
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
        play->tokens[between(play, 0, TOKENS - 1)] = claim->token;
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

    error.outcome =
        engine->ops->take(engine, &play->event.take, &patience, &claim, &stand, &error);
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

    choose_queue(play);
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
    struct lk_path path;
    const struct lk_path *prefix = chance(play, 50) ? NULL : &path;
    lk_error error;

    assert_int_equal(lk_path_parse(lk_slice_of(paths[between(play, 0, PATHS - 1)]), &path, &error),
                     LK_OK);
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
    struct lk_engine **engine = &play->engines[between(play, 0, STORES - 1)];
    const struct lk_effects *effects;

    ground_clock_advance(&play->clock, between(play, 1000, play->variant->pause_max_us));
    if (chance(play, 2)) {
        ground_close(*engine);
        *engine = ground_open(play->ground.file, &play->options);
    }
    make_event(play);
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
    if (chance(play, 30)) {
        look_around(play, play->engines[between(play, 0, STORES - 1)]);
    }
}

static void write_quotas(const struct play *play) {
    const struct lk_quotas *quotas = &play->variant->quotas;
    char text[256];

    (void)snprintf(text, sizeof text,
                   "UPDATE meta SET live_max = %d, live_per_owner_max = %d,"
                   " live_per_root_max = %d, waiters_per_path_max = %d",
                   (int)quotas->live_max, (int)quotas->live_per_owner_max,
                   (int)quotas->live_per_root_max, (int)quotas->waiters_per_path_max);
    (void)ground_sql(play->ground.file, text);
}

static void play_history(const struct variant *variant, struct lk_random *random) {
    struct play play = {.variant = variant, .random = random, .ground = ground_make()};
    const struct lk_model_config config = {.quotas = variant->quotas};

    ground_clock_init(&play.clock);
    play.options = (struct lk_sqlite_options){
        .time = &play.clock.source, .boot_id = "boot", .overdue_max = variant->overdue_max};
    for (size_t i = 0; i < STORES; i++) {
        play.engines[i] = ground_open(play.ground.file, &play.options);
    }
    write_quotas(&play);
    play.model = lk_model_new(&config);
    assert_non_null(play.model);
    for (play.step = 1; play.step <= STEPS; play.step++) {
        play_step(&play);
    }
    lk_model_free(play.model);
    for (size_t i = 0; i < STORES; i++) {
        ground_close(play.engines[i]);
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
    play_variant(&(struct variant){.name = "busy", .overdue_max = 1000, .pause_max_us = 60000});
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
        .name = "slow work", .overdue_max = 1000, .pause_max_us = 600000, .work_percent = 50});
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
