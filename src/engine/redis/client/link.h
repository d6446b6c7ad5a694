/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to one server: it is opened, greeted (AUTH, SELECT, INFO), and carries one
 * exchange at a time. Socket and TLS are this file's; hiredis writes commands and reads replies.
 *
 * No function waits longer than the time budget that is passed in, and each checks its waker
 * meanwhile. A link on which an exchange has failed is unusable. Used by one thread at a time.
 */
#ifndef LK_ENGINE_REDIS_CLIENT_LINK_H
#define LK_ENGINE_REDIS_CLIENT_LINK_H

#include <hiredis/hiredis.h>

#include "engine/engine.h"
#include "engine/redis/client/hiredis_functions.h"
#include "engine/redis/client/target.h"
#include "lockkeeper/lockkeeper.h"
#include "tls/client.h"

/* ---- the table of hiredis -------------------------------------------------------------------- */

/* Redis's client library: linked (hiredis_linked.c), or loaded when a store is opened
 * (hiredis_loaded.c, base/library.h). */

/* Before any other function of the library. LK_OK, or LK_UNSUPPORTED. */
lk_outcome lk_hiredis_load(lk_error *error);

/* ---- connections ----------------------------------------------------------------------------- */

enum { LK_REDIS_BOOT_BYTES = 16, LK_REDIS_ARGUMENTS_MAX = 128, LK_REDIS_PROBLEM_BYTES = 128 };

struct lk_redis_link {
    int descriptor;
    struct lk_tls_session *tls; /* NULL: plain */
    redisReader *reader;
    char problem[LK_REDIS_PROBLEM_BYTES + 1]; /* what has broken it; "": nothing so far */
    unsigned char first_byte;                 /* that was received, of plain connections; 0: none */
    struct lk_redis_link *next;               /* in its node's list of idle links */
    int node;                                 /* the node it is connected to */
    char boot[LK_REDIS_BOOT_BYTES + 1];       /* the server's run id, which changes at a restart */
    bool is_cluster;
    int major; /* of the server's version */
    bool has_script;
    bool has_answer_to_come; /* to a command that was given up: the next answer is not the next's */
};

/* A command: its words, in order. */
struct lk_redis_words {
    const char *bytes[LK_REDIS_ARGUMENTS_MAX];
    size_t sizes[LK_REDIS_ARGUMENTS_MAX];
    int count;
};

static inline void lk_redis_words_add(struct lk_redis_words *words, struct lk_slice word) {
    words->bytes[words->count] = word.size > 0 ? word.bytes : "";
    words->sizes[words->count++] = word.size;
}

/*
 * With the target's TLS, if it has any: the certificate must be for the address' host, and nothing
 * is sent before that is known. LK_OK with *ret_link; LK_DENIED (name, password or a certificate),
 * LK_CANCELLED, LK_UNSUPPORTED (no such database, or TLS on one side only), or LK_UNAVAILABLE.
 */
lk_outcome lk_redis_link_open(const struct lk_redis_target *target,
                              const struct lk_redis_address *address,
                              const struct lk_patience *patience, struct lk_redis_link **ret_link,
                              lk_error *error);
void lk_redis_link_close(struct lk_redis_link *link); /* accepts NULL */

/*
 * Sends one command and reads its reply, for freeReplyObject(); the reply may be an error. LK_OK;
 * LK_CANCELLED; or LK_UNAVAILABLE: the command may have been carried out, and the link is unusable.
 */
lk_outcome lk_redis_exchange(struct lk_redis_link *link, const struct lk_redis_words *words,
                             const struct lk_patience *patience, redisReply **ret_reply,
                             lk_error *error);

/* The same for a few words of text. */
lk_outcome lk_redis_exchange_text(struct lk_redis_link *link, const char *const *texts,
                                  size_t count, const struct lk_patience *patience,
                                  redisReply **ret_reply, lk_error *error);

/* Sends one command as above, and leaves its reply to be read. */
lk_outcome lk_redis_send(struct lk_redis_link *link, const struct lk_redis_words *words,
                         const struct lk_patience *patience, lk_error *error);

/*
 * Receives what has arrived, or waits for a moment until some does. false: the link is broken. Then
 * lk_redis_link_next() returns what was received: *ret_reply, for freeReplyObject(); NULL: no
 * whole reply is there yet. false: it is no reply.
 */
bool lk_redis_link_fill(struct lk_redis_link *link);
bool lk_redis_link_next(struct lk_redis_link *link, redisReply **ret_reply);

/*
 * Copies what follows `name` at the beginning of a line of INFO's text; "" if there is no such
 * line.
 */
void lk_redis_field_read(const char *text, const char *name, char *ret_value, size_t capacity);

#endif
