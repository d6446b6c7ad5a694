/* SPDX-License-Identifier: Apache-2.0 */
/* A store beside the model, answer by answer. */
#include "answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "compare.h"

enum { PATIENCE_US = 20000000 };

static void tell(const char *who, lk_outcome outcome, const char *text) {
    (void)fprintf(stderr, "# %s: %s (%s)\n", who, lk_outcome_name(outcome), text ? text : "");
}

_Noreturn void play_differs(const struct play *play, const char *what) {
    static const char *const kinds[] = {"ask", "renew", "release", "break",  "tick",
                                        "put", "push",  "take",    "finish", "unpark"};

    fail_msg("%s, step %u (%s of %s for %s, style %d): the store and the model differ in %s",
             play->variant->name, play->step, kinds[play->event.kind], play->owner,
             play->parts.text, play->event.kind == LK_EVENT_ASK ? (int)play->event.ask.style : -1,
             what);
    abort();
}

/* ---- events ---------------------------------------------------------------------------------- */

struct answer answer_of(struct lk_engine *engine, const struct lk_event *event) {
    struct lk_patience patience = ground_patience(PATIENCE_US);
    const struct lk_engine_ops *ops = engine->ops;
    struct answer answer = {.result = {.outcome = LK_OK}};
    lk_outcome outcome = LK_OK;
    struct lk_stand stand;

    switch (event->kind) {
    case LK_EVENT_ASK:
        (void)ops->ask(engine, &event->ask, &patience, &answer.result, &stand);
        break;
    case LK_EVENT_RENEW:
        (void)ops->renew(engine, &event->renew, &patience, &answer.result);
        break;
    case LK_EVENT_RELEASE:
        (void)ops->release(engine, &event->release, &patience, &answer.result);
        break;
    case LK_EVENT_BREAK:
        outcome = ops->break_(engine, &event->broken, lk_slice_of("root"),
                              lk_slice_of("for a test"), &patience, &answer.broken, &answer.error);
        break;
    case LK_EVENT_PUT:
        outcome = ops->value_put(engine, &event->put, &patience, &answer.error);
        break;
    case LK_EVENT_PUSH:
        outcome = ops->push(engine, &event->push, &patience, &answer.added, &answer.error);
        break;
    case LK_EVENT_TAKE:
        outcome = ops->take(engine, &event->take, &patience, &answer.claim, &stand, &answer.error);
        break;
    case LK_EVENT_FINISH:
        outcome = ops->finish(engine, &event->finish, &patience, &answer.error);
        break;
    case LK_EVENT_UNPARK:
        outcome = ops->unpark(engine, &event->unpark, &patience, &answer.error);
        break;
    default:
        ground_fail("no store is asked for event %d", (int)event->kind);
    }
    answer.error.outcome = outcome;
    return answer;
}

void answer_clear(struct answer *answer) {
    lk_result_clear(&answer->result);
    lk_claim_free(answer->claim);
    answer->claim = NULL;
}

static void remember_token(struct play *play, uint64_t token) {
    if (token != 0) {
        play->tokens[play_between(play, 0, PLAY_TOKENS - 1)] = token;
    }
}

static const char *result_differs(struct play *play, const struct lk_effects *effects, bool is_lazy,
                                  const lk_result *result) {
    lk_result expected = {.outcome = LK_OK};
    const char *difference;

    assert_true(lk_result_from_effects(play->model, effects, &play->event.times, &expected));
    remember_token(play, expected.token);
    difference = compare_results(is_lazy, result, &expected);
    if (difference != NULL) {
        tell("store", result->outcome, result->error);
        tell("model", expected.outcome, expected.error);
        (void)fprintf(stderr,
                      "# store, model: in use %llu %llu, position %zu %zu, new %d %d,"
                      " token %llu %llu\n",
                      (unsigned long long)result->in_use, (unsigned long long)expected.in_use,
                      result->position, expected.position, result->created, expected.created,
                      (unsigned long long)result->token, (unsigned long long)expected.token);
        for (size_t i = 0; i < result->cycle_count; i++) {
            (void)fprintf(stderr, "# cycle: %s\n", result->cycle[i]);
        }
    }
    lk_result_clear(&expected);
    return difference;
}

static const char *claim_differs(struct play *play, const struct lk_effects *effects, bool is_lazy,
                                 const struct answer *answer) {
    lk_claim_info *expected = NULL;
    lk_error error;
    const char *difference;

    (void)lk_claim_from_effects(play->model, effects, &play->event.times, &expected, &error);
    remember_token(play, expected != NULL ? expected->token : 0);
    difference = compare_errors(&answer->error, &error);
    if (difference == NULL) {
        difference = compare_claims(is_lazy, answer->claim, expected);
    }
    if (difference != NULL) {
        tell("store", answer->error.outcome,
             answer->claim != NULL ? answer->claim->id : answer->error.text);
        tell("model", error.outcome, expected != NULL ? expected->id : error.text);
    }
    lk_claim_free(expected);
    return difference;
}

/* What is answered with an outcome and a sentence alone, but for whether it was added. */
static const char *error_differs(const struct play *play, const struct lk_effects *effects,
                                 const struct answer *answer) {
    lk_error expected = {.outcome = effects->answer.outcome};
    const char *difference;

    (void)snprintf(expected.text, sizeof expected.text, "%s", effects->answer.text);
    difference = compare_errors(&answer->error, &expected);
    if (difference != NULL) {
        tell("store", answer->error.outcome, answer->error.text);
        tell("model", expected.outcome, expected.text);
    } else if (play->event.kind == LK_EVENT_PUSH && answer->added != effects->answer.created) {
        difference = "whether it was added";
    }
    return difference;
}

