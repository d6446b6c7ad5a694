/* SPDX-License-Identifier: Apache-2.0 */
/* Routes about the service itself, its events, and the page at /. */
#include "server/http/routes.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "server/http/http.h"
#include "server/http/openapi.h"

static const char *header_of(struct evhttp_request *request, const char *name) {
    return evhttp_find_header(evhttp_request_get_input_headers(request), name);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* A browser that connects again repeats the URL: what it has seen last counts more than `after`. */
static lk_outcome read_last_event(struct evhttp_request *request, struct lk_draft *draft,
                                  lk_error *error) {
    const char *text = header_of(request, "Last-Event-ID");
    char *end;

    if (text == NULL) {
        return LK_OK;
    }
    draft->after = (int64_t)(strtoull(text, &end, 10) & INT64_MAX);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0'
               ? LK_OK
               : lk_error_set(error, LK_INVALID, "Last-Event-ID must be a number");
}

static void follow(struct lk_http_listener *listener, struct evhttp_request *request,
                   const struct lk_http_route *route) {
    struct evkeyvalq fields;
    lk_error error;
    lk_outcome outcome;

    TAILQ_INIT(&fields);
    lk_draft_begin(&listener->draft, route->command);
    outcome = lk_http_read_query(&listener->draft, request, &fields, &error);
    if (outcome == LK_OK) {
        outcome = read_last_event(request, &listener->draft, &error);
    }
    if (outcome == LK_OK) {
        outcome = lk_draft_parse(&listener->draft, &listener->call, &error);
    }
    if (outcome == LK_OK && !lk_core_leads(lk_server_core(listener->server))) {
        if (lk_http_move(listener, request)) {
            evhttp_clear_headers(&fields);
            return;
        }
        outcome = lk_error_set(&error, LK_UNAVAILABLE, LK_CORE_LEADS_NOT);
    }
    if (outcome == LK_OK) {
        outcome = lk_http_events_open(listener, request, &listener->call.selection, &error);
    }
    if (outcome != LK_OK) {
        lk_http_refuse(listener, request, lk_answer_http_status(outcome), outcome, error.text);
    }
    evhttp_clear_headers(&fields);
}

/* ---- the service itself ---------------------------------------------------------------------- */

static void answer_text(struct lk_http_listener *listener, struct evhttp_request *request,
                        const struct lk_http_route *route) {
    struct lk_http_reply reply = {.status = HTTP_OK, .type = route->types[0]};

    lk_buffer_add_text(&reply.body, "ok\n");
    lk_http_reply_send(listener, request, &reply);
}

static void ask_core(struct lk_http_listener *listener, struct evhttp_request *request,
                     const struct lk_command_spec *command) {
    listener->context.command = command;
    listener->context.user = listener->user;
    listener->call = (struct lk_call){
        .kind = LK_CALL_INFO,
        .right = command->right,
        .user = listener->user,
    };
    lk_http_call(listener, request);
}

static void answer_ready(struct lk_http_listener *listener, struct evhttp_request *request,
                         const struct lk_http_route *route) {
    ask_core(listener, request, route->command);
}

static void answer_metrics(struct lk_http_listener *listener, struct evhttp_request *request,
                           const struct lk_http_route *route) {
    bool is_open = lk_http_prefers_open_metrics(header_of(request, "Accept"));

    ask_core(listener, request, is_open ? &lk_http_open_metrics : route->command);
}

static void answer_description(struct lk_http_listener *listener, struct evhttp_request *request,
                               const struct lk_http_route *route) {
    struct lk_http_reply reply = {.status = HTTP_OK, .type = route->types[0]};
    struct evkeyvalq fields;
    lk_error error;
    lk_outcome outcome;

    TAILQ_INIT(&fields);
    lk_draft_begin(&listener->draft, route->command);
    outcome = lk_http_read_query(&listener->draft, request, &fields, &error);
    if (outcome == LK_OK) {
        lk_http_openapi_write(&reply.body);
        lk_http_reply_send(listener, request, &reply);
    } else {
        lk_http_refuse(listener, request, lk_answer_http_status(outcome), outcome, error.text);
    }
    evhttp_clear_headers(&fields);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct lk_command_spec events = {
    .name = "events",
    .kind = LK_CALL_EVENTS,
    .operands = LK_OPERANDS_PREFIX,
    .keywords = UINT64_C(1) << LK_WORD_AFTER,
    .shape = LK_SHAPE_EVENTS,
    .right = LK_RIGHT_WATCH,
    .method = "GET",
    .route = "/v1/events",
    .summary = "Follows events as server-sent events",
};

static const struct lk_command_spec description = {
    .name = "openapi",
    .right = LK_RIGHT_USER,
    .method = "GET",
    .route = "/v1/openapi.json",
    .summary = "Returns this description",
};

static const struct lk_command_spec health = {
    .name = "healthz",
    .right = LK_RIGHT_OPEN,
    .method = "GET",
    .route = "/healthz",
    .summary = "Tells whether the service is alive",
};

static const char of_text[] = "text/plain; charset=utf-8";

const struct lk_http_route lk_http_routes[] = {
    {.command = &events, .run = follow, .types = {"text/event-stream"}},
    {.command = &description,
     .run = answer_description,
     .takes_head = true,
     .types = {"application/json"}},
    {.command = &lk_http_metrics,
     .run = answer_metrics,
     .takes_head = true,
     .types = {LK_HTTP_METRICS_TYPE, LK_HTTP_OPEN_METRICS_TYPE}},
    {.command = &health,
     .run = answer_text,
     .takes_head = true,
     .needs_no_password = true,
     .types = {of_text}},
    {.command = &lk_http_ready,
     .run = answer_ready,
     .takes_head = true,
     .can_be_unready = true,
     .types = {of_text}},
};
const size_t lk_http_route_count = sizeof lk_http_routes / sizeof lk_http_routes[0];

const struct lk_http_route *lk_http_route_find(const char *path) {
    for (size_t i = 0; i < lk_http_route_count; i++) {
        if (strcmp(lk_http_routes[i].command->route, path) == 0) {
            return &lk_http_routes[i];
        }
    }
    return NULL;
}

void lk_http_refuse_method(struct lk_http_listener *listener, struct evhttp_request *request,
                           const char *allowed) {
    (void)evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", allowed);
    lk_http_refuse(listener, request, HTTP_BADMETHOD, LK_INVALID,
                   "method not allowed for this route");
}

void lk_http_route_run(struct lk_http_listener *listener, struct evhttp_request *request,
                       const struct lk_http_route *route) {
    enum evhttp_cmd_type method = evhttp_request_get_command(request);

    if (method == EVHTTP_REQ_GET || (route->takes_head && method == EVHTTP_REQ_HEAD)) {
        route->run(listener, request, route);
    } else {
        lk_http_refuse_method(listener, request, route->takes_head ? "GET, HEAD" : "GET");
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

/*
 * GET /: the files of the page, with the headers that confine it. Its scripts and styles are these
 * files and no others, it connects to this service alone, no other site can frame it, and a browser
 * runs no text of the store as a script.
 */

static const char *const headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
     "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'; trusted-types 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-cache"}, /* kept, and asked for again by its tag */
};

const struct lk_http_page_file *lk_http_page_find(const char *path) {
    for (size_t i = 0; i < lk_http_page_file_count; i++) {
        if (strcmp(lk_http_page_files[i].path, path) == 0) {
            return &lk_http_page_files[i];
        }
    }
    return NULL;
}

static void add_header(struct evhttp_request *request, const char *name, const char *value) {
    (void)evhttp_add_header(evhttp_request_get_output_headers(request), name, value);
}

static void add_headers(struct evhttp_request *request, const struct lk_http_page_file *file) {
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        add_header(request, headers[i][0], headers[i][1]);
    }
    add_header(request, "ETag", file->tag);
}

/* evhttp omits the length where there is no body. */
static void add_length(struct evhttp_request *request, size_t size) {
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%zu", size);
    add_header(request, "Content-Length", digits);
}

/* Of a list of tags it is enough that one is the file's: a tag has no byte that could mislead. */
static bool is_known(struct evhttp_request *request, const struct lk_http_page_file *file) {
    const char *tags =
        evhttp_find_header(evhttp_request_get_input_headers(request), "If-None-Match");

    return tags != NULL && strstr(tags, file->tag) != NULL;
}

/*
 * A client that has sent no password gets the file as well. Unlike other clients that are being
 * answered it may be evicted meanwhile, because it may read as slowly as it likes.
 */
static void begin_reply(struct lk_http_listener *listener, struct evhttp_request *request,
                        size_t size) {
    struct lk_http_client *client = lk_http_client_of(listener, request);

    if (client == NULL) {
        return;
    }
    lk_http_client_reply_begun(client, request, size);
    if (!client->is_admitted) {
        lk_admission_protect(&listener->clients.admission, &client->pending, false);
        add_header(request, "Connection", "close");
    }
}

void lk_http_page_send(struct lk_http_listener *listener, struct evhttp_request *request,
                       const struct lk_http_page_file *file) {
    enum evhttp_cmd_type method = evhttp_request_get_command(request);
    struct evbuffer *body;

    if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
        add_header(request, "Allow", "GET, HEAD");
        lk_http_refuse(listener, request, HTTP_BADMETHOD, LK_INVALID,
                       "method not allowed for this route");
        return;
    }
    add_headers(request, file);
    if (is_known(request, file)) {
        begin_reply(listener, request, 0);
        evhttp_send_reply(request, HTTP_NOTMODIFIED, NULL, NULL);
        return;
    }
    add_header(request, "Content-Type", file->type);
    begin_reply(listener, request, method == EVHTTP_REQ_GET ? file->size : 0);
    body = method == EVHTTP_REQ_GET ? evbuffer_new() : NULL;
    if (method == EVHTTP_REQ_HEAD) {
        add_length(request, file->size);
        evhttp_send_reply(request, HTTP_OK, NULL, NULL);
    } else if (body == NULL
               || evbuffer_add_reference(body, file->bytes, file->size, NULL, NULL) != 0) {
        evhttp_send_reply(request, HTTP_INTERNAL, NULL, NULL);
    } else {
        evhttp_send_reply(request, HTTP_OK, NULL, body);
    }
    if (body != NULL) {
        evbuffer_free(body);
    }
}
