/* SPDX-License-Identifier: Apache-2.0 */
/* Inventing the events of a random history. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "play.h"

static const char *const paths[] = {"a", "a/x", "a/x/p", "a/x/q", "a/y", "a0",
                                    "b", "b/x", "b/x/p", "c",     "c/x", "d"};
enum { PATHS = sizeof paths / sizeof paths[0] };

/* Two of them are places where locks are, too. */
static const char *const queues[] = {"c", "b/x", "jobs"};
static const char *const ids[] = {"1", "2", "3", "x", "p"};
static const char *const needs[] = {"d", "a/x?shared", "pool?limit=2&units=1",
                                    "pool?limit=3&units=2", "b/x/q"};
enum {
    QUEUES = sizeof queues / sizeof queues[0],
    IDS = sizeof ids / sizeof ids[0],
    NEEDS = sizeof needs / sizeof needs[0],
};

static const char *const owners[] = {"Ann", "Bob", "Cy", "Dee", "Eve"};
enum { OWNERS = sizeof owners / sizeof owners[0] };

int64_t play_between(struct play *play, int64_t low, int64_t high) {
    return lk_random_between(play->random, low, high);
}

bool play_chance(struct play *play, int percent) {
    return play_between(play, 1, 100) <= percent;
}

static const char *root_of(const struct play *play) {
    return play->variant->root != NULL ? play->variant->root : "";
}

struct lk_path play_some_path(struct play *play) {
    struct lk_path path;

    (void)snprintf(play->path, sizeof play->path, "%s%s", root_of(play),
                   paths[play_between(play, 0, PATHS - 1)]);
    assert_int_equal(lk_path_parse(lk_slice_of(play->path), &path, NULL), LK_OK);
    return path;
}

static void make_parts(struct play *play) {
    size_t count = play_chance(play, 70) ? 1 : (size_t)play_between(play, 2, 3);
    bool taken[PATHS] = {false};
    char text[256] = "";

    for (size_t i = 0; i < count; i++) {
        size_t path = (size_t)play_between(play, 0, PATHS - 1);
        size_t used = strlen(text);
        if (taken[path]) {
            continue;
        }
        taken[path] = true;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s", used > 0 ? " " : "",
                                 root_of(play), paths[path]);
        if (play_chance(play, 25)) {
            (void)snprintf(text + used, sizeof text - used, "?shared");
        } else if (play_chance(play, 40)) {
            int limit = (int)play_between(play, 1, 3);
            (void)snprintf(text + used, sizeof text - used, "?limit=%d&units=%d", limit,
                           (int)play_between(play, 1, limit));
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
        const lk_entry *chosen =
            &listing->entries[play_between(play, 0, (int64_t)listing->count - 1)];
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
    uint64_t token = play_chance(play, 75) ? aim(play) : 0;

    if (play_chance(play, 15)) {
        token = play->tokens[play_between(play, 0, PLAY_TOKENS - 1)];
    }
    *ret_target = (struct lk_target){
        .owner = lk_slice_of(play->owner),
        .parts = play->parts.parts,
        .part_count = play->parts.count,
        .token = play->variant->is_lazy || play_chance(play, 40) ? 0 : token,
    };
}

static void make_ask(struct play *play, struct lk_ask *ret_ask) {
    *ret_ask = (struct lk_ask){
        .owner = lk_slice_of(play->owner),
        .parts = play->parts.parts,
        .part_count = play->parts.count,
        .style = (lk_style)play_between(play, LK_TRY, LK_WAIT),
        .ttl_ms = play_chance(play, 20) ? 0 : play_between(play, 50, 2000),
        .until_us = play_chance(play, 8) ? play->clock.wall_us + play_between(play, 1, 3000000) : 0,
        .note_given = play_chance(play, 25),
        .note = lk_slice_of(play_chance(play, 50) ? "a note" : ""),
        .blockers_max = (size_t)play_between(play, 0, 5),
        .wants_value = play_chance(play, 30),
    };
}

/* Some bytes, unlike any other step's. */
static struct lk_slice make_value(struct play *play) {
    int used = snprintf(play->value, sizeof play->value, "value %u of %s", play->step, play->owner);

    return (struct lk_slice){play->value, play_chance(play, 90) ? (size_t)used : 0};
}

void play_choose_queue(struct play *play) {
    const char *queue = queues[play_between(play, 0, QUEUES - 1)];

    (void)snprintf(play->queue_text, sizeof play->queue_text, "%s%s", root_of(play), queue);
    assert_int_equal(lk_path_parse(lk_slice_of(play->queue_text), &play->queue, NULL), LK_OK);
    (void)snprintf(play->id, sizeof play->id, "%s", ids[play_between(play, 0, IDS - 1)]);
}

/* Makes owner and id those of a claim in the queue, if there is one. */
static void aim_at_claim(struct play *play) {
    const struct lk_times times = {play->clock.now_us, play->clock.wall_us};
    lk_item_list *list = NULL;

    assert_int_equal(lk_items_from_model(play->model, &times, &play->queue, &list), LK_OK);
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].owner != NULL && play_chance(play, 60)) {
            (void)snprintf(play->owner, sizeof play->owner, "%s", list->items[i].owner);
            (void)snprintf(play->id, sizeof play->id, "%s", list->items[i].id);
        }
    }
    lk_item_list_free(list);
}

