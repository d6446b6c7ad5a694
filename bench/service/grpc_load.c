/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of HTTP/2 (RFC 9113), with headers that use nothing of the connection (RFC 7541). */
#include "grpc_load.h"

#include <string.h>

#include "../bench.h"

enum { HEAD_BYTES = 9, TYPE_AT = 3, FLAGS_AT = 4, STREAM_AT = 5 }; /* of a frame */
enum { DATA = 0, HEADERS = 1, END_STREAM = 1, END_HEADERS = 4 };

/* What a connection begins with: windows that no answer fills, and that the server's settings are
 * agreed to. */
static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                              "\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff"
                              "\0\0\4\x8\0\0\0\0\0\x7f\xff\0\0"
                              "\0\0\0\4\1\0\0\0\0";
enum { PREFACE_BYTES = sizeof preface - 1 };

/* Literals without an index, names of the static table (4, 1 and 31) or as they are. */
static void add_headers(struct lk_buffer *out, const char *path) {
    static const char rest[] = "\x01\x09localhost"
                               "\x0f\x10\x10"
                               "application/grpc"
                               "\0\x02te\x08trailers";
    const char size = (char)strlen(path);

    lk_buffer_add(out, "\x83\x86\x04", 3); /* POST, http, and the name of the path */
    lk_buffer_add(out, &size, 1);
    lk_buffer_add_text(out, path);
    lk_buffer_add(out, rest, sizeof rest - 1);
}

/* The head is filled in at `at`, when what follows it is there. */
static void end_frame(struct lk_buffer *out, size_t at, char kind, char flags) {
    size_t size = out->size - at - HEAD_BYTES;
    const char head[HEAD_BYTES] = {(char)(size >> 16), (char)(size >> 8), (char)size, kind, flags};

    if (!out->failed) {
        memcpy(out->bytes + at, head, sizeof head);
    }
}

void grpc_load_render(struct load_request *request, const char *path,
                      const struct lk_buffer *message) {
    static const char room[HEAD_BYTES];
    const char prefix[] = {0, 0, 0, (char)(message->size >> 8), (char)message->size};
    struct lk_buffer out = {.max = LOAD_REQUEST_BYTES - PREFACE_BYTES};
    size_t at;

    lk_buffer_add(&out, room, sizeof room);
    add_headers(&out, path);
    end_frame(&out, 0, HEADERS, END_HEADERS);
    at = out.size;
    lk_buffer_add(&out, room, sizeof room);
    lk_buffer_add(&out, prefix, sizeof prefix);
    lk_buffer_add(&out, message->bytes, message->size);
    end_frame(&out, at, DATA, END_STREAM);
    if (out.failed || message->failed) {
        bench_give_up("a request of more than %d bytes", LOAD_REQUEST_BYTES);
    }
    memcpy(request->bytes, out.bytes, out.size);
    request->size = out.size;
    lk_buffer_done(&out);
}

static size_t size_at(const char *frame) {
    const unsigned char *bytes = (const unsigned char *)frame;

    return (size_t)bytes[0] << 16 | (size_t)bytes[1] << 8 | bytes[2];
}

static void remove_preface(struct load_request *request) {
    if (request->bytes[0] == preface[0]) {
        request->size -= PREFACE_BYTES;
        memmove(request->bytes, request->bytes + PREFACE_BYTES, request->size);
    }
}

void grpc_load_renew(struct load_request *request, uint64_t index) {
    const uint32_t stream = (uint32_t)(2 * index + 1);

    remove_preface(request);
    for (size_t at = 0; at < request->size; at += HEAD_BYTES + size_at(request->bytes + at)) {
        for (int i = 0; i < 4; i++) {
            request->bytes[at + STREAM_AT + (size_t)i] = (char)(stream >> (24 - 8 * i));
        }
    }
    if (index == 0) {
        memmove(request->bytes + PREFACE_BYTES, request->bytes, request->size);
        memcpy(request->bytes, preface, PREFACE_BYTES);
        request->size += PREFACE_BYTES;
    }
}

/* All frames up to the one that ends the stream of the call, of which there is one at a time. */
size_t grpc_load_reply_size(const char *bytes, size_t size) {
    for (size_t at = 0; size - at >= HEAD_BYTES;) {
        size_t end = at + HEAD_BYTES + size_at(bytes + at);
        bool is_of_call = bytes[at + TYPE_AT] == DATA || bytes[at + TYPE_AT] == HEADERS;

        if (end > size) {
            break;
        }
        if (is_of_call && (bytes[at + FLAGS_AT] & END_STREAM) != 0) {
            return end;
        }
        at = end;
    }
    return 0;
}

bool grpc_load_has_message(const char *reply, size_t size) {
    for (size_t at = 0; size - at >= HEAD_BYTES; at += HEAD_BYTES + size_at(reply + at)) {
        if (reply[at + TYPE_AT] == DATA) {
            return true;
        }
    }
    return false;
}
