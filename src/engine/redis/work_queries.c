/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the items and counts of a queue; and queues. */
#include <stdlib.h>

#include "base/error.h"
#include "engine/redis/answer.h"
#include "engine/redis/call.h"
#include "engine/redis/operations.h"
#include "engine/redis/roots.h"
#include "engine/reply/reply.h"

/* The elements of an item, in the order of work.lua. */
enum element {
    ID,
    STATE,
    SEQUENCE,
    DUE,
    ATTEMPTS,
    VALUE,
    OWNER,
    DEADLINE,
    NEEDS,
    PRIORITY,
    HAS_EXIT,
    EXIT_CODE,
    FAILURE,
    PROGRESS
};

static int compare_age(const void *a, const void *b) {
    const redisReply *const *left = a;
    const redisReply *const *right = b;
    int64_t x = lk_redis_integer_at(*left, SEQUENCE);
    int64_t y = lk_redis_integer_at(*right, SEQUENCE);

    return (x > y) - (x < y);
}

/* A need that is no longer valid is left out: the server's data is not trusted. */
static void read_needs(const redisReply *needs, struct lk_item_record *item) {
    for (size_t i = 0; i + 2 < needs->elements && item->need_count < LK_NEEDS_MAX; i += 3) {
        struct lk_part *need = &item->needs[item->need_count];

        *need = (struct lk_part){.limit = (uint32_t)lk_redis_integer_at(needs, i + 1)};
        lk_part_set_code(need, lk_redis_integer_at(needs, i + 2));
        item->need_count += lk_path_parse(lk_redis_text_at(needs, i), &need->path, NULL) == LK_OK;
    }
}

static bool add_item(const redisReply *reply, const struct lk_times *times, lk_item_list *list) {
    struct lk_item_record item = {
        .id = lk_redis_text_at(reply, ID),
        .state = lk_item_state_of(lk_redis_text_at(reply, STATE)),
        .sequence = (uint64_t)lk_redis_integer_at(reply, SEQUENCE),
        .due_us = lk_redis_integer_at(reply, DUE),
        .attempts = (uint32_t)lk_redis_integer_at(reply, ATTEMPTS),
        .value = lk_redis_text_at(reply, VALUE),
        .priority = (int32_t)lk_redis_integer_at(reply, PRIORITY),
        .last_failure = {.has_exit = lk_redis_integer_at(reply, HAS_EXIT) != 0,
                         .exit_code = (int32_t)lk_redis_integer_at(reply, EXIT_CODE),
                         .text = lk_redis_text_at(reply, FAILURE)},
        .progress = lk_redis_text_at(reply, PROGRESS),
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

    qsort(reply->element + LK_REDIS_HEAD, reply->elements - LK_REDIS_HEAD, sizeof(redisReply *),
          compare_age);
    for (size_t i = LK_REDIS_HEAD; is_complete && i < reply->elements; i++) {
        is_complete = add_item(lk_redis_array_at(reply, i), &times, list);
    }
    if (!is_complete) {
        lk_item_list_free(list);
        return lk_error_set(error, LK_INTERNAL, "no memory for the items");
    }
    *ret_list = list;
    return lk_error_clear(error, LK_OK);
}

lk_outcome lk_redis_items(struct lk_engine *engine, const struct lk_item_query *query,
                          const struct lk_patience *patience, lk_item_list **ret_list,
                          lk_error *error) {
    struct lk_redis *store = lk_redis_of(engine);
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome;

    lk_redis_call_begin(store, "items", query->queue, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){query->queue->bytes, query->queue->size});
    lk_redis_call_add(&call, query->id);
    call.is_repeatable = true;
    outcome = lk_redis_call_make(store, &call, patience, &reply, error);
    if (outcome == LK_OK) {
        outcome = read_items(reply, ret_list, error);
        freeReplyObject(reply);
    }
    return outcome;
}

lk_outcome lk_redis_parked(struct lk_engine *engine, const struct lk_parked_query *query,
                           const struct lk_patience *patience, lk_item_list **ret_list,
                           uint64_t *ret_reached, lk_error *error) {
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome;

    lk_redis_call_begin(lk_redis_of(engine), "parked", query->queue, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){query->queue->bytes, query->queue->size});
    lk_redis_call_add_number(&call, (int64_t)query->behind);
    lk_redis_call_add_number(&call, (int64_t)query->max);
    call.is_repeatable = true;
    outcome = lk_redis_call_make(lk_redis_of(engine), &call, patience, &reply, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = read_items(reply, ret_list, error);
    if (outcome == LK_OK) {
        const redisReply *last = lk_redis_array_at(reply, reply->elements - 1);

        *ret_reached = reply->elements - LK_REDIS_HEAD == query->max
                           ? (uint64_t)lk_redis_integer_at(last, SEQUENCE)
                           : 0;
    }
    freeReplyObject(reply);
    return outcome;
}

/* ---- counts ---------------------------------------------------------------------------------- */

