/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream of HTTP/2 for each call. The request's headers and its message go out together, before
 * anything is waited for: so a call that fits in the peer's window takes one round trip.
 */
#include "server/store/etcd/grpc.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/library.h"
#include "base/text.h"
#include "server/store/etcd/nghttp2_functions.h"

enum {
    PREFIX_BYTES = 5, /* of a message: whether it is compressed, and its size */
    ANSWER_BYTES_MAX = 256 * 1024 * 1024,
    WINDOW_BYTES = 16 * 1024 * 1024, /* that the peer may send before it is told that they came */
    RECEIVE_BYTES = 64 * 1024,
    STATUS_OK = 200,
    HEAD_BYTES = 4, /* the size of a frame, and its type */
    TYPE_AT = 3,
};

struct lk_nghttp2 lk_nghttp2;

lk_outcome lk_nghttp2_load(lk_error *error) {
    static const char *const names[] = {LK_NGHTTP2_NAMES};
    static struct lk_library library = {
        .file = "libnghttp2.so.14",
        .package = "libnghttp2-14",
        .user = "a store in etcd",
        .names = names,
        .table = &lk_nghttp2,
        .count = sizeof names / sizeof names[0],
    };

    return lk_library_load(&library, error);
}

struct lk_grpc {
    struct lk_tls_context *tls;
    const struct lk_etcd_endpoint *endpoint; /* of the connection; NULL: there is none */
    struct lk_etcd_stream stream;
    nghttp2_session *session;
    struct lk_buffer out;
    char received[RECEIVE_BYTES];
    char head[HEAD_BYTES]; /* of the first frame that the peer has sent */
    size_t head_size;

    /* Of the call that is under way. */
    int32_t id;
    struct lk_slice message;
    size_t sent; /* of its prefix and the message */
    struct lk_buffer answer;
    bool is_over;
    uint32_t problem; /* with which the stream ended; 0: none */
    unsigned long status;
    unsigned long code;
    bool has_code;
    char text[LK_GRPC_TEXT_BYTES];
};

/* ---- what nghttp2 calls ---------------------------------------------------------------------- */

static void write_prefix(const struct lk_grpc *grpc, char prefix[PREFIX_BYTES]) {
    uint32_t size = (uint32_t)grpc->message.size;

    prefix[0] = 0; /* not compressed */
    for (int i = PREFIX_BYTES - 1; i > 0; i--, size >>= 8) {
        prefix[i] = (char)(size & 0xff);
    }
}

/* The next bytes of the message that is sent, its prefix first. */
static ssize_t give_message(nghttp2_session *session, int32_t id, uint8_t *room, size_t capacity,
                            uint32_t *flags, nghttp2_data_source *source, void *context) {
    struct lk_grpc *grpc = context;
    size_t size = 0;
    char prefix[PREFIX_BYTES];

    (void)session;
    (void)id;
    (void)source;
    write_prefix(grpc, prefix);
    while (size < capacity && grpc->sent < PREFIX_BYTES) {
        room[size++] = (uint8_t)prefix[grpc->sent++];
    }
    if (size < capacity) {
        size_t at = grpc->sent - PREFIX_BYTES;
        size_t left = grpc->message.size - at;
        size_t count = left < capacity - size ? left : capacity - size;

        if (count > 0) {
            memcpy(room + size, grpc->message.bytes + at, count);
        }
        size += count;
        grpc->sent += count;
    }
    if (grpc->sent == PREFIX_BYTES + grpc->message.size) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)size;
}

static bool is_named(const uint8_t *name, size_t size, const char *wanted) {
    return lk_slice_equal((struct lk_slice){(const char *)name, size}, lk_slice_of(wanted));
}

static bool read_number(const uint8_t *text, size_t size, unsigned long *ret_number) {
    enum { DIGITS_MAX = 9 };

    *ret_number = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || size > DIGITS_MAX) {
            return false;
        }
        *ret_number = *ret_number * 10 + (unsigned long)(text[i] - '0');
    }
    return size > 0;
}

