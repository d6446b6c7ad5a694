/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of HTTP: status, headers, body. */
#include "engine/reply/reply.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>

#include "base/error.h"
#include "server/http/grab/grab.h"
#include "server/http/http.h"

static const char of_json[] = "application/json";
static const char of_text[] = "text/plain; charset=utf-8";
static const char of_bytes[] = "application/octet-stream";

/* The metrics count over all paths. */
#define METRICS                                                                                    \
    .name = "metrics", .kind = LK_CALL_INFO, .right = LK_RIGHT_WATCH, .method = "GET",             \
    .route = "/metrics",                                                                           \
    .summary = "Returns metrics, as OpenMetrics where Accept prefers it, else for Prometheus"
const struct lk_command_spec lk_http_metrics = {METRICS};
const struct lk_command_spec lk_http_open_metrics = {METRICS};
const struct lk_command_spec lk_http_ready = {
    .name = "readyz",
    .kind = LK_CALL_INFO,
    .right = LK_RIGHT_OPEN,
    .method = "GET",
    .route = "/readyz",
    .summary = "Tells whether the store is loaded and can be written",
};

/* ---- sending --------------------------------------------------------------------------------- */

static void add_header(struct evhttp_request *request, const char *name, const char *value) {
    (void)evhttp_add_header(evhttp_request_get_output_headers(request), name, value);
}

/* The length of a body that is not sent (HEAD): evhttp would send it, and omit the length. */
static void add_length(struct evhttp_request *request, size_t size) {
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%zu", size);
    add_header(request, "Content-Length", digits);
}

/* The same request at the service that leads. */
static void add_location(const struct lk_http_listener *listener, struct evhttp_request *request) {
    const char *leader = lk_core_leader(lk_server_core(listener->server));
    const char *authority = leader != NULL ? strchr(leader, ' ') : NULL;
    const char *scheme = lk_server_options_of(listener->server)->tls != NULL ? "https" : "http";
    struct lk_buffer url = {.max = 0};

    lk_buffer_add_text(&url, scheme);
    lk_buffer_add_text(&url, "://");
    lk_buffer_add_text(&url, authority != NULL ? authority + 1 : "");
    lk_buffer_add_text(&url, evhttp_request_get_uri(request));
    lk_buffer_add(&url, "", 1);
    if (!url.failed && authority != NULL) {
        add_header(request, "Location", url.bytes);
    }
    lk_buffer_done(&url);
}

/* The reason phrase where libevent has none; NULL: libevent's own. */
static const char *reason_of(int status) {
    return status == LK_HTTP_TOO_MANY             ? "Too Many Requests"
           : status == LK_HTTP_TEMPORARY_REDIRECT ? "Temporary Redirect"
                                                  : NULL;
}

void lk_http_reply_send(struct lk_http_listener *listener, struct evhttp_request *request,
                        struct lk_http_reply *reply) {
    struct lk_http_client *client = lk_http_client_of(listener, request);
    struct evbuffer *body = evbuffer_new();
    int status = reply->body.failed || body == NULL ? HTTP_INTERNAL : reply->status;
    bool is_head = evhttp_request_get_command(request) == EVHTTP_REQ_HEAD;

    if (is_head && !reply->body.failed) {
        add_length(request, reply->body.size);
        add_header(request, "Content-Type", reply->type);
    } else if (body != NULL && !reply->body.failed) {
        (void)evbuffer_add(body, reply->body.bytes, reply->body.size);
        add_header(request, "Content-Type", reply->type);
    }
    if (reply->is_elsewhere) {
        add_location(listener, request);
    }
    if (reply->is_in_doubt) {
        add_header(request, "Lockkeeper-In-Doubt", "1");
    }
    add_header(request, "Cache-Control", "no-store");
    add_header(request, "X-Content-Type-Options", "nosniff");
    if (status == LK_HTTP_UNAUTHORIZED) {
        add_header(request, "WWW-Authenticate", "Basic realm=\"lockkeeper\"");
    }
    if (client != NULL) {
        lk_http_client_reply_begun(client, request, reply->body.size);
        /* A client without the password may send it in its next request; one beyond the bound is
         * closed. */
        if (!client->is_admitted && status != LK_HTTP_UNAUTHORIZED) {
            add_header(request, "Connection", "close");
        }
    }
    if (status == LK_HTTP_TOO_MANY) {
        add_header(request, "Retry-After", "1");
    }
    evhttp_send_reply(request, status, reason_of(status), body);
    if (body != NULL) {
        evbuffer_free(body);
    }
    lk_buffer_done(&reply->body);
}

void lk_http_refuse(struct lk_http_listener *listener, struct evhttp_request *request, int status,
                    lk_outcome outcome, const char *text) {
    struct lk_http_reply reply = {.status = status, .type = of_json};
    struct lk_form_writer writer = lk_form_writer_json(&reply.body);

    lk_answer_write_failure(&writer, outcome, text);
    lk_buffer_add(&reply.body, "\n", 1);
    lk_http_reply_send(listener, request, &reply);
}

