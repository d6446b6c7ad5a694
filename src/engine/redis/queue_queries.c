/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues with their counts (R16). Those of one root are a range of its index. A page of all queues
 * asks every root for as many.
 */
#include <stdlib.h>

#include "base/error.h"
#include "engine/redis/answer.h"
#include "engine/redis/call.h"
#include "engine/redis/operations.h"
#include "engine/redis/roots.h"
#include "engine/reply/reply.h"

struct gathering {
    struct lk_redis *store;
    const struct lk_queue_query *query;
    const struct lk_patience *patience;
    lk_queue_list *list;
    bool has_more;
};

static bool add_queues(struct gathering *gathering, const redisReply *reply) {
    for (size_t i = LK_REDIS_HEAD; i < reply->elements; i++) {
        const redisReply *queue = lk_redis_array_at(reply, i);
        const lk_queue_stats counts = lk_redis_counts_read(queue, 1);

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