/* The message of a status has bytes as %XX. */
static void keep_text(struct lk_grpc *grpc, struct lk_slice text) {
    if (!lk_percent_decode(text, grpc->text, sizeof grpc->text)) {
        (void)snprintf(grpc->text, sizeof grpc->text, "%.*s", (int)text.size, text.bytes);
    }
}

static int take_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                       size_t name_size, const uint8_t *value, size_t size, uint8_t flags,
                       void *context) {
    struct lk_grpc *grpc = context;

    (void)session;
    (void)flags;
    if (frame->hd.stream_id != grpc->id) {
        return 0;
    }
    if (is_named(name, name_size, ":status")) {
        (void)read_number(value, size, &grpc->status);
    } else if (is_named(name, name_size, "grpc-status")) {
        grpc->has_code = read_number(value, size, &grpc->code);
    } else if (is_named(name, name_size, "grpc-message")) {
        keep_text(grpc, (struct lk_slice){(const char *)value, size});
    }
    return 0;
}

static int take_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                     size_t size, void *context) {
    struct lk_grpc *grpc = context;

    (void)session;
    (void)flags;
    if (id == grpc->id) {
        lk_buffer_add(&grpc->answer, bytes, size);
    }
    return grpc->answer.failed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int take_end(nghttp2_session *session, int32_t id, uint32_t problem, void *context) {
    struct lk_grpc *grpc = context;

    (void)session;
    if (id == grpc->id) {
        grpc->is_over = true;
        grpc->problem = problem;
    }
    return 0;
}

/* ---- the connection -------------------------------------------------------------------------- */

struct lk_grpc *lk_grpc_new(struct lk_tls_context *tls) {
    struct lk_grpc *grpc = calloc(1, sizeof *grpc);

    if (grpc != NULL) {
        grpc->tls = tls;
        grpc->stream.descriptor = -1;
        grpc->answer.max = ANSWER_BYTES_MAX;
    }
    return grpc;
}

static void disconnect(struct lk_grpc *grpc) {
    if (grpc->session != NULL) {
        nghttp2_session_del(grpc->session);
    }
    grpc->session = NULL;
    grpc->endpoint = NULL;
    lk_etcd_stream_close(&grpc->stream);
}

void lk_grpc_free(struct lk_grpc *grpc) {
    if (grpc != NULL) {
        disconnect(grpc);
        lk_buffer_done(&grpc->out);
        lk_buffer_done(&grpc->answer);
        free(grpc);
    }
}

static bool begin_session(struct lk_grpc *grpc) {
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES},
    };
    nghttp2_session_callbacks *callbacks = NULL;
    bool is_begun = nghttp2_session_callbacks_new(&callbacks) == 0;

    if (is_begun) {
        nghttp2_session_callbacks_set_on_header_callback(callbacks, take_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, take_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, take_end);
        is_begun = nghttp2_session_client_new(&grpc->session, callbacks, grpc) == 0;
        nghttp2_session_callbacks_del(callbacks);
    }
    return is_begun
           && nghttp2_submit_settings(grpc->session, NGHTTP2_FLAG_NONE, settings,
                                      sizeof settings / sizeof settings[0])
                  == 0
           && nghttp2_session_set_local_window_size(grpc->session, NGHTTP2_FLAG_NONE, 0,
                                                    WINDOW_BYTES)
                  == 0;
}

static bool connect_to(struct lk_grpc *grpc, const struct lk_grpc_call *call,
                       char why[LK_ETCD_WHY_BYTES]) {
    disconnect(grpc);
    grpc->head_size = 0;
    if (!lk_etcd_stream_open(&grpc->stream, call->endpoint, grpc->tls, call->until_us, why)) {
        return false;
    }
    if (!begin_session(grpc)) {
        (void)snprintf(why, LK_ETCD_WHY_BYTES, "memory is exhausted");
        return false;
    }
    grpc->endpoint = call->endpoint;
    return true;
}