lk_queue_stats lk_redis_counts_read(const redisReply *reply, size_t at, int64_t now_us) {
    const int64_t oldest_us = lk_redis_integer_at(reply, at + 12);
    const struct lk_queue_counts counts = {
        .pushed = (uint64_t)lk_redis_integer_at(reply, at),
        .duplicates = (uint64_t)lk_redis_integer_at(reply, at + 1),
        .claims = (uint64_t)lk_redis_integer_at(reply, at + 2),
        .steals = (uint64_t)lk_redis_integer_at(reply, at + 3),
        .done = (uint64_t)lk_redis_integer_at(reply, at + 4),
        .retried = (uint64_t)lk_redis_integer_at(reply, at + 5),
        .parked = (uint64_t)lk_redis_integer_at(reply, at + 6),
        .ready = (uint64_t)lk_redis_integer_at(reply, at + 7),
        .delayed = (uint64_t)lk_redis_integer_at(reply, at + 8),
        .claimed = (uint64_t)lk_redis_integer_at(reply, at + 9),
        .parked_now = (uint64_t)lk_redis_integer_at(reply, at + 10),
        .done_now = (uint64_t)lk_redis_integer_at(reply, at + 11),
        .oldest_ready_us = oldest_us > 0 ? oldest_us : LK_NEVER,
    };
    lk_queue_stats stats;

    lk_stats_from_counts(&counts, now_us, &stats);
    return stats;
}

lk_outcome lk_redis_stats(struct lk_engine *engine, const struct lk_path *queue,
                          enum lk_stats_depth depth, const struct lk_patience *patience,
                          lk_queue_stats *ret_stats, lk_error *error) {
    struct lk_redis *store = lk_redis_of(engine);
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome;

    (void)depth; /* a count costs no more */
    lk_redis_call_begin(store, "stats", queue, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){queue->bytes, queue->size});
    call.is_repeatable = true;
    outcome = lk_redis_call_make(store, &call, patience, &reply, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    *ret_stats = lk_redis_counts_read(reply, LK_REDIS_HEAD, lk_redis_integer_at(reply, 1));
    freeReplyObject(reply);
    return lk_error_clear(error, LK_OK);
}

/* ---- queues ---------------------------------------------------------------------------------- */

/*
 * Queues with their counts (R16). Those of one root are a range of its index. A page of all queues
 * asks every root for as many.
 */

struct gathering {
    struct lk_redis *store;
    const struct lk_queue_query *query;
    const struct lk_patience *patience;
    lk_queue_list *list;
    bool has_more;
};

static bool add_queues(struct gathering *gathering, const redisReply *reply) {
    const int64_t now_us = lk_redis_integer_at(reply, 1);

    for (size_t i = LK_REDIS_HEAD; i < reply->elements; i++) {
        const redisReply *queue = lk_redis_array_at(reply, i);
        const lk_queue_stats counts = lk_redis_counts_read(queue, 1, now_us);

        if (!lk_queue_list_add(gathering->list, lk_redis_text_at(queue, 0), &counts)) {
            return false;
        }
    }
    return true;
}

/* The queues at or below the path, a root or the query's prefix. */
static lk_outcome gather(void *context, const struct lk_path *path, lk_error *error) {
    struct gathering *gathering = context;
    const struct lk_queue_query *query = gathering->query;
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome;

    lk_redis_call_begin(gathering->store, "queues", path, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){path->bytes, path->size});
    lk_redis_call_add(&call, query->behind);
    lk_redis_call_add_number(&call, (int64_t)query->max);
    call.is_repeatable = true;
    outcome = lk_redis_call_make(gathering->store, &call, gathering->patience, &reply, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    gathering->has_more = gathering->has_more || reply->elements - LK_REDIS_HEAD == query->max;
    if (!add_queues(gathering, reply)) {
        outcome = lk_error_set(error, LK_INTERNAL, "no memory for the queues");
    }
    freeReplyObject(reply);
    return outcome;
}

static int compare_path(const void *a, const void *b) {
    return strcmp(((const lk_queue_info *)a)->queue, ((const lk_queue_info *)b)->queue);
}

/* Sorts them, and keeps up to `max`, each once: a root may be met twice. */
static void keep_first(struct gathering *gathering) {
    lk_queue_list *list = gathering->list;
    size_t kept = 0;

    if (list->count > 1) {
        qsort(list->queues, list->count, sizeof *list->queues, compare_path);
    }
    for (size_t i = 0; i < list->count; i++) {
        bool is_again = kept > 0 && compare_path(&list->queues[kept - 1], &list->queues[i]) == 0;

        if (is_again || kept == gathering->query->max) {
            gathering->has_more = gathering->has_more || !is_again;
            free(list->queues[i].queue);
        } else {
            list->queues[kept++] = list->queues[i];
        }
    }
    list->count = kept;
}

lk_outcome lk_redis_queues(struct lk_engine *engine, const struct lk_queue_query *query,
                           const struct lk_patience *patience, lk_queue_list **ret_list,
                           bool *ret_has_more, lk_error *error) {
    struct gathering gathering = {.store = lk_redis_of(engine),
                                  .query = query,
                                  .patience = patience,
                                  .list = lk_queue_list_new()};
    const struct lk_redis_walk walk = {.store = gathering.store,
                                       .suffix = ":lk:q",
                                       .patience = patience,
                                       .visit = gather,
                                       .context = &gathering};
    lk_outcome outcome;

    if (gathering.list == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the queues");
    }
    outcome = query->prefix != NULL ? gather(&gathering, query->prefix, error)
                                    : lk_redis_walk_roots(&walk, error);
    if (outcome != LK_OK) {
        lk_queue_list_free(gathering.list);
        return outcome;
    }
    keep_first(&gathering);
    *ret_list = gathering.list;
    *ret_has_more = gathering.has_more;
    return lk_error_clear(error, LK_OK);
}
