/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a step: the model's, and those that a store has kept. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "compare.h"

/* ---- the model's ----------------------------------------------------------------------------- */

struct expectation {
    const struct history *history;
    const struct lk_event_query *query;
    struct lk_event_page *expected;
};

/* As the store will number them. */
static bool add_expected(void *context, const struct lk_event *step_event) {
    struct expectation *expectation = context;
    lk_watch_event command;

    return lk_watch_event_make(step_event, expectation->expected->last + 1,
                               expectation->history->times.wall_us / 1000, &command)
           && lk_event_page_add(expectation->expected, expectation->query, &command);
}

static struct lk_event_page *expect(struct history *history, const struct lk_effects *effects,
                                    const struct lk_event_query *query) {
    struct expectation expectation = {history, query, lk_event_page_new(query)};

    if (expectation.expected == NULL
        || !lk_events_of_step(history->model, effects, &history->command, add_expected,
                              &expectation)) {
        test_die("no memory for events");
    }
    return expectation.expected;
}

/* ---- their order ----------------------------------------------------------------------------- */

typedef int compare_function(const void *a, const void *b);

static int compare_tickets(const void *a, const void *b) {
    const lk_watch_event *left = a;
    const lk_watch_event *right = b;

    return (left->ticket > right->ticket) - (left->ticket < right->ticket);
}

static int compare_texts(const char *a, const char *b) {
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

/* By all that a store without the model's draws has like the model. */
static int compare_contents(const void *a, const void *b) {
    const lk_watch_event *left = a;
    const lk_watch_event *right = b;
    size_t count = left->part_count < right->part_count ? left->part_count : right->part_count;
    int order = (int)left->kind - (int)right->kind;

    for (size_t i = 0; order == 0 && i < count; i++) {
        order = compare_texts(left->parts[i], right->parts[i]);
    }
    if (order == 0) {
        order = (left->part_count > right->part_count) - (left->part_count < right->part_count);
    }
    if (order == 0) {
        order = compare_texts(left->owner, right->owner);
    }
    if (order == 0) {
        order = compare_texts(left->note, right->note);
    }
    if (order == 0) {
        order = compare_texts(left->queue, right->queue);
    }
    return order != 0 ? order : (left->attempt > right->attempt) - (left->attempt < right->attempt);
}

/* The numbers stay where they are. */
static void put_in_order(lk_watch_event *events, size_t count, compare_function *compare) {
    uint64_t sequence = count > 0 ? events[0].sequence : 0;

    for (size_t i = 0; i < count; i++) {
        if (events[i].sequence != sequence + i) {
            return; /* not without gaps: a difference */
        }
    }
    if (count > 0) {
        qsort(events, count, sizeof *events, compare);
    }
    for (size_t i = 0; i < count; i++) {
        events[i].sequence = sequence + i;
    }
}

/* What one break ends, it ends together: those events have no order among themselves. */
static void order_broken(struct lk_event_page *page) {
    size_t first = 0;

    while (first < page->count) {
        lk_watch_event *events = &page->events[first];
        size_t count = 0;

        while (first + count < page->count && events[count].kind == LK_WATCH_BROKEN) {
            count++;
        }
        put_in_order(events, count, compare_tickets);
        first += count + 1;
    }
}

static void bring_into(struct lk_event_page *page, bool has_order) {
    if (has_order) {
        order_broken(page);
    } else {
        put_in_order(page->events, page->count, compare_contents);
    }
}

/* ---- beside each other ----------------------------------------------------------------------- */

static void show(const char *side, const struct lk_event_page *page) {
    for (size_t i = 0; i < page->count; i++) {
        const lk_watch_event *command = &page->events[i];
        (void)printf("# %s: %" PRIu64 " %s", side, command->sequence,
                     lk_watch_kind_name(command->kind));
        for (size_t part = 0; part < command->part_count; part++) {
            (void)printf(" %s", command->parts[part]);
        }
        (void)printf(" of %s (%s), ticket %" PRIu64 ", token %" PRIu64,
                     command->owner != NULL ? command->owner : "no owner",
                     command->note != NULL ? command->note : "", command->ticket, command->token);
        (void)printf(", broken by %s (%s)\n", command->by != NULL ? command->by : "no user",
                     command->reason != NULL ? command->reason : "");
    }
}

const char *events_differ(struct history *history, struct lk_engine *engine,
                          const struct lk_effects *effects) {
    bool has_order = !history->is_lazy || history->variant->root != NULL;
    struct lk_patience patience = test_patience(20000000);
    const struct lk_event_query query = {.after = history->last_event, .max = 1000};
    struct lk_event_page *expected = expect(history, effects, &query);
    struct lk_event_page *kept = NULL;
    lk_error error;
    const char *difference;

    if (engine->ops->events->read(engine, &query, &patience, &kept, &error) != LK_OK) {
        lk_event_page_free(expected);
        return "whether events are kept";
    }
    bring_into(kept, has_order);
    bring_into(expected, has_order);
    difference = compare_events(history->is_lazy, kept, expected);
    if (difference != NULL && !history->is_quiet) {
        show("store", kept);
        show("model", expected);
    }
    history->last_event = kept->last;
    lk_event_page_free(kept);
    lk_event_page_free(expected);
    return difference;
}

const char *events_begin(struct history *history) {
    const struct lk_event_query query = {.after = LK_EVENTS_FROM_NOW, .max = 1};
    struct lk_patience patience = test_patience(20000000);
    struct lk_engine *engine = history->engines[0];
    struct lk_event_page *page = NULL;
    lk_error error;

    if (engine->ops->events->read(engine, &query, &patience, &page, &error) != LK_OK) {
        return "whether events are kept";
    }
    history->last_event = page->last;
    lk_event_page_free(page);
    return NULL;
}
