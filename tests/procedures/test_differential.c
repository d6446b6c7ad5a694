/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories on a store inside a database through several openers, beside the model: the
 * procedures must give the same answers and leave the same requests behind, step by step.
 *
 * The database's clock is made the test's (subject.h). Draws (R4) are compared in whether there is
 * one; which of the store's tokens is which of the model's is kept, so that calls can name them. Of
 * cycles that came to be unseen (R13) the store withdraws whoever waits with the greatest ticket,
 * the model whoever asks first: there a history ends. Events (R21) are compared where all that is
 * overdue perishes before each step: one by one where everything is below one root, and without
 * their order where it is not.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../sqlite/answer.h"
#include "../sqlite/compare.h"
#include "../sqlite/told.h"
#include "subject.h"

enum { HISTORIES = 4, SPARE = 4, STEPS = 120, PAIRS = 4096 };

/* One history: the play of the embedded store's test, and the database's. */
struct story {
    struct play play;
    char name[SUBJECT_NAME_MAX];
    struct subject *subject;
    struct {
        char owner[LK_OWNER_BYTES_MAX + 1];
        char path[LK_PATH_BYTES_MAX + 1]; /* of one of its parts */
        uint64_t model;
        uint64_t store;
    } tokens[PAIRS];
    size_t token_count;
    bool is_over;
};

static void expect(const struct story *story, const char *difference) {
    if (difference != NULL) {
        (void)fprintf(stderr, "# history %s\n", story->name);
        play_differs(&story->play, difference);
    }
}

/* ---- the server ------------------------------------------------------------------------------ */

static void set_clock(struct story *story) {
    story->play.clock.now_us = story->play.clock.wall_us;
    subject_set_clock(story->subject, story->play.clock.now_us);
}

static void set_bounds(struct lk_engine *engine, const struct lk_quotas *quotas) {
    struct lk_patience patience = ground_patience(20000000);
    lk_limits limits = {.size = sizeof limits};
    lk_error error;

    lk_limits_from_quotas(quotas, LK_LIMIT_AS_IS, &limits);
    assert_int_equal(engine->ops->limits_set(engine, &limits, &patience, &error), LK_OK);
}

static void begin(struct story *story, unsigned number) {
    (void)snprintf(story->name, sizeof story->name, "d%u_%s", number, story->play.variant->name);
    story->subject = subject_new(story->name, story->play.engines, PLAY_STORES);
    set_bounds(story->play.engines[0], &story->play.variant->quotas);
    set_clock(story);
}

/* From here on the store tells what happens. */
static void begin_to_watch(struct play *play) {
    const struct lk_event_query query = {.after = LK_EVENTS_FROM_NOW, .max = 1};
    struct lk_patience patience = ground_patience(20000000);
    struct lk_happenings *happenings = NULL;
    lk_error error;

    assert_int_equal(
        play->engines[0]->ops->events(play->engines[0], &query, &patience, &happenings, &error),
        LK_OK);
    play->last_event = happenings->last;
    lk_happenings_free(happenings);
}

