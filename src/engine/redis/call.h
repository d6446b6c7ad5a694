/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of the script on the node that has a root's slot. Handles redirections, fail-overs, and
 * servers that are loading or have lost the script.
 */
#ifndef LK_ENGINE_REDIS_CALL_H
#define LK_ENGINE_REDIS_CALL_H

#include "engine/redis/client/keys.h"
#include "engine/redis/store.h"

/* In place of an outcome: more requests were overdue than one call handles. */
enum { LK_REDIS_AGAIN = 100 };

/* A call under construction. Numbers are written into `room`. */
struct lk_redis_call {
    struct lk_redis_words words;
    struct lk_slice root; /* the call goes to its slot */
    bool is_repeatable;   /* R3: sent again if the answer was lost */
    bool grants;          /* ?replicas: waits until the replicas have its grant */
    bool is_unconfirmed; /* out: it was granted, but too few replicas have said that they have it */
    int boot_at;         /* index of the argument with the server's run id, which the link knows */
    char key[LK_REDIS_PREFIX_BYTES_MAX + 8];
    char absent[LK_REDIS_PREFIX_BYTES_MAX + 8];
    char floor[32];
    char channel[LK_REDIS_CHANNEL_BYTES_MAX + 1];
    char said[LK_REDIS_CHANNEL_BYTES_MAX + 32];
    char identity[LK_OWNER_BYTES_MAX + 1 + LK_PATH_BYTES_MAX];
    char room[LK_REDIS_ARGUMENTS_MAX][24];
};

/* Begins a call: the operation, and the path whose root selects the node. */
void lk_redis_call_begin(struct lk_redis *store, const char *operation, const struct lk_path *path,
                         bool is_attended, struct lk_redis_call *call);

/*
 * Begins one of the plain calls (plain.lua) about one path: an ask, a release or a renewal. They
 * have few arguments, because each costs the server time. `ask` is NULL except for an ask.
 */
void lk_redis_call_begin_plain(struct lk_redis *store, const char *operation,
                               const struct lk_path *path, const struct lk_ask *ask,
                               struct lk_redis_call *call);
/* Adds owner and path as one argument. */
void lk_redis_call_add_identity(struct lk_redis_call *call, struct lk_slice owner,
                                const struct lk_path *path);
/* Adds what is kept with a request: flags, ttl, limit and units of its part. */
void lk_redis_call_add_terms(struct lk_redis_call *call, const struct lk_ask *ask);

void lk_redis_call_add(struct lk_redis_call *call, struct lk_slice word);
void lk_redis_call_add_number(struct lk_redis_call *call, int64_t number);

/*
 * LK_OK with *ret_reply, for freeReplyObject(): an array that starts with outcome and time, or, for
 * a plain call that was granted or carried out, the time alone. Otherwise LK_DENIED, LK_FULL (the
 * server's memory), LK_CANCELLED, LK_UNAVAILABLE, LK_INTERNAL.
 */
lk_outcome lk_redis_call_make(struct lk_redis *store, struct lk_redis_call *call,
                              const struct lk_patience *patience, redisReply **ret_reply,
                              lk_error *error);

/*
 * The outcome of a grant that is unconfirmed: LK_UNAVAILABLE. The sentence ends with what became of
 * the lease.
 */
lk_outcome lk_redis_call_refuse(const struct lk_redis *store, const char *what_became,
                                lk_error *error);

/* Elements of a reply; 0 and empty where they are missing. */
int64_t lk_redis_integer_at(const redisReply *reply, size_t index);
struct lk_slice lk_redis_text_at(const redisReply *reply, size_t index);
const redisReply *lk_redis_array_at(const redisReply *reply, size_t index); /* never NULL */

#endif
