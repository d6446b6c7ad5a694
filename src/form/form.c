/* SPDX-License-Identifier: Apache-2.0 */
/* Records as maps, the answers that they are in, reports, and how a record is written at all. */
#include "form/form.h"

#include "form/text.h"

static void write_record(struct lk_form_writer *writer, const struct lk_form *form,
                         const void *record) {
    lk_form_open_map(writer, NULL);
    lk_form_add_fields(writer, form, record);
    lk_form_close(writer);
}

void lk_form_open_answer(struct lk_form_writer *writer, lk_outcome outcome) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "status", lk_outcome_name(outcome));
}

/* Writes the rest of an answer whose map is open. */
static void end_answer(struct lk_form_writer *writer, const struct lk_form *form,
                       const void *record) {
    lk_form_add_fields(writer, form, record);
    lk_form_close(writer);
}

static const char *failure_text(lk_outcome outcome, const char *text) {
    return text != NULL && text[0] != '\0' ? text : lk_outcome_text(outcome);
}

void lk_form_write_result(struct lk_form_writer *writer, const lk_result *result) {
    lk_result shown = *result;

    shown.error = (char *)(uintptr_t)failure_text(result->outcome, result->error);
    lk_form_open_answer(writer, result->outcome);
    end_answer(writer, &lk_form_of_result, &shown);
}

void lk_form_write_failure(struct lk_form_writer *writer, lk_outcome outcome, const char *text) {
    lk_form_open_answer(writer, outcome);
    lk_form_add_text(writer, "error", failure_text(outcome, text));
    lk_form_close(writer);
}

void lk_form_write_ok(struct lk_form_writer *writer) {
    lk_form_open_answer(writer, LK_OK);
    lk_form_close(writer);
}

void lk_form_write_broken(struct lk_form_writer *writer, size_t count) {
    lk_form_open_answer(writer, LK_OK);
    end_answer(writer, &lk_form_of_broken, &count);
}

void lk_form_write_pushed(struct lk_form_writer *writer, const lk_push_result *pushed) {
    lk_form_open_answer(writer, LK_OK);
    end_answer(writer, &lk_form_of_pushed, pushed);
}

void lk_form_write_entry(struct lk_form_writer *writer, const lk_entry *entry, bool with_blockers) {
    write_record(writer, with_blockers ? &lk_form_of_explained_entry : &lk_form_of_entry, entry);
}

void lk_form_write_audit_entry(struct lk_form_writer *writer, const lk_audit_entry *entry) {
    write_record(writer, &lk_form_of_audit_entry, entry);
}

void lk_form_write_event(struct lk_form_writer *writer, const lk_watch_event *event) {
    write_record(writer, &lk_form_of_event, event);
}

void lk_form_write_value_info(struct lk_form_writer *writer, const lk_value_info *value) {
    write_record(writer, &lk_form_of_value_info, value);
}

void lk_form_write_value(struct lk_form_writer *writer, const char *path, const lk_value *value) {
    lk_form_open_answer(writer, LK_OK);
    lk_form_add_text(writer, "path", path);
    end_answer(writer, &lk_form_of_value, value);
}

void lk_form_write_claim(struct lk_form_writer *writer, const lk_claim_info *claim) {
    lk_form_open_answer(writer, LK_GRANTED);
    end_answer(writer, &lk_form_of_claim, claim);
}

void lk_form_add_claims(struct lk_form_writer *writer, const char *name,
                        const lk_claim_info *const *claims, size_t count) {
    lk_form_open_array(writer, name);
    for (size_t i = 0; i < count; i++) {
        write_record(writer, &lk_form_of_claim, claims[i]);
    }
    lk_form_close(writer);
}

void lk_form_write_queue(struct lk_form_writer *writer, const lk_queue_info *queue) {
    write_record(writer, &lk_form_of_queue, queue);
}

void lk_form_write_item(struct lk_form_writer *writer, const char *queue,
                        const lk_item_info *item) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "queue", queue);
    end_answer(writer, &lk_form_of_item, item);
}

void lk_form_write_stats(struct lk_form_writer *writer, const char *queue,
                         const lk_queue_stats *stats) {
    lk_form_open_answer(writer, LK_OK);
    lk_form_add_text(writer, "queue", queue);
    end_answer(writer, &lk_form_of_stats, stats);
}

void lk_form_write_limits(struct lk_form_writer *writer, const lk_limits *limits) {
    lk_form_open_answer(writer, LK_OK);
    end_answer(writer, &lk_form_of_limits, limits);
}

/* ---- the report of a store ------------------------------------------------------------------- */

/* Lines of "name: value" become the fields of "report". */

/* Removes the next line that is not empty from the front of `text`. false: there is none. */
static bool next_line(const char **text, struct lk_slice *ret_line) {
    const char *at = *text + strspn(*text, "\n");

    *ret_line = (struct lk_slice){at, strcspn(at, "\n")};
    *text = at + ret_line->size;
    return ret_line->size > 0;
}

/* A line without ": " is its own name and value. */
static void split(struct lk_slice line, struct lk_slice *ret_name, struct lk_slice *ret_value) {
    const char *colon = memmem(line.bytes, line.size, ": ", 2);

    *ret_name = line;
    *ret_value = line;
    if (colon != NULL) {
        ret_name->size = (size_t)(colon - line.bytes);
        ret_value->bytes = colon + 2;
        ret_value->size = line.size - ret_name->size - 2;
    }
}

/* Compared as JSON shows them, where different bytes that are not UTF-8 are the same character. */
static bool is_same_name(struct lk_slice a, struct lk_slice b) {
    struct lk_buffer names = {.max = 0};
    size_t size;
    bool is_same;

    lk_form_put_string(&names, a);
    size = names.size;
    lk_form_put_string(&names, b);
    is_same = !names.failed && names.size == 2 * size
              && memcmp(names.bytes, names.bytes + size, size) == 0;
    lk_buffer_done(&names);
    return is_same;
}

/* A name is written once: at its first line, with the text of its last one. */
static void add_line(struct lk_form_writer *writer, const char *text, struct lk_slice line) {
    struct lk_slice name;
    struct lk_slice value;
    struct lk_slice other;
    struct lk_slice other_name;
    struct lk_slice other_value;

    split(line, &name, &value);
    while (next_line(&text, &other)) {
        split(other, &other_name, &other_value);
        if (is_same_name(name, other_name)) {
            if (other.bytes < line.bytes) {
                return;
            }
            value = other_value;
        }
    }
    lk_form_add_pair(writer, name, value);
}

void lk_form_write_report(struct lk_form_writer *writer, const lk_report *report) {
    const char *at = report->text;
    struct lk_slice line;

    lk_form_open_answer(writer, LK_OK);
    lk_form_open_map(writer, "report");
    while (next_line(&at, &line)) {
        add_line(writer, report->text, line);
    }
    lk_form_close(writer);
    lk_form_open_array(writer, "warnings");
    for (at = report->warnings; next_line(&at, &line);) {
        lk_form_add_slice(writer, NULL, line);
    }
    lk_form_close(writer);
    lk_form_add_number(writer, "round_trip_us", report->round_trip_us);
    lk_form_add_number(writer, "clock_offset_us", report->clock_offset_us);
    lk_form_close(writer);
}

/* ---- records --------------------------------------------------------------------------------- */

/* In any form, field by field. */

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
