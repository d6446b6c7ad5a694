/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a step: the model's, and those that a store has kept. */
#include "told.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "compare.h"

/* ---- the model's ----------------------------------------------------------------------------- */

struct telling {
    const struct play *play;
    const struct lk_event_query *query;
    struct lk_happenings *expected;
};

/* As the store will number them. */
static bool tell(void *context, const struct lk_happening *happening) {
    struct telling *telling = context;
    lk_watch_event event;

    return lk_watch_event_make(happening, telling->expected->last + 1,
                               telling->play->clock.wall_us / 1000, &event)
           && lk_happenings_add(telling->expected, telling->query, &event);
}

static struct lk_happenings *expect(struct play *play, const struct lk_effects *effects,
                                    const struct lk_event_query *query) {
    struct telling telling = {play, query, lk_happenings_new(query)};

    if (telling.expected == NULL
        || !lk_happenings_of_step(play->model, effects, &play->event, tell, &telling)) {
        ground_fail("no memory for events");
    }
    return telling.expected;
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
static void order_broken(struct lk_happenings *happenings) {
    size_t first = 0;

    while (first < happenings->count) {
        lk_watch_event *events = &happenings->events[first];
        size_t count = 0;

        while (first + count < happenings->count && events[count].kind == LK_WATCH_BROKEN) {
            count++;
        }
        put_in_order(events, count, compare_tickets);
        first += count + 1;
    }
}

static void bring_into(struct lk_happenings *happenings, enum told_order order) {
    if (order == TOLD_IN_ANY_ORDER) {
        put_in_order(happenings->events, happenings->count, compare_contents);
    } else {
        order_broken(happenings);
    }
}

/* ---- beside each other ----------------------------------------------------------------------- */

static void show(const char *who, const struct lk_happenings *happenings) {
    for (size_t i = 0; i < happenings->count; i++) {
        const lk_watch_event *event = &happenings->events[i];
        (void)fprintf(stderr, "# %s: %" PRIu64 " %s", who, event->sequence,
                      lk_watch_kind_name(event->kind));
        for (size_t part = 0; part < event->part_count; part++) {
            (void)fprintf(stderr, " %s", event->parts[part]);
        }
        (void)fprintf(stderr, " of %s (%s), ticket %" PRIu64 ", token %" PRIu64 "\n",
                      event->owner != NULL ? event->owner : "nobody",
                      event->note != NULL ? event->note : "", event->ticket, event->token);
    }
}

const char *told_differs(struct play *play, const struct lk_effects *effects, bool is_lazy,
                         enum told_order order) {
    struct lk_engine *engine = play->engines[play_between(play, 0, PLAY_STORES - 1)];
    struct lk_patience patience = ground_patience(20000000);
    const struct lk_event_query query = {.after = play->last_event, .max = 1000};
    struct lk_happenings *expected = expect(play, effects, &query);
    struct lk_happenings *kept = NULL;
    lk_error error;
    const char *difference;

    if (engine->ops->events(engine, &query, &patience, &kept, &error) != LK_OK) {
        ground_fail("the store tells nothing: %s", error.text);
    }
    bring_into(kept, order);
    bring_into(expected, order);
    difference = compare_events(is_lazy, kept, expected);
    if (difference != NULL) {
        show("store", kept);
        show("model", expected);
    }
    play->last_event = kept->last;
    lk_happenings_free(kept);
    lk_happenings_free(expected);
    return difference;
}
