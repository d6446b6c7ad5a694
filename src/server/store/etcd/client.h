/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of etcd by its own protocol, gRPC, at whichever of its nodes answers.
 *
 * A call that fails because a node is away, or because etcd is electing a leader, is made again at
 * the next node until its time is over. So a call may arrive more than once: a transaction must
 * compare something that it changes.
 */
#ifndef LK_SERVER_STORE_ETCD_CLIENT_H
#define LK_SERVER_STORE_ETCD_CLIENT_H

#include "base/buffer.h"
#include "server/store/etcd/messages.h"
#include "server/store/etcd/stream.h"

struct lk_etcd_client;

/* Connects to nothing yet. `lease_us`: how long a call takes at most. LK_OK with *ret_client; the
 * outcomes of lk_etcd_url_parse(), lk_nghttp2_load() and lk_tls_client_new(). */
lk_outcome lk_etcd_client_new(const char *url, int64_t lease_us, struct lk_etcd_client **ret_client,
                              lk_error *error);
void lk_etcd_client_free(struct lk_etcd_client *client); /* accepts NULL */

/* Until now each call tries each node once; from now on, until its time is over. */
void lk_etcd_client_insist(struct lk_etcd_client *client, int64_t lease_us);

const char *lk_etcd_client_prefix(const struct lk_etcd_client *client);

/* What is done once in the course of a call: while it is under way, if it is sent at once. */
struct lk_etcd_meanwhile {
    void (*run)(void *context);
    void *context;
};

/* The methods that services call. */
#define LK_ETCD_RANGE "/etcdserverpb.KV/Range"
#define LK_ETCD_TXN "/etcdserverpb.KV/Txn"

/*
 * A call of a method with its message (messages.h). LK_OK with *ret_answer, which is valid until
 * the next call, and `meanwhile` (NULL: nothing) was run. LK_DENIED (rights, a password),
 * LK_UNSUPPORTED (no etcd), LK_INVALID (too large for etcd's settings), LK_UNAVAILABLE: it was not
 * done, or that is unknown. All have a message.
 */
lk_outcome lk_etcd_call(struct lk_etcd_client *client, const char *method, struct lk_slice message,
                        const struct lk_etcd_meanwhile *meanwhile, struct lk_slice *ret_answer,
                        lk_error *error);

/*
 * Asks etcd to forget what keys were before that revision. One attempt, which takes a fifth of a
 * second at most; whether it has succeeded is not told, as a later one makes up for it.
 */
void lk_etcd_compact(struct lk_etcd_client *client, uint64_t revision);

/* Whether there is an etcd 3.4 or later. As lk_etcd_call(). */
lk_outcome lk_etcd_check_version(struct lk_etcd_client *client, lk_error *error);

/*
 * The keys from `from` and before `to` (NULL: that one key), `limit` at most, in their order: the
 * answer, of which lk_etcd_next_row() reads them, replaces what `answer` has, which is the
 * caller's.
 */
lk_outcome lk_etcd_range(struct lk_etcd_client *client, const char *from, const char *to,
                         unsigned limit, struct lk_buffer *answer, lk_error *error);

#endif