static void compare_what_is_told(struct story *story, const struct lk_effects *effects) {
    enum told_order order = story->play.variant->root != NULL ? TOLD_IN_ORDER : TOLD_IN_ANY_ORDER;

    expect(story, told_differs(&story->play, effects, true, order));
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void know_token(struct story *story, const char *owner, const char *path, uint64_t model,
                       uint64_t store) {
    size_t at = story->token_count % PAIRS;

    if (model != 0 && store != 0) {
        (void)snprintf(story->tokens[at].owner, sizeof story->tokens[at].owner, "%s", owner);
        (void)snprintf(story->tokens[at].path, sizeof story->tokens[at].path, "%s", path);
        story->tokens[at].model = model;
        story->tokens[at].store = store;
        story->token_count++;
    }
}

/*
 * The store's token for one of the model's, which may be the same for two leases of one owner in
 * two roots: that of the path, if it is known there. One that nobody has for what is none.
 */
static uint64_t store_token(const struct story *story, const struct lk_path *path, uint64_t model) {
    size_t count = story->token_count < PAIRS ? story->token_count : PAIRS;
    const struct lk_slice wanted = {path->bytes, path->size};
    uint64_t found = model != 0 ? 1 : 0;

    for (size_t i = 0; i < count && model != 0; i++) {
        if (story->tokens[i].model == model
            && strcmp(story->tokens[i].owner, story->play.owner) == 0) {
            found = story->tokens[i].store;
            if (lk_slice_equal(wanted, lk_slice_of(story->tokens[i].path))) {
                return found;
            }
        }
    }
    return found;
}

/* The event as the store is to be asked: with its own tokens. */
static struct lk_event translate(const struct story *story) {
    struct lk_event event = story->play.event;

    if (event.kind == LK_EVENT_RENEW) {
        struct lk_target *target = &event.renew.target;
        target->token = store_token(story, &target->parts[0].path, target->token);
    } else if (event.kind == LK_EVENT_RELEASE) {
        struct lk_target *target = &event.release.target;
        target->token = store_token(story, &target->parts[0].path, target->token);
    } else if (event.kind == LK_EVENT_PUT) {
        event.put.token = store_token(story, &event.put.path, event.put.token);
    } else if (event.kind == LK_EVENT_FINISH) {
        char item[LK_PATH_BYTES_MAX + 1];
        struct lk_path path = event.finish.queue;
        (void)snprintf(item, sizeof item, "%.*s/%s", (int)path.size, path.bytes, story->play.id);
        (void)lk_path_parse(lk_slice_of(item), &path, NULL);
        event.finish.token = store_token(story, &path, event.finish.token);
    }
    return event;
}

/* ---- looking --------------------------------------------------------------------------------- */

static void tell_listing(const char *who, const lk_listing *listing) {
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        (void)fprintf(stderr, "# %s: %s %s %s%s, %u of %u, ttl %" PRId64 ", left %" PRId64 "\n",
                      who, entry->owner, entry->held ? "holds" : "awaits", entry->path,
                      entry->revoked ? " (revoked)" : "", entry->units, entry->limit, entry->ttl_ms,
                      entry->expires_in_ms);
    }
}

/* Everything that is alive, and so all tokens there are. */
static void look_at_all(struct story *story, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_times times = {story->play.clock.now_us, story->play.clock.wall_us};
    lk_listing *listing = NULL;
    lk_listing *expected = NULL;
    const char *difference;
    lk_error error;

    assert_int_equal(engine->ops->list(engine, NULL, &patience, &listing, &error), LK_OK);
    assert_int_equal(lk_listing_from_model(story->play.model, &times, NULL, &expected), LK_OK);
    difference = compare_listings(true, listing, expected);
    if (difference != NULL) {
        tell_listing("store", listing);
        tell_listing("model", expected);
    }
    for (size_t i = 0; difference == NULL && i < listing->count; i++) {
        know_token(story, expected->entries[i].owner, expected->entries[i].path,
                   expected->entries[i].token, listing->entries[i].token);
    }
    lk_listing_free(listing);
    lk_listing_free(expected);
    expect(story, difference);
}

/* ---- histories ------------------------------------------------------------------------------- */

static size_t root_size(const char *path) {
    return strcspn(path, "/");
}

/*
 * Whether somebody waits in two roots at once. Then what perishes in the one can grant something in
 * the other, which the store notices when somebody comes by (R11), and the model at once.
 */
static bool somebody_spans_roots(const struct story *story) {
    const struct lk_times times = {story->play.clock.now_us, story->play.clock.wall_us};
    lk_listing *listing = NULL;
    bool spans = false;

    assert_int_equal(lk_listing_from_model(story->play.model, &times, NULL, &listing), LK_OK);
    for (size_t i = 1; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        size_t size = root_size(entry->path);
        spans = spans
                || (!entry->held && entry->request_index == entry[-1].request_index
                    && (size != root_size(entry[-1].path)
                        || strncmp(entry->path, entry[-1].path, size) != 0));
    }
    lk_listing_free(listing);
    return spans;
}

/* What is overdue perishes, here and there, and is told before anything else happens. */
static void play_tick(struct story *story) {
    struct play *play = &story->play;

    subject_tick(story->subject);
    play->event = (struct lk_event){.kind = LK_EVENT_TICK,
                                    .times = {play->clock.now_us, play->clock.wall_us}};
    compare_what_is_told(story, lk_model_step(play->model, &play->event));
    look_at_all(story, play->engines[0]);
}