bool lk_http_move(struct lk_http_listener *listener, struct evhttp_request *request) {
    const char *leader = lk_core_leader(lk_server_core(listener->server));
    struct lk_http_reply reply = {
        .status = LK_HTTP_TEMPORARY_REDIRECT, .type = of_json, .is_elsewhere = true};
    struct lk_form_writer writer = lk_form_writer_json(&reply.body);

    if (leader == NULL || strchr(leader, ' ') == NULL) {
        return false;
    }
    lk_answer_write_failure(&writer, LK_UNAVAILABLE, "another service leads this store");
    lk_buffer_add(&reply.body, "\n", 1);
    lk_http_reply_send(listener, request, &reply);
    return true;
}

void lk_http_refuse_without_password(struct lk_http_listener *listener,
                                     struct evhttp_request *request) {
    lk_http_refuse(listener, request, LK_HTTP_UNAUTHORIZED, LK_DENIED,
                   lk_server_logins(listener->server) != NULL ? "a user and its secret are needed"
                                                              : "a password is needed");
}

/* ---- replies of the core --------------------------------------------------------------------- */

static void fill_ready(const struct lk_http_listener *listener, const struct lk_reply *core_reply,
                       struct lk_http_reply *reply) {
    bool is_ready = core_reply->model != NULL && core_reply->answer->outcome == LK_OK;
    struct lk_core_stats core;

    lk_core_stats(lk_server_core(listener->server), &core);
    is_ready = is_ready && !core.cannot_write;
    reply->status = is_ready ? HTTP_OK : HTTP_SERVUNAVAIL;
    reply->type = of_text;
    lk_buffer_add_text(&reply->body, is_ready ? "ready\n" : "not ready\n");
    if (core_reply->leader != NULL) {
        lk_buffer_add_text(&reply->body, "another service leads: ");
        lk_buffer_add(&reply->body, core_reply->leader, strcspn(core_reply->leader, " "));
        lk_buffer_add_text(&reply->body, "\n");
    }
}

/*
 * A value is sent as it is. false: there is none, or an error occurred, which the body must report.
 */
static bool fill_value(const struct lk_reply_context *context, const struct lk_reply *core_reply,
                       struct lk_http_reply *reply) {
    struct lk_value_record record;
    lk_value_ref value;

    if (core_reply->answer->outcome != LK_OK) {
        return false;
    }
    value = lk_model_value(core_reply->model, &context->selection.path);
    if (value == 0) {
        return false;
    }
    lk_model_value_record(core_reply->model, value, &record);
    reply->status = HTTP_OK;
    reply->type = of_bytes;
    reply->is_in_doubt = record.in_doubt;
    lk_buffer_add_slice(&reply->body, record.bytes);
    return true;
}

/* Sends an error instead of the body. */
static void fill_too_large(struct lk_http_reply *reply) {
    struct lk_form_writer writer = lk_form_writer_json(&reply->body);
    size_t max = reply->body.max;
    lk_error error;

    lk_buffer_done(&reply->body);
    reply->body = (struct lk_buffer){.max = max};
    (void)lk_error_set(&error, LK_FULL, "the reply would exceed %zu bytes: ask for less", max);
    reply->status = lk_answer_http_status(LK_FULL);
    lk_answer_write_failure(&writer, LK_FULL, error.text);
    lk_buffer_add(&reply->body, "\n", 1);
}

void lk_http_reply_fill(const struct lk_http_listener *listener,
                        const struct lk_reply_context *context, const struct lk_reply *core_reply,
                        struct lk_http_reply *reply) {
    struct lk_form_writer writer = lk_form_writer_json(&reply->body);

    if (context->command->kind == LK_CALL_INFO && core_reply->answer->outcome == LK_DENIED) {
        reply->status = lk_answer_http_status(LK_DENIED);
        reply->type = of_json;
        lk_answer_write_failure(&writer, LK_DENIED, core_reply->answer->text);
        lk_buffer_add(&reply->body, "\n", 1);
    } else if (context->command == &lk_http_metrics || context->command == &lk_http_open_metrics) {
        lk_http_metrics_fill(listener, core_reply, context->command == &lk_http_open_metrics,
                             reply);
    } else if (context->command == &lk_http_ready) {
        fill_ready(listener, core_reply, reply);
    } else if (core_reply->leader != NULL && strchr(core_reply->leader, ' ') != NULL) {
        reply->status = LK_HTTP_TEMPORARY_REDIRECT;
        reply->type = of_json;
        reply->is_elsewhere = true;
        lk_answer_write_failure(&writer, LK_UNAVAILABLE, core_reply->answer->text);
        lk_buffer_add(&reply->body, "\n", 1);
    } else if (context->command == &lk_http_grab_command) {
        lk_http_grab_fill(listener, core_reply, reply);
    } else if (context->command->shape != LK_SHAPE_VALUE
               || !fill_value(context, core_reply, reply)) {
        reply->status = lk_answer_http_status(lk_answer_write(context, core_reply, &writer));
        reply->type = of_json;
        lk_buffer_add(&reply->body, "\n", 1);
        if (lk_form_writer_failed(&writer)) {
            fill_too_large(reply);
        }
    }
}
