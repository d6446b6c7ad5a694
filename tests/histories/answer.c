/* SPDX-License-Identifier: Apache-2.0 */
/* A store beside the model, answer by answer. */
#include <inttypes.h>
#include <stdio.h>

#include "../calls.h"
#include "compare.h"

enum { PATIENCE_US = 20000000 };

static void print_side(const struct history *history, const char *side, lk_outcome outcome,
                       const char *text) {
    if (!history->is_quiet) {
        (void)printf("# %s: %s (%s)\n", side, lk_outcome_name(outcome), text != NULL ? text : "");
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

struct answer answer_of(struct lk_engine *engine, const struct lk_command *command) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_command sent = *command;
    struct lk_decision decision;
    struct answer answer = {.error = {.outcome = LK_OK}};

    if (command->kind == LK_COMMAND_TICK) {
        return answer;
    }
    if (command->kind == LK_COMMAND_ASK && sent.ask.ttl_ms == 0) {
        sent.ask.ttl_ms = LK_TTL_DEFAULT_MS; /* engines get no command with a default left open */
    }
    if (command->kind == LK_COMMAND_TAKE && sent.take.ttl_ms == 0) {
        sent.take.ttl_ms = LK_TTL_DEFAULT_MS;
    }
    (void)call_decide(engine, &sent, &patience, &decision);
    answer.result = decision.result;
    answer.result.outcome = decision.error.outcome;
    if (decision.error.text[0] != '\0') {
        answer.result.error = lk_text_copy(lk_slice_of(decision.error.text));
    }
    answer.claim = decision.claim;
    answer.error = decision.error;
    answer.broken = decision.broken;
    answer.pushed = decision.pushed;
    return answer;
}

void answer_clear(struct answer *answer) {
    lk_result_clear(&answer->result);
    lk_claim_free(answer->claim);
    answer->claim = NULL;
}

static const char *result_differs(struct history *history, const struct lk_effects *effects,
                                  const lk_result *result) {
    lk_result expected = {.outcome = LK_OK};
    const char *difference;

    if (!lk_result_from_answer(history->model, &effects->answer, &history->times, &expected)) {
        test_die("no memory for a result");
    }
    if (expected.token != 0) {
        char path[LK_PATH_BYTES_MAX + 1];
        (void)snprintf(path, sizeof path, "%.*s", (int)history->parts.parts[0].path.size,
                       history->parts.parts[0].path.bytes);
        history_learn(history, history->moves[history->step].owner, path, expected.token,
                      result->token, true);
    }
    difference = compare_results(history->is_lazy, result, &expected);
    if (difference != NULL) {
        print_side(history, "store", result->outcome, result->error);
        print_side(history, "model", expected.outcome, expected.error);
    }
    if (difference != NULL && !history->is_quiet) {
        (void)printf("# store, model: in use %" PRIu64 " %" PRIu64 ", position %zu %zu,"
                     " new %d %d, token %" PRIu64 " %" PRIu64 ", left %" PRId64 " %" PRId64
                     ", ttl %" PRId64 " %" PRId64 "\n",
                     result->in_use, expected.in_use, result->position, expected.position,
                     result->created, expected.created, result->token, expected.token,
                     result->expires_in_ms, expected.expires_in_ms, result->ttl_ms,
                     expected.ttl_ms);
        for (size_t i = 0; i < result->cycle_count; i++) {
            (void)printf("# cycle: %s\n", result->cycle[i]);
        }
    }
    lk_result_clear(&expected);
    return difference;
}

static const char *claim_differs(struct history *history, const struct lk_effects *effects,
                                 const struct answer *answer) {
    lk_claim_info *expected = NULL;
    lk_error error = {.outcome = LK_OK};
    const char *difference;

    (void)lk_claim_from_answer(history->model, &effects->answer, &history->times, &expected,
                               &error);
    if (expected != NULL && answer->claim != NULL) {
        char path[LK_PATH_BYTES_MAX + 1];
        (void)snprintf(path, sizeof path, "%s/%s", expected->queue, expected->id);
        history_learn(history, expected->owner, path, expected->token, answer->claim->token, true);
    }
    difference = compare_errors(&answer->error, &error);
    if (difference == NULL) {
        difference = compare_claims(history->is_lazy, answer->claim, expected);
    }
    if (difference != NULL) {
        print_side(history, "store", answer->error.outcome,
                   answer->claim != NULL ? answer->claim->id : answer->error.text);
        print_side(history, "model", error.outcome, expected != NULL ? expected->id : error.text);
    }
    lk_claim_free(expected);
    return difference;
}

static bool differs_from_push(const struct answer *answer, const struct lk_answer *expected) {
    lk_push_result pushed = lk_pushed_of(expected);

    if (answer->pushed.added != pushed.added || answer->pushed.changed != pushed.changed) {
        return true;
    }
    return !answer->is_of_series
           && (answer->pushed.was == NULL || pushed.was == NULL
                   ? answer->pushed.was != pushed.was
                   : strcmp(answer->pushed.was, pushed.was) != 0);
}

/* What is answered with an outcome and a sentence alone, but for whether it was added. */
static const char *error_differs(const struct history *history, const struct lk_effects *effects,
                                 const struct answer *answer) {
    lk_error expected = {.outcome = effects->answer.outcome};
    const char *difference;

    (void)snprintf(expected.text, sizeof expected.text, "%s", effects->answer.text);
    difference = compare_errors(&answer->error, &expected);
    if (difference != NULL) {
        print_side(history, "store", answer->error.outcome, answer->error.text);
        print_side(history, "model", expected.outcome, expected.text);
    } else if (history->command.kind == LK_COMMAND_PUSH
               && differs_from_push(answer, &effects->answer)) {
        difference = "what a push has added, changed or found";
    }
    return difference;
}

const char *answer_differs(struct history *history, const struct lk_effects *effects,
                           const struct answer *answer) {
    switch (history->command.kind) {
    case LK_COMMAND_ASK:
    case LK_COMMAND_RENEW:
    case LK_COMMAND_RELEASE:
        return result_differs(history, effects, &answer->result);
    case LK_COMMAND_BREAK:
        return answer->error.outcome != effects->answer.outcome
                       || answer->broken != effects->answer.broken
                   ? "the count of the broken"
                   : NULL;
    case LK_COMMAND_TAKE:
        return claim_differs(history, effects, answer);
    case LK_COMMAND_TICK:
        return NULL;
    default:
        return error_differs(history, effects, answer);
    }
}

/* ---- looks ----------------------------------------------------------------------------------- */

static const char *failed(const struct history *history, const char *what, const lk_error *error) {
    print_side(history, "store", error->outcome, error->text);
    return what;
}

static void print_listing(const char *side, const lk_listing *listing) {
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        (void)printf("# %s: %zu %s %s %s%s, %u of %u, ttl %" PRId64 ", left %" PRId64 "\n", side,
                     entry->request_index, entry->owner, entry->held ? "holds" : "awaits",
                     entry->path, entry->revoked ? " (revoked)" : "", entry->units, entry->limit,
                     entry->ttl_ms, entry->expires_in_ms);
    }
}

