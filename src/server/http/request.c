/* SPDX-License-Identifier: Apache-2.0 */
/* Access checks, routing and parsing of HTTP requests. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "command/fields.h"
#include "server/http/grab/grab.h"
#include "server/http/http.h"
#include "server/http/routes.h"

enum {
    OWNER_BYTES_MAX = 64,
};

static const char *header_of(struct evhttp_request *request, const char *name) {
    return evhttp_find_header(evhttp_request_get_input_headers(request), name);
}

/* ---- where a request ends -------------------------------------------------------------------- */

static size_t count_headers(struct evhttp_request *request, const char *name) {
    const struct evkeyval *header;
    size_t count = 0;

    TAILQ_FOREACH(header, evhttp_request_get_input_headers(request), next) {
        count += strcasecmp(header->key, name) == 0;
    }
    return count;
}

/* A blank before the colon hides a header from a search for its name. */
static bool has_hidden_header(struct evhttp_request *request) {
    const struct evkeyval *header;

    TAILQ_FOREACH(header, evhttp_request_get_input_headers(request), next) {
        if (header->key[0] == '\0' || header->key[strcspn(header->key, " \t")] != '\0') {
            return true;
        }
    }
    return false;
}

/*
 * Whether every program on the way reads the same request, with the same last byte. If a proxy in
 * front of the service and evhttp disagreed, a second request could be smuggled behind the first.
 */
static bool is_unambiguous(struct evhttp_request *request) {
    enum evhttp_cmd_type method = evhttp_request_get_command(request);
    const char *length = header_of(request, "Content-Length");
    const char *encoding = header_of(request, "Transfer-Encoding");

    if (count_headers(request, "Host") > 1 || count_headers(request, "Content-Length") > 1
        || count_headers(request, "Transfer-Encoding") > 1 || has_hidden_header(request)
        || (length != NULL && strspn(length, "0123456789") != strlen(length))
        || (encoding != NULL && strcasecmp(encoding, "chunked") != 0)
        || (header_of(request, "Host") == NULL && request->minor > 0)) {
        return false;
    }
    /* evhttp takes a body of these methods for the next request, whatever the headers say. */
    return (method != EVHTTP_REQ_HEAD && method != EVHTTP_REQ_TRACE)
           || (encoding == NULL && (length == NULL || strspn(length, "0") == strlen(length)));
}

static void refuse_ambiguous(struct lk_http_listener *listener, struct evhttp_request *request) {
    (void)evhttp_add_header(evhttp_request_get_output_headers(request), "Connection", "close");
    lk_http_refuse(listener, request, HTTP_BADREQUEST, LK_INVALID,
                   "ambiguous request: see Host, Content-Length or Transfer-Encoding (chunked "
                   "only), blanks in the names of headers, sizes of chunks, control bytes, and "
                   "lines that do not end in CR LF");
}

/* ---- access ---------------------------------------------------------------------------------- */

/* The host of a Host header, without its port. */
static struct lk_slice host_of(const char *header) {
    const char *end = header[0] == '[' ? strchr(header, ']') : strchr(header, ':');

    if (header[0] == '[' && end != NULL) {
        end++;
    }
    return (struct lk_slice){.bytes = header,
                             .size = end != NULL ? (size_t)(end - header) : strlen(header)};
}

/* A numeric address is safe: no name server decides where it leads. */
static bool is_address(struct lk_slice host) {
    size_t digits = 0;

    while (digits < host.size && strchr("0123456789.", host.bytes[digits]) != NULL) {
        digits++;
    }
    return host.size > 0 && (host.bytes[0] == '[' || digits == host.size);
}

/* Whether the host, with its port or without, is one of those given by --allow-host. */
static bool is_allowed(const struct lk_http_listener *listener, struct lk_slice name,
                       bool has_port) {
    const struct lk_server_options *options = lk_server_options_of(listener->server);

    for (size_t i = 0; i < options->host_count; i++) {
        const char *allowed = options->hosts[i];
        struct lk_slice compared = has_port ? lk_slice_of(allowed) : host_of(allowed);
        if (compared.size == name.size && strncasecmp(compared.bytes, name.bytes, name.size) == 0) {
            return true;
        }
    }
    return false;
}

/* The host after `http://` or `https://`; NULL: another kind of origin. */
static const char *origin_host(const char *origin, bool *ret_is_plain) {
    static const char plain[] = "http://";
    static const char encrypted[] = "https://";

    *ret_is_plain = strncasecmp(origin, plain, strlen(plain)) == 0;
    if (*ret_is_plain) {
        return origin + strlen(plain);
    }
    return strncasecmp(origin, encrypted, strlen(encrypted)) == 0 ? origin + strlen(encrypted)
                                                                  : NULL;
}

