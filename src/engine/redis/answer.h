/* SPDX-License-Identifier: Apache-2.0 */
/* The script's answers in the open. */
#ifndef LK_ENGINE_REDIS_ANSWER_H
#define LK_ENGINE_REDIS_ANSWER_H

#include <hiredis/hiredis.h>

#include "engine/engine.h"

/* The elements of the answer to an ask, a renewal or a release, as ask.lua makes it. */
enum lk_redis_element {
    LK_REDIS_OUTCOME,
    LK_REDIS_NOW,
    LK_REDIS_TEXT,
    LK_REDIS_FLAGS, /* 1 created, 2 fixed, 4 the value is in doubt */
    LK_REDIS_TICKET,
    LK_REDIS_TOKEN,
    LK_REDIS_TTL,
    LK_REDIS_DEADLINE, /* -1: nothing lives */
    LK_REDIS_IN_USE,
    LK_REDIS_POSITION,
    LK_REDIS_ID,
    LK_REDIS_DUE, /* when something in the way ends by itself, if nobody renews it */
    LK_REDIS_VALUE,
    LK_REDIS_BLOCKERS,
    LK_REDIS_CYCLE,
};

/* Fills *result (cleared before). Where memory is exhausted it is LK_INTERNAL. */
void lk_redis_answer_read(const redisReply *reply, lk_result *result);

/* The same for an ask, whose plain grants are answered in short. */
void lk_redis_grant_read(const redisReply *reply, const struct lk_ask *ask, lk_result *result);

/* Copies of blockers: path, owner, note, ticket, held and deadline each. false: no memory. */
bool lk_redis_blockers_read(const redisReply *array, int64_t now_us, lk_blocker_info **ret_infos,
                            size_t *ret_count);

#endif
