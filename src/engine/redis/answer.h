/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the script's answers. */
#ifndef LK_ENGINE_REDIS_ANSWER_H
#define LK_ENGINE_REDIS_ANSWER_H

#include "engine/engine.h"
#include "engine/redis/client/link.h"

enum { LK_REDIS_HEAD = 2 }; /* outcome and time, before a list in an answer */

/* The elements of the answer to an ask, a renewal or a release, in the order of ask.lua. */
enum lk_redis_element {
    LK_REDIS_OUTCOME,
    LK_REDIS_NOW,
    LK_REDIS_TEXT,
    LK_REDIS_FLAGS, /* 1 created, 2 fixed */
    LK_REDIS_TICKET,
    LK_REDIS_TOKEN,
    LK_REDIS_TTL,
    LK_REDIS_DEADLINE, /* -1: there is no live lease */
    LK_REDIS_IN_USE,
    LK_REDIS_POSITION,
    LK_REDIS_ID,
    LK_REDIS_DUE,    /* when a blocker expires, unless it is renewed */
    LK_REDIS_VALUES, /* of each part: the value, or nil; 1 if it is in doubt */
    LK_REDIS_BLOCKERS,
    LK_REDIS_CYCLE,
};

/*
 * Reads the outcome and the sentence of any answer that is not in short form; returns the outcome.
 */
lk_outcome lk_redis_outcome_read(const redisReply *reply, lk_error *error);

/* Fills an empty decision, and returns its outcome; LK_INTERNAL: memory is exhausted. */
lk_outcome lk_redis_answer_read(const redisReply *reply, struct lk_decision *decision);

/* The same for an ask, whose plain grants are answered in short form. */
lk_outcome lk_redis_grant_read(const redisReply *reply, const struct lk_ask *ask,
                               struct lk_decision *decision);

/*
 * Copies blockers: path, owner, note, ticket, held and deadline each. Returns false when memory is
 * exhausted.
 */
bool lk_redis_blockers_read(const redisReply *array, int64_t now_us, lk_blocker_info **ret_infos,
                            size_t *ret_count);

/* The counts of a queue at `now_us`, in the order of queries.lua, from the element `at` on. */
lk_queue_stats lk_redis_counts_read(const redisReply *reply, size_t at, int64_t now_us);

#endif
