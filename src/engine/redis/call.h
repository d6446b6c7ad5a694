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
    int boot_at;          /* the word that names the server's run, which the link knows */
    char key[LK_PATH_BYTES_MAX + 16];
    char absent[LK_PATH_BYTES_MAX + 16];
    char channel[LK_REDIS_CHANNEL_BYTES_MAX + 1];
    char said[LK_REDIS_CHANNEL_BYTES_MAX + 32];
    char identity[LK_OWNER_BYTES_MAX + 1 + LK_PATH_BYTES_MAX];
    char room[LK_REDIS_ARGUMENTS_MAX][24];
};

/* Begins a call: the operation, and the path whose root decides on the node. */
void lk_redis_call_begin(struct lk_redis *store, const char *operation, const struct lk_path *path,
                         bool is_attended, struct lk_redis_call *call);

/*
 * Begins one of the plain calls (plain.lua) about one path: an ask, a release or a renewal. Each
 * argument costs the server time: these have few. `ask` is NULL but for an ask.
 */
void lk_redis_call_begin_plain(struct lk_redis *store, const char *operation,
                               const struct lk_path *path, const struct lk_ask *ask,
                               struct lk_redis_call *call);
/* Owner and path in one. */
void lk_redis_call_say_identity(struct lk_redis_call *call, struct lk_slice owner,
                                const struct lk_path *path);
/* What is kept with a request: flags, ttl, limit and units of its part. */
void lk_redis_call_say_terms(struct lk_redis_call *call, const struct lk_ask *ask);

void lk_redis_call_say(struct lk_redis_call *call, struct lk_slice word);
void lk_redis_call_number(struct lk_redis_call *call, int64_t number);

/*
 * LK_OK with *ret_reply, for freeReplyObject(): an array that starts with outcome and time, or, of
 * a plain call that was granted or carried out, the time alone. Or
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
