/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RESP, the Redis protocol, versions 2 and 3: parses requests and writes replies for a server, and
 * the reverse for a client. No sockets, no state besides what the caller keeps, and no allocation
 * but that of the output buffer.
 *
 * Parsing does not depend on how the bytes were split: the caller passes all bytes from the
 * beginning of a request or reply, and passes them again with more bytes after MORE.
 */
#ifndef LK_WIRE_RESP_H
#define LK_WIRE_RESP_H

#include "base/buffer.h"

enum lk_resp_step {
    LK_RESP_DONE, /* complete */
    LK_RESP_MORE, /* the bytes end before it is complete */
    LK_RESP_BAD,  /* not RESP, or beyond a bound, whatever follows */
};

/* ---- lines and numbers ----------------------------------------------------------------------- */

/* They frame both directions of RESP. */

/*
 * The line that begins at input.bytes[at], without its CR LF, and where it ends. MORE or BAD: there
 * is none within `max` bytes. A CR without LF, or an LF without CR, does not end a line: it is BAD.
 */
enum lk_resp_step lk_resp_line(struct lk_slice input, size_t at, size_t max,
                               struct lk_slice *ret_line, size_t *ret_end);

/* The number after the type byte at input.bytes[at], as a whole line, and where the line ends. */
enum lk_resp_step lk_resp_header(struct lk_slice input, size_t at, int64_t *ret_number,
                                 size_t *ret_end);

/* Decimal digits only, without a plus, within the range of int64_t. */
bool lk_resp_number_parse(struct lk_slice text, int64_t *ret_number);

/* ---- requests, read by a server -------------------------------------------------------------- */

enum {
    LK_RESP_ARGUMENTS_MAX = 128,
    LK_RESP_INLINE_BYTES_MAX = 4096,
    LK_RESP_HEADER_BYTES_MAX = 32, /* a line that begins an array or an argument */
};

struct lk_resp_bounds {
    size_t arguments_max; /* up to LK_RESP_ARGUMENTS_MAX */
    size_t request_bytes_max;
};

/*
 * One request: its arguments are in the input, or in `text`. Large: keep one, not one per
 * connection.
 */
struct lk_resp_request {
    size_t size;           /* DONE: bytes of input that it took; MORE: bytes needed to go on */
    size_t argument_count; /* 0: an empty line or array, to be skipped */
    struct lk_slice arguments[LK_RESP_ARGUMENTS_MAX];
    bool is_inline;                      /* a line of words, as typed at a terminal */
    const char *error;                   /* BAD: the reason; static */
    char text[LK_RESP_INLINE_BYTES_MAX]; /* words of an inline request, quotes resolved */
};

/* Parses the request that begins at input.bytes[0]. */
enum lk_resp_step lk_resp_request_parse(struct lk_slice input, const struct lk_resp_bounds *bounds,
                                        struct lk_resp_request *request);

/* ---- replies, written by a server; requests, written by a client ----------------------------- */

/*
 * A request is an array of bulks. Each call adds one value; an aggregate is followed by its values.
 */
void lk_resp_put_simple(struct lk_buffer *out, const char *text); /* the text must have no line
                                                                   * end */
void lk_resp_put_number(struct lk_buffer *out, int64_t number);
void lk_resp_put_bulk(struct lk_buffer *out, struct lk_slice bytes);
void lk_resp_put_array(struct lk_buffer *out, size_t count);

/* `-WORD text`; bytes of the text that would end the line become blanks. `word` may be empty. */
void lk_resp_put_error(struct lk_buffer *out, const char *word, struct lk_slice text);

/* In version 2 these are written as null, 0 and 1, an array. */
void lk_resp_put_null(struct lk_buffer *out, int version);
void lk_resp_put_boolean(struct lk_buffer *out, int version, bool value);
void lk_resp_put_push(struct lk_buffer *out, int version, size_t count);

/*
 * For aggregates whose count is known only at their end: inserts the header before the values
 * written since `at`.
 */
void lk_resp_insert_array(struct lk_buffer *out, size_t at, size_t count);
void lk_resp_insert_map(struct lk_buffer *out, int version, size_t at, size_t pair_count);

/* ---- replies, read by a client --------------------------------------------------------------- */

enum lk_resp_kind {
    LK_RESP_SIMPLE,  /* text */
    LK_RESP_ERROR,   /* text: the whole error, including its first word */
    LK_RESP_NUMBER,  /* number */
    LK_RESP_BULK,    /* text: any bytes; also version 3's verbatim string, without its format */
    LK_RESP_NULL,    /* in any of its forms */
    LK_RESP_BOOLEAN, /* number: 0 or 1 */
    LK_RESP_DOUBLE,  /* text; also version 3's big number */
    LK_RESP_ARRAY,   /* count values follow; also version 3's set */
    LK_RESP_MAP,     /* count pairs follow */
    LK_RESP_PUSH,    /* count values follow; not an answer to a request */
};

struct lk_resp_value {
    enum lk_resp_kind kind;
    struct lk_slice text; /* borrowed from the input */
    int64_t number;
    size_t count;
};

/*
 * How far a reply has been scanned. Zeroed at the beginning of each reply; kept between calls, so
 * that a long reply is not scanned again for every piece that arrives.
 */
struct lk_resp_measure {
    size_t size;    /* bytes scanned; DONE: the reply's size */
    size_t missing; /* values still to come */
    bool has_begun;
    const char *error; /* BAD: the reason; static */
};

/*
 * Whether the reply that begins at input.bytes[0] is complete. Attributes are part of the value
 * after them.
 */
enum lk_resp_step lk_resp_reply_measure(struct lk_slice input, size_t bytes_max,
                                        struct lk_resp_measure *measure);

/* A walk over a reply that has been measured: value by value, an aggregate before its values. */
struct lk_resp_cursor {
    struct lk_slice reply;
    size_t at;
};

/* The next value. false: the reply has ended. Attributes are skipped. */
bool lk_resp_cursor_next(struct lk_resp_cursor *cursor, struct lk_resp_value *ret_value);

/* Skips the values inside `value`, which was read last; no effect unless it is an aggregate. */
void lk_resp_cursor_skip(struct lk_resp_cursor *cursor, const struct lk_resp_value *value);

#endif
