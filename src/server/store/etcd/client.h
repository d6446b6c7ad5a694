/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of etcd through its JSON gateway, at whichever of its nodes answers. Bytes are base64 in
 * it.
 *
 * A call that fails because a node is away, or because etcd is electing a leader, is made again at
 * the next node until its time is over. So a call may arrive more than once: a transaction must
 * compare something that it changes.
 */
#ifndef LK_SERVER_STORE_ETCD_CLIENT_H
#define LK_SERVER_STORE_ETCD_CLIENT_H

#include <jansson.h>

#include "base/buffer.h"
#include "server/store/etcd/url.h"

struct lk_etcd_client;

/* Connects to nothing yet. `lease_us`: how long a call takes at most. LK_OK with *ret_client; the
 * outcomes of lk_etcd_url_parse() and lk_libcurl_load(). */
lk_outcome lk_etcd_client_new(const char *url, int64_t lease_us, struct lk_etcd_client **ret_client,
                              lk_error *error);
void lk_etcd_client_free(struct lk_etcd_client *client); /* accepts NULL */

/* Until now each call tries each node once; from now on, until its time is over. */
void lk_etcd_client_insist(struct lk_etcd_client *client, int64_t lease_us);

const char *lk_etcd_client_prefix(const struct lk_etcd_client *client);

/* What is done while a call is under way, at its first attempt. */
struct lk_etcd_meanwhile {
    void (*run)(void *context);
    void *context;
};

/*
 * A call with its body. LK_OK with *ret_answer, to be released by json_decref(). LK_DENIED (rights,
 * a password), LK_UNSUPPORTED (no etcd, or one that is too old), LK_INVALID (too large for etcd's
 * settings), LK_UNAVAILABLE: it was not done, or that is unknown. All have a message.
 */
lk_outcome lk_etcd_call(struct lk_etcd_client *client, const char *path, struct lk_slice body,
                        const struct lk_etcd_meanwhile *meanwhile, json_t **ret_answer,
                        lk_error *error);

/* Whether there is an etcd 3.4 or later. As lk_etcd_call(). */
lk_outcome lk_etcd_check_version(struct lk_etcd_client *client, lk_error *error);

/* ---- bodies and answers ---------------------------------------------------------------------- */

/* Keys and their values as members of JSON. */
void lk_etcd_add_bytes(struct lk_buffer *body, const char *name, struct lk_slice bytes);
void lk_etcd_add_text(struct lk_buffer *body, const char *name, const char *text);

/* Operations of a transaction, each with a comma before it. */
void lk_etcd_add_put(struct lk_buffer *operations, const char *key, struct lk_slice value);
/* The keys from `from`, and before `to`. */
void lk_etcd_add_delete(struct lk_buffer *operations, const char *from, const char *to);

/* A number, which JSON has as a string; 0: there is none. */
uint64_t lk_etcd_number(const json_t *object, const char *name);

/*
 * The keys from `from` and before `to` (NULL: that one key), `limit` at most, in their order, as an
 * array in *ret_rows, which may be NULL for none; to be released by json_decref().
 */
lk_outcome lk_etcd_range(struct lk_etcd_client *client, const char *from, const char *to,
                         unsigned limit, json_t **ret_rows, lk_error *error);

/* The key or the value (`name`) of a row replaces what `bytes` has. false: it has none. */
bool lk_etcd_read(const json_t *row, const char *name, struct lk_buffer *bytes);

#endif
