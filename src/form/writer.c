/* SPDX-License-Identifier: Apache-2.0 */
/* Writers: what each of the three forms does with a field. */
#include "form/writer.h"

#include "form/text.h"
#include "model/utf8.h"
#include "wire/resp.h"

struct lk_form_writer lk_form_writer_resp(struct lk_buffer *out, int version) {
    return (struct lk_form_writer){.kind = LK_FORM_RESP, .version = version, .out = out};
}

struct lk_form_writer lk_form_writer_json(struct lk_buffer *out) {
    return (struct lk_form_writer){.kind = LK_FORM_JSON, .out = out};
}

struct lk_form_writer lk_form_writer_tree(void) {
    return (struct lk_form_writer){.kind = LK_FORM_TREE};
}

bool lk_form_writer_failed(const struct lk_form_writer *writer) {
    return writer->failed || (writer->out != NULL && writer->out->failed);
}

json_t *lk_form_writer_close_tree(struct lk_form_writer *writer) {
    json_t *tree = writer->tree;

    writer->tree = NULL;
    if (writer->failed) {
        json_decref(tree);
        return NULL;
    }
    return tree;
}

/* ---- one value ---- */

/* Takes over `value`; NULL is a failure. */
static void add_tree(struct lk_form_writer *writer, const char *name, json_t *value) {
    json_t *parent = writer->depth > 0 ? writer->levels[writer->depth - 1].value : NULL;

    if (writer->failed || value == NULL) {
        json_decref(value);
        writer->failed = true;
    } else if (parent == NULL) {
        writer->failed = writer->tree != NULL;
        json_decref(writer->tree);
        writer->tree = value;
    } else {
        writer->failed = (name != NULL ? json_object_set_new(parent, name, value)
                                       : json_array_append_new(parent, value))
                         != 0;
    }
}

/* What stands in front of a value: its name, and in JSON what parts it from the one before. */
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
    if (writer->kind == LK_FORM_TREE) {
        add_tree(writer, name, lk_form_string(text));
        return;
    }
    begin(writer, name);
    if (writer->kind == LK_FORM_RESP) {
        lk_resp_put_bulk(writer->out, text);
    } else {
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
    if (writer->kind == LK_FORM_TREE) {
        add_tree(writer, name, json_integer(number));
        return;
    }
    begin(writer, name);
    if (writer->kind == LK_FORM_RESP) {
        lk_resp_put_number(writer->out, number);
    } else {
        lk_buffer_add_number(writer->out, number);
    }
}

void lk_form_add_boolean(struct lk_form_writer *writer, const char *name, bool value) {
    if (writer->kind == LK_FORM_TREE) {
        add_tree(writer, name, json_boolean(value));
        return;
    }
    begin(writer, name);
    if (writer->kind == LK_FORM_RESP) {
        lk_resp_put_boolean(writer->out, writer->version, value);
    } else {
        lk_buffer_add_text(writer->out, value ? "true" : "false");
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

void lk_form_add_value(struct lk_form_writer *writer, const void *bytes, size_t size) {
    struct lk_slice value = {.bytes = bytes, .size = size};
    struct lk_buffer text = {.max = 0};

    if (writer->kind == LK_FORM_RESP || lk_utf8_is_valid(bytes, size)) {
        lk_form_add_slice(writer, "value", value);
        return;
    }
    lk_form_put_base64(&text, value);
    writer->failed = writer->failed || text.failed;
    lk_form_add_slice(writer, "value_base64",
                      (struct lk_slice){.bytes = text.bytes, .size = text.size});
    lk_buffer_done(&text);
}

/* ---- several values ---- */

static void open_level(struct lk_form_writer *writer, const char *name, bool is_map) {
    struct lk_form_level level = {.is_map = is_map};

    if (writer->kind == LK_FORM_TREE) {
        level.value = is_map ? json_object() : json_array();
        add_tree(writer, name, level.value);
    } else {
        begin(writer, name);
        level.at = writer->out->size;
    }
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
