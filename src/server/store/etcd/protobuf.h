/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages as etcd has them, in the wire format of Protocol Buffers: fields one after the other,
 * each with its number, and behind it a number or bytes behind their size (protobuf.dev,
 * "Encoding"). A message within another one is bytes. Numbers are those of codec.h.
 */
#ifndef LK_SERVER_STORE_ETCD_PROTOBUF_H
#define LK_SERVER_STORE_ETCD_PROTOBUF_H

#include "base/buffer.h"

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

#endif
