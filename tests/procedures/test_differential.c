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

#include "../sqlite/compare.h"
#include "../sqlite/play.h"
#include "../sqlite/told.h"
#include "subject.h"

enum { HISTORIES = 4, STEPS = 120, PAIRS = 4096 };

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

static _Noreturn void differ(const struct story *story, const char *what) {
    static const char *const kinds[] = {"ask", "renew", "release", "break",  "tick",
                                        "put", "push",  "take",    "finish", "unpark"};
    const struct play *play = &story->play;

    fail_msg("%s, step %u (%s of %s for %s, style %d): the store and the model differ in %s",
             story->name, play->step, kinds[play->event.kind], play->owner, play->parts.text,
             play->event.kind == LK_EVENT_ASK ? (int)play->event.ask.style : -1, what);
    abort();
}

static void tell(const char *who, lk_outcome outcome, const char *text) {
    (void)fprintf(stderr, "# %s: %s (%s)\n", who, lk_outcome_name(outcome), text ? text : "");
}

/* ---- the server ------------------------------------------------------------------------------ */

static void set_clock(struct story *story) {
    story->play.clock.now_us = story->play.clock.wall_us;
    subject_set_clock(story->subject, story->play.clock.now_us);
}

static void begin(struct story *story, unsigned number) {
    (void)snprintf(story->name, sizeof story->name, "d%u_%s", number, story->play.variant->name);
    story->subject = subject_new(story->name, story->play.engines, PLAY_STORES);
    subject_set_bounds(story->subject, &story->play.variant->quotas);
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
    const char *difference = told_differs(&story->play, effects, true, order);

    if (difference != NULL) {
        differ(story, difference);
    }
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

/* ---- steps ----------------------------------------------------------------------------------- */

static void play_break(struct story *story, struct lk_engine *engine,
                       const struct lk_effects *effects) {
    struct lk_patience patience = ground_patience(20000000);
    size_t count = 0;
    lk_error error;
    lk_outcome outcome = engine->ops->break_(engine, &story->play.event.broken, lk_slice_of("root"),
                                             lk_slice_of("for a test"), &patience, &count, &error);

    if (outcome != effects->answer.outcome || count != effects->answer.broken) {
        differ(story, "the count of the broken");
    }
}

static void call_answered(struct story *story, struct lk_engine *engine, lk_result *result) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_event *event = &story->play.event;
    struct lk_stand stand;

    if (event->kind == LK_EVENT_ASK) {
        (void)engine->ops->ask(engine, &event->ask, &patience, result, &stand);
    } else if (event->kind == LK_EVENT_RENEW) {
        struct lk_renew renew = event->renew;
        renew.target.token = store_token(story, &renew.target.parts[0].path, renew.target.token);
        (void)engine->ops->renew(engine, &renew, &patience, result);
    } else {
        struct lk_release release = event->release;
        release.target.token =
            store_token(story, &release.target.parts[0].path, release.target.token);
        (void)engine->ops->release(engine, &release, &patience, result);
    }
}

static void play_answered(struct story *story, struct lk_engine *engine,
                          const struct lk_effects *effects) {
    struct play *play = &story->play;
    lk_result expected = {.outcome = LK_OK};
    lk_result result = {.outcome = LK_OK};
    const char *difference;

    assert_true(lk_result_from_effects(play->model, effects, &play->event.times, &expected));
    call_answered(story, engine, &result);
    if (expected.token != 0) {
        play->tokens[play_between(play, 0, PLAY_TOKENS - 1)] = expected.token;
    }
    difference = compare_results(true, &result, &expected);
    if (difference != NULL) {
        tell("store", result.outcome, result.error);
        tell("model", expected.outcome, expected.error);
        (void)fprintf(stderr, "# in use %" PRIu64 " %" PRIu64 ", position %zu %zu, new %d %d\n",
                      result.in_use, expected.in_use, result.position, expected.position,
                      result.created, expected.created);
    }
    story->is_over = expected.outcome == LK_DEADLOCK
                     && (result.outcome == LK_WAITING || result.outcome == LK_BUSY);
    lk_result_clear(&result);
    lk_result_clear(&expected);
    if (difference != NULL && !story->is_over) {
        differ(story, difference);
    }
}

static void play_take(struct story *story, struct lk_engine *engine,
                      const struct lk_effects *effects) {
    struct lk_patience patience = ground_patience(20000000);
    struct play *play = &story->play;
    lk_claim_info *claim = NULL;
    lk_claim_info *expected = NULL;
    struct lk_stand stand;
    lk_error error = {.outcome = LK_OK};
    lk_error expected_error;
    const char *difference;

    error.outcome = engine->ops->take(engine, &play->event.take, &patience, &claim, &stand, &error);
    (void)lk_claim_from_effects(play->model, effects, &play->event.times, &expected,
                                &expected_error);
    difference = compare_errors(&error, &expected_error);
    if (difference == NULL) {
        difference = compare_claims(true, claim, expected);
    }
    if (difference != NULL) {
        tell("store", error.outcome, claim != NULL ? claim->id : error.text);
        tell("model", expected_error.outcome, expected ? expected->id : expected_error.text);
        differ(story, difference);
    }
    if (claim != NULL) {
        play->tokens[play_between(play, 0, PLAY_TOKENS - 1)] = expected->token;
    }
    lk_claim_free(claim);
    lk_claim_free(expected);
}