static uint64_t some_token(struct play *play) {
    return play->variant->is_lazy || play_chance(play, 50)
               ? 0
               : play->tokens[play_between(play, 0, PLAY_TOKENS - 1)];
}

static void make_push(struct play *play, struct lk_push *ret_push) {
    char text[64] = "";

    if (play_chance(play, 40)) {
        (void)snprintf(text, sizeof text, "%s%s", root_of(play),
                       needs[play_between(play, 0, NEEDS - 1)]);
    }
    ground_parts_parse(&play->parts, text);
    *ret_push = (struct lk_push){
        .queue = play->queue,
        .id = lk_slice_of(play_chance(play, 98) ? play->id : "a/b"),
        .value = make_value(play),
        .delay_ms = play_chance(play, 70) ? 0 : play_between(play, 1, 1000),
        .needs = play->parts.parts,
        .need_count = play->parts.count,
    };
}

static void make_take(struct play *play, struct lk_take *ret_take) {
    *ret_take = (struct lk_take){
        .queue = play->queue,
        .owner = lk_slice_of(play->owner),
        .ttl_ms = play_chance(play, 20) ? 0 : play_between(play, 50, 1000),
        .max_attempts = (uint32_t)play_between(play, 0, 3),
        .ask_number = (uint64_t)play_between(play, 0, 4),
        .note_given = play_chance(play, 25),
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
        .kind = play_chance(play, 60) ? LK_FINISH_DONE : LK_FINISH_RETRY,
        .delay_ms = play_chance(play, 60) ? 0 : play_between(play, 1, 1000),
    };
}

static void make_put(struct play *play, struct lk_put *ret_put) {
    *ret_put = (struct lk_put){
        .path = play->parts.parts[0].path,
        .owner = lk_slice_of(play_chance(play, 70) ? play->owner : ""),
        .token = some_token(play),
        .deletes = play_chance(play, 20),
        .bytes = make_value(play),
    };
}

static void make_work(struct play *play) {
    struct lk_event *event = &play->event;
    int64_t dice = play_between(play, 1, 100);

    play_choose_queue(play);
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

void play_invent(struct play *play) {
    struct lk_event *event = &play->event;
    int64_t dice = play_between(play, 1, 100);

    *event = (struct lk_event){.kind = LK_EVENT_ASK};
    (void)snprintf(play->owner, sizeof play->owner, "%s",
                   owners[play_between(play, 0, OWNERS - 1)]);
    make_parts(play);
    if (play_chance(play, play->variant->work_percent)) {
        make_work(play);
    } else if (dice <= 60) {
        make_ask(play, &event->ask);
    } else if (dice <= 72) {
        event->kind = LK_EVENT_RENEW;
        make_target(play, &event->renew.target);
        event->renew.ttl_ms = play_chance(play, 50) ? 0 : play_between(play, 50, 2000);
    } else if (dice <= 96) {
        event->kind = LK_EVENT_RELEASE;
        make_target(play, &event->release.target);
        event->release.puts = play_chance(play, 25);
        event->release.put = make_value(play);
    } else {
        event->kind = LK_EVENT_BREAK;
        event->broken = (struct lk_break){
            .path = play->parts.parts[0].path,
            .owner = lk_slice_of(play_chance(play, 30) ? play->owner : NULL),
            .at_once = play_chance(play, 50),
        };
    }
}
