/* SPDX-License-Identifier: Apache-2.0 */
/* Lines end in CR LF and have no control bytes; sizes of chunks are hexadecimal digits alone. */
#include "server/http/framing.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

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
