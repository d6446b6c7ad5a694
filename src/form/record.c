/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the records of any form field by field. */
#include "form/record.h"

static const void *address_of(const struct lk_field *field, const void *record) {
    return (const char *)record + field->at;
}

static size_t count_of(const struct lk_field *field, const void *record) {
    return *(const size_t *)(const void *)((const char *)record + field->count_at);
}

/* Whether the number is known; without a mark for it: whether it is not 0. */
static bool is_known(const struct lk_field *field, const void *record) {
    return field->count_at != 0 ? *((const bool *)record + field->count_at)
                                : *(const int32_t *)address_of(field, record) != 0;
}

bool lk_field_is_empty(const struct lk_field *field, const void *record) {
    const void *at = address_of(field, record);

    switch (field->kind) {
    case LK_FIELD_TEXT:
        return *(char *const *)at == NULL;
    case LK_FIELD_NUMBER:
        return *(const int64_t *)at == 0;
    case LK_FIELD_COUNT:
        return *(const uint64_t *)at == 0;
    case LK_FIELD_SMALL:
        return *(const uint32_t *)at == 0;
    case LK_FIELD_SIGNED:
        return !is_known(field, record);
    case LK_FIELD_SIZE:
        return *(const size_t *)at == 0;
    case LK_FIELD_FLAG:
    case LK_FIELD_WORD:
        return !*(const bool *)at;
    case LK_FIELD_NAME:
        return *(const char *const *)at == NULL;
    case LK_FIELD_OUTCOME:
        return *(const lk_outcome *)at == LK_OK;
    case LK_FIELD_VALUE:
        return *(void *const *)at == NULL;
    case LK_FIELD_TEXTS:
    case LK_FIELD_NUMBERS:
    case LK_FIELD_FIRST:
    case LK_FIELD_RECORDS:
        return count_of(field, record) == 0;
    case LK_FIELD_WATCH_KIND:
    case LK_FIELD_INLINE:
        break;
    }
    return false;
}

static bool is_shown(const struct lk_field *field, const void *record) {
    switch (field->when) {
    case LK_FIELD_ALWAYS:
        break;
    case LK_FIELD_NEEDED:
    case LK_FIELD_IF_ANY:
        return !lk_field_is_empty(field, record);
    case LK_FIELD_IF_KNOWN:
        return *(const int64_t *)address_of(field, record) >= 0;
    case LK_FIELD_IF_SHOWN:
        return field->is_shown(record);
    }
    return true;
}

static void add_records(struct lk_form_writer *writer, const struct lk_field *field,
                        const char *records, size_t count) {
    lk_form_open_array(writer, field->name);
    for (size_t i = 0; i < count; i++) {
        lk_form_open_map(writer, NULL);
        lk_form_add_fields(writer, field->of, records + i * field->of->size);
        lk_form_close(writer);
    }
    lk_form_close(writer);
}

static void add_numbers(struct lk_form_writer *writer, const struct lk_field *field,
                        const uint64_t *numbers, size_t count) {
    lk_form_open_array(writer, field->name);
    for (size_t i = 0; i < count; i++) {
        lk_form_add_count(writer, NULL, numbers[i]);
    }
    lk_form_close(writer);
}

static void add_field(struct lk_form_writer *writer, const struct lk_field *field,
                      const void *record) {
    const void *at = address_of(field, record);

    switch (field->kind) {
    case LK_FIELD_TEXT:
        lk_form_add_text_if_any(writer, field->name, *(char *const *)at);
        break;
    case LK_FIELD_NUMBER:
        lk_form_add_number(writer, field->name, *(const int64_t *)at);
        break;
    case LK_FIELD_COUNT:
        lk_form_add_count(writer, field->name, *(const uint64_t *)at);
        break;
    case LK_FIELD_SMALL:
        lk_form_add_count(writer, field->name, *(const uint32_t *)at);
        break;
    case LK_FIELD_SIGNED:
        lk_form_add_number(writer, field->name, *(const int32_t *)at);
        break;
    case LK_FIELD_SIZE:
        lk_form_add_count(writer, field->name, *(const size_t *)at);
        break;
    case LK_FIELD_FLAG:
        lk_form_add_boolean(writer, field->name, *(const bool *)at);
        break;
    case LK_FIELD_WORD:
        lk_form_add_text(writer, field->name, field->names[*(const bool *)at ? 0 : 1]);
        break;
    case LK_FIELD_NAME:
        lk_form_add_text_if_any(writer, field->name, *(const char *const *)at);
        break;
    case LK_FIELD_OUTCOME:
        lk_form_add_text(writer, field->name, lk_outcome_name(*(const lk_outcome *)at));
        break;
    case LK_FIELD_WATCH_KIND:
        lk_form_add_text(writer, field->name, lk_watch_kind_name(*(const lk_watch_kind *)at));
        break;
    case LK_FIELD_VALUE:
        lk_form_add_value(writer, field->name, *(void *const *)at, count_of(field, record));
        break;
    case LK_FIELD_TEXTS:
        lk_form_add_texts(writer, field->name, *(char **const *)at, count_of(field, record));
        break;
    case LK_FIELD_NUMBERS:
        add_numbers(writer, field, *(const uint64_t *const *)at, count_of(field, record));
        break;
    case LK_FIELD_FIRST:
        lk_form_add_text(writer, field->name, (*(char **const *)at)[0]);
        break;
    case LK_FIELD_RECORDS:
        add_records(writer, field, *(void *const *)at, count_of(field, record));
        break;
    case LK_FIELD_INLINE:
        lk_form_add_fields(writer, field->of, at);
        break;
    }
}

void lk_form_add_fields(struct lk_form_writer *writer, const struct lk_form *form,
                        const void *record) {
    for (const struct lk_field *field = form->fields; field->name != NULL; field++) {
        if (is_shown(field, record)) {
            add_field(writer, field, record);
        }
    }
}
