/* SPDX-License-Identifier: Apache-2.0 */
/* Fields to bytes and back, and the fields of etcd's messages. */
#include "server/store/etcd/messages.h"

#include "server/store/journal/codec.h"

/* RangeRequest, PutRequest and DeleteRangeRequest */
enum { KEY = 1, RANGE_END = 2, PUT_VALUE = 2, LIMIT = 3 };

/* TxnRequest; Compare; RequestOp */
enum {
    TXN_COMPARE = 1,
    TXN_SUCCESS = 2,
    TXN_FAILURE = 3,
    COMPARE_TARGET = 2,
    COMPARE_KEY = 3,
    COMPARE_REVISION = 6,
    TARGET_REVISION = 2,
    REQUEST_RANGE = 1,
    REQUEST_PUT = 2,
    REQUEST_DELETE = 3,
};

/* AuthenticateRequest; CompactionRequest */
enum { LOGIN_NAME = 1, LOGIN_PASSWORD = 2, COMPACTION_REVISION = 1 };

/* Each answer; RangeResponse; TxnResponse; ResponseOp; AuthenticateResponse and StatusResponse */
enum {
    HEADER = 1,
    HEADER_REVISION = 3,
    RANGE_ROWS = 2,
    TXN_SUCCEEDED = 2,
    TXN_RESPONSES = 3,
    RESPONSE_RANGE = 1,
    TEXT = 2,
};

/* KeyValue */
enum { ROW_KEY = 1, ROW_REVISION = 3, ROW_VALUE = 5 };

/* ---- the wire format ------------------------------------------------------------------------- */

enum {
    TYPE_BITS = 3,
    TYPE_NUMBER = 0,
    TYPE_8_BYTES = 1,
    TYPE_BYTES = 2,
    TYPE_4_BYTES = 5,
};

