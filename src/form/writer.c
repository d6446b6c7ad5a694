/* SPDX-License-Identifier: Apache-2.0 */
/* Writers: how each form writes a field. */
#include "form/writer.h"

#include <stdio.h>

#include "form/text.h"
#include "model/utf8.h"
#include "wire/resp.h"

enum { NAME_BYTES_MAX = 64 };

struct lk_form_writer lk_form_writer_resp(struct lk_buffer *out, int version) {
    return (struct lk_form_writer){.kind = LK_FORM_RESP, .version = version, .out = out};
}

struct lk_form_writer lk_form_writer_json(struct lk_buffer *out) {
    return (struct lk_form_writer){.kind = LK_FORM_JSON, .out = out};
}

bool lk_form_writer_failed(const struct lk_form_writer *writer) {
    return writer->failed || writer->out->failed;
}

/* ---- one value ------------------------------------------------------------------------------- */

/* Writes what precedes a value: its name, and in JSON the comma after the previous value. */
static void begin(struct lk_form_writer *writer, const char *name) {
    struct lk_form_level *level = writer->depth > 0 ? &writer->levels[writer->depth - 1] : NULL;

    if (writer->kind == LK_FORM_JSON && level != NULL && level->count > 0) {
        lk_buffer_add(writer->out, ",", 1);
    }
    if (level != NULL) {
        level->count++;
    }
    if (name != NULL && writer->kind == LK_FORM_RESP) {
        lk_resp_put_bulk(writer->out, lk_slice_of(name));
    } else if (name != NULL && writer->kind == LK_FORM_JSON) {
        lk_buffer_add(writer->out, "\"", 1);
        lk_buffer_add_text(writer->out, name);
        lk_buffer_add(writer->out, "\":", 2);
    }
}

void lk_form_add_slice(struct lk_form_writer *writer, const char *name, struct lk_slice text) {
    begin(writer, name);
    if (writer->kind == LK_FORM_RESP) {
        lk_resp_put_bulk(writer->out, text);
    } else {
        lk_form_put_string(writer->out, text);
    }
}

void lk_form_add_pair(struct lk_form_writer *writer, struct lk_slice name, struct lk_slice text) {
    begin(writer, NULL);
    if (writer->kind == LK_FORM_RESP) {
        lk_resp_put_bulk(writer->out, name);
        lk_resp_put_bulk(writer->out, text);
    } else {
        lk_form_put_string(writer->out, name);
        lk_buffer_add(writer->out, ":", 1);
        lk_form_put_string(writer->out, text);
    }
}

void lk_form_add_text(struct lk_form_writer *writer, const char *name, const char *text) {
    lk_form_add_slice(writer, name, lk_slice_of(text));
}

void lk_form_add_text_if_any(struct lk_form_writer *writer, const char *name, const char *text) {
    if (text != NULL) {
        lk_form_add_text(writer, name, text);
    }
}

void lk_form_add_number(struct lk_form_writer *writer, const char *name, int64_t number) {
    begin(writer, name);
    if (writer->kind == LK_FORM_RESP) {
        lk_resp_put_number(writer->out, number);
    } else {
        lk_buffer_add_number(writer->out, number);
    }
}

void lk_form_add_boolean(struct lk_form_writer *writer, const char *name, bool value) {
    begin(writer, name);
    if (writer->kind == LK_FORM_RESP) {
        lk_resp_put_boolean(writer->out, writer->version, value);
    } else {
        lk_buffer_add_text(writer->out, value ? "true" : "false");
    }
}

void lk_form_add_null(struct lk_form_writer *writer, const char *name) {
    begin(writer, name);
    if (writer->kind == LK_FORM_RESP) {
        lk_resp_put_null(writer->out, writer->version);
    } else {
        lk_buffer_add_text(writer->out, "null");
    }
}

enum { REAL_DIGITS = 15, REAL_BYTES = 32 }; /* digits of the input that a double keeps */

/* Written with a point or an exponent, so that it is read back as a real number. */
void lk_form_add_real(struct lk_form_writer *writer, const char *name, double number) {
    char text[REAL_BYTES];
    size_t size = (size_t)snprintf(text, sizeof text - 2, "%.*g", REAL_DIGITS, number);
    size_t digits = strspn(text, "-0123456789");

    if (digits == size) {
        size += (size_t)snprintf(text + size, sizeof text - size, ".0");
    } else if (text[digits] != 'e') {
        text[digits] = '.'; /* replaces the decimal point of the locale */
    }
    begin(writer, name);
    if (writer->kind == LK_FORM_RESP) {
        lk_resp_put_bulk(writer->out, (struct lk_slice){text, size});
    } else {
        lk_buffer_add(writer->out, text, size);
    }
}

