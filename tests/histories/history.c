/* SPDX-License-Identifier: Apache-2.0 */
/* Playing one history. */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "compare.h"

enum { PATIENCE_US = 20000000 };

/* ---- begin and end --------------------------------------------------------------------------- */

static bool set_bounds(struct history *history) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    lk_limits limits = {.size = sizeof limits};
    lk_error error;

    lk_limits_from_quotas(&history->variant->quotas, LK_LIMIT_AS_IS, &limits);
    return history->variant->quotas.live_max == 0
           || history->engines[0]->ops->limits->set(history->engines[0], &limits, &patience, &error)
                  == LK_OK;
}

/* On the clock: Unix time, and as much since the machine started. */
static void set_clock(struct history *history, int64_t wall_us) {
    history->times = (struct lk_times){wall_us, wall_us};
    history->ops->set_clock(history->store, history->engines, &history->times);
}

static const char *begin(struct history *history) {
    const struct lk_model_config config = {.quotas = history->variant->quotas};
    enum store_laziness laziness = history->ops->laziness;

    history->is_lazy = laziness == LAZY_ALWAYS
                       || (laziness == LAZY_ACROSS_ROOTS && history->variant->root == NULL);
    history->is_over = false;
    history->token_count = 0;
    history->step = 0;
    history->store = history->ops->open(history->variant, history->engines);
    history->model = lk_model_new(&config);
    if (history->model == NULL) {
        test_die("no memory for a model");
    }
    if (history->times.wall_us < lk_clock_wall_us()) { /* never back, from one to the next */
        history->times.wall_us = lk_clock_wall_us();
    }
    set_clock(history, history->times.wall_us);
    if (!set_bounds(history)) {
        return "whether bounds can be set";
    }
    return history->variant->keeps_events ? events_begin(history) : NULL;
}

static void end(struct history *history) {
    lk_model_free(history->model);
    history->ops->close(history->store, history->engines);
}

/* ---- what lazy stores do otherwise ----------------------------------------------------------- */

/*
 * Whether some request waits in two roots. Then what perishes in the one can grant something in the
 * other, which a lazy store notices when something asks there (R11), and the model at once.
 */
static bool some_request_spans_roots(const struct history *history) {
    lk_listing *listing = NULL;
    bool spans = false;

    (void)lk_listing_from_model(history->model, &history->times, NULL, &listing);
    for (size_t i = 1; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        size_t size = strcspn(entry->path, "/");
        spans = spans
                || (!entry->held && entry->request_index == entry[-1].request_index
                    && (size != strcspn(entry[-1].path, "/")
                        || strncmp(entry->path, entry[-1].path, size) != 0));
    }
    lk_listing_free(listing);
    return spans;
}

/* Asks once more for every request that waits; whether one of them is answered with a cycle. */
static bool some_waiter_gives_way(struct history *history) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_engine *engine = history->engines[0];
    lk_listing *listing = NULL;
    bool keeps_events = false;
    lk_error error;

    if (engine->ops->list(engine, NULL, &patience, &listing, &error) != LK_OK) {
        return false;
    }
    for (size_t i = 0, next; i < listing->count && !keeps_events; i = next) {
        const lk_entry *first = &listing->entries[i];
        struct move again = {.kind = LK_COMMAND_ASK, .style = LK_QUEUE};
        struct answer answer;
        for (next = i;
             next < listing->count && listing->entries[next].request_index == first->request_index;
             next++) {
            const lk_entry *entry = &listing->entries[next];
            size_t used = strlen(again.parts);
            char *to = again.parts + used;
            size_t room = sizeof again.parts - used;
            const char *blank = used > 0 ? " " : "";
            if (entry->limit != 0) {
                (void)snprintf(to, room, "%s%s?limit=%u&units=%u", blank, entry->path, entry->limit,
                               entry->units);
            } else {
                (void)snprintf(to, room, "%s%s%s", blank, entry->path,
                               entry->shared ? "?shared" : "");
            }
        }
        if (!first->held) {
            (void)snprintf(again.owner, sizeof again.owner, "%s", first->owner);
            history_build_command(history, &again);
            answer = answer_of(engine, &history->asked);
            keeps_events = answer.result.outcome == LK_DEADLOCK;
            answer_clear(&answer);
        }
    }
    lk_listing_free(listing);
    return keeps_events;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* What is overdue perishes, here and there, and its events come before anything else happens. */