/*
 * Rejects DNS rebinding and cross-site requests. A page whose own name resolves to this service
 * sends that name as its Host, and a page that merely sends a request here sends its own name as
 * the Origin. An https origin means a proxy that the service does not know, unless its name was
 * configured, or the listener itself has TLS.
 */
static bool is_from_here(const struct lk_http_listener *listener, struct evhttp_request *request) {
    const char *host = header_of(request, "Host");
    const char *origin = header_of(request, "Origin");
    bool is_plain;

    if (host != NULL && listener->is_checking_host) {
        struct lk_slice name = host_of(host);
        if (!is_address(name) && !lk_word_is(name, "localhost")
            && !lk_slice_equal(name, host_of(lk_server_options_of(listener->server)->http_listen))
            && !is_allowed(listener, name, false)) {
            return false;
        }
    }
    if (origin == NULL) {
        return true;
    }
    origin = origin_host(origin, &is_plain);
    return origin != NULL
           && ((is_plain == (listener->handshakes.context == NULL) && host != NULL
                && strcasecmp(origin, host) == 0)
               || is_allowed(listener, lk_slice_of(origin), true));
}

/* ---- parsing --------------------------------------------------------------------------------- */

static const char *method_name(enum evhttp_cmd_type method) {
    switch (method) {
    case EVHTTP_REQ_GET:
    case EVHTTP_REQ_HEAD:
        return "GET";
    case EVHTTP_REQ_POST:
        return "POST";
    case EVHTTP_REQ_PUT:
        return "PUT";
    case EVHTTP_REQ_DELETE:
        return "DELETE";
    default:
        return "";
    }
}

/* The sources of a draft, which borrows from all of them until the call is made. */
struct sources {
    struct lk_draft_body *body;
    struct evkeyvalq query;
    char *path; /* decoded */
    char owner[OWNER_BYTES_MAX];
};

/* The fields must be empty; their texts end at the first NUL. */
static lk_outcome parse_query(struct evhttp_request *request, struct evkeyvalq *fields,
                              lk_error *error) {
    const char *text = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request));

    if (text == NULL || text[0] == '\0') {
        return LK_OK;
    }
    if (strstr(text, "%00") != NULL || evhttp_parse_query_str(text, fields) != 0) {
        return lk_error_set(error, LK_INVALID, "the query must be NAME=VALUE&... without NULs");
    }
    return LK_OK;
}

lk_outcome lk_http_read_query(struct lk_draft *draft, struct evhttp_request *request,
                              struct evkeyvalq *ret_fields, lk_error *error) {
    const struct evkeyval *field;
    lk_outcome outcome = parse_query(request, ret_fields, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    TAILQ_FOREACH(field, ret_fields, next) {
        if (lk_member_place_of(draft->command) != LK_MEMBER_IN_QUERY) {
            return lk_error_set(error, LK_INVALID,
                                "%s has its fields in its body, and none in its query",
                                draft->command->route);
        }
        outcome =
            lk_draft_set_text(draft, lk_slice_of(field->key), lk_slice_of(field->value), error);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
    return LK_OK;
}

/* The body as one contiguous slice. */
static struct lk_slice body_of(struct evhttp_request *request) {
    struct evbuffer *buffer = evhttp_request_get_input_buffer(request);
    size_t size = evbuffer_get_length(buffer);

    return (struct lk_slice){.bytes = size > 0 ? (const char *)evbuffer_pullup(buffer, -1) : "",
                             .size = size};
}

/* Whether each % begins an encoded byte; evhttp would keep other ones literally. */
static bool is_encoded(struct lk_slice text) {
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] == '%'
            && (text.size - i < 3 || lk_hexadecimal(text.bytes[i + 1]) < 0
                || lk_hexadecimal(text.bytes[i + 2]) < 0)) {
            return false;
        }
    }
    return true;
}

/* `QUEUE/ID`: an id is one segment. */
static bool split_id(struct lk_draft *draft) {
    struct lk_slice whole = draft->path;
    size_t at = whole.size;

    while (at > 0 && whole.bytes[at - 1] != '/') {
        at--;
    }
    if (at < 2 || at == whole.size) {
        return false;
    }
    draft->path.size = at - 1;
    return lk_draft_add_id(draft, (struct lk_slice){whole.bytes + at, whole.size - at}, NULL)
           == LK_OK;
}

