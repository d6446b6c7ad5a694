/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcd as a lock service: by its gateway, in its own protocol, and by its own locks. Calls of gRPC
 * are frames of HTTP/2 (RFC 9113), with headers that use nothing of the connection (RFC 7541), as
 * bytes that are said as they are, each call on the next stream of its connection. So the load is
 * no dearer than one of plain HTTP.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"
#include "server/store/etcd/client.h"
#include "sides.h"

/* ---- calls of gRPC --------------------------------------------------------------------------- */

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

/* A call of a method with its message. */
static void grpc_load_render(struct load_request *request, const char *path,
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

/* For struct load_protocol. */
static void grpc_load_renew(struct load_request *request, uint64_t index) {
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
static size_t grpc_load_reply_size(const char *bytes, size_t size) {
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

/* Whether a reply has a message: that of an error has none. */
static bool grpc_load_has_message(const char *reply, size_t size) {
    for (size_t at = 0; size - at >= HEAD_BYTES; at += HEAD_BYTES + size_at(reply + at)) {
        if (reply[at + TYPE_AT] == DATA) {
            return true;
        }
    }
    return false;
}

/* ---- the service ----------------------------------------------------------------------------- */

enum { PATH_BYTES = 512 };

static struct peer start_etcd(const char *folder) {
    char data[PATH_BYTES];
    char client[64];
    char peers[64];
    char cluster[80];
    char log[PATH_BYTES];
    int port = peer_port();
    char *arguments[] = {"etcd",  "--data-dir",
                         data,    "--listen-client-urls",
                         client,  "--advertise-client-urls",
                         client,  "--listen-peer-urls",
                         peers,   "--initial-advertise-peer-urls",
                         peers,   "--initial-cluster",
                         cluster, NULL};

    (void)snprintf(data, sizeof data, "%s/etcd", folder);
    (void)snprintf(client, sizeof client, "http://127.0.0.1:%d", port);
    (void)snprintf(peers, sizeof peers, "http://127.0.0.1:%d", peer_port());
    (void)snprintf(cluster, sizeof cluster, "default=%s", peers);
    (void)snprintf(log, sizeof log, "%s/etcd.log", folder);
    return peer_start(arguments, port, log);
}

static void render_http(struct load_request *request, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void render_http(struct load_request *request, const char *path, const char *format, ...) {
    char body[LOAD_REQUEST_BYTES];
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(body, sizeof body, format, arguments);
    va_end(arguments);
    request->size = (size_t)snprintf(
        request->bytes, sizeof request->bytes,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", path, size, body);
}

/* Keys are base64 of "k" and five digits, which is eight characters without padding. */
static void write_key(size_t number, char ret_key[9]) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[8];

    (void)snprintf(text, sizeof text, "k%05zu", number % 100000);
    for (int i = 0; i < 2; i++) {
        unsigned bits = (unsigned)text[i * 3] << 16 | (unsigned)text[i * 3 + 1] << 8
                        | (unsigned)text[i * 3 + 2];
        for (int k = 0; k < 4; k++) {
            ret_key[i * 4 + k] = digits[bits >> (18 - 6 * k) & 63];
        }
    }
    ret_key[8] = '\0';
}

static void request_etcd(const void *context, size_t number, size_t step,
                         struct load_request *ret_request) {
    char key[9];

    (void)context;
    write_key(number, key);
    if (step == 0) {
        render_http(ret_request, "/v3/kv/txn",
                    "{\"compare\":[{\"key\":\"%s\",\"target\":\"CREATE\",\"create_revision\":\"0\"}"
                    "],\"success\":[{\"request_put\":{\"key\":\"%s\",\"value\":\"b3duZXI=\"}}]}",
                    key, key);
    } else {
        render_http(ret_request, "/v3/kv/deleterange", "{\"key\":\"%s\"}", key);
    }
}

static bool expect_etcd(size_t step, const char *reply, size_t size) {
    const char *wanted = step == 0 ? "\"succeeded\":true" : "\"deleted\":\"1\"";

    return memmem(reply, size, wanted, strlen(wanted)) != NULL;
}

const struct lock_service lock_service_etcd = {
    .name = "etcd (JSON gateway)",
    .program = "etcd",
    .start = start_etcd,
    .protocol = {load_http_reply_size, expect_etcd},
    .step_count = 2,
    .request = request_etcd,
};

/* The same in etcd's own protocol. */
static void request_etcd_grpc(const void *context, size_t number, size_t step,
                              struct load_request *ret_request) {
    struct lk_buffer message = {.max = LOAD_REQUEST_BYTES};
    char key[16];

    (void)context;
    (void)snprintf(key, sizeof key, "k%05zu", number % 100000);
    if (step == 0) {
        lk_etcd_add_compare(&message, key, 0);
        lk_etcd_add_put(&message, key, lk_slice_of("owner"));
        grpc_load_render(ret_request, "/etcdserverpb.KV/Txn", &message);
    } else {
        lk_protobuf_add_text(&message, 1, key);
        grpc_load_render(ret_request, "/etcdserverpb.KV/DeleteRange", &message);
    }
    lk_buffer_done(&message);
}

/* Both answers say by the number 1 in their second field that they have done it. */
static bool expect_etcd_grpc(size_t step, const char *reply, size_t size) {
    (void)step;
    return memmem(reply, size, "\x10\x01", 2) != NULL;
}

const struct lock_service lock_service_etcd_grpc = {
    .name = "etcd (gRPC)",
    .program = "etcd",
    .start = start_etcd,
    .protocol = {grpc_load_reply_size, expect_etcd_grpc, grpc_load_renew},
    .step_count = 2,
    .request = request_etcd_grpc,
};

/* ---- etcd's locks ---------------------------------------------------------------------------- */

enum { LEASE = 7, LEASE_S = 86400 };

void lock_service_etcd_grant(const struct peer *etcd) {
    enum { PATIENCE_US = 5000000 };
    struct lk_etcd_client *client = NULL;
    struct lk_buffer message = {.max = 0};
    struct lk_slice answer;
    lk_error error = {.text = "memory is exhausted"};
    char url[64];

    (void)snprintf(url, sizeof url, "etcd://127.0.0.1:%d", etcd->port);
    lk_protobuf_add_number(&message, 1, LEASE_S);
    lk_protobuf_add_number(&message, 2, LEASE);
    if (message.failed || lk_etcd_client_new(url, PATIENCE_US, &client, &error) != LK_OK
        || lk_etcd_call(client, "/etcdserverpb.Lease/LeaseGrant",
                        (struct lk_slice){message.bytes, message.size}, NULL, &answer, &error)
               != LK_OK) {
        bench_give_up("no lease of etcd's: %s", error.text);
    }
    lk_buffer_done(&message);
    lk_etcd_client_free(client);
}

/* A lock's key is its name, a slash, and the lease of the holder. */
static void request_etcd_locks(const void *context, size_t number, size_t step,
                               struct load_request *ret_request) {
    struct lk_buffer message = {.max = LOAD_REQUEST_BYTES};
    char name[24];

    (void)context;
    (void)snprintf(name, sizeof name, step == 0 ? "lock%05zu" : "lock%05zu/%x", number % 100000,
                   LEASE);
    lk_protobuf_add_text(&message, 1, name);
    if (step == 0) {
        lk_protobuf_add_number(&message, 2, LEASE);
    }
    grpc_load_render(ret_request, step == 0 ? "/v3lockpb.Lock/Lock" : "/v3lockpb.Lock/Unlock",
                     &message);
    lk_buffer_done(&message);
}

static bool expect_etcd_locks(size_t step, const char *reply, size_t size) {
    return grpc_load_has_message(reply, size)
           && (step == 1 || memmem(reply, size, "/7", 2) != NULL);
}

const struct lock_service lock_service_etcd_locks = {
    .name = "etcd's locks (gRPC)",
    .program = "etcd",
    .start = start_etcd,
    .protocol = {grpc_load_reply_size, expect_etcd_locks, grpc_load_renew},
    .step_count = 2,
    .request = request_etcd_locks,
};
