/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to one server: made, greeted (AUTH, SELECT, INFO), and asked one thing at a time.
 *
 * Never waits longer than the patience that is passed in, and looks at its waker on the way. A link
 * on which an exchange has failed is of no use any more. Used by one thread at a time.
 */
#ifndef LK_ENGINE_REDIS_LINK_H
#define LK_ENGINE_REDIS_LINK_H

#include <hiredis/hiredis.h>

#include "engine/engine.h"
#include "engine/redis/place.h"

enum { LK_REDIS_BOOT_BYTES = 16, LK_REDIS_ARGUMENTS_MAX = 128 };

struct lk_redis_link {
    redisContext *context;
    struct lk_redis_link *next;         /* in its node's list of idle ones */
    int node;                           /* which it belongs to */
    char boot[LK_REDIS_BOOT_BYTES + 1]; /* the server's run id: another one has been restarted */
    bool is_cluster;
    int major; /* of the server's version */
    bool has_script;
};

/* A command: its words, in order. */
struct lk_redis_words {
    const char *bytes[LK_REDIS_ARGUMENTS_MAX];
    size_t sizes[LK_REDIS_ARGUMENTS_MAX];
    int count;
};

static inline void lk_redis_say(struct lk_redis_words *words, struct lk_slice word) {
    words->bytes[words->count] = word.size > 0 ? word.bytes : "";
    words->sizes[words->count++] = word.size;
}

/*
 * LK_OK with *ret_link; LK_DENIED (name or password), LK_CANCELLED, LK_UNSUPPORTED (no such
 * database), or LK_UNAVAILABLE.
 */
lk_outcome lk_redis_link_open(const struct lk_redis_place *place,
                              const struct lk_redis_address *address,
                              const struct lk_patience *patience, struct lk_redis_link **ret_link,
                              lk_error *error);
void lk_redis_link_close(struct lk_redis_link *link); /* accepts NULL */

/*
 * One command and its reply, which may be an error, for freeReplyObject(). LK_OK; LK_CANCELLED; or
 * LK_UNAVAILABLE: unknown whether it was carried out, the link is of no use any more.
 */
lk_outcome lk_redis_exchange(struct lk_redis_link *link, const struct lk_redis_words *words,
                             const struct lk_patience *patience, redisReply **ret_reply,
                             lk_error *error);

/* The same for a few words of text. */
lk_outcome lk_redis_exchange_text(struct lk_redis_link *link, const char *const *texts,
                                  size_t count, const struct lk_patience *patience,
                                  redisReply **ret_reply, lk_error *error);

/* Copies what stands behind `name`, which begins a line of INFO's text; "" when no line does. */
void lk_redis_field_read(const char *text, const char *name, char *ret_value, size_t capacity);

/* Whether the connection is in a state in which an idle one has to be: open, and silent. */
bool lk_redis_link_is_sound(const struct lk_redis_link *link);

#endif
