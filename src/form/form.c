/* SPDX-License-Identifier: Apache-2.0 */
/* Records as maps, the answers that they are in, and reports. */
#include "form/form.h"

#include "form/record.h"
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

void lk_form_write_pushed(struct lk_form_writer *writer, bool added) {
    lk_form_open_answer(writer, LK_OK);
    end_answer(writer, &lk_form_of_added, &added);
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
