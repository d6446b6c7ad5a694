/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of etcd that services send and receive (etcd's api/etcdserverpb/rpc.proto has their
 * fields). Those that are sent are appended to a buffer. Those that are received are hostile: what
 * is none of these is refused, and what is read borrows from the bytes.
 */
#ifndef LK_SERVER_STORE_ETCD_MESSAGES_H
#define LK_SERVER_STORE_ETCD_MESSAGES_H

#include "base/buffer.h"
#include "server/store/etcd/protobuf.h"

/* ---- requests -------------------------------------------------------------------------------- */

/* Authenticate: the request of a token. */
void lk_etcd_add_login(struct lk_buffer *out, const char *user, const char *password);

/* Range: the keys from `from` and before `to` (NULL: that one key), `limit` at most. */
void lk_etcd_add_range(struct lk_buffer *out, const char *from, const char *to, unsigned limit);

/* Compact: what is older than the revision is forgotten. */
void lk_etcd_add_compaction(struct lk_buffer *out, uint64_t revision);

/*
 * Txn, in this order: what is compared (the revision at which a key was written last; 0: it is not
 * there); the operations that are done then; the key that is read otherwise.
 */
void lk_etcd_add_compare(struct lk_buffer *out, const char *key, uint64_t revision);
void lk_etcd_add_put(struct lk_buffer *operations, const char *key, struct lk_slice value);
/* The keys from `from`, and before `to`. */
void lk_etcd_add_delete(struct lk_buffer *operations, const char *from, const char *to);
void lk_etcd_add_read(struct lk_buffer *out, const char *key);

/* ---- answers --------------------------------------------------------------------------------- */

/* A key with its value. */
struct lk_etcd_row {
    struct lk_slice key;
    struct lk_slice value;
    uint64_t revision; /* at which it was written last */
};

/* Whether it is an answer of etcd's at all, none of whose rows are missing. */
bool lk_etcd_is_answer(struct lk_slice answer);

/* The next row of the answer to Range, from which *answer begins. false: there is none. */
bool lk_etcd_next_row(struct lk_protobuf *answer, struct lk_etcd_row *ret_row);

/* How many rows it has. */
size_t lk_etcd_count_rows(struct lk_slice answer);

struct lk_etcd_txn_answer {
    bool is_done;      /* what was compared was so */
    uint64_t revision; /* of etcd, behind it */
    bool has_row;      /* otherwise: the key that was read */
    struct lk_etcd_row row;
};

/* false: it is no answer to Txn. */
bool lk_etcd_read_txn(struct lk_slice answer, struct lk_etcd_txn_answer *ret_answer);

/* The token, or the version of etcd (Status), in an answer. Empty: it has none. */
struct lk_slice lk_etcd_read_text(struct lk_slice answer);

#endif
