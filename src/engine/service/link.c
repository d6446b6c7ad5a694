/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a service: its bytes, its messages, and how it begins. */
#include "engine/service/link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/socket.h"
#include "engine/service/command_builder.h"

enum { RECEIVE_BYTES = 16 * 1024 };

/* ---- waiting --------------------------------------------------------------------------------- */

static lk_outcome outcome_of(int problem) {
    return problem == 0 ? LK_OK : problem == ECANCELED ? LK_CANCELLED : LK_UNAVAILABLE;
}

static lk_outcome await(int descriptor, short events, const struct lk_patience *patience) {
    return outcome_of(lk_socket_await(descriptor, events, patience->until_us, patience->waker));
}

/* ---- bytes ----------------------------------------------------------------------------------- */

lk_outcome lk_service_link_send(struct lk_service_link *link, struct lk_slice bytes,
                                const struct lk_patience *patience) {
    return outcome_of(lk_tls_client_send_all(link->tls, link->descriptor, bytes, patience->until_us,
                                             patience->waker));
}

/* Reads the bytes that have arrived, or blocks until some do. */
static lk_outcome receive_more(struct lk_service_link *link, const struct lk_patience *patience) {
    for (;;) {
        char *room = lk_buffer_reserve(&link->received, RECEIVE_BYTES);
        size_t size = link->received.capacity - link->received.size;
        short events;
        ssize_t count;
        lk_outcome outcome;

        if (room == NULL) {
            return LK_INTERNAL;
        }
        count = lk_tls_client_receive(link->tls, link->descriptor, room, size, &events);
        if (count > 0) {
            link->received.size += (size_t)count;
            return LK_OK;
        }
        if (count == 0 || errno != EAGAIN) {
            return LK_UNAVAILABLE;
        }
        outcome = await(link->descriptor, events, patience);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
}

/* Whether what has come cannot be a reply: a program that is no service has sent it. */
static bool is_foreign(struct lk_slice input) {
    return input.size > 0 && memchr("+-:$*%~_#,(=>!|", input.bytes[0], 15) == NULL;
}

static lk_outcome receive_any(struct lk_service_link *link, const struct lk_patience *patience,
                              struct lk_slice *ret_reply) {
    struct lk_resp_measure measure = {.size = 0};

    for (;;) {
        struct lk_slice input = {.bytes = link->received.bytes, .size = link->received.size};
        enum lk_resp_step step = lk_resp_reply_measure(input, LK_SERVICE_REPLY_BYTES_MAX, &measure);
        lk_outcome outcome;

        if (step == LK_RESP_BAD) {
            return link->is_open && is_foreign(input) ? LK_UNAVAILABLE : LK_INTERNAL;
        }
        if (step == LK_RESP_DONE) {
            link->reply_size = measure.size;
            *ret_reply = (struct lk_slice){.bytes = input.bytes, .size = measure.size};
            return LK_OK;
        }
        outcome = receive_more(link, patience);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
}

lk_outcome lk_service_link_receive(struct lk_service_link *link, const struct lk_patience *patience,
                                   struct lk_slice *ret_reply) {
    struct lk_slice reply;
    lk_outcome outcome;

    do {
        lk_buffer_consume(&link->received, link->reply_size);
        link->reply_size = 0;
        outcome = receive_any(link, patience, &reply);
    } while (outcome == LK_OK && reply.bytes[0] == '>');
    if (outcome == LK_OK) {
        *ret_reply = reply;
    }
    return outcome;
}

bool lk_service_link_is_quiet(const struct lk_service_link *link) {
    struct pollfd polled = {.fd = link->descriptor, .events = POLLIN};

    if (link->received.size != link->reply_size) {
        return false;
    }
    /* Over TLS what has arrived need not be an answer: the server may have sent a ticket. */
    return link->tls == NULL ? poll(&polled, 1, 0) == 0 : !lk_tls_session_is_readable(link->tls);
}

bool lk_service_link_is_over(const struct lk_service_link *link) {
    struct pollfd polled = {.fd = link->descriptor, .events = POLLRDHUP};

    return poll(&polled, 1, 0) != 0;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Returns an errno with *ret_why, or 0 with *ret_descriptor. */
static int dial_path(const char *path, const struct lk_patience *patience, int *ret_descriptor,
                     const char **ret_why) {
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    int problem;

    memcpy(place.sun_path, path, strlen(path) + 1);
    problem = lk_socket_connect((const struct sockaddr *)&place, sizeof place, patience->until_us,
                                patience->waker, ret_descriptor);
    *ret_why = strerror(problem);
    return problem;
}

/* LK_OK with *ret_descriptor. */
static lk_outcome dial(const struct lk_service_address *address, const struct lk_patience *patience,
                       int *ret_descriptor, lk_error *error) {
    char name[LK_SERVICE_ADDRESS_TEXT_BYTES];
    const char *why;
    int problem = address->is_local
                      ? dial_path(address->host, patience, ret_descriptor, &why)
                      : lk_socket_dial(address->host, address->port, patience->until_us,
                                       patience->waker, ret_descriptor, &why);

    if (problem == 0) {
        return LK_OK;
    }
    if (problem == ECANCELED) {
        return lk_error_clear(error, LK_CANCELLED);
    }
    lk_service_address_write(address, name);
    return lk_error_set(error, problem == EACCES ? LK_DENIED : LK_UNAVAILABLE, "%s: %s", name, why);
}

/* ---- handshake ------------------------------------------------------------------------------- */

static lk_outcome exchange(struct lk_service_link *link, struct lk_builder *builder,
                           const struct lk_patience *patience, struct lk_resp_cursor *ret_cursor,
                           struct lk_resp_value *ret_head) {
    struct lk_slice request;
    struct lk_slice reply;
    lk_outcome outcome = lk_builder_end(builder, &request) ? LK_OK : LK_INTERNAL;

    if (outcome == LK_OK) {
        outcome = lk_service_link_send(link, request, patience);
    }
    if (outcome == LK_OK) {
        outcome = lk_service_link_receive(link, patience, &reply);
    }
    lk_builder_done(builder);
    if (outcome != LK_OK) {
        return outcome;
    }
    *ret_cursor = (struct lk_resp_cursor){.reply = reply};
    return lk_resp_cursor_next(ret_cursor, ret_head) ? LK_OK : LK_INTERNAL;
}

/* Whether the answer to HELLO names a Lockkeeper service, or no server at all. */
static bool is_service(struct lk_resp_cursor *cursor, const struct lk_resp_value *map) {
    struct lk_resp_value name;
    struct lk_resp_value value;
    size_t left = map->kind == LK_RESP_MAP ? map->count : map->count / 2;

    while (left-- > 0 && lk_resp_cursor_next(cursor, &name)
           && lk_resp_cursor_next(cursor, &value)) {
        if (lk_slice_equal(name.text, lk_slice_of("server"))) {
            return lk_slice_equal(value.text, lk_slice_of("lockkeeper"));
        }
        lk_resp_cursor_skip(cursor, &value);
    }
    return true;
}

static bool begins_with(struct lk_slice text, const char *word) {
    size_t size = strlen(word);

    return text.size >= size && memcmp(text.bytes, word, size) == 0;
}

static lk_outcome refuse_plain(lk_error *error) {
    return lk_error_set(error, LK_UNSUPPORTED, "this port is TLS: use lks:// in place of lk://");
}

static lk_outcome explain_refusal(const struct lk_service_link *link, struct lk_slice text,
                                  lk_error *error) {
    const char *scheme = link->tls != NULL ? "lks" : "lk";
    bool is_away = begins_with(text, "UNAVAILABLE") || begins_with(text, "FULL");
    bool is_denied = begins_with(text, "DENIED"); /* else it is no service: that says which */

    if (begins_with(text, "NOAUTH")) {
        return lk_error_set(error, LK_DENIED,
                            "the service wants a password: %s://HOST:PORT?password-file=FILE, or "
                            "%s://:PASSWORD@HOST:PORT, of a user %s://USER:PASSWORD@HOST:PORT",
                            scheme, scheme, scheme);
    }
    if (begins_with(text, "ERR this port is TLS")) {
        return refuse_plain(error);
    }
    if (begins_with(text, "ERR AUTH <password> called without any password configured.")) {
        return lk_error_set(error, LK_DENIED,
                            "the service has no password: leave USER:PASSWORD@ out of the URL, and "
                            "the options user, password and password-file");
    }
    if (begins_with(text, "WRONGPASS")) {
        return lk_error_set(error, LK_DENIED,
                            "the service refuses the password of the URL (special characters are "
                            "written as %%XX)");
    }
    return lk_error_set(error,
                        is_away     ? LK_UNAVAILABLE
                        : is_denied ? LK_DENIED
                                    : LK_UNSUPPORTED,
                        "%.*s", (int)text.size, text.bytes);
}

/* For services without HELLO 3: version 2 of the protocol, which only needs the login. */
static lk_outcome handshake_resp2(struct lk_service_link *link,
                                  const struct lk_service_login *login,
                                  const struct lk_patience *patience, lk_error *error) {
    struct lk_builder builder = {.count = 0};
    struct lk_resp_cursor cursor;
    struct lk_resp_value head;
    lk_outcome outcome;

    if (login->password[0] == '\0') {
        return LK_OK;
    }
    lk_builder_add_text(&builder, "AUTH");
    lk_builder_add_text(&builder, login->user[0] != '\0' ? login->user : "default");
    lk_builder_add_text(&builder, login->password);
    outcome = exchange(link, &builder, patience, &cursor, &head);
    if (outcome == LK_OK && head.kind == LK_RESP_ERROR) {
        return explain_refusal(link, head.text, error);
    }
    return outcome;
}

static lk_outcome handshake(struct lk_service_link *link, const struct lk_service_login *login,
                            const struct lk_patience *patience, lk_error *error) {
    struct lk_builder builder = {.count = 0};
    struct lk_resp_cursor cursor;
    struct lk_resp_value head;
    lk_outcome outcome;

    lk_builder_add_text(&builder, "HELLO");
    lk_builder_add_text(&builder, "3");
    if (login->password[0] != '\0') {
        lk_builder_add_text(&builder, "AUTH");
        lk_builder_add_text(&builder, login->user[0] != '\0' ? login->user : "default");
        lk_builder_add_text(&builder, login->password);
    }
    outcome = exchange(link, &builder, patience, &cursor, &head);
    if (outcome != LK_OK) {
        return outcome;
    }
    if (head.kind == LK_RESP_ERROR) {
        return begins_with(head.text, "NOPROTO") || begins_with(head.text, "ERR unknown")
                   ? handshake_resp2(link, login, patience, error)
                   : explain_refusal(link, head.text, error);
    }
    return is_service(&cursor, &head)
               ? LK_OK
               : lk_error_set(error, LK_UNSUPPORTED,
                              "the server at this address is not a Lockkeeper service");
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static struct lk_tls_peer peer_of(const char *name) {
    return (struct lk_tls_peer){.name = name,
                                .kind = "the service",
                                .scheme = "lks",
                                .plain = "lk",
                                .authorities = "--tls-ca"};
}

static lk_outcome begin_tls(struct lk_service_link *link, struct lk_tls_context *context,
                            const struct lk_patience *patience, lk_error *error) {
    char name[LK_SERVICE_ADDRESS_TEXT_BYTES] = "";
    const struct lk_tls_peer peer = peer_of(name);

    lk_service_address_write(&link->address, name);
    link->tls = lk_tls_session_connect(context, link->descriptor, link->address.host);
    return link->tls != NULL ? lk_tls_client_begin(link->tls, link->descriptor, &peer,
                                                   patience->until_us, patience->waker, error)
                             : lk_error_set(error, LK_INTERNAL, "no memory for a connection");
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* The outcome of the handshake as it is, or what is known of its failure. */
static lk_outcome explain_silence(const struct lk_service_link *link,
                                  const struct lk_service_address *address, lk_outcome outcome,
                                  lk_error *error) {
    enum { TLS_RECORD_OF_ALERT = 0x15 };
    const struct lk_slice received = {link->received.bytes, link->received.size};
    char name[LK_SERVICE_ADDRESS_TEXT_BYTES] = "";
    const struct lk_tls_peer peer = peer_of(name);
    lk_outcome known;

    if (outcome != LK_UNAVAILABLE && outcome != LK_INTERNAL) {
        return outcome;
    }
    lk_service_address_write(address, name);
    known = lk_tls_client_explain(link->tls, &peer, error);
    if (known != LK_OK) {
        return known;
    }
    if (link->tls == NULL && received.size > 0 && received.bytes[0] == TLS_RECORD_OF_ALERT) {
        return refuse_plain(error);
    }
    if (begins_with(received, "HTTP/")) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "%s: this is HTTP: name the port of the service's --listen, which is "
                            "%s unless it says otherwise",
                            name, LK_SERVICE_PORT_DEFAULT);
    }
    if (outcome == LK_INTERNAL && received.size > 0) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "%s: the server at this address is not a Lockkeeper service", name);
    }
    return lk_error_set(error, outcome, "%s: %s", name,
                        outcome == LK_UNAVAILABLE ? "connected, but the server did not answer"
                                                  : "no memory for the handshake");
}

lk_outcome lk_service_link_open(const struct lk_service_address *address,
                                const struct lk_service_login *login, struct lk_tls_context *tls,
                                const struct lk_patience *patience,
                                struct lk_service_link **ret_link, lk_error *error) {
    struct lk_service_link *link = calloc(1, sizeof *link);
    lk_outcome outcome;

    if (link == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a connection");
    }
    link->descriptor = -1;
    link->address = *address;
    lk_error_clear(error, LK_OK);
    outcome = dial(address, patience, &link->descriptor, error);
    if (outcome == LK_OK && tls != NULL) {
        outcome = begin_tls(link, tls, patience, error);
    }
    if (outcome == LK_OK) {
        outcome = explain_silence(link, address, handshake(link, login, patience, error), error);
    }
    if (outcome != LK_OK) {
        lk_service_link_close(link);
        return outcome;
    }
    link->is_open = true;
    *ret_link = link;
    return LK_OK;
}

void lk_service_link_close(struct lk_service_link *link) {
    if (link != NULL) {
        lk_tls_session_free(link->tls);
        if (link->descriptor >= 0) {
            (void)close(link->descriptor);
        }
        lk_buffer_done(&link->received);
        free(link);
    }
}

/* Raw bytes, also of TLS: none of them is of use any more. */
void lk_service_link_hang_up(struct lk_service_link *link, int64_t until_us) {
    const struct lk_patience patience = {.until_us = until_us};
    char ignored[RECEIVE_BYTES];
    ssize_t count = 1;

    (void)shutdown(link->descriptor, SHUT_WR);
    while (count != 0 && await(link->descriptor, POLLIN, &patience) == LK_OK
           && lk_clock_now_us() < until_us) {
        count = recv(link->descriptor, ignored, sizeof ignored, 0);
        if (count < 0 && errno != EAGAIN && errno != EINTR) {
            break;
        }
    }
    lk_service_link_close(link);
}
