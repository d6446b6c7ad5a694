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

#include "ground.h"

enum { STORES = 3, HISTORIES = 40, STEPS = 250, TOKENS = 16 };

static const char *const paths[] = {"a", "a/x", "a/x/p", "a/x/q", "a/y", "a0",
                                    "b", "b/x", "b/x/p", "c",     "c/x", "d"};
enum { PATHS = sizeof paths / sizeof paths[0] };

static const char *const owners[] = {"Ann", "Bob", "Cy", "Dee", "Eve"};
enum { OWNERS = sizeof owners / sizeof owners[0] };

/* What a history varies. */
struct variant {
    const char *name;
    int overdue_max;
    bool is_lazy; /* draws later than the model: tickets and tokens differ, and are not named */
    struct lk_quotas quotas;
    int64_t pause_max_us; /* between steps */
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
    };
}

static void make_event(struct play *play) {
    struct lk_event *event = &play->event;
    int64_t dice = between(play, 1, 100);

    *event = (struct lk_event){.kind = LK_EVENT_ASK};
    (void)snprintf(play->owner, sizeof play->owner, "%s", owners[between(play, 0, OWNERS - 1)]);
    make_parts(play);
    if (dice <= 60) {
        make_ask(play, &event->ask);
    } else if (dice <= 72) {
        event->kind = LK_EVENT_RENEW;
        make_target(play, &event->renew.target);
        event->renew.ttl_ms = chance(play, 50) ? 0 : between(play, 50, 2000);
    } else if (dice <= 96) {
        event->kind = LK_EVENT_RELEASE;
        make_target(play, &event->release.target);
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
    static const char *const kinds[] = {"ask", "renew", "release", "break", "tick"};

    fail_msg("%s, step %u (%s of %s for %s, style %d): the store and the model differ in %s",
             play->variant->name, play->step, kinds[play->event.kind], play->owner,
             play->parts.text, play->event.kind == LK_EVENT_ASK ? (int)play->event.ask.style : -1,
             what);
    abort();
}

static bool is_same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Draws (R4) agree; those of a lazy store, which makes them later, in whether there is one. */
static bool is_same_draw(const struct play *play, uint64_t a, uint64_t b) {
    return play->variant->is_lazy ? (a == 0) == (b == 0) : a == b;
}

static const char *compare_blockers(const struct play *play, const lk_blocker_info *a,
                                    size_t a_count, const lk_blocker_info *b, size_t b_count) {
    if (a_count != b_count) {
        return "the number of blockers";
    }
    for (size_t i = 0; i < a_count; i++) {
        if (!is_same_text(a[i].path, b[i].path) || !is_same_text(a[i].owner, b[i].owner)
            || !is_same_text(a[i].note, b[i].note) || !is_same_draw(play, a[i].ticket, b[i].ticket)
            || a[i].held != b[i].held || a[i].expires_in_ms != b[i].expires_in_ms) {
            return "a blocker";
        }
    }
    return NULL;
}

static const char *compare_results(const struct play *play, const lk_result *a,
                                   const lk_result *b) {
    if (a->outcome != b->outcome) {
        return "the outcome";
    }
    if (!is_same_text(a->error, b->error)) {
        return "the sentence";
    }
    if (!is_same_draw(play, a->ticket, b->ticket) || !is_same_draw(play, a->token, b->token)) {
        return "ticket or token";
    }
    if (a->ttl_ms != b->ttl_ms || a->expires_in_ms != b->expires_in_ms || a->fixed != b->fixed) {
        return "the deadline";
    }
    if (a->in_use != b->in_use || a->position != b->position || a->created != b->created) {
        return "units in use, position or whether it is new";
    }
    /* Where an ask closes several cycles, any of them may be named. */
    if ((a->cycle_count == 0) != (b->cycle_count == 0)
        || (a->cycle_count > 0 && !is_same_text(a->cycle[0], b->cycle[0]))) {
        return "the cycle";
    }
    return compare_blockers(play, a->blockers, a->blocker_count, b->blockers, b->blocker_count);
}

static const char *compare_entries(const struct play *play, const lk_entry *a, const lk_entry *b) {
    if (!is_same_text(a->path, b->path) || !is_same_text(a->owner, b->owner)
        || !is_same_text(a->note, b->note) || !is_same_draw(play, a->ticket, b->ticket)) {
        return "who is listed";
    }
    if (!is_same_draw(play, a->token, b->token) || a->held != b->held || a->shared != b->shared
        || a->revoked != b->revoked || a->limit != b->limit || a->units != b->units) {
        return "the state listed";
    }
    if (a->ttl_ms != b->ttl_ms || a->expires_in_ms != b->expires_in_ms) {
        return "the deadline listed";
    }
    if (a->position != b->position) {
        return "the position listed";
    }
    return compare_blockers(play, a->blockers, a->blocker_count, b->blockers, b->blocker_count);
}

static void compare_listings(const struct play *play, lk_listing *a, lk_listing *b) {
    const char *difference = a->count != b->count ? "the number of parts listed" : NULL;

    for (size_t i = 0; difference == NULL && i < a->count; i++) {
        difference = compare_entries(play, &a->entries[i], &b->entries[i]);
    }
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
    difference = compare_results(play, &result, &expected);
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
    compare_listings(play, listing, expected);

    assert_int_equal(engine->ops->show(engine, &path, &patience, &listing, &error), LK_OK);
    assert_int_equal(lk_listing_from_model_with_blockers(play->model, &times, &path, &expected),
                     LK_OK);
    compare_listings(play, listing, expected);
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
    } else {
        play_answered(play, *engine, effects);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_store_answers_like_the_model),
        cmocka_unit_test(quiet_store_answers_like_the_model),
        cmocka_unit_test(lazy_store_answers_like_the_model),
        cmocka_unit_test(bounded_store_answers_like_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
