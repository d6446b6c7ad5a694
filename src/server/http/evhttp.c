/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What evhttp does by itself: its errors are replaced, and requests that it reads as others would
 * not are found.
 *
 * The errors that it answers: requests that it cannot parse, that are too large, or that have a
 * method it does not know. It answers them with a page of HTML before the listener knows of the
 * request, and libevent 2.1 has no callback for them. So the page is replaced where it appears: in
 * the buffer of what is to be sent, as long as the client's request has not been received.
 *
 * To a request that does not arrive in time evhttp gives no answer. It gets one here.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "server/http/http.h"

/* ---- framing --------------------------------------------------------------------------------- */

/* Lines end in CR LF and have no control bytes; sizes of chunks are hexadecimal digits alone. */

enum { CHUNK_DIGITS_MAX = 15 }; /* below 2^60 */

static void end_request(struct lk_http_framing *framing) {
    framing->state = LK_HTTP_AT_START;
    framing->index++;
}

static void begin_request(struct lk_http_framing *framing) {
    framing->state = LK_HTTP_AT_HEADERS;
    framing->length = 0;
    framing->has_length = false;
    framing->is_chunked = false;
}

static void end_head(struct lk_http_framing *framing) {
    if (framing->has_length && framing->is_chunked) {
        framing->is_bad = true;
    } else if (framing->is_chunked) {
        framing->state = LK_HTTP_AT_CHUNK_SIZE;
    } else if (framing->length > 0) {
        framing->state = LK_HTTP_AT_BODY;
        framing->left = framing->length;
    } else {
        end_request(framing);
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

/*
 * The value of the header in the line, without blanks around it; NULL: it is another header, or
 * longer than what is kept of a line: then where the body ends is not known.
 */
static const char *value_of(struct lk_http_framing *framing, const char *name) {
    size_t size = strlen(name);
    char *value = framing->line + size;
    size_t end = framing->line_size;

    if (end <= size || *value != ':' || strncasecmp(framing->line, name, size) != 0) {
        return NULL;
    }
    if (end >= sizeof framing->line) {
        framing->is_bad = true;
        return NULL;
    }
    while (end > size + 1 && (framing->line[end - 1] == ' ' || framing->line[end - 1] == '\t')) {
        end--;
    }
    framing->line[end] = '\0';
    value++;
    return value + strspn(value, " \t");
}

/* What is no number is refused with the whole request, when that is handled. */
static uint64_t read_length(const char *text) {
    uint64_t length = 0;

    for (; *text >= '0' && *text <= '9'; text++) {
        length = length > (UINT64_MAX - 9) / 10 ? UINT64_MAX - 9 : length * 10;
        length += (uint64_t)(*text - '0');
    }
    return length;
}

static void read_header(struct lk_http_framing *framing) {
    const char *length = value_of(framing, "Content-Length");
    const char *encoding = value_of(framing, "Transfer-Encoding");

    if (length != NULL) {
        framing->has_length = true;
        framing->length = read_length(length);
    }
    framing->is_chunked =
        framing->is_chunked || (encoding != NULL && strcasecmp(encoding, "chunked") == 0);
}

static void read_chunk_size(struct lk_http_framing *framing) {
    uint64_t size = 0;

    framing->is_bad = framing->line_size == 0 || framing->line_size > CHUNK_DIGITS_MAX;
    for (size_t i = 0; i < framing->line_size && !framing->is_bad; i++) {
        int digit = lk_hexadecimal(framing->line[i]);

        framing->is_bad = digit < 0;
        size = size * 16 + (uint64_t)(digit >= 0 ? digit : 0);
    }
    framing->left = size;
    framing->state = size > 0 ? LK_HTTP_AT_CHUNK : LK_HTTP_AT_TRAILERS;
}

static void end_line(struct lk_http_framing *framing) {
    bool is_empty = framing->line_size == 0;
    /* A line that continues the one before. */
    bool is_folded = !is_empty && (framing->line[0] == ' ' || framing->line[0] == '\t');

    switch (framing->state) {
    case LK_HTTP_AT_START:
        if (!is_empty) {
            begin_request(framing);
        }
        break;
    case LK_HTTP_AT_HEADERS:
        framing->is_bad = is_folded;
        if (is_empty) {
            end_head(framing);
        } else {
            read_header(framing);
        }
        break;
    case LK_HTTP_AT_CHUNK_SIZE:
        read_chunk_size(framing);
        break;
    case LK_HTTP_AT_CHUNK_END:
        framing->is_bad = !is_empty;
        framing->state = LK_HTTP_AT_CHUNK_SIZE;
        break;
    case LK_HTTP_AT_TRAILERS:
        framing->is_bad = is_folded;
        if (is_empty) {
            end_request(framing);
        }
        break;
    case LK_HTTP_AT_BODY:
    case LK_HTTP_AT_CHUNK:
        break;
    }
    framing->line_size = 0;
}

static void read_of_line(struct lk_http_framing *framing, char byte) {
    if (framing->is_after_cr) {
        framing->is_after_cr = false;
        if (byte != '\n') {
            framing->is_bad = true;
        } else {
            end_line(framing);
        }
    } else if (byte == '\r') {
        framing->is_after_cr = true;
    } else if (((unsigned char)byte < ' ' && byte != '\t') || byte == 0x7f) {
        framing->is_bad = true;
    } else {
        if (framing->line_size < sizeof framing->line) {
            framing->line[framing->line_size] = byte;
        }
        framing->line_size++;
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

void lk_http_framing_read(struct lk_http_framing *framing, const char *bytes, size_t size) {
    while (size > 0 && !framing->is_bad) {
        size_t count = 1;

        if (framing->state != LK_HTTP_AT_BODY && framing->state != LK_HTTP_AT_CHUNK) {
            read_of_line(framing, *bytes);
        } else {
            count = framing->left < size ? (size_t)framing->left : size;
            framing->left -= count;
            if (framing->left == 0 && framing->state == LK_HTTP_AT_BODY) {
                end_request(framing);
            } else if (framing->left == 0) {
                framing->state = LK_HTTP_AT_CHUNK_END;
            }
        }
        bytes += count;
        size -= count;
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

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