static void look_around(struct story *story, struct lk_engine *engine) {
    struct play *play = &story->play;
    struct lk_path path = play_some_path(play);

    expect(story, look_at_value(play, engine, &path));
    path = play_some_path(play);
    expect(story, look_at_path(play, engine, true, &path));
    expect(story, look_at_queue(play, engine));
}

static void play_step(struct story *story) {
    struct play *play = &story->play;
    struct lk_engine *engine = play->engines[play_between(play, 0, PLAY_STORES - 1)];
    const struct lk_effects *effects;
    const char *difference;
    struct lk_event event;
    struct answer answer;

    play->clock.wall_us += play_between(play, 1000, play->variant->pause_max_us);
    set_clock(story);
    if (play->variant->is_told) {
        play_tick(story);
    } else if (somebody_spans_roots(story)) {
        subject_tick(story->subject);
    }
    play_invent(play);
    play->event.times = (struct lk_times){play->clock.now_us, play->clock.wall_us};
    effects = lk_model_step(play->model, &play->event);
    assert_null(lk_model_check(play->model));
    event = translate(story);
    answer = answer_of(engine, &event);
    story->is_over = effects->answer.outcome == LK_DEADLOCK
                     && (answer.result.outcome == LK_WAITING || answer.result.outcome == LK_BUSY);
    difference = answer_differs(play, effects, true, &answer);
    answer_clear(&answer);
    if (!story->is_over) {
        expect(story, difference);
    }
    if (!story->is_over && play->variant->is_told) {
        compare_what_is_told(story, effects);
    }
    if (!story->is_over) {
        look_at_all(story, engine);
    }
    if (!story->is_over && play_chance(play, 35)) {
        engine = play->engines[play_between(play, 0, PLAY_STORES - 1)];
        look_around(story, engine);
    }
}

/* Whether it came to its end. */
static bool play_history(const struct variant *variant, struct lk_random *random, unsigned number) {
    struct story *story = calloc(1, sizeof *story);
    const struct lk_model_config config = {.quotas = variant->quotas};
    struct play *play = &story->play;
    bool is_whole;

    play->variant = variant;
    play->random = random;
    ground_clock_init(&play->clock);
    begin(story, number);
    play->model = lk_model_new(&config);
    assert_non_null(play->model);
    if (variant->is_told) {
        begin_to_watch(play);
    }
    for (play->step = 1; play->step <= STEPS && !story->is_over; play->step++) {
        play_step(story);
    }
    lk_model_free(play->model);
    subject_free(story->subject);
    is_whole = !story->is_over;
    free(story);
    return is_whole;
}

/* Until so many have come to their end: most do. */
static void play_variant(const struct variant *variant) {
    struct lk_random random = ground_random();
    unsigned wanted = ground_scaled(HISTORIES);
    unsigned whole = 0;
    unsigned played = 0;

    while (whole < wanted && played < 2 * wanted + SPARE) {
        whole += play_history(variant, &random, played++);
    }
    print_message("# %u histories, of which %u came to a hidden cycle\n", played, played - whole);
    assert_int_equal(whole, wanted);
}

static void busy_store_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){.name = "busy", .pause_max_us = 60000});
}

static void slow_store_answers_like_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){.name = "slow", .pause_max_us = 900000});
}

static void work_is_as_in_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){.name = "work", .pause_max_us = 200000, .work_percent = 65});
}

static void bounds_are_as_in_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){
        .name = "bounded",
        .pause_max_us = 60000,
        .work_percent = 20,
        .quotas = {.live_max = 12,
                   .live_per_owner_max = 4,
                   .live_per_root_max = 6,
                   .waiters_per_path_max = 2},
        .is_told = true,
    });
}

static void events_are_as_in_the_model(void **state) {
    (void)state;
    play_variant(&(struct variant){
        .name = "told", .pause_max_us = 200000, .work_percent = 35, .root = "r/", .is_told = true});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_store_answers_like_the_model),
        cmocka_unit_test(slow_store_answers_like_the_model),
        cmocka_unit_test(work_is_as_in_the_model),
        cmocka_unit_test(bounds_are_as_in_the_model),
        cmocka_unit_test(events_are_as_in_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
