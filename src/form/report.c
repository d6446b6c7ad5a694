/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a store: lines of "name: value" become the fields of "report". */
#include "form/form.h"
#include "form/text.h"

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
