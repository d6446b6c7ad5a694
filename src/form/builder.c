/* SPDX-License-Identifier: Apache-2.0 */
/* Building JSON objects field by field, and values that need not be text. */
#include "form/builder.h"

#include <stdlib.h>

#include "model/utf8.h"

struct lk_form_builder lk_form_builder_open(void) {
    struct lk_form_builder builder = {.object = json_object(), .failed = false};
    builder.failed = builder.object == NULL;
    return builder;
}

/* Takes over `value`; NULL is a failure. */
void lk_form_add(struct lk_form_builder *builder, const char *name, json_t *value) {
    if (builder->failed) {
        json_decref(value);
    } else if (json_object_set_new(builder->object, name, value) != 0) {
        builder->failed = true;
    }
}

void lk_form_add_text(struct lk_form_builder *builder, const char *name, const char *text) {
    lk_form_add(builder, name, lk_form_text(text));
}

void lk_form_add_text_if_any(struct lk_form_builder *builder, const char *name, const char *text) {
    if (text != NULL) {
        lk_form_add_text(builder, name, text);
    }
}

void lk_form_add_number(struct lk_form_builder *builder, const char *name, int64_t number) {
    lk_form_add(builder, name, json_integer(number));
}

/* Tickets, tokens and counts: below 2^53 (R4), so nothing is lost by the sign. */
void lk_form_add_count(struct lk_form_builder *builder, const char *name, uint64_t count) {
    lk_form_add_number(builder, name, (int64_t)count);
}

void lk_form_add_count_if_any(struct lk_form_builder *builder, const char *name, uint64_t count) {
    if (count != 0) {
        lk_form_add_count(builder, name, count);
    }
}

json_t *lk_form_builder_close(struct lk_form_builder *builder) {
    if (builder->failed) {
        json_decref(builder->object);
        return NULL;
    }
    return builder->object;
}

json_t *lk_form_texts(char *const *texts, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < count; i++) {
        if (json_array_append_new(array, lk_form_text(texts[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* ---- bytes ---- */

/* RFC 4648, section 4. NULL when memory is exhausted. */
static char *base64(const unsigned char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((size + 2) / 3 * 4 + 1);
    char *at = text;

    for (size_t i = 0; text != NULL && i < size; i += 3) {
        unsigned group = (unsigned)bytes[i] << 16;
        group |= i + 1 < size ? (unsigned)bytes[i + 1] << 8 : 0;
        group |= i + 2 < size ? bytes[i + 2] : 0;
        *at++ = digits[group >> 18];
        *at++ = digits[group >> 12 & 63];
        *at++ = i + 1 < size ? digits[group >> 6 & 63] : '=';
        *at++ = i + 2 < size ? digits[group & 63] : '=';
    }
    if (text != NULL) {
        *at = '\0';
    }
    return text;
}

void lk_form_add_value(struct lk_form_builder *builder, const void *bytes, size_t size) {
    if (lk_utf8_is_valid(bytes, size)) {
        lk_form_add(builder, "value", json_stringn(bytes, size));
    } else {
        char *text = base64(bytes, size);
        lk_form_add(builder, "value_base64", text != NULL ? json_string(text) : NULL);
        free(text);
    }
}