/* What is answered with an outcome and a sentence alone, but for whether it was added. */
static void play_plain(struct story *story, struct lk_engine *engine,
                       const struct lk_effects *effects) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_engine_ops *ops = engine->ops;
    const struct lk_event *event = &story->play.event;
    lk_error expected = {.outcome = effects->answer.outcome};
    lk_error error = {.outcome = LK_OK};
    bool added = effects->answer.created;
    const char *difference;

    (void)snprintf(expected.text, sizeof expected.text, "%s", effects->answer.text);
    if (event->kind == LK_EVENT_PUT) {
        struct lk_put put = event->put;
        put.token = store_token(story, &put.path, put.token);
        error.outcome = ops->value_put(engine, &put, &patience, &error);
    } else if (event->kind == LK_EVENT_PUSH) {
        error.outcome = ops->push(engine, &event->push, &patience, &added, &error);
    } else if (event->kind == LK_EVENT_FINISH) {
        struct lk_finish finish = event->finish;
        char item[LK_PATH_BYTES_MAX + 1];
        struct lk_path path = finish.queue;
        (void)snprintf(item, sizeof item, "%.*s/%s", (int)finish.queue.size, finish.queue.bytes,
                       story->play.id);
        (void)lk_path_parse(lk_slice_of(item), &path, NULL);
        finish.token = store_token(story, &path, finish.token);
        error.outcome = ops->finish(engine, &finish, &patience, &error);
    } else {
        error.outcome = ops->unpark(engine, &event->unpark, &patience, &error);
    }
    difference = compare_errors(&error, &expected);
    if (difference != NULL) {
        tell("store", error.outcome, error.text);
        tell("model", expected.outcome, expected.text);
        differ(story, difference);
    }
    if (added != effects->answer.created) {
        differ(story, "whether it was added");
    }
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
    if (difference != NULL) {
        differ(story, difference);
    }
}

static void look_at_path(struct story *story, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_times times = {story->play.clock.now_us, story->play.clock.wall_us};
    const struct lk_path path = play_some_path(&story->play);
    lk_listing *listing = NULL;
    lk_listing *expected = NULL;
    const char *difference;
    lk_error error;

    assert_int_equal(engine->ops->show(engine, &path, &patience, &listing, &error), LK_OK);
    assert_int_equal(
        lk_listing_from_model_with_blockers(story->play.model, &times, &path, &expected), LK_OK);
    difference = compare_listings(true, listing, expected);
    lk_listing_free(listing);
    lk_listing_free(expected);
    if (difference != NULL) {
        differ(story, difference);
    }
}

static void look_at_value(struct story *story, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_path path = play_some_path(&story->play);
    lk_value *value = NULL;
    lk_value *expected = NULL;
    lk_error error;
    lk_outcome outcome = engine->ops->value_get(engine, &path, &patience, &value, &error);
    const char *difference;

    assert_int_equal(outcome, lk_value_from_model(story->play.model, &path, &expected));
    difference = compare_values(value, expected);
    lk_value_free(value);
    lk_value_free(expected);
    if (difference != NULL) {
        differ(story, difference);
    }
}

static void look_at_queue(struct story *story, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(20000000);
    struct play *play = &story->play;
    const struct lk_times times = {play->clock.now_us, play->clock.wall_us};
    struct lk_queue_counts counts;
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
    lk_model_queue_counts(play->model, &play->queue, &counts);
    lk_stats_from_counts(&counts, &expected_stats);
    difference = compare_items(list, expected);
    if (difference == NULL) {
        difference = compare_stats(&stats, &expected_stats);
    }
    lk_item_list_free(list);
    lk_item_list_free(expected);
    if (difference != NULL) {
        differ(story, difference);
    }
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

static void play_step(struct story *story) {
    struct play *play = &story->play;
    struct lk_engine *engine = play->engines[play_between(play, 0, PLAY_STORES - 1)];
    const struct lk_effects *effects;

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
    if (play->event.kind == LK_EVENT_BREAK) {
        play_break(story, engine, effects);
    } else if (play->event.kind == LK_EVENT_TAKE) {
        play_take(story, engine, effects);
    } else if (play->event.kind < LK_EVENT_PUT) {
        play_answered(story, engine, effects);
    } else {
        play_plain(story, engine, effects);
    }
    if (!story->is_over && play->variant->is_told) {
        compare_what_is_told(story, effects);
    }
    if (!story->is_over) {
        look_at_all(story, engine);
    }
    if (!story->is_over && play_chance(play, 35)) {
        engine = play->engines[play_between(play, 0, PLAY_STORES - 1)];
        look_at_value(story, engine);
        look_at_path(story, engine);
        look_at_queue(story, engine);
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

static void play_variant(const struct variant *variant) {
    struct lk_random random = ground_random();
    unsigned histories = ground_scaled(HISTORIES);
    unsigned whole = 0;

    for (unsigned i = 0; i < histories; i++) {
        whole += play_history(variant, &random, i);
    }
    print_message("# %u histories, of which %u came to a hidden cycle\n", histories,
                  histories - whole);
    assert_true(whole * 2 >= histories);
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
