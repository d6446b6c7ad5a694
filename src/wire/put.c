/* SPDX-License-Identifier: Apache-2.0 */
/* Writes values of RESP. */
#include "wire/resp.h"

enum { HEADER_BYTES_MAX = 1 + LK_NUMBER_BYTES_MAX + 2 };

/* Writes a type byte and a number as a line; returns its size. */
static size_t write_header(char header[HEADER_BYTES_MAX], char type, int64_t number) {
    size_t size = 1;

    header[0] = type;
    if (number >= 0 && number < 10) {
        header[size++] = (char)('0' + number);
    } else {
        size += lk_number_write(header + size, number);
    }
    header[size++] = '\r';
    header[size++] = '\n';
    return size;
}

static void put_header(struct lk_buffer *out, char type, int64_t number) {
    char *room = lk_buffer_reserve(out, HEADER_BYTES_MAX);

    if (room != NULL) {
        out->size += write_header(room, type, number);
    }
}

static void put_line(struct lk_buffer *out, const char *line) {
    lk_buffer_add_text(out, line);
    lk_buffer_add(out, "\r\n", 2);
}

void lk_resp_put_simple(struct lk_buffer *out, const char *text) {
    lk_buffer_add(out, "+", 1);
    put_line(out, text);
}

void lk_resp_put_number(struct lk_buffer *out, int64_t number) {
    put_header(out, ':', number);
}

void lk_resp_put_bulk(struct lk_buffer *out, struct lk_slice bytes) {
    char *room = lk_buffer_reserve(out, HEADER_BYTES_MAX + bytes.size + 2);
    size_t size;

    if (room == NULL) {
        return;
    }
    size = write_header(room, '$', (int64_t)bytes.size);
    if (bytes.size != 0) {
        memcpy(room + size, bytes.bytes, bytes.size);
    }
    size += bytes.size;
    room[size++] = '\r';
    room[size++] = '\n';
    out->size += size;
}

void lk_resp_put_array(struct lk_buffer *out, size_t count) {
    put_header(out, '*', (int64_t)count);
}

void lk_resp_put_error(struct lk_buffer *out, const char *word, struct lk_slice text) {
    size_t from;

    lk_buffer_add(out, "-", 1);
    lk_buffer_add_text(out, word);
    if (word[0] != '\0' && text.size != 0) {
        lk_buffer_add(out, " ", 1);
    }
    from = out->size;
    lk_buffer_add_slice(out, text);
    for (size_t i = from; i < out->size; i++) {
        if (out->bytes[i] == '\r' || out->bytes[i] == '\n') {
            out->bytes[i] = ' ';
        }
    }
    lk_buffer_add(out, "\r\n", 2);
}

void lk_resp_put_null(struct lk_buffer *out, int version) {
    put_line(out, version >= 3 ? "_" : "$-1");
}

void lk_resp_put_boolean(struct lk_buffer *out, int version, bool value) {
    if (version >= 3) {
        put_line(out, value ? "#t" : "#f");
    } else {
        lk_resp_put_number(out, value);
    }
}

void lk_resp_put_push(struct lk_buffer *out, int version, size_t count) {
    put_header(out, version >= 3 ? '>' : '*', (int64_t)count);
}

void lk_resp_insert_array(struct lk_buffer *out, size_t at, size_t count) {
    char header[HEADER_BYTES_MAX];

    lk_buffer_insert(out, at, header, write_header(header, '*', (int64_t)count));
}

void lk_resp_insert_map(struct lk_buffer *out, int version, size_t at, size_t pair_count) {
    char header[HEADER_BYTES_MAX];
    char type = version >= 3 ? '%' : '*';
    size_t count = version >= 3 ? pair_count : pair_count * 2;

    lk_buffer_insert(out, at, header, write_header(header, type, (int64_t)count));
}