static void add_number(struct lk_buffer *out, uint64_t number) {
    struct lk_journal_codec codec = {.out = out};

    lk_journal_code_number(&codec, &number);
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

static void take_bytes(struct lk_journal_codec *codec, size_t size, struct lk_slice *ret_bytes) {
    if (codec->failed || size > (size_t)(codec->end - codec->at)) {
        codec->failed = true;
        return;
    }
    *ret_bytes = (struct lk_slice){codec->at, size};
    codec->at += size;
}

bool lk_protobuf_next(struct lk_protobuf *message, struct lk_protobuf_field *ret_field) {
    struct lk_protobuf_field field = {.number = 0};
    struct lk_journal_codec codec;
    uint64_t key = 0;

    if (message->failed || message->rest.size == 0) {
        return false;
    }
    codec = lk_journal_reader(message->rest);
    lk_journal_code_number(&codec, &key);
    field.field = key >> TYPE_BITS;
    switch (key & ((1u << TYPE_BITS) - 1)) {
    case TYPE_NUMBER:
        lk_journal_code_number(&codec, &field.number);
        break;
    case TYPE_BYTES:
        lk_journal_code_text(&codec, &field.bytes, SIZE_MAX);
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

/* ---- requests -------------------------------------------------------------------------------- */

void lk_etcd_add_login(struct lk_buffer *out, const char *user, const char *password) {
    lk_protobuf_add_text(out, LOGIN_NAME, user);
    lk_protobuf_add_text(out, LOGIN_PASSWORD, password);
}

void lk_etcd_add_range(struct lk_buffer *out, const char *from, const char *to, unsigned limit) {
    lk_protobuf_add_text(out, KEY, from);
    if (to != NULL) {
        lk_protobuf_add_text(out, RANGE_END, to);
    }
    lk_protobuf_add_number(out, LIMIT, limit);
}

void lk_etcd_add_compaction(struct lk_buffer *out, uint64_t revision) {
    lk_protobuf_add_number(out, COMPACTION_REVISION, revision);
}

void lk_etcd_add_compare(struct lk_buffer *out, const char *key, uint64_t revision) {
    struct lk_buffer compare = {.max = 0};

    lk_protobuf_add_number(&compare, COMPARE_TARGET, TARGET_REVISION);
    lk_protobuf_add_text(&compare, COMPARE_KEY, key);
    lk_protobuf_add_number(&compare, COMPARE_REVISION, revision);
    lk_protobuf_add_bytes(out, TXN_COMPARE, (struct lk_slice){compare.bytes, compare.size});
    out->failed = out->failed || compare.failed;
    lk_buffer_done(&compare);
}

/* An operation with two fields of bytes: each is a message, within one that says which it is. */
static void add_operation(struct lk_buffer *operations, unsigned kind, const char *key,
                          struct lk_slice second) {
    size_t size = lk_protobuf_size(strlen(key)) + lk_protobuf_size(second.size);

    lk_protobuf_open(operations, TXN_SUCCESS, lk_protobuf_size(size));
    lk_protobuf_open(operations, kind, size);
    lk_protobuf_add_text(operations, KEY, key);
    lk_protobuf_add_bytes(operations, PUT_VALUE, second);
}

void lk_etcd_add_put(struct lk_buffer *operations, const char *key, struct lk_slice value) {
    add_operation(operations, REQUEST_PUT, key, value);
}

void lk_etcd_add_delete(struct lk_buffer *operations, const char *from, const char *to) {
    add_operation(operations, REQUEST_DELETE, from, lk_slice_of(to));
}

void lk_etcd_add_read(struct lk_buffer *out, const char *key) {
    size_t size = lk_protobuf_size(strlen(key));

    lk_protobuf_open(out, TXN_FAILURE, lk_protobuf_size(size));
    lk_protobuf_open(out, REQUEST_RANGE, size);
    lk_protobuf_add_text(out, KEY, key);
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool read_row(struct lk_slice bytes, struct lk_etcd_row *ret_row) {
    struct lk_protobuf message = {.rest = bytes};
    struct lk_protobuf_field field;

    *ret_row = (struct lk_etcd_row){.revision = 0};
    while (lk_protobuf_next(&message, &field)) {
        if (field.field == ROW_KEY) {
            ret_row->key = field.bytes;
        } else if (field.field == ROW_VALUE) {
            ret_row->value = field.bytes;
        } else if (field.field == ROW_REVISION) {
            ret_row->revision = field.number;
        }
    }
    return !message.failed;
}

bool lk_etcd_next_row(struct lk_protobuf *answer, struct lk_etcd_row *ret_row) {
    struct lk_protobuf_field field;

    while (lk_protobuf_next(answer, &field)) {
        if (field.field == RANGE_ROWS) {
            answer->failed = !read_row(field.bytes, ret_row);
            return !answer->failed;
        }
    }
    return false;
}

static uint64_t read_revision(struct lk_slice header, bool *failed) {
    struct lk_protobuf message = {.rest = header};
    struct lk_protobuf_field field;
    uint64_t revision = 0;

    while (lk_protobuf_next(&message, &field)) {
        revision = field.field == HEADER_REVISION ? field.number : revision;
    }
    *failed = *failed || message.failed;
    return revision;
}

bool lk_etcd_is_answer(struct lk_slice answer) {
    struct lk_protobuf message = {.rest = answer};
    struct lk_protobuf_field field;
    uint64_t revision = 0;
    bool failed = false;

    while (lk_protobuf_next(&message, &field)) {
        if (field.field == HEADER) {
            revision = read_revision(field.bytes, &failed);
        }
    }
    return !failed && !message.failed && revision > 0;
}

size_t lk_etcd_count_rows(struct lk_slice answer) {
    struct lk_protobuf message = {.rest = answer};
    struct lk_protobuf_field field;
    size_t count = 0;

    while (lk_protobuf_next(&message, &field)) {
        count += field.field == RANGE_ROWS;
    }
    return count;
}

/* The first field of that number, of bytes; empty: there is none. */
static struct lk_slice find_bytes(struct lk_slice bytes, uint64_t number, bool *failed) {
    struct lk_protobuf message = {.rest = bytes};
    struct lk_protobuf_field field;

    while (lk_protobuf_next(&message, &field)) {
        if (field.field == number) {
            return field.bytes;
        }
    }
    *failed = *failed || message.failed;
    return (struct lk_slice){NULL, 0};
}

bool lk_etcd_read_txn(struct lk_slice answer, struct lk_etcd_txn_answer *ret_answer) {
    struct lk_protobuf message = {.rest = answer};
    struct lk_protobuf_field field;
    struct lk_slice response = {NULL, 0}; /* the first one */
    bool failed = false;

    *ret_answer = (struct lk_etcd_txn_answer){.is_done = false};
    while (lk_protobuf_next(&message, &field)) {
        if (field.field == HEADER) {
            ret_answer->revision = read_revision(field.bytes, &failed);
        } else if (field.field == TXN_SUCCEEDED) {
            ret_answer->is_done = field.number != 0;
        } else if (field.field == TXN_RESPONSES && response.bytes == NULL) {
            response = field.bytes;
        }
    }
    if (!ret_answer->is_done) {
        struct lk_protobuf range = {.rest = find_bytes(response, RESPONSE_RANGE, &failed)};

        ret_answer->has_row = lk_etcd_next_row(&range, &ret_answer->row);
        failed = failed || range.failed;
    }
    return !failed && !message.failed && ret_answer->revision > 0;
}

struct lk_slice lk_etcd_read_text(struct lk_slice answer) {
    bool failed = false;

    return find_bytes(answer, TEXT, &failed);
}