/* Sends all that the session has to send, and that the peer's windows have room for. */
static bool flush(struct lk_grpc *grpc, int64_t until_us, char why[LK_ETCD_WHY_BYTES]) {
    const uint8_t *bytes;
    ssize_t count;

    do {
        lk_buffer_cut(&grpc->out, 0);
        while ((count = nghttp2_session_mem_send(grpc->session, &bytes)) > 0) {
            lk_buffer_add(&grpc->out, bytes, (size_t)count);
        }
        if (count < 0 || grpc->out.failed) {
            (void)snprintf(why, LK_ETCD_WHY_BYTES, "%s",
                           count < 0 ? nghttp2_strerror((int)count) : "memory is exhausted");
            return false;
        }
        if (!lk_etcd_stream_send(&grpc->stream, (struct lk_slice){grpc->out.bytes, grpc->out.size},
                                 until_us, why)) {
            return false;
        }
    } while (grpc->out.size > 0);
    return true;
}

static void keep_head(struct lk_grpc *grpc, size_t size) {
    for (size_t i = 0; i < size && grpc->head_size < sizeof grpc->head; i++) {
        grpc->head[grpc->head_size++] = grpc->received[i];
    }
}

/* Whether the peer speaks something else: HTTP/2 begins with a frame of settings. */
static bool is_foreign(const struct lk_grpc *grpc) {
    return grpc->head_size == sizeof grpc->head && grpc->head[TYPE_AT] != NGHTTP2_SETTINGS;
}

/* Receives what is there before `until_us`. 1: something was; 0: nothing; -1: see `why`. */
static int receive(struct lk_grpc *grpc, int64_t until_us, char why[LK_ETCD_WHY_BYTES]) {
    ssize_t size =
        lk_etcd_stream_receive(&grpc->stream, grpc->received, sizeof grpc->received, until_us, why);
    ssize_t taken;

    if (size < 0 && grpc->head_size == 0 && grpc->tls == NULL) {
        (void)snprintf(why, LK_ETCD_WHY_BYTES,
                       "it has closed the connection; if it has TLS, name it as etcds://");
    }
    if (size <= 0) {
        return (int)size;
    }
    keep_head(grpc, (size_t)size);
    if (is_foreign(grpc)) {
        (void)snprintf(why, LK_ETCD_WHY_BYTES, "it does not speak HTTP/2");
        return -1;
    }
    taken = nghttp2_session_mem_recv(grpc->session, (const uint8_t *)grpc->received, (size_t)size);
    if (taken < 0) {
        (void)snprintf(why, LK_ETCD_WHY_BYTES, "%s", nghttp2_strerror((int)taken));
    }
    return taken < 0 ? -1 : 1;
}

/* Whether the next call can go over the connection. What has arrived in between is taken first. */
static bool is_usable(struct lk_grpc *grpc) {
    char why[LK_ETCD_WHY_BYTES];
    int result = 1;

    while (result > 0) {
        result = receive(grpc, 0, why);
    }
    return result == 0 && nghttp2_session_check_request_allowed(grpc->session) != 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static nghttp2_nv header(const char *name, const char *value, uint8_t flags) {
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value),
                        .flags = flags};
}

static bool submit(struct lk_grpc *grpc, const struct lk_grpc_call *call) {
    const nghttp2_nv headers[] = {
        header(":method", "POST", NGHTTP2_NV_FLAG_NONE),
        header(":scheme", grpc->tls != NULL ? "https" : "http", NGHTTP2_NV_FLAG_NONE),
        header(":path", call->path, NGHTTP2_NV_FLAG_NONE),
        header(":authority", call->endpoint->text, NGHTTP2_NV_FLAG_NONE),
        header("content-type", "application/grpc", NGHTTP2_NV_FLAG_NONE),
        header("te", "trailers", NGHTTP2_NV_FLAG_NONE),
        header("user-agent", "lockkeeper", NGHTTP2_NV_FLAG_NONE),
        header("token", call->token != NULL ? call->token : "", NGHTTP2_NV_FLAG_NO_INDEX),
    };
    const size_t count = sizeof headers / sizeof headers[0] - (call->token == NULL);
    const nghttp2_data_provider provider = {.read_callback = give_message};

    grpc->message = call->message;
    grpc->sent = 0;
    grpc->is_over = grpc->has_code = false;
    grpc->problem = 0;
    grpc->status = grpc->code = 0;
    grpc->text[0] = '\0';
    lk_buffer_cut(&grpc->answer, 0);
    grpc->answer.failed = false;
    grpc->id = nghttp2_submit_request(grpc->session, NULL, headers, count, &provider, NULL);
    return grpc->id > 0;
}