/* Ends both. */
static const char *listings_differ(struct history *history, lk_listing *listing,
                                   lk_listing *expected) {
    const char *difference = compare_listings(history->is_lazy, listing, expected);

    if (difference != NULL && !history->is_quiet) {
        print_listing("store", listing);
        print_listing("model", expected);
    }
    for (size_t i = 0; difference == NULL && i < listing->count; i++) {
        history_learn(history, expected->entries[i].owner, expected->entries[i].path,
                      expected->entries[i].token, listing->entries[i].token, !history->is_lazy);
    }
    lk_listing_free(listing);
    lk_listing_free(expected);
    return difference;
}

const char *look_at_all(struct history *history, struct lk_engine *engine) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    lk_listing *listing = NULL;
    lk_listing *expected = NULL;
    lk_error error = {.text = ""};

    if (engine->ops->list(engine, NULL, &patience, &listing, &error) != LK_OK) {
        return failed(history, "what can be listed", &error);
    }
    (void)lk_listing_from_model(history->model, &history->times, NULL, &expected);
    return listings_differ(history, listing, expected);
}

static const char *look_at_value(struct history *history, struct lk_engine *engine,
                                 const struct lk_path *path) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    lk_value *value = NULL;
    lk_value *expected = NULL;
    lk_error error = {.text = ""};
    lk_outcome outcome = engine->ops->value_get(engine, path, &patience, &value, &error);
    const char *difference;

    if (outcome != lk_value_from_model(history->model, path, &expected)) {
        difference = failed(history, "the outcome of reading a value", &error);
    } else {
        difference = compare_values(value, expected);
    }
    lk_value_free(value);
    lk_value_free(expected);
    return difference;
}