/* Reads the path after the route, and the body where it is the value. */
static lk_outcome read_url(struct lk_draft *draft, struct evhttp_request *request,
                           struct lk_slice rest, struct sources *sources, lk_error *error) {
    char *encoded;
    size_t size = 0;

    if (!is_encoded(rest)) {
        return lk_error_set(error, LK_INVALID,
                            "a %% in a path must be followed by two hexadecimal digits");
    }
    if (rest.size > 0) {
        encoded = strndup(rest.bytes, rest.size);
        sources->path = encoded != NULL ? evhttp_uridecode(encoded, 0, &size) : NULL;
        free(encoded);
        if (sources->path == NULL) {
            return lk_error_set(error, LK_INTERNAL, "no memory for the path");
        }
        draft->has_path = true;
        draft->path = (struct lk_slice){.bytes = sources->path, .size = size};
    }
    if (lk_command_has_id(draft->command) && !split_id(draft)) {
        return lk_error_set(error, LK_INVALID, "the path must be QUEUE/ID");
    }
    if (draft->command->operands == LK_OPERANDS_PATH_VALUE) {
        draft->value = body_of(request);
    }
    return LK_OK;
}

/* A request without an owner gets a fresh one, which the answer names. */
static void fill_in_defaults(struct lk_draft *draft, struct sources *sources) {
    bool asks = lk_command_decides(draft->command, LK_COMMAND_ASK)
                || lk_command_decides(draft->command, LK_COMMAND_TAKE);

    if (asks && draft->owner.size == 0) {
        (void)snprintf(sources->owner, sizeof sources->owner, "http:%016" PRIx64 "%016" PRIx64,
                       lk_random_draw(), lk_random_draw());
        draft->owner = lk_slice_of(sources->owner);
    }
    if (lk_command_decides(draft->command, LK_COMMAND_BREAK) && draft->by.size == 0) {
        draft->by = lk_slice_of("http");
    }
}

static lk_outcome read_draft(struct lk_http_listener *listener, struct evhttp_request *request,
                             struct lk_slice rest, struct sources *sources, lk_error *error) {
    struct lk_draft *draft = &listener->draft;
    bool is_post = evhttp_request_get_command(request) == EVHTTP_REQ_POST;
    lk_outcome outcome = is_post
                             ? lk_draft_read_json(draft, body_of(request), &sources->body, error)
                             : read_url(draft, request, rest, sources, error);

    if (outcome == LK_OK) {
        outcome = lk_http_read_query(draft, request, &sources->query, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    fill_in_defaults(draft, sources);
    outcome = lk_draft_parse(draft, &listener->call, error);
    if (outcome == LK_OK) {
        listener->call.user = listener->user;
        lk_reply_context_fill(&listener->context, draft, &listener->call);
    }
    return outcome;
}

static void run_command(struct lk_http_listener *listener, struct evhttp_request *request,
                        const struct lk_command_spec *command, struct lk_slice rest) {
    struct sources sources = {.body = NULL};
    lk_error error;
    lk_outcome outcome;

    TAILQ_INIT(&sources.query);
    lk_draft_begin(&listener->draft, command);
    outcome = read_draft(listener, request, rest, &sources, &error);
    if (outcome == LK_OK) {
        lk_http_call(listener, request);
    } else {
        lk_http_refuse(listener, request, lk_answer_http_status(outcome), outcome, error.text);
    }
    lk_draft_body_free(sources.body);
    evhttp_clear_headers(&sources.query);
    free(sources.path);
}

/* ---- routes ---------------------------------------------------------------------------------- */

static bool is_json(const char *type) {
    static const char json[] = "application/json";
    size_t size = strlen(json);

    return type != NULL && strncasecmp(type, json, size) == 0
           && (type[size] == '\0' || type[size] == ';' || type[size] == ' ');
}

/* The route has no such method. */
static void refuse_method_of_command(struct lk_http_listener *listener,
                                     struct evhttp_request *request, const char *path) {
    static const char *const methods[] = {"GET", "POST", "PUT", "DELETE"};
    char allowed[sizeof "GET, POST, PUT, DELETE"];
    struct lk_text text = lk_text_in(allowed, sizeof allowed);
    struct lk_slice rest;
    bool is_known;

    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (lk_command_find_route(lk_slice_of(methods[i]), lk_slice_of(path), &rest, &is_known)
            != NULL) {
            lk_text_format(&text, "%s%s", text.size > 0 ? ", " : "", methods[i]);
        }
    }
    lk_http_refuse_method(listener, request, allowed);
}

static void run_route(struct lk_http_listener *listener, struct evhttp_request *request,
                      const char *path) {
    enum evhttp_cmd_type type = evhttp_request_get_command(request);
    const char *method = method_name(type);
    const struct lk_http_route *route = lk_http_route_find(path);
    struct lk_slice rest;
    bool is_known;
    const struct lk_command_spec *command =
        lk_command_find_route(lk_slice_of(method), lk_slice_of(path), &rest, &is_known);

    if (route != NULL) {
        lk_http_route_run(listener, request, route);
    } else if (lk_http_grab_is_route(listener, path)) {
        lk_http_grab_handle(listener, request, path);
    } else if (!is_known) {
        lk_http_refuse(listener, request, HTTP_NOTFOUND, LK_INVALID, "unknown route");
    } else if (command == NULL || type == EVHTTP_REQ_HEAD) {
        refuse_method_of_command(listener, request, path);
    } else if (type == EVHTTP_REQ_POST && !is_json(header_of(request, "Content-Type"))) {
        lk_http_refuse(listener, request, LK_HTTP_UNSUPPORTED_TYPE, LK_INVALID,
                       "the Content-Type of a POST must be application/json");
    } else if (type == EVHTTP_REQ_PUT && body_of(request).size > LK_VALUE_BYTES_MAX) {
        lk_http_refuse(listener, request, LK_HTTP_TOO_LARGE, LK_INVALID,
                       "R15: a value has at most 65536 bytes");
    } else {
        run_command(listener, request, command, rest);
    }
}

static int socket_of(struct evhttp_request *request) {
    return bufferevent_getfd(
        evhttp_connection_get_bufferevent(evhttp_request_get_connection(request)));
}

static void refuse_surplus(struct lk_http_listener *listener, struct evhttp_request *request) {
    lk_http_refused(listener, socket_of(request), LK_REFUSED_FULL);
    lk_http_refuse(listener, request, LK_HTTP_TOO_MANY, LK_FULL, "too many connections");
}

static void refuse_full(struct lk_http_listener *listener, struct evhttp_request *request) {
    lk_http_refuse(listener, request, LK_HTTP_TOO_MANY, LK_FULL,
                   "too many reply bytes are unread; try again later");
}

bool lk_http_is_health_check(const char *path) {
    return strcmp(path, "/healthz") == 0 || strcmp(path, "/readyz") == 0;
}

const char *lk_http_path(struct evhttp_request *request) {
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);

    return uri != NULL ? evhttp_uri_get_path(uri) : NULL;
}