/* Until the stream has ended. */
static bool converse(struct lk_grpc *grpc, const struct lk_grpc_call *call,
                     char why[LK_ETCD_WHY_BYTES]) {
    if (!submit(grpc, call)) {
        (void)snprintf(why, LK_ETCD_WHY_BYTES, "memory is exhausted");
        return false;
    }
    if (!flush(grpc, call->until_us, why)) {
        return false;
    }
    if (call->meanwhile != NULL) {
        call->meanwhile(call->context);
    }
    while (!grpc->is_over) {
        int result = receive(grpc, call->until_us, why);

        if (result == 0) {
            (void)snprintf(why, LK_ETCD_WHY_BYTES, "there was no answer in time");
        }
        if (result <= 0 || !flush(grpc, call->until_us, why)) {
            return false;
        }
    }
    return true;
}

/* The message within the answer: there must be one, as it is. */
static bool read_message(const struct lk_grpc *grpc, struct lk_slice *ret_message) {
    const unsigned char *bytes = (const unsigned char *)grpc->answer.bytes;
    size_t size;

    if (grpc->answer.size < PREFIX_BYTES || bytes[0] != 0) {
        return false;
    }
    size = (size_t)bytes[1] << 24 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 8 | bytes[4];
    *ret_message = (struct lk_slice){grpc->answer.bytes + PREFIX_BYTES, size};
    return size == grpc->answer.size - PREFIX_BYTES;
}

static enum lk_grpc_result read_answer(struct lk_grpc *grpc, struct lk_grpc_answer *ret_answer) {
    ret_answer->code = (unsigned)grpc->code;
    if (grpc->has_code && grpc->code != LK_GRPC_OK) {
        (void)snprintf(ret_answer->text, sizeof ret_answer->text, "%s", grpc->text);
        return LK_GRPC_ANSWERED;
    }
    if (grpc->has_code && grpc->status == STATUS_OK && read_message(grpc, &ret_answer->message)) {
        return LK_GRPC_ANSWERED;
    }
    if (grpc->status != 0 && !grpc->has_code && grpc->problem == 0) {
        (void)snprintf(ret_answer->text, sizeof ret_answer->text, "status %lu of HTTP",
                       grpc->status);
        disconnect(grpc);
        return LK_GRPC_NO_GRPC;
    }
    (void)snprintf(ret_answer->text, sizeof ret_answer->text, "its answer was cut off");
    disconnect(grpc);
    return LK_GRPC_NO_ANSWER;
}

enum lk_grpc_result lk_grpc_do(struct lk_grpc *grpc, const struct lk_grpc_call *call,
                               struct lk_grpc_answer *ret_answer) {
    char why[LK_ETCD_WHY_BYTES] = "";
    enum lk_grpc_result result;
    bool is_open;

    *ret_answer = (struct lk_grpc_answer){.code = LK_GRPC_UNAVAILABLE};
    if (lk_clock_now_us() >= call->until_us) {
        (void)snprintf(ret_answer->text, sizeof ret_answer->text, "no time is left");
        return LK_GRPC_NO_ANSWER;
    }
    is_open = grpc->endpoint == call->endpoint && is_usable(grpc);
    if ((is_open || connect_to(grpc, call, why)) && converse(grpc, call, why)) {
        return read_answer(grpc, ret_answer);
    }
    result = is_foreign(grpc) ? LK_GRPC_NO_GRPC : LK_GRPC_NO_ANSWER;
    (void)snprintf(ret_answer->text, sizeof ret_answer->text, "%s", why);
    disconnect(grpc);
    return result;
}