const char *look_at_path(struct history *history, struct lk_engine *engine, const char *text) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    lk_listing *listing = NULL;
    lk_listing *expected = NULL;
    struct lk_path path;
    lk_error error = {.text = ""};
    const char *difference;

    (void)lk_path_parse(lk_slice_of(text), &path, NULL);
    if (engine->ops->show(engine, &path, &patience, &listing, &error) != LK_OK) {
        return failed(history, "what can be shown", &error);
    }
    (void)lk_listing_from_model_with_blockers(history->model, &history->times, &path, &expected);
    difference = listings_differ(history, listing, expected);
    return difference != NULL ? difference : look_at_value(history, engine, &path);
}

/* What the model has counted, and how many items it has in each state, by their list. */
static lk_queue_stats expected_stats(const struct history *history, const struct lk_path *queue,
                                     const lk_item_list *list) {
    struct lk_queue_counts counts;
    lk_queue_stats stats;

    lk_model_queue_counts(history->model, queue, &counts);
    lk_stats_from_counts(&counts, history->times.now_us, &stats);
    stats.ready_now = stats.delayed_now = stats.claimed_now = stats.parked_now = 0;
    stats.done_now = 0;
    for (size_t i = 0; i < list->count; i++) {
        const char *state = list->items[i].state;
        stats.ready_now += strcmp(state, "ready") == 0;
        stats.delayed_now += strcmp(state, "delayed") == 0;
        stats.claimed_now += lk_item_is_claimed(lk_item_state_of(lk_slice_of(state)));
        stats.parked_now += strcmp(state, "parked") == 0;
        stats.done_now += strcmp(state, "done") == 0;
    }
    return stats;
}

const char *look_at_queue(struct history *history, struct lk_engine *engine, const char *text) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    lk_item_list *list = NULL;
    lk_item_list *expected = NULL;
    lk_queue_stats stats;
    lk_queue_stats expected_counts;
    struct lk_path queue;
    const struct lk_item_query query = {.queue = &queue};
    lk_error error = {.text = ""};
    const char *difference;

    (void)lk_path_parse(lk_slice_of(text), &queue, NULL);
    if (engine->ops->items(engine, &query, &patience, &list, &error) != LK_OK
        || engine->ops->stats(engine, &queue, LK_STATS_WHOLE, &patience, &stats, &error) != LK_OK) {
        lk_item_list_free(list);
        return failed(history, "what is said of a queue", &error);
    }
    (void)lk_items_from_model(history->model, &history->times, &query, &expected);
    expected_counts = expected_stats(history, &queue, expected);
    difference = compare_items(list, expected);
    if (difference == NULL) {
        difference = compare_stats(&stats, &expected_counts);
    }
    lk_item_list_free(list);
    lk_item_list_free(expected);
    return difference;
}
