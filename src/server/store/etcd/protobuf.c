/* SPDX-License-Identifier: Apache-2.0 */
/* Fields to bytes, and back. */
#include "server/store/etcd/protobuf.h"

#include "server/store/journal/codec.h"

enum {
    TYPE_BITS = 3,
    TYPE_NUMBER = 0,
    TYPE_8_BYTES = 1,
    TYPE_BYTES = 2,
    TYPE_4_BYTES = 5,
};

static void add_number(struct lk_buffer *out, uint64_t number) {
    struct lk_etcd_codec codec = {.out = out};

    lk_etcd_code_number(&codec, &number);
}

static void add_key(struct lk_buffer *out, unsigned field, unsigned type) {
    add_number(out, field << TYPE_BITS | type);
}

void lk_protobuf_add_number(struct lk_buffer *out, unsigned field, uint64_t number) {
    add_key(out, field, TYPE_NUMBER);
    add_number(out, number);
}

void lk_protobuf_open(struct lk_buffer *out, unsigned field, size_t size) {
    add_key(out, field, TYPE_BYTES);
    add_number(out, size);
}

void lk_protobuf_add_bytes(struct lk_buffer *out, unsigned field, struct lk_slice bytes) {
    lk_protobuf_open(out, field, bytes.size);
    lk_buffer_add_slice(out, bytes);
}

void lk_protobuf_add_text(struct lk_buffer *out, unsigned field, const char *text) {
    lk_protobuf_add_bytes(out, field, lk_slice_of(text));
}

size_t lk_protobuf_size(size_t bytes) {
    enum { DIGIT_BITS = 7 };
    size_t size = 2 + bytes; /* the field's number, and a digit of its size at least */

    for (size_t rest = bytes >> DIGIT_BITS; rest > 0; rest >>= DIGIT_BITS) {
        size++;
    }
    return size;
}

static void take_bytes(struct lk_etcd_codec *codec, size_t size, struct lk_slice *ret_bytes) {
    if (codec->failed || size > (size_t)(codec->end - codec->at)) {
        codec->failed = true;
        return;
    }
    *ret_bytes = (struct lk_slice){codec->at, size};
    codec->at += size;
}

bool lk_protobuf_next(struct lk_protobuf *message, struct lk_protobuf_field *ret_field) {
    struct lk_protobuf_field field = {.number = 0};
    struct lk_etcd_codec codec;
    uint64_t key = 0;

    if (message->failed || message->rest.size == 0) {
        return false;
    }
    codec = lk_etcd_reader(message->rest);
    lk_etcd_code_number(&codec, &key);
    field.field = key >> TYPE_BITS;
    switch (key & ((1u << TYPE_BITS) - 1)) {
    case TYPE_NUMBER:
        lk_etcd_code_number(&codec, &field.number);
        break;
    case TYPE_BYTES:
        lk_etcd_code_text(&codec, &field.bytes, SIZE_MAX);
        break;
    case TYPE_8_BYTES:
        take_bytes(&codec, 8, &field.bytes);
        break;
    case TYPE_4_BYTES:
        take_bytes(&codec, 4, &field.bytes);
        break;
    default:
        codec.failed = true;
        break;
    }
    message->failed = codec.failed || field.field == 0;
    message->rest = (struct lk_slice){codec.at, (size_t)(codec.end - codec.at)};
    *ret_field = field;
    return !message->failed;
}
