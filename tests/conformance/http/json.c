/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of JSON, read and made. */
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "form/text.h"
#include "http.h"

/* ---- reading --------------------------------------------------------------------------------- */

static char *copy_text(struct http_reader *reader, const json_t *text) {
    char *copy = json_is_string(text) ? lk_text_copy(lk_slice_of(json_string_value(text))) : NULL;

    reader->is_damaged = reader->is_damaged || copy == NULL;
    return copy;
}

char *http_read_text(struct http_reader *reader, const json_t *object, const char *name) {
    const json_t *member = json_object_get(object, name);

    return member != NULL ? copy_text(reader, member) : NULL;
}

int64_t http_read_number(struct http_reader *reader, const json_t *object, const char *name,
                         int64_t otherwise) {
    const json_t *member = json_object_get(object, name);

    if (member == NULL) {
        return otherwise;
    }
    reader->is_damaged = reader->is_damaged || !json_is_integer(member);
    return json_integer_value(member);
}

uint64_t http_read_count(struct http_reader *reader, const json_t *object, const char *name) {
    int64_t number = http_read_number(reader, object, name, 0);

    reader->is_damaged = reader->is_damaged || number < 0;
    return (uint64_t)number;
}

bool http_read_flag(struct http_reader *reader, const json_t *object, const char *name) {
    const json_t *member = json_object_get(object, name);

    reader->is_damaged = reader->is_damaged || (member != NULL && !json_is_boolean(member));
    return json_is_true(member);
}

bool http_read_word(struct http_reader *reader, const json_t *object, const char *name,
                    const char *yes, const char *no) {
    const char *word = json_string_value(json_object_get(object, name));
    bool is_yes = word != NULL && strcmp(word, yes) == 0;

    reader->is_damaged = reader->is_damaged || word == NULL || (!is_yes && strcmp(word, no) != 0);
    return is_yes;
}

void *http_read_value(struct http_reader *reader, const json_t *object, size_t *ret_size) {
    const json_t *plain = json_object_get(object, "value");
    const json_t *encoded = json_object_get(object, "value_base64");
    const json_t *member = plain != NULL ? plain : encoded;
    struct lk_slice text = {.bytes = json_string_value(member), .size = json_string_length(member)};
    char *value;

    if (member == NULL) {
        return NULL;
    }
    value = lk_text_copy(text);
    if (!json_is_string(member) || value == NULL || (plain != NULL && encoded != NULL)
        || (plain == NULL && !lk_form_read_base64(value, text.size, &text.size))) {
        reader->is_damaged = true;
        free(value);
        return NULL;
    }
    value[text.size] = '\0';
    *ret_size = text.size;
    return value;
}

char **http_read_texts(struct http_reader *reader, const json_t *object, const char *name,
                       size_t *ret_count) {
    const json_t *array = json_object_get(object, name);
    size_t count = json_array_size(array);
    char **texts = count > 0 ? calloc(count, sizeof *texts) : NULL;

    reader->is_damaged = reader->is_damaged || (array != NULL && !json_is_array(array))
                         || (count > 0 && texts == NULL);
    for (size_t i = 0; texts != NULL && i < count; i++) {
        texts[i] = copy_text(reader, json_array_get(array, i));
    }
    *ret_count = texts != NULL ? count : 0;
    return texts;
}

lk_blocker_info *http_read_blockers(struct http_reader *reader, const json_t *object,
                                    size_t *ret_count) {
    const json_t *array = json_object_get(object, "blockers");
    size_t count = json_array_size(array);
    lk_blocker_info *blockers = count > 0 ? calloc(count, sizeof *blockers) : NULL;

    reader->is_damaged = reader->is_damaged || (count > 0 && blockers == NULL);
    for (size_t i = 0; blockers != NULL && i < count; i++) {
        const json_t *blocker = json_array_get(array, i);
        blockers[i] = (lk_blocker_info){
            .path = http_read_text(reader, blocker, "path"),
            .owner = http_read_text(reader, blocker, "owner"),
            .note = http_read_text(reader, blocker, "note"),
            .ticket = http_read_count(reader, blocker, "ticket"),
            .held = http_read_word(reader, blocker, "state", "held", "waiting"),
            .expires_in_ms = http_read_number(reader, blocker, "expires_in_ms", 0),
        };
        reader->is_damaged =
            reader->is_damaged || blockers[i].path == NULL || blockers[i].owner == NULL;
    }
    *ret_count = blockers != NULL ? count : 0;
    return blockers;
}

lk_outcome http_read_end(const struct http_reader *reader, lk_error *error) {
    return reader->is_damaged
               ? lk_error_set(error, LK_INTERNAL, "an answer that is not of its shape")
               : LK_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

json_t *http_text(struct lk_slice text) {
    return json_stringn(text.size > 0 ? text.bytes : "", text.size);
}

json_t *http_paths(const struct lk_part *parts, size_t count, bool with_modes) {
    json_t *array = json_array();
    char text[LK_PART_TEXT_MAX];

    for (size_t i = 0; i < count; i++) {
        struct lk_slice path = {.bytes = parts[i].path.bytes, .size = parts[i].path.size};
        struct lk_slice part = {.bytes = text};
        if (with_modes) {
            part.size = lk_parts_write(&parts[i], 1, text);
        }
        (void)json_array_append_new(array, http_text(with_modes ? part : path));
    }
    return array;
}

void http_add(json_t *body, const char *name, json_t *value) {
    (void)json_object_set_new(body, name, value);
}

void http_add_number(json_t *body, const char *name, int64_t number) {
    if (number != 0) {
        http_add(body, name, json_integer(number));
    }
}

void http_add_value(json_t *body, const char *name, struct lk_slice bytes) {
    json_t *text = http_text(bytes);
    struct lk_buffer encoded = {.max = 0};
    char encoded_name[64];
    struct lk_text whole = lk_text_in(encoded_name, sizeof encoded_name);

    if (text == NULL) {
        lk_text_format(&whole, "%s_base64", name);
        name = encoded_name;
        lk_form_put_base64(&encoded, bytes);
        text = http_text((struct lk_slice){encoded.bytes, encoded.size});
    }
    http_add(body, name, text);
    lk_buffer_done(&encoded);
}

void http_add_values(json_t *body, const char *name, const struct lk_release_put *puts,
                     size_t count) {
    json_t *texts = json_array();
    json_t *encoded = json_array();
    char encoded_name[64];
    struct lk_text whole = lk_text_in(encoded_name, sizeof encoded_name);
    bool is_text = true;

    for (size_t i = 0; i < count; i++) {
        struct lk_buffer base64 = {.max = 0};

        is_text = json_array_append_new(texts, http_text(puts[i].bytes)) == 0 && is_text;
        lk_form_put_base64(&base64, puts[i].bytes);
        (void)json_array_append_new(encoded,
                                    http_text((struct lk_slice){base64.bytes, base64.size}));
        lk_buffer_done(&base64);
    }
    lk_text_format(&whole, "%s_base64", name);
    http_add(body, is_text ? name : encoded_name, is_text ? texts : encoded);
    json_decref(is_text ? encoded : texts);
}