const char *answer_differs(struct play *play, const struct lk_effects *effects, bool is_lazy,
                           const struct answer *answer) {
    switch (play->event.kind) {
    case LK_EVENT_ASK:
    case LK_EVENT_RENEW:
    case LK_EVENT_RELEASE:
        return result_differs(play, effects, is_lazy, &answer->result);
    case LK_EVENT_BREAK:
        return answer->error.outcome != effects->answer.outcome
                       || answer->broken != effects->answer.broken
                   ? "the count of the broken"
                   : NULL;
    case LK_EVENT_TAKE:
        return claim_differs(play, effects, is_lazy, answer);
    default:
        return error_differs(play, effects, answer);
    }
}

/* ---- looks ----------------------------------------------------------------------------------- */

/* The moment that the store has just answered for. */
static struct lk_times answered_at(struct play *play, struct lk_engine *engine) {
    if (play->catch_up != NULL) {
        play->catch_up(play, engine);
    }
    return (struct lk_times){play->clock.now_us, play->clock.wall_us};
}

static const char *listings_differ(bool is_lazy, lk_listing *listing, lk_listing *expected) {
    const char *difference = compare_listings(is_lazy, listing, expected);

    lk_listing_free(listing);
    lk_listing_free(expected);
    return difference;
}

const char *look_at_list(struct play *play, struct lk_engine *engine, bool is_lazy,
                         const struct lk_path *prefix) {
    struct lk_patience patience = ground_patience(PATIENCE_US);
    lk_listing *listing = NULL;
    lk_listing *expected = NULL;
    struct lk_times times;
    lk_error error;

    assert_int_equal(engine->ops->list(engine, prefix, &patience, &listing, &error), LK_OK);
    times = answered_at(play, engine);
    assert_int_equal(lk_listing_from_model(play->model, &times, prefix, &expected), LK_OK);
    return listings_differ(is_lazy, listing, expected);
}

const char *look_at_path(struct play *play, struct lk_engine *engine, bool is_lazy,
                         const struct lk_path *path) {
    struct lk_patience patience = ground_patience(PATIENCE_US);
    lk_listing *listing = NULL;
    lk_listing *expected = NULL;
    struct lk_times times;
    lk_error error;

    assert_int_equal(engine->ops->show(engine, path, &patience, &listing, &error), LK_OK);
    times = answered_at(play, engine);
    assert_int_equal(lk_listing_from_model_with_blockers(play->model, &times, path, &expected),
                     LK_OK);
    return listings_differ(is_lazy, listing, expected);
}

const char *look_at_value(struct play *play, struct lk_engine *engine, const struct lk_path *path) {
    struct lk_patience patience = ground_patience(PATIENCE_US);
    lk_value *value = NULL;
    lk_value *expected = NULL;
    lk_error error;
    lk_outcome outcome = engine->ops->value_get(engine, path, &patience, &value, &error);
    const char *difference;

    (void)answered_at(play, engine);
    assert_int_equal(outcome, lk_value_from_model(play->model, path, &expected));
    difference = compare_values(value, expected);
    lk_value_free(value);
    lk_value_free(expected);
    return difference;
}

static const char *look_at_items(struct play *play, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(PATIENCE_US);
    lk_item_list *list = NULL;
    lk_item_list *expected = NULL;
    struct lk_times times;
    lk_error error;
    const char *difference;

    assert_int_equal(engine->ops->items(engine, &play->queue, &patience, &list, &error), LK_OK);
    times = answered_at(play, engine);
    assert_int_equal(lk_items_from_model(play->model, &times, &play->queue, &expected), LK_OK);
    difference = compare_items(list, expected);
    lk_item_list_free(list);
    lk_item_list_free(expected);
    return difference;
}

/* What the model has counted, and how many items it has in each state, by their list. */
static lk_queue_stats expected_stats(const struct play *play, const struct lk_times *times) {
    struct lk_queue_counts counts;
    lk_item_list *list = NULL;
    lk_queue_stats stats;

    lk_model_queue_counts(play->model, &play->queue, &counts);
    lk_stats_from_counts(&counts, &stats);
    stats.ready_now = stats.delayed_now = stats.claimed_now = stats.parked_now = 0;
    assert_int_equal(lk_items_from_model(play->model, times, &play->queue, &list), LK_OK);
    for (size_t i = 0; i < list->count; i++) {
        const char *state = list->items[i].state;
        stats.ready_now += strcmp(state, "ready") == 0;
        stats.delayed_now += strcmp(state, "delayed") == 0;
        stats.claimed_now += strcmp(state, "claimed") == 0;
        stats.parked_now += strcmp(state, "parked") == 0;
    }
    lk_item_list_free(list);
    return stats;
}

static const char *look_at_stats(struct play *play, struct lk_engine *engine) {
    struct lk_patience patience = ground_patience(PATIENCE_US);
    lk_queue_stats stats;
    lk_queue_stats expected;
    struct lk_times times;
    lk_error error;

    assert_int_equal(engine->ops->stats(engine, &play->queue, &patience, &stats, &error), LK_OK);
    times = answered_at(play, engine);
    expected = expected_stats(play, &times);
    return compare_stats(&stats, &expected);
}

const char *look_at_queue(struct play *play, struct lk_engine *engine) {
    const char *difference;

    play_choose_queue(play);
    difference = look_at_items(play, engine);
    return difference != NULL ? difference : look_at_stats(play, engine);
}
