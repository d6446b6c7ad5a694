/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of a reply, read by tables of fields. */
#include "engine/service/reader.h"

#include <stdlib.h>

#include "base/text.h"
#include "engine/bytes.h"

/* ---- single values --------------------------------------------------------------------------- */

static bool is_text(const struct lk_resp_value *value) {
    return value->kind == LK_RESP_BULK || value->kind == LK_RESP_SIMPLE;
}

char *lk_reader_copy(struct lk_reader *reader, const struct lk_resp_value *value) {
    char *copy;

    if (!is_text(value)) {
        reader->is_damaged = true;
        return NULL;
    }
    copy = lk_bytes_copy_with_end(value->text);
    reader->is_out_of_memory = reader->is_out_of_memory || copy == NULL;
    return copy;
}

/* Decimal digits, perhaps behind a minus. */
static bool read_digits(struct lk_slice text, int64_t *ret_number) {
    bool is_negative = text.size > 1 && text.bytes[0] == '-';
    int64_t number = 0;

    if (text.size == 0 || text.size > 18) {
        return false;
    }
    for (size_t i = is_negative; i < text.size; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') {
            return false;
        }
        number = number * 10 + (text.bytes[i] - '0');
    }
    *ret_number = is_negative ? -number : number;
    return true;
}

int64_t lk_reader_number(struct lk_reader *reader, const struct lk_resp_value *value) {
    int64_t number = 0;

    if (value->kind == LK_RESP_NUMBER || value->kind == LK_RESP_BOOLEAN) {
        number = value->number;
    } else if (!is_text(value) || !read_digits(value->text, &number)) {
        reader->is_damaged = true;
    }
    return number;
}

/* A number that is not negative, and not larger than `max`. */
static uint64_t read_count(struct lk_reader *reader, const struct lk_resp_value *value,
                           uint64_t max) {
    int64_t number = lk_reader_number(reader, value);

    if (number < 0 || (uint64_t)number > max) {
        reader->is_damaged = true;
        return 0;
    }
    return (uint64_t)number;
}

lk_outcome lk_reader_outcome(struct lk_reader *reader, const struct lk_resp_value *value) {
    for (int outcome = 0; is_text(value) && outcome < LK_OUTCOME_COUNT; outcome++) {
        if (lk_slice_equal(value->text, lk_slice_of(lk_outcome_name((lk_outcome)outcome)))) {
            return (lk_outcome)outcome;
        }
    }
    reader->is_damaged = true;
    return LK_INTERNAL;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void read_text(struct lk_reader *reader, const struct lk_resp_value *value, char **text) {
    if (value->kind != LK_RESP_NULL) {
        free(*text);
        *text = lk_reader_copy(reader, value);
    }
}

static void read_field(struct lk_reader *reader, const struct lk_resp_value *value,
                       const struct lk_field *field, void *record) {
    void *at = (char *)record + field->at;

    switch (field->kind) {
    case LK_FIELD_TEXT:
        read_text(reader, value, at);
        break;
    case LK_FIELD_NUMBER:
        *(int64_t *)at = lk_reader_number(reader, value);
        break;
    case LK_FIELD_COUNT:
        *(uint64_t *)at = read_count(reader, value, INT64_MAX);
        break;
    case LK_FIELD_SMALL:
        *(uint32_t *)at = (uint32_t)read_count(reader, value, UINT32_MAX);
        break;
    case LK_FIELD_SIZE:
        *(size_t *)at = (size_t)read_count(reader, value, INT64_MAX);
        break;
    case LK_FIELD_FLAG:
        *(bool *)at = lk_reader_number(reader, value) != 0;
        break;
    case LK_FIELD_WORD:
        *(bool *)at = lk_slice_equal(value->text, lk_slice_of(field->word));
        break;
    case LK_FIELD_OTHER:
        field->read(reader, value, record);
        return;
    }
    lk_resp_cursor_skip(&reader->cursor, value);
}

static const struct lk_field *field_named(const struct lk_field *fields, struct lk_slice name) {
    for (; fields->name != NULL; fields++) {
        if (lk_slice_equal(lk_slice_of(fields->name), name)) {
            return fields;
        }
    }
    return NULL;
}

void lk_reader_read_map(struct lk_reader *reader, const struct lk_resp_value *map,
                        const struct lk_field *fields, void *record) {
    struct lk_resp_value name;
    struct lk_resp_value value;
    size_t left = map->kind == LK_RESP_MAP ? map->count : map->count / 2;

    if (map->kind != LK_RESP_MAP && (map->kind != LK_RESP_ARRAY || map->count % 2 != 0)) {
        reader->is_damaged = true;
        return;
    }
    while (left-- > 0 && lk_reader_is_well(reader)) {
        const struct lk_field *field;

        if (!lk_resp_cursor_next(&reader->cursor, &name) || !is_text(&name)
            || !lk_resp_cursor_next(&reader->cursor, &value)) {
            reader->is_damaged = true;
            return;
        }
        field = field_named(fields, name.text);
        if (field != NULL) {
            read_field(reader, &value, field, record);
        } else {
            lk_resp_cursor_skip(&reader->cursor, &value);
        }
    }
}

void lk_reader_read_maps(struct lk_reader *reader, const struct lk_resp_value *array,
                         const struct lk_field *fields, const void *blank, size_t size,
                         struct lk_records *records) {
    char *items;

    if (array->kind != LK_RESP_ARRAY) {
        reader->is_damaged = true;
        return;
    }
    if (array->count == 0) {
        return;
    }
    /* A reply that was measured has at least a byte for each of them. */
    items = reallocarray(records->items, records->count + array->count, size);
    if (items == NULL) {
        reader->is_out_of_memory = true;
        return;
    }
    records->items = items;
    for (size_t i = 0; i < array->count && lk_reader_is_well(reader); i++) {
        struct lk_resp_value map;
        void *record = items + records->count * size;

        memcpy(record, blank, size);
        records->count++;
        if (!lk_resp_cursor_next(&reader->cursor, &map)) {
            reader->is_damaged = true;
            return;
        }
        lk_reader_read_map(reader, &map, fields, record);
    }
}

void lk_reader_read_texts(struct lk_reader *reader, const struct lk_resp_value *array,
                          char ***ret_texts, size_t *ret_count) {
    char **texts;

    if (array->kind != LK_RESP_ARRAY || *ret_texts != NULL) {
        reader->is_damaged = true;
        return;
    }
    if (array->count == 0) {
        return;
    }
    texts = calloc(array->count, sizeof *texts);
    if (texts == NULL) {
        reader->is_out_of_memory = true;
        return;
    }
    *ret_texts = texts;
    *ret_count = 0;
    while (*ret_count < array->count) {
        struct lk_resp_value value;

        if (!lk_resp_cursor_next(&reader->cursor, &value)) {
            reader->is_damaged = true;
            return;
        }
        texts[*ret_count] = lk_reader_copy(reader, &value);
        if (texts[*ret_count] == NULL) {
            return;
        }
        (*ret_count)++;
    }
}
