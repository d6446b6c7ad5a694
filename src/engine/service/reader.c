/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of a reply, read by tables of fields; the lines of INFO. */
#include "engine/service/reader.h"

#include <stdlib.h>

#include "base/text.h"
#include "engine/event.h"

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
    copy = lk_text_copy(value->text);
    reader->is_out_of_memory = reader->is_out_of_memory || copy == NULL;
    return copy;
}

/* Decimal digits, with an optional minus. */
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

/* ---- fields ---------------------------------------------------------------------------------- */

/* The index of the word in `names`, which are `count` or end in NULL; `count`: it is not there. */
static size_t find_name(struct lk_slice word, const char *const *names, size_t count) {
    size_t at = 0;

    while (at < count && names[at] != NULL && !lk_slice_equal(word, lk_slice_of(names[at]))) {
        at++;
    }
    return at < count && names[at] != NULL ? at : count;
}

static lk_outcome read_outcome(struct lk_reader *reader, struct lk_slice name) {
    for (int outcome = 0; outcome < LK_OUTCOME_COUNT; outcome++) {
        if (lk_slice_equal(name, lk_slice_of(lk_outcome_name((lk_outcome)outcome)))) {
            return (lk_outcome)outcome;
        }
    }
    reader->is_damaged = true;
    return LK_INTERNAL;
}

static void read_text(struct lk_reader *reader, const struct lk_resp_value *value, char **text) {
    if (value->kind != LK_RESP_NULL) {
        free(*text);
        *text = lk_reader_copy(reader, value);
    }
}

static void read_value(struct lk_reader *reader, const struct lk_resp_value *value, void **bytes,
                       size_t *size) {
    if (value->kind != LK_RESP_NULL && *bytes == NULL) {
        *bytes = lk_reader_copy(reader, value);
        *size = value->text.size;
    }
}

/* Lists that share a count must have the same length, or the answer is damaged. */
static void read_texts(struct lk_reader *reader, const struct lk_resp_value *array, char ***texts,
                       size_t *count) {
    if (array->kind != LK_RESP_ARRAY || *texts != NULL || (*count != 0 && *count != array->count)) {
        reader->is_damaged = true;
        return;
    }
    if (array->count == 0) {
        return;
    }
    /* The count is trusted: a measured reply has at least a byte for each value. */
    *texts = calloc(array->count, sizeof **texts);
    if (*texts == NULL) {
        reader->is_out_of_memory = true;
        return;
    }
    *count = array->count;
    for (size_t i = 0; i < array->count && lk_reader_is_ok(reader); i++) {
        struct lk_resp_value value;

        if (lk_resp_cursor_next(&reader->cursor, &value)) {
            (*texts)[i] = lk_reader_copy(reader, &value);
        } else {
            reader->is_damaged = true;
        }
    }
}

static void read_records(struct lk_reader *reader, const struct lk_resp_value *array,
                         const struct lk_form *form, void **items, size_t *count) {
    struct lk_records records = {.items = *items, .count = *count};

    lk_reader_read_maps(reader, array, form, &records);
    *items = records.items;
    *count = records.count;
}

/* A field that is one value, which was just read. */
static void read_single(struct lk_reader *reader, const struct lk_resp_value *value,
                        const struct lk_field *field, void *at, size_t *count) {
    size_t found;

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
    case LK_FIELD_SIGNED:
        *(int32_t *)at = (int32_t)lk_reader_number(reader, value);
        break;
    case LK_FIELD_SIZE:
        *(size_t *)at = (size_t)read_count(reader, value, INT64_MAX);
        break;
    case LK_FIELD_FLAG:
        *(bool *)at = lk_reader_number(reader, value) != 0;
        break;
    case LK_FIELD_WORD:
        *(bool *)at = find_name(value->text, field->names, 1) == 0;
        break;
    case LK_FIELD_NAME:
        found = find_name(value->text, field->names, SIZE_MAX);
        reader->is_damaged = reader->is_damaged || found == SIZE_MAX;
        *(const char **)at = found != SIZE_MAX ? field->names[found] : NULL;
        break;
    case LK_FIELD_OUTCOME:
        *(lk_outcome *)at = read_outcome(reader, value->text);
        break;
    case LK_FIELD_WATCH_KIND:
        reader->is_damaged = reader->is_damaged || !lk_watch_kind_parse(value->text, at);
        break;
    case LK_FIELD_VALUE:
        read_value(reader, value, at, count);
        break;
    case LK_FIELD_TEXTS:
    case LK_FIELD_RECORDS:
    case LK_FIELD_NUMBERS:
    case LK_FIELD_FIRST:
    case LK_FIELD_INLINE:
        break;
    }
}

