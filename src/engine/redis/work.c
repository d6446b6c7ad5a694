/* SPDX-License-Identifier: Apache-2.0 */
/* Work (R16): one call of the script each. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/text.h"
#include "engine/redis/answer.h"
#include "engine/redis/call.h"
#include "engine/redis/operations.h"
#include "engine/reply/reply.h"
#include "model/command_check.h"

#define WORK_QUERY_US INT64_C(250000) /* an end under another root sends no message */
#define WORK_QUERY_MIN_US INT64_C(20000)

/* In a cluster, what the work needs must be in the slot of its queue. */
static lk_outcome check_slots(const struct lk_redis *store, const struct lk_push *push,
                              lk_error *error) {
    for (size_t i = 0; store->topology.is_cluster && i < push->need_count; i++) {
        if (lk_redis_slot_of(lk_path_root(&push->needs[i].path))
            != lk_redis_slot_of(lk_path_root(&push->queue))) {
            return lk_error_set(error, LK_UNSUPPORTED,
                                "R16: what the work needs is in another slot of the cluster");
        }
    }
    return LK_OK;
}

static void add_path(struct lk_redis_call *call, const struct lk_path *path) {
    lk_redis_call_add(call, (struct lk_slice){path->bytes, path->size});
}

/* Makes a call that is answered with an outcome and a sentence. */
static lk_outcome make_plain(struct lk_redis *store, struct lk_redis_call *call,
                             const struct lk_patience *patience, lk_error *error) {
    redisReply *reply;
    lk_outcome outcome = lk_redis_call_make(store, call, patience, &reply, error);

    if (outcome == LK_OK) {
        outcome = lk_redis_outcome_read(reply, error);
        freeReplyObject(reply);
    }
    return outcome;
}

/* ---- push ------------------------------------------------------------------------------------ */