void lk_form_add_count(struct lk_form_writer *writer, const char *name, uint64_t count) {
    lk_form_add_number(writer, name, (int64_t)count);
}

void lk_form_add_count_if_any(struct lk_form_writer *writer, const char *name, uint64_t count) {
    if (count != 0) {
        lk_form_add_count(writer, name, count);
    }
}

void lk_form_add_value(struct lk_form_writer *writer, const char *name, const void *bytes,
                       size_t size) {
    char encoded[NAME_BYTES_MAX + sizeof "_base64"];
    struct lk_slice value = {.bytes = bytes, .size = size};
    struct lk_buffer text = {.max = 0};

    if (writer->kind == LK_FORM_RESP || lk_utf8_is_valid(bytes, size)) {
        lk_form_add_slice(writer, name, value);
        return;
    }
    lk_form_put_base64(&text, value);
    writer->failed = writer->failed || text.failed;
    (void)snprintf(encoded, sizeof encoded, "%s_base64", name);
    lk_form_add_slice(writer, encoded, (struct lk_slice){.bytes = text.bytes, .size = text.size});
    lk_buffer_done(&text);
}

/* ---- several values -------------------------------------------------------------------------- */

static void open_level(struct lk_form_writer *writer, const char *name, bool is_map) {
    struct lk_form_level level = {.is_map = is_map};

    begin(writer, name);
    level.at = writer->out->size;
    if (writer->kind == LK_FORM_JSON) {
        lk_buffer_add(writer->out, is_map ? "{" : "[", 1);
    }
    if (writer->depth == LK_FORM_DEPTH_MAX) {
        writer->failed = true;
    } else {
        writer->levels[writer->depth++] = level;
    }
}

void lk_form_open_map(struct lk_form_writer *writer, const char *name) {
    open_level(writer, name, true);
}

void lk_form_open_array(struct lk_form_writer *writer, const char *name) {
    open_level(writer, name, false);
}

void lk_form_close(struct lk_form_writer *writer) {
    const struct lk_form_level *level;

    if (writer->depth == 0) {
        writer->failed = true;
        return;
    }
    level = &writer->levels[--writer->depth];
    if (writer->kind == LK_FORM_JSON) {
        lk_buffer_add(writer->out, level->is_map ? "}" : "]", 1);
    } else if (writer->kind == LK_FORM_RESP && level->is_map) {
        lk_resp_insert_map(writer->out, writer->version, level->at, level->count);
    } else if (writer->kind == LK_FORM_RESP) {
        lk_resp_insert_array(writer->out, level->at, level->count);
    }
}

void lk_form_add_texts(struct lk_form_writer *writer, const char *name, char *const *texts,
                       size_t count) {
    lk_form_open_array(writer, name);
    for (size_t i = 0; i < count; i++) {
        lk_form_add_text(writer, NULL, texts[i]);
    }
    lk_form_close(writer);
}

/* ---- marks ----------------------------------------------------------------------------------- */

struct lk_form_mark lk_form_mark_here(const struct lk_form_writer *writer) {
    return (struct lk_form_mark){
        .at = writer->out->size,
        .count = writer->depth > 0 ? writer->levels[writer->depth - 1].count : 0,
    };
}

void lk_form_rewind(struct lk_form_writer *writer, struct lk_form_mark mark) {
    lk_buffer_cut(writer->out, mark.at);
    if (writer->depth > 0) {
        writer->levels[writer->depth - 1].count = mark.count;
    }
}

void lk_form_add_text_at(struct lk_form_writer *writer, struct lk_form_mark mark, const char *name,
                         const char *text) {
    struct lk_buffer piece = {.max = 0};
    struct lk_form_writer inserted = *writer;

    inserted.out = &piece;
    if (inserted.depth > 0) {
        inserted.levels[inserted.depth - 1].count = mark.count;
        writer->levels[writer->depth - 1].count++;
    }
    lk_form_add_text(&inserted, name, text);
    writer->failed = writer->failed || piece.failed;
    lk_buffer_insert(writer->out, mark.at, piece.bytes, piece.size);
    lk_buffer_done(&piece);
}
