/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the requests of a connection begin and end, read to the letter of RFC 9112, beside evhttp,
 * which is lenient: it takes lines that end in a bare LF, numbers such as `0x21` and ` 21` as sizes
 * of chunks, and a NUL in a header. A proxy in front of the service may read these differently, and
 * then a second request can be smuggled behind the first. Pure; keeps a few bytes of a line.
 */
#ifndef LK_SERVER_HTTP_FRAMING_H
#define LK_SERVER_HTTP_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lk_http_framing_state {
    LK_HTTP_AT_START, /* a request line is next, before it empty lines */
    LK_HTTP_AT_HEADERS,
    LK_HTTP_AT_BODY,
    LK_HTTP_AT_CHUNK_SIZE,
    LK_HTTP_AT_CHUNK,
    LK_HTTP_AT_CHUNK_END,
    LK_HTTP_AT_TRAILERS,
};

struct lk_http_framing {
    enum lk_http_framing_state state;
    uint64_t index;  /* of the request that is being read */
    bool is_bad;     /* this request may be read differently; nothing behind is read */
    uint64_t length; /* of its body; UINT64_MAX also stands for any greater one */
    uint64_t left;   /* bytes of the body, or of the chunk */
    bool has_length;
    bool is_chunked;
    bool is_after_cr;
    size_t line_size;
    char line[64]; /* its beginning */
};

/* Zeroed, it is at the start of a connection. `bytes` are the next ones of the connection. */
void lk_http_framing_read(struct lk_http_framing *framing, const char *bytes, size_t size);

/* Whether the request of this index may be read differently, as far as it is known. */
static inline bool lk_http_framing_is_bad(const struct lk_http_framing *framing, uint64_t index) {
    return framing->is_bad && index >= framing->index;
}

#endif
