/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of the script on the node that has a root's slot, with all that may come in between:
 * redirections, fail-overs, servers that load or have forgotten the script.
 */
#ifndef LK_ENGINE_REDIS_CALL_H
#define LK_ENGINE_REDIS_CALL_H

#include "engine/redis/store.h"

/* A call as it is put together. Numbers are written into `room`. */
struct lk_redis_call {
    struct lk_redis_words words;
    struct lk_slice root; /* whose slot it goes to */
    bool is_repeatable;   /* R3: where an answer was lost, it is asked again */
    bool grants;          /* ?replicas: its grants are waited for there */
    char key[LK_PATH_BYTES_MAX + 16];
    char room[LK_REDIS_ARGUMENTS_MAX][24];
};

/* Begins a call: the operation, and the path whose root decides on the node. */
void lk_redis_call_begin(const struct lk_redis *store, const char *operation,
                         const struct lk_path *path, bool is_attended, struct lk_redis_call *call);
void lk_redis_call_say(struct lk_redis_call *call, struct lk_slice word);
void lk_redis_call_number(struct lk_redis_call *call, int64_t number);

/*
 * LK_OK with *ret_reply, an array that starts with outcome and time, for freeReplyObject(). Or
 * LK_DENIED, LK_FULL (the server's memory), LK_CANCELLED, LK_UNAVAILABLE, LK_INTERNAL.
 */
lk_outcome lk_redis_call_make(struct lk_redis *store, struct lk_redis_call *call,
                              const struct lk_patience *patience, redisReply **ret_reply,
                              lk_error *error);

/* Elements of a reply; 0 and empty where they are not there. */
int64_t lk_redis_integer_at(const redisReply *reply, size_t index);
struct lk_slice lk_redis_text_at(const redisReply *reply, size_t index);
const redisReply *lk_redis_array_at(const redisReply *reply, size_t index); /* never NULL */

#endif
