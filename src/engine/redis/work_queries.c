/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the items and counts of a queue. */
#include <stdlib.h>

#include "base/error.h"
#include "engine/redis/call.h"
#include "engine/redis/operations.h"
#include "engine/reply/reply.h"

/* The elements of an item, in the order of work.lua. */
enum element { ID, STATE, SEQUENCE, DUE, ATTEMPTS, VALUE, OWNER, DEADLINE, NEEDS };

static int compare_age(const void *a, const void *b) {
    const redisReply *const *left = a;
    const redisReply *const *right = b;
    int64_t x = lk_redis_integer_at(*left, SEQUENCE);
    int64_t y = lk_redis_integer_at(*right, SEQUENCE);

    return (x > y) - (x < y);
}

static enum lk_item_state state_of(struct lk_slice name) {
    if (lk_slice_equal(name, lk_slice_of("delayed"))) {
        return LK_ITEM_DELAYED;
    }
    if (lk_slice_equal(name, lk_slice_of("claimed"))) {
        return LK_ITEM_CLAIMED;
    }
    return lk_slice_equal(name, lk_slice_of("parked")) ? LK_ITEM_PARKED : LK_ITEM_READY;
}

/* A need that is no longer valid is left out: the server's data is not trusted. */
static void read_needs(const redisReply *needs, struct lk_item_record *item) {
    for (size_t i = 0; i + 2 < needs->elements && item->need_count < LK_NEEDS_MAX; i += 3) {
        struct lk_part *need = &item->needs[item->need_count];
        uint32_t units = (uint32_t)lk_redis_integer_at(needs, i + 2);

        *need = (struct lk_part){.mode = units == 0 ? LK_EXCLUSIVE : LK_SHARED,
                                 .limit = (uint32_t)lk_redis_integer_at(needs, i + 1),
                                 .units = units};
        item->need_count += lk_path_parse(lk_redis_text_at(needs, i), &need->path, NULL) == LK_OK;
    }
}

static bool add_item(const redisReply *reply, const struct lk_times *times, lk_item_list *list) {
    struct lk_item_record item = {
        .id = lk_redis_text_at(reply, ID),
        .state = state_of(lk_redis_text_at(reply, STATE)),
        .sequence = (uint64_t)lk_redis_integer_at(reply, SEQUENCE),
        .due_us = lk_redis_integer_at(reply, DUE),
        .attempts = (uint32_t)lk_redis_integer_at(reply, ATTEMPTS),
        .value = lk_redis_text_at(reply, VALUE),
    };
    struct lk_record claim = {
        .owner = lk_redis_text_at(reply, OWNER),
        .deadline_us = lk_redis_integer_at(reply, DEADLINE),
    };

    read_needs(lk_redis_array_at(reply, NEEDS), &item);
    return lk_item_list_add(list, &item, claim.owner.size > 0 ? &claim : NULL, times);
}

static lk_outcome read_items(redisReply *reply, lk_item_list **ret_list, lk_error *error) {
    const struct lk_times times = {.now_us = lk_redis_integer_at(reply, 1)};
    lk_item_list *list = lk_item_list_new();
    bool is_complete = list != NULL;

    qsort(reply->element + 2, reply->elements - 2, sizeof(redisReply *), compare_age);
    for (size_t i = 2; is_complete && i < reply->elements; i++) {
        is_complete = add_item(lk_redis_array_at(reply, i), &times, list);
    }
    if (!is_complete) {
        lk_item_list_free(list);
        return lk_error_set(error, LK_INTERNAL, "no memory for the items");
    }
    *ret_list = list;
    return lk_error_clear(error, LK_OK);
}

lk_outcome lk_redis_items(struct lk_engine *engine, const struct lk_path *queue,
                          const struct lk_patience *patience, lk_item_list **ret_list,
                          lk_error *error) {
    struct lk_redis *store = lk_redis_of(engine);
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome;

    lk_redis_call_begin(store, "items", queue, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){queue->bytes, queue->size});
    call.is_repeatable = true;
    outcome = lk_redis_call_make(store, &call, patience, &reply, error);
    if (outcome == LK_OK) {
        outcome = read_items(reply, ret_list, error);
        freeReplyObject(reply);
    }
    return outcome;
}

lk_outcome lk_redis_stats(struct lk_engine *engine, const struct lk_path *queue,
                          enum lk_stats_depth depth, const struct lk_patience *patience,
                          lk_queue_stats *ret_stats, lk_error *error) {
    struct lk_redis *store = lk_redis_of(engine);
    struct lk_redis_call call;
    redisReply *reply;
    uint64_t counts[11];
    lk_outcome outcome;

    (void)depth; /* a count costs no more */
    lk_redis_call_begin(store, "stats", queue, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){queue->bytes, queue->size});
    call.is_repeatable = true;
    outcome = lk_redis_call_make(store, &call, patience, &reply, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    for (size_t i = 0; i < 11; i++) {
        counts[i] = (uint64_t)lk_redis_integer_at(reply, i + 2);
    }
    freeReplyObject(reply);
    lk_stats_from_counts(&(struct lk_queue_counts){.pushed = counts[0],
                                                   .duplicates = counts[1],
                                                   .claims = counts[2],
                                                   .steals = counts[3],
                                                   .done = counts[4],
                                                   .retried = counts[5],
                                                   .parked = counts[6],
                                                   .ready = counts[7],
                                                   .delayed = counts[8],
                                                   .claimed = counts[9],
                                                   .parked_now = counts[10]},
                         ret_stats);
    return lk_error_clear(error, LK_OK);
}
