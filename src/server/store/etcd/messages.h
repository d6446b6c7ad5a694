/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of etcd that services send and receive (etcd's api/etcdserverpb/rpc.proto has their
 * fields). Those that are sent are appended to a buffer. Those that are received are hostile: what
 * is none of these is refused, and what is read borrows from the bytes.
 */
#ifndef LK_SERVER_STORE_ETCD_MESSAGES_H
#define LK_SERVER_STORE_ETCD_MESSAGES_H

#include "base/buffer.h"

/* ---- the wire format ------------------------------------------------------------------------- */

/*
 * Protocol Buffers: fields one after the other, each with its number, and behind it a number or
 * bytes behind their size (protobuf.dev, "Encoding"). A message within another one is bytes.
 * Numbers are those of journal/codec.h.
 */

/* Appends a field. Its number is less than 16: etcd's messages need no greater one. */
void lk_protobuf_add_number(struct lk_buffer *out, unsigned field, uint64_t number);
void lk_protobuf_add_bytes(struct lk_buffer *out, unsigned field, struct lk_slice bytes);
void lk_protobuf_add_text(struct lk_buffer *out, unsigned field, const char *text);

/* Begins a field whose `size` bytes are appended by the caller. */
void lk_protobuf_open(struct lk_buffer *out, unsigned field, size_t size);

/* How many bytes a field with so many bytes takes. */
size_t lk_protobuf_size(size_t bytes);

/* What is still to be read of a message. */
struct lk_protobuf {
    struct lk_slice rest;
    bool failed; /* the bytes are no message */
};

struct lk_protobuf_field {
    uint64_t field;
    uint64_t number;       /* 0 where it has bytes */
    struct lk_slice bytes; /* borrowed from the message; empty where it has a number */
};

/* Reads the next field, of whatever number. false: there is none, or the bytes are no message. */
bool lk_protobuf_next(struct lk_protobuf *message, struct lk_protobuf_field *ret_field);

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
