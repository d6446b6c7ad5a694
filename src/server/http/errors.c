/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The errors that evhttp itself answers: requests that it cannot parse, that are too large, or that
 * have a method it does not know. It answers them with a page of HTML before the listener knows of
 * the request, and libevent 2.1 has no callback for them. So the page is replaced where it appears:
 * in the buffer of what is to be sent, as long as the client's request has not been received.
 *
 * To a request that does not arrive in time evhttp gives no answer. It gets one here.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <strings.h>

#include "server/http/http.h"

enum { PAGE_BYTES_MAX = 4096, STATUS_AT = sizeof "HTTP/1.1 " - 1 };

static const char page[] = "<HTML>";

static const char *explain(int status) {
    switch (status) {
    case HTTP_BADREQUEST:
        return "malformed request, or a head of more than 16 KiB";
    case LK_HTTP_REQUEST_TIMEOUT:
        return "the request did not arrive in time";
    case LK_HTTP_TOO_LARGE:
        return "the body is larger than the service takes, or has malformed chunks";
    case LK_HTTP_EXPECTATION_FAILED:
        return "the only expectation that is met is 100-continue";
    case HTTP_NOTIMPLEMENTED:
        return "unknown method";
    default:
        return "the request was not understood";
    }
}

static bool begins_with(struct lk_slice line, const char *name) {
    size_t size = strlen(name);

    return line.size >= size && strncasecmp(line.bytes, name, size) == 0;
}

/* Copies the lines of the head, but for those about the body, which are replaced. */
static void write_head(struct lk_buffer *out, struct lk_slice head, size_t body_size) {
    while (head.size > 0) {
        const char *end = memchr(head.bytes, '\n', head.size);
        struct lk_slice line = {head.bytes,
                                end != NULL ? (size_t)(end - head.bytes) + 1 : head.size};

        if (line.size > 2 && !begins_with(line, "Content-Type:")
            && !begins_with(line, "Content-Length:")) {
            lk_buffer_add_slice(out, line);
        }
        head.bytes += line.size;
        head.size -= line.size;
    }
    lk_buffer_add_text(out, "Content-Type: application/json\r\nCache-Control: no-store\r\n"
                            "X-Content-Type-Options: nosniff\r\nContent-Length: ");
    lk_buffer_add_number(out, (int64_t)body_size);
    lk_buffer_add_text(out, "\r\n\r\n");
}

/* The reply in place of `head` and its page. */
static void write_reply(struct lk_buffer *out, struct lk_slice head) {
    int status = head.size > STATUS_AT ? (int)strtol(head.bytes + STATUS_AT, NULL, 10) : 0;
    struct lk_buffer body = {.max = 0};
    struct lk_form_writer writer = lk_form_writer_json(&body);

    lk_answer_write_failure(&writer, status == HTTP_NOTIMPLEMENTED ? LK_UNSUPPORTED : LK_INVALID,
                            explain(status));
    lk_buffer_add(&body, "\n", 1);
    write_head(out, head, body.size);
    lk_buffer_add(out, body.bytes, body.size);
    out->failed = out->failed || body.failed;
    lk_buffer_done(&body);
}

/* Where the last reply in the text begins: an interim one (100) may precede it. */
static const char *last_reply(const char *text, const char *end) {
    static const char begin[] = "HTTP/1.";
    const char *found = NULL;
    const char *next = text;

    while ((next = memmem(next, (size_t)(end - next), begin, sizeof begin - 1)) != NULL) {
        found = next++;
    }
    return found;
}

/* The start of a buffer of what is to be sent is frozen: only what writes it may take from it. */
static void empty(struct evbuffer *output) {
    (void)evbuffer_unfreeze(output, 1);
    (void)evbuffer_drain(output, evbuffer_get_length(output));
    (void)evbuffer_freeze(output, 1);
}