void lk_http_run(struct lk_http_listener *listener, struct evhttp_request *request,
                 struct lk_http_client *client) {
    const char *path = lk_http_path(request);

    if (!lk_http_is_health_check(path) && !lk_http_client_admit(client)) {
        refuse_surplus(listener, request);
    } else if (!lk_http_is_health_check(path) && lk_server_is_full(listener->server)) {
        refuse_full(listener, request);
    } else {
        run_route(listener, request, path);
    }
}

/* The page needs no password, because it is what asks for it; else what any request needs. */
static void answer_page(struct lk_http_listener *listener, struct evhttp_request *request,
                        struct lk_http_client *client, const struct lk_http_page_file *file) {
    if (!listener->clients.has_password && !lk_http_client_admit(client)) {
        refuse_surplus(listener, request);
    } else if (lk_server_is_full(listener->server)) {
        refuse_full(listener, request);
    } else if (strcmp(file->path, "/") != 0 || !lk_http_move(listener, request)) {
        lk_http_page_send(listener, request, file);
    }
}

void lk_http_handle(struct evhttp_request *request, void *context) {
    struct lk_http_listener *listener = context;
    struct lk_http_client *client = lk_http_client_of(listener, request);
    const char *path = lk_http_path(request);
    const struct lk_http_page_file *page = path != NULL ? lk_http_page_find(path) : NULL;

    listener->user = NULL;
    if (client == NULL) {
        refuse_surplus(listener, request);
        return;
    }
    lk_http_client_request_received(client);
    if (lk_http_framing_is_bad(&client->framing, client->handled++) || !is_unambiguous(request)) {
        refuse_ambiguous(listener, request);
    } else if (path == NULL) {
        lk_http_refuse(listener, request, HTTP_BADREQUEST, LK_INVALID, "the request has no path");
    } else if (!is_from_here(listener, request)) {
        lk_http_refused(listener, client->socket, LK_REFUSED_ORIGIN);
        lk_http_refuse(listener, request, LK_HTTP_FORBIDDEN, LK_DENIED,
                       "cross-site request: see Host and Origin");
    } else if (page != NULL) {
        answer_page(listener, request, client, page);
    } else if (lk_http_authenticate(listener, request, client)) {
        lk_http_run(listener, request, client);
    }
}