lk_outcome lk_redis_push(struct lk_redis *store, const struct lk_push *push,
                         const struct lk_patience *patience, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    struct lk_redis_call call;
    struct lk_item_path item;
    redisReply *reply;
    lk_outcome outcome = lk_push_check(push, &item, error);

    if (outcome == LK_OK) {
        outcome = check_slots(store, push, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    lk_redis_call_begin(store, "push", &push->queue, false, &call);
    add_path(&call, &push->queue);
    lk_redis_call_add(&call, push->id);
    lk_redis_call_add(&call, push->value);
    lk_redis_call_add_number(&call, push->delay_ms);
    lk_redis_call_add_number(&call, (int64_t)push->need_count);
    for (size_t i = 0; i < push->need_count; i++) {
        add_path(&call, &push->needs[i].path);
        lk_redis_call_add_number(&call, push->needs[i].limit);
        lk_redis_call_add_number(&call, push->needs[i].units);
    }
    outcome = lk_redis_call_make(store, &call, patience, &reply, error);
    if (outcome == LK_OK) {
        decision->is_added = lk_redis_integer_at(reply, 3) != 0;
        outcome = lk_redis_outcome_read(reply, error);
        freeReplyObject(reply);
    }
    return outcome;
}

/* ---- take ------------------------------------------------------------------------------------ */

/* The elements of a granted take, in the order of work.lua. */
enum taken {
    TAKEN_ID = 2,
    TAKEN_VALUE,
    TAKEN_TOKEN,
    TAKEN_ATTEMPT,
    TAKEN_STOLEN,
    TAKEN_TTL,
    TAKEN_DEADLINE
};

static bool fill_claim(const struct lk_take *take, const redisReply *reply, lk_claim_info *claim) {
    struct lk_slice value = lk_redis_text_at(reply, TAKEN_VALUE);
    int64_t left_us = lk_redis_integer_at(reply, TAKEN_DEADLINE) - lk_redis_integer_at(reply, 1);

    claim->queue = lk_text_copy((struct lk_slice){take->queue.bytes, take->queue.size});
    claim->id = lk_text_copy(lk_redis_text_at(reply, TAKEN_ID));
    claim->owner = lk_text_copy(take->owner);
    if (value.size > 0) {
        claim->value = lk_text_copy(value);
        claim->value_size = value.size;
    }
    claim->token = (uint64_t)lk_redis_integer_at(reply, TAKEN_TOKEN);
    claim->attempt = (uint32_t)lk_redis_integer_at(reply, TAKEN_ATTEMPT);
    claim->is_stolen = lk_redis_integer_at(reply, TAKEN_STOLEN) != 0;
    claim->ttl_ms = lk_redis_integer_at(reply, TAKEN_TTL);
    claim->expires_in_ms = left_us > 0 ? left_us / 1000 : 0;
    return claim->queue != NULL && claim->id != NULL && claim->owner != NULL
           && (value.size == 0 || claim->value != NULL);
}

static lk_outcome read_taken(const struct lk_take *take, const redisReply *reply,
                             struct lk_decision *decision) {
    lk_claim_info *claim;

    if (lk_redis_integer_at(reply, 0) != LK_GRANTED) {
        decision->cursor.due_us = lk_clock_now_us() + lk_redis_integer_at(reply, 3)
                                  - lk_redis_integer_at(reply, 1) + 1000;
        return lk_redis_outcome_read(reply, &decision->error);
    }
    claim = calloc(1, sizeof *claim);
    if (claim == NULL || !fill_claim(take, reply, claim)) {
        lk_claim_free(claim);
        return lk_decision_fail(decision, LK_INTERNAL, "no memory for the claim");
    }
    decision->claim = claim;
    return lk_error_clear(&decision->error, LK_GRANTED);
}

lk_outcome lk_redis_take(struct lk_redis *store, const struct lk_take *take,
                         const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_wait_cursor *cursor = &decision->cursor;
    char number[24];
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome = lk_take_check(take, &decision->error);

    if (outcome != LK_OK) {
        return outcome;
    }
    cursor->id = lk_redis_queue_id((struct lk_slice){take->queue.bytes, take->queue.size});
    cursor->version = lk_redis_subscriber_version(&store->subscriber);
    (void)snprintf(number, sizeof number, "%" PRIu64, take->ask_number);
    lk_redis_call_begin(store, "take", &take->queue, true, &call);
    add_path(&call, &take->queue);
    lk_redis_call_add(&call, take->owner);
    lk_redis_call_add_number(&call, take->ttl_ms);
    lk_redis_call_add_number(&call, take->max_attempts);
    lk_redis_call_add(&call, lk_slice_of(number));
    lk_redis_call_add(&call, take->note_given ? take->note : (struct lk_slice){NULL, 0});
    call.is_repeatable = take->ask_number != 0;
    call.grants = true;
    outcome = lk_redis_call_make(store, &call, patience, &reply, &decision->error);
    if (outcome == LK_OK) {
        outcome = read_taken(take, reply, decision);
        freeReplyObject(reply);
    }
    return outcome;
}

int64_t lk_redis_work_query_us(struct lk_redis *store, const struct lk_wait_cursor *cursor) {
    int64_t now_us = lk_clock_now_us();

    lk_redis_subscriber_start(&store->subscriber, lk_path_root(&cursor->command->take.queue));
    return lk_max(lk_min(cursor->due_us, now_us + WORK_QUERY_US), now_us + WORK_QUERY_MIN_US);
}

/* ---- the end of a claim ---------------------------------------------------------------------- */

lk_outcome lk_redis_finish(struct lk_redis *store, const struct lk_finish *finish,
                           const struct lk_patience *patience, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    struct lk_redis_call call;
    struct lk_item_path item;
    lk_outcome outcome = lk_finish_check(finish, &item, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_redis_call_begin(store, "finish", &finish->queue, false, &call);
    add_path(&call, &finish->queue);
    lk_redis_call_add(&call, finish->id);
    lk_redis_call_add(&call, finish->owner);
    lk_redis_call_add_number(&call, (int64_t)finish->token);
    lk_redis_call_add(&call, lk_slice_of(finish->kind == LK_FINISH_DONE ? "done" : "retry"));
    lk_redis_call_add_number(&call, finish->delay_ms);
    call.is_repeatable = finish->token != 0;
    return make_plain(store, &call, patience, error);
}

lk_outcome lk_redis_unpark(struct lk_redis *store, const struct lk_unpark *unpark,
                           const struct lk_patience *patience, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    struct lk_redis_call call;
    struct lk_item_path item;
    lk_outcome outcome = lk_item_path_make(&unpark->queue, unpark->id, &item, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_redis_call_begin(store, "unpark", &unpark->queue, false, &call);
    add_path(&call, &unpark->queue);
    lk_redis_call_add(&call, unpark->id);
    return make_plain(store, &call, patience, error);
}