static void read_field(struct lk_reader *reader, const struct lk_resp_value *value,
                       const struct lk_field *field, void *record) {
    void *at = (char *)record + field->at;
    size_t *count = (size_t *)(void *)((char *)record + field->count_at);

    if (field->kind == LK_FIELD_SIGNED && field->count_at != 0) {
        *((bool *)record + field->count_at) = true;
    }
    if (field->kind == LK_FIELD_TEXTS) {
        read_texts(reader, value, at, count);
    } else if (field->kind == LK_FIELD_RECORDS) {
        read_records(reader, value, field->of, at, count);
    } else {
        read_single(reader, value, field, at, count);
        lk_resp_cursor_skip(&reader->cursor, value);
    }
}

/* The field of that name, and in *record the struct that has it; NULL: there is none. */
static const struct lk_field *find_field(const struct lk_form *form, struct lk_slice name,
                                         void **record) {
    for (const struct lk_field *field = form->fields; field->name != NULL; field++) {
        const struct lk_field *found = NULL;
        void *inner = (char *)*record + field->at;

        if (field->kind == LK_FIELD_INLINE) {
            found = find_field(field->of, name, &inner);
            *record = found != NULL ? inner : *record;
        } else if (lk_slice_equal(lk_slice_of(field->name), name)) {
            found = field;
        }
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static bool has_needed(const struct lk_form *form, const void *record) {
    for (const struct lk_field *field = form->fields; field->name != NULL; field++) {
        if ((field->when == LK_FIELD_NEEDED && lk_field_is_empty(field, record))
            || (field->kind == LK_FIELD_INLINE
                && !has_needed(field->of, (const char *)record + field->at))) {
            return false;
        }
    }
    return true;
}

/* ---- maps ------------------------------------------------------------------------------------ */

void lk_reader_read_map(struct lk_reader *reader, const struct lk_resp_value *map,
                        const struct lk_form *form, void *record) {
    struct lk_resp_value name;
    struct lk_resp_value value;
    size_t left = map->kind == LK_RESP_MAP ? map->count : map->count / 2;

    if (map->kind != LK_RESP_MAP && (map->kind != LK_RESP_ARRAY || map->count % 2 != 0)) {
        reader->is_damaged = true;
        return;
    }
    while (left-- > 0 && lk_reader_is_ok(reader)) {
        const struct lk_field *field;
        void *inner = record;

        if (!lk_resp_cursor_next(&reader->cursor, &name) || !is_text(&name)
            || !lk_resp_cursor_next(&reader->cursor, &value)) {
            reader->is_damaged = true;
            return;
        }
        field = find_field(form, name.text, &inner);
        if (field != NULL) {
            read_field(reader, &value, field, inner);
        } else {
            lk_resp_cursor_skip(&reader->cursor, &value);
        }
    }
    reader->is_damaged = reader->is_damaged || !has_needed(form, record);
}

void lk_reader_read_maps(struct lk_reader *reader, const struct lk_resp_value *array,
                         const struct lk_form *form, struct lk_records *records) {
    char *items;

    if (array->kind != LK_RESP_ARRAY) {
        reader->is_damaged = true;
        return;
    }
    if (array->count == 0) {
        return;
    }
    /* A reply that was measured has at least a byte for each of them. */
    items = reallocarray(records->items, records->count + array->count, form->size);
    if (items == NULL) {
        reader->is_out_of_memory = true;
        return;
    }
    records->items = items;
    for (size_t i = 0; i < array->count && lk_reader_is_ok(reader); i++) {
        struct lk_resp_value map;
        void *record = items + records->count * form->size;

        memcpy(record, form->blank, form->size);
        records->count++;
        if (!lk_resp_cursor_next(&reader->cursor, &map)) {
            reader->is_damaged = true;
            return;
        }
        lk_reader_read_map(reader, &map, form, record);
    }
}

/* ---- INFO ------------------------------------------------------------------------------------ */

struct lk_slice lk_service_info_text(struct lk_slice info, const char *name) {
    size_t name_size = strlen(name);

    while (info.size > 0) {
        const char *end = memchr(info.bytes, '\n', info.size);
        size_t size = end != NULL ? (size_t)(end - info.bytes) : info.size;
        size_t line = size > 0 && info.bytes[size - 1] == '\r' ? size - 1 : size;

        if (line > name_size && memcmp(info.bytes, name, name_size) == 0
            && info.bytes[name_size] == ':') {
            return (struct lk_slice){info.bytes + name_size + 1, line - name_size - 1};
        }
        info.bytes += size + (end != NULL);
        info.size -= size + (end != NULL);
    }
    return (struct lk_slice){.size = 0};
}

int64_t lk_service_info_number(struct lk_slice info, const char *name, int64_t otherwise) {
    struct lk_slice text = lk_service_info_text(info, name);
    char digits[24];

    if (text.size == 0 || text.size >= sizeof digits) {
        return otherwise;
    }
    memcpy(digits, text.bytes, text.size);
    digits[text.size] = '\0';
    return strtoll(digits, NULL, 10);
}
