/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /: the files of the page, with the headers that confine it. Its scripts and styles are these
 * files and no others, it connects to this service alone, no other site can frame it, and a browser
 * runs no text of the store as a script.
 */
#include "server/http/page.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>
#include <string.h>

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