static void replace(struct evbuffer *output, size_t kept, const struct lk_buffer *reply) {
    struct evbuffer *interim = evbuffer_new();

    (void)evbuffer_unfreeze(output, 1);
    if (interim != NULL && evbuffer_remove_buffer(output, interim, kept) == (int)kept) {
        (void)evbuffer_drain(output, evbuffer_get_length(output));
        (void)evbuffer_add_buffer(output, interim);
        (void)evbuffer_add(output, reply->bytes, reply->size);
    }
    (void)evbuffer_freeze(output, 1);
    if (interim != NULL) {
        evbuffer_free(interim);
    }
}

void lk_http_errors_on_output(struct evbuffer *output, const struct evbuffer_cb_info *info,
                              void *context) {
    struct lk_http_client *client = context;
    size_t size = evbuffer_get_length(output);
    struct lk_buffer reply = {.max = 0};
    const char *text;
    const char *body;
    const char *head;

    if (info->n_added == 0 || client->is_replacing) {
        return;
    }
    if (client->is_told) {
        client->is_replacing = true;
        replace(output, info->orig_size, &reply);
        client->is_replacing = false;
        return;
    }
    if (client->late_reply != NULL) {
        empty(output); /* the reply is decided on */
        return;
    }
    if (size > PAGE_BYTES_MAX || client->in_list != &client->listener->clients.reading) {
        return;
    }
    text = (const char *)evbuffer_pullup(output, -1);
    body = text != NULL ? memmem(text, size, page, sizeof page - 1) : NULL;
    head = body != NULL ? last_reply(text, body) : NULL;
    if (head == NULL) {
        return;
    }
    write_reply(&reply, (struct lk_slice){head, (size_t)(body - head)});
    if (!reply.failed) {
        (void)lk_http_client_hold(client, &reply); /* which takes the reply, or leaves it */
        client->is_replacing = true;               /* what is added here is no reply of evhttp's */
        replace(output, (size_t)(head - text), &reply);
        client->is_replacing = false;
    }
    lk_buffer_done(&reply);
}

bool lk_http_errors_time_out(struct lk_http_client *client) {
    static const char head[] = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
    struct bufferevent *buffers = evhttp_connection_get_bufferevent(client->connection);
    struct evbuffer *output = bufferevent_get_output(buffers);
    struct lk_buffer reply = {.max = 0};
    bool is_sent = false;

    if (evbuffer_get_length(output) == 0 && !client->is_told) {
        write_reply(&reply, lk_slice_of(head));
        /* evhttp would take what still arrives for the rest of the request, or for the next one. */
        (void)bufferevent_disable(buffers, EV_READ);
        bufferevent_setcb(buffers, NULL, NULL, NULL, NULL);
        client->is_replacing = true;
        is_sent = !reply.failed && evbuffer_add(output, reply.bytes, reply.size) == 0;
        client->is_replacing = false;
        (void)bufferevent_enable(buffers, EV_WRITE);
    }
    lk_buffer_done(&reply);
    return is_sent;
}

/*
 * evhttp still has what is to be done when the reply before was written: it would be done again
 * for these bytes, and the body would be read as the next request.
 */
static void leave_writing_unheard(struct bufferevent *buffers) {
    bufferevent_data_cb on_read = NULL;
    bufferevent_event_cb on_event = NULL;
    void *connection = NULL;

    bufferevent_getcb(buffers, &on_read, NULL, &on_event, &connection);
    bufferevent_setcb(buffers, on_read, NULL, on_event, connection);
}

void lk_http_errors_tell_too_large(struct lk_http_client *client) {
    static const char head[] = "HTTP/1.1 413 Request Entity Too Large\r\nConnection: close\r\n\r\n";
    struct bufferevent *buffers = evhttp_connection_get_bufferevent(client->connection);
    struct lk_buffer reply = {.max = 0};

    write_reply(&reply, lk_slice_of(head));
    if (!reply.failed && !lk_http_client_hold(client, &reply)) {
        client->is_replacing = true;
        client->is_told =
            evbuffer_add(bufferevent_get_output(buffers), reply.bytes, reply.size) == 0;
        client->is_replacing = false;
        leave_writing_unheard(buffers);
        (void)bufferevent_enable(buffers, EV_WRITE); /* evhttp has disabled it while it reads */
    }
    lk_buffer_done(&reply);
}