static const char *tick(struct history *history, struct lk_engine *engine) {
    const struct lk_effects *effects;

    history->ops->tick(history->store, history->engines);
    history->command = (struct lk_command){.kind = LK_COMMAND_TICK, .times = history->times};
    effects = lk_model_step(history->model, &history->command);
    return history->variant->keeps_events ? events_differ(history, engine, effects) : NULL;
}

/*
 * Time passes. A store that sweeps root by root may pass over a grant that no client has learnt of
 * (R11), and make it when something else ends under another root of the same request. So while a
 * request waits in two roots the store is asked at each deadline.
 */
static const char *pass(struct history *history, const struct move *move) {
    int64_t until_us = history->times.wall_us + move->pause_us;
    bool looks = history->is_lazy && !move->leaps && history->ops->tick != NULL
                 && some_request_spans_roots(history);
    const char *difference = NULL;

    for (int64_t due_us; looks && difference == NULL
                         && (due_us = lk_model_next_deadline(history->model)) < until_us;) {
        set_clock(history, due_us);
        difference = tick(history, history->engines[move->engine]);
    }
    set_clock(history, until_us);
    return difference;
}

static const char *look_around(struct history *history, const struct move *move) {
    struct lk_engine *engine = history->engines[(move->engine + 1) % HISTORY_ENGINES];
    const char *difference = NULL;

    if (move->looks_at_all) {
        difference = look_at_all(history, engine);
    }
    if (difference == NULL && move->look_path[0] != '\0') {
        difference = look_at_path(history, engine, move->look_path);
        if (difference == NULL && engine->ops->values != NULL) {
            difference = look_at_values(history, engine, move->look_path);
        }
    }
    if (difference == NULL && move->look_queue[0] != '\0') {
        difference = look_at_queue(history, engine, move->look_queue);
        if (difference == NULL && engine->ops->batches != NULL) {
            difference = look_at_pages(history, engine, move->look_queue);
        }
    }
    return difference;
}

/* The move itself: the store, and then the model at the same moment. */
static const char *act(struct history *history, struct lk_engine *engine) {
    struct answer answer = {.result = {.outcome = LK_OK}};
    const struct lk_effects *effects;
    const char *difference;
    lk_outcome outcome;

    if (history->moves[history->step].series[0] != '\0') {
        return series_differ(history, engine);
    }
    if (history->asked.kind != LK_COMMAND_TICK) {
        answer = answer_of(engine, &history->asked);
    }
    outcome = answer.result.outcome;
    effects = lk_model_step(history->model, &history->command);
    if (effects->answer.outcome == LK_INVALID && history->ops->tick != NULL) {
        /* Refused before the store was asked: what is overdue takes effect in the model alone. */
        history->ops->tick(history->store, history->engines);
    }
    difference = lk_model_check(history->model);
    if (difference == NULL) {
        difference = answer_differs(history, effects, &answer);
    }
    answer_clear(&answer);
    if (difference != NULL && history->is_lazy && effects->answer.outcome == LK_DEADLOCK
        && (outcome == LK_WAITING || outcome == LK_BUSY)) {
        history->is_over = true;
        return some_waiter_gives_way(history) ? NULL : "a cycle that no waiter learns of";
    }
    if (difference == NULL && history->variant->keeps_events) {
        difference = events_differ(history, engine, effects);
    }
    return difference;
}

static const char *play_move(struct history *history, const struct move *move) {
    struct lk_engine **engine = &history->engines[move->engine];
    const char *difference = NULL;

    if (move->reopens && history->ops->reopen != NULL) {
        history->ops->reopen(history->store, engine);
    }
    if (history->ops->tick != NULL && !move->leaps
        && (history->variant->keeps_events || some_request_spans_roots(history))) {
        difference = tick(history, *engine);
    }
    if (difference == NULL) {
        history_build_command(history, move);
        difference = act(history, *engine);
    }
    return difference == NULL && !history->is_over ? look_around(history, move) : difference;
}

const char *history_play(struct history *history, const struct move *moves, size_t count,
                         struct lk_random *random) {
    const char *difference = begin(history);

    for (size_t i = 0; difference == NULL && i < count && !history->is_over; i++) {
        history->step = i;
        if (random != NULL) {
            history_generate(history, random);
        }
        if (random == NULL) {
            history->moves[i] = moves[i];
        }
        difference = pass(history, &history->moves[i]);
        if (difference == NULL) {
            difference = play_move(history, &history->moves[i]);
        }
    }
    end(history);
    return difference;
}
