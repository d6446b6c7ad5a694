/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes replies into decisions. */
#include "engine/redis/answer.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/redis/call.h"
#include "engine/reply/reply.h"

enum {
    WORDS_PER_BLOCKER = 6,
    WORDS_PER_VALUE = 2,
    SHORTEST_GRANT = 3,
    SHORT_GRANT = 4,
    SHORT_RENEWAL = 4
};

static int64_t left_ms(int64_t deadline_us, int64_t now_us) {
    return deadline_us > now_us ? (deadline_us - now_us) / 1000 : 0;
}

/* ---- blockers -------------------------------------------------------------------------------- */

static bool fill_blocker(const redisReply *array, size_t at, int64_t now_us,
                         lk_blocker_info *info) {
    struct lk_slice note = lk_redis_text_at(array, at + 2);

    info->path = lk_text_copy(lk_redis_text_at(array, at));
    info->owner = lk_text_copy(lk_redis_text_at(array, at + 1));
    info->note = note.size > 0 ? lk_text_copy(note) : NULL;
    info->ticket = (uint64_t)lk_redis_integer_at(array, at + 3);
    info->held = lk_redis_integer_at(array, at + 4) != 0;
    info->expires_in_ms = left_ms(lk_redis_integer_at(array, at + 5), now_us);
    return info->path != NULL && info->owner != NULL && (info->note != NULL || note.size == 0);
}

bool lk_redis_blockers_read(const redisReply *array, int64_t now_us, lk_blocker_info **ret_infos,
                            size_t *ret_count) {
    size_t count = array->elements / WORDS_PER_BLOCKER;
    lk_blocker_info *infos;

    *ret_infos = NULL;
    *ret_count = 0;
    if (count == 0) {
        return true;
    }
    infos = calloc(count, sizeof *infos);
    if (infos == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!fill_blocker(array, i * WORDS_PER_BLOCKER, now_us, &infos[i])) {
            lk_blocker_infos_free(infos, count);
            return false;
        }
    }
    *ret_infos = infos;
    *ret_count = count;
    return true;
}

/* ---- results --------------------------------------------------------------------------------- */

/*
 * single.lua, plain.lua: the time of the grant, which is also its ticket; or outcome, now, ticket,
 * and the units in use if other holders have any.
 */
static void read_short_grant(const redisReply *reply, const struct lk_ask *ask, lk_result *result) {
    bool is_number = reply->type == REDIS_REPLY_INTEGER;

    result->created = true;
    result->ticket = (uint64_t)(is_number ? reply->integer : lk_redis_integer_at(reply, 2));
    result->token = result->ticket;
    result->ttl_ms = ask->ttl_ms;
    result->expires_in_ms = result->ttl_ms;
    result->in_use = reply->elements == SHORT_GRANT ? (uint64_t)lk_redis_integer_at(reply, 3)
                                                    : ask->parts[0].units;
}

/* single.lua: renewed, now, ticket, ttl. */
static void read_short_renewal(const redisReply *reply, lk_result *result) {
    result->ticket = (uint64_t)lk_redis_integer_at(reply, 2);
    result->token = result->ticket;
    result->ttl_ms = lk_redis_integer_at(reply, 3);
    result->expires_in_ms = result->ttl_ms;
}

static bool read_cycle(const redisReply *array, lk_result *result) {
    if (array->elements == 0) {
        return true;
    }
    result->cycle = calloc(array->elements, sizeof *result->cycle);
    if (result->cycle == NULL) {
        return false;
    }
    for (size_t i = 0; i < array->elements; i++) {
        result->cycle[i] = lk_text_copy(lk_redis_text_at(array, i));
        if (result->cycle[i] == NULL) {
            return false;
        }
        result->cycle_count++;
    }
    return true;
}

static bool read_values(const redisReply *array, lk_result *result) {
    size_t count = array->elements / WORDS_PER_VALUE;

    if (count == 0) {
        return true;
    }
    if (!lk_result_hold_values(result, count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = i * WORDS_PER_VALUE;

        if (array->element[at]->type == REDIS_REPLY_STRING
            && !lk_result_set_value(result, i, lk_redis_text_at(array, at),
                                    lk_redis_integer_at(array, at + 1) != 0)) {
            return false;
        }
    }
    return true;
}

static bool read_whole(const redisReply *reply, lk_result *result) {
    int64_t now_us = lk_redis_integer_at(reply, LK_REDIS_NOW);
    int64_t deadline_us = lk_redis_integer_at(reply, LK_REDIS_DEADLINE);
    int64_t flags = lk_redis_integer_at(reply, LK_REDIS_FLAGS);

    result->created = (flags & 1) != 0;
    result->fixed = (flags & 2) != 0;
    result->ticket = (uint64_t)lk_redis_integer_at(reply, LK_REDIS_TICKET);
    result->token = (uint64_t)lk_redis_integer_at(reply, LK_REDIS_TOKEN);
    result->ttl_ms = lk_redis_integer_at(reply, LK_REDIS_TTL);
    result->expires_in_ms =
        reply->elements <= LK_REDIS_DEADLINE || deadline_us < 0 ? -1 : left_ms(deadline_us, now_us);
    result->in_use = (uint64_t)lk_redis_integer_at(reply, LK_REDIS_IN_USE);
    result->position = (size_t)lk_redis_integer_at(reply, LK_REDIS_POSITION);
    return lk_redis_blockers_read(lk_redis_array_at(reply, LK_REDIS_BLOCKERS), now_us,
                                  &result->blockers, &result->blocker_count)
           && read_cycle(lk_redis_array_at(reply, LK_REDIS_CYCLE), result)
           && read_values(lk_redis_array_at(reply, LK_REDIS_VALUES), result);
}

lk_outcome lk_redis_outcome_read(const redisReply *reply, lk_error *error) {
    struct lk_slice text = lk_redis_text_at(reply, LK_REDIS_TEXT);

    return lk_error_set(error, (lk_outcome)lk_redis_integer_at(reply, LK_REDIS_OUTCOME), "%.*s",
                        (int)text.size, text.bytes != NULL ? text.bytes : "");
}

lk_outcome lk_redis_answer_read(const redisReply *reply, struct lk_decision *decision) {
    if (reply->type == REDIS_REPLY_INTEGER) { /* a plain release, and its time */
        return lk_error_clear(&decision->error, LK_OK);
    }
    if (reply->elements == SHORT_RENEWAL) {
        read_short_renewal(reply, &decision->result);
        return lk_error_clear(&decision->error, LK_OK);
    }
    return read_whole(reply, &decision->result)
               ? lk_redis_outcome_read(reply, &decision->error)
               : lk_decision_fail(decision, LK_INTERNAL, "no memory for the answer");
}

lk_outcome lk_redis_grant_read(const redisReply *reply, const struct lk_ask *ask,
                               struct lk_decision *decision) {
    if (reply->type == REDIS_REPLY_INTEGER || reply->elements == SHORTEST_GRANT
        || reply->elements == SHORT_GRANT) {
        read_short_grant(reply, ask, &decision->result);
        return lk_error_clear(&decision->error, LK_GRANTED);
    }
    return lk_redis_answer_read(reply, decision);
}
