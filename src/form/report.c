/* SPDX-License-Identifier: Apache-2.0 */
/* What a store says of itself, as JSON: lines of "name: value" become the fields of "report". */
#include <stdlib.h>
#include <string.h>

#include "form/form.h"

/* `size` bytes as a JSON string. */
static json_t *form_bytes(const char *bytes, size_t size) {
    char *text = strndup(bytes, size);
    if (text == NULL) {
        return NULL;
    }
    json_t *string = lk_form_text(text);
    free(text);
    return string;
}

/* Adds one line to the object of a report. A line without ": " is its own name and value. */
static bool add_report_line(json_t *object, const char *line, size_t size) {
    const char *colon = memmem(line, size, ": ", 2);
    size_t name_size = colon != NULL ? (size_t)(colon - line) : size;
    const char *value = colon != NULL ? colon + 2 : line;

    json_t *name = form_bytes(line, name_size);
    if (name == NULL) {
        return false;
    }
    bool added = json_object_set_new(object, json_string_value(name),
                                     form_bytes(value, size - (size_t)(value - line)))
                 == 0;
    json_decref(name);
    return added;
}

static bool add_warning_line(json_t *array, const char *line, size_t size) {
    return json_array_append_new(array, form_bytes(line, size)) == 0;
}

/* Adds each line of `text` that is not empty. Takes over `into`; NULL when memory is exhausted. */
static json_t *form_lines(json_t *into, const char *text,
                          bool (*add_line)(json_t *into, const char *line, size_t size)) {
    for (const char *line = text; into != NULL && line != NULL && *line != '\0';) {
        size_t size = strcspn(line, "\n");
        if (size > 0 && !add_line(into, line, size)) {
            json_decref(into);
            return NULL;
        }
        line += size + (line[size] == '\n' ? 1 : 0);
    }
    return into;
}

json_t *lk_form_report(const lk_report *report) {
    json_t *object = json_object();
    if (object == NULL) {
        return NULL;
    }
    if (json_object_set_new(object, "status", lk_form_text(lk_outcome_name(LK_OK))) != 0
        || json_object_set_new(object, "report",
                               form_lines(json_object(), report->text, add_report_line))
               != 0
        || json_object_set_new(object, "warnings",
                               form_lines(json_array(), report->warnings, add_warning_line))
               != 0
        || json_object_set_new(object, "round_trip_us", json_integer(report->round_trip_us)) != 0
        || json_object_set_new(object, "clock_offset_us", json_integer(report->clock_offset_us))
               != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}
