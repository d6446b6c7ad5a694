/* SPDX-License-Identifier: Apache-2.0 */
/* Items as lines of JSON: from an object to a push. What a store checks is left to it. */
#include "cli/parse/item_line.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "form/duration.h"
#include "form/text.h"

typedef lk_outcome read_member(struct lk_item_line *line, const json_t *value, lk_error *error);

static lk_outcome wrong(lk_error *error, const char *name, const char *what) {
    return lk_error_set(error, LK_INVALID, "\"%s\" is %s", name, what);
}

static lk_outcome read_id(struct lk_item_line *line, const json_t *value, lk_error *error) {
    if (json_is_integer(value)) {
        (void)snprintf(line->id, sizeof line->id, "%" JSON_INTEGER_FORMAT,
                       json_integer_value(value));
        line->request.id = line->id;
    } else if (json_is_string(value)) {
        line->request.id = json_string_value(value);
    } else {
        return wrong(error, "id", "a text or a whole number");
    }
    return LK_OK;
}

static lk_outcome read_value(struct lk_item_line *line, const json_t *value, lk_error *error) {
    if (!json_is_string(value)) {
        return wrong(error, "value", "a text");
    }
    line->request.value = json_string_value(value);
    line->request.value_size = json_string_length(value);
    return LK_OK;
}

static lk_outcome read_bytes(struct lk_item_line *line, const json_t *value, lk_error *error) {
    size_t size = json_string_length(value);

    free(line->value);
    line->value = json_is_string(value) ? strdup(json_string_value(value)) : NULL;
    if (line->value == NULL || !lk_form_read_base64(line->value, size, &size)) {
        return wrong(error, "value_base64", "a text in base64");
    }
    line->request.value = line->value;
    line->request.value_size = size;
    return LK_OK;
}

static lk_outcome read_needs(struct lk_item_line *line, const json_t *value, lk_error *error) {
    size_t count = json_array_size(value);

    for (size_t i = 0; i < count && i < LK_ITEM_LINE_NEEDS_MAX; i++) {
        line->needs[i] = json_string_value(json_array_get(value, i));
        if (line->needs[i] == NULL) {
            return wrong(error, "needs", "a list of texts");
        }
    }
    if (!json_is_array(value) || count > LK_ITEM_LINE_NEEDS_MAX) {
        return wrong(error, "needs", "a list of at most 15 parts");
    }
    line->request.needs = line->needs;
    line->request.need_count = count;
    return LK_OK;
}

static lk_outcome read_delay(struct lk_item_line *line, const json_t *value, lk_error *error) {
    char seconds[48];

    if (json_is_number(value)) {
        (void)snprintf(seconds, sizeof seconds, "%.3f", json_number_value(value));
    } else if (!json_is_string(value)) {
        return wrong(error, "delay", "a duration, or a number of seconds");
    }
    return lk_duration_parse(json_is_string(value) ? json_string_value(value) : seconds,
                             &line->request.delay_ms, error);
}

static lk_outcome read_priority(struct lk_item_line *line, const json_t *value, lk_error *error) {
    json_int_t priority = json_integer_value(value);

    if (!json_is_integer(value) || priority < INT16_MIN || priority > INT16_MAX) {
        return wrong(error, "priority", "a whole number from -32768 to 32767");
    }
    line->request.priority = (int32_t)priority;
    return LK_OK;
}

static const struct {
    const char *name;
    read_member *read;
} members[] = {{"id", read_id},       {"value", read_value}, {"value_base64", read_bytes},
               {"needs", read_needs}, {"delay", read_delay}, {"priority", read_priority}};

static lk_outcome read_named(struct lk_item_line *line, const char *name, const json_t *value,
                             lk_error *error) {
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (strcmp(members[i].name, name) == 0) {
            return members[i].read(line, value, error);
        }
    }
    return lk_error_set(error, LK_INVALID, "\"%.40s\" is not known of an item", name);
}

static lk_outcome read_object(struct lk_item_line *line, json_t *object, lk_error *error) {
    const char *name;
    json_t *value;
    lk_outcome outcome = LK_OK;

    json_object_foreach(object, name, value) {
        if (outcome == LK_OK) {
            outcome = read_named(line, name, value, error);
        }
    }
    return outcome == LK_OK && line->request.id == NULL
               ? lk_error_set(error, LK_INVALID, "it has no \"id\"")
               : outcome;
}

lk_outcome lk_item_line_parse(const char *text, size_t size, const lk_push_request *usual,
                              struct lk_item_line *ret_line, lk_error *error) {
    json_error_t where;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    lk_outcome outcome;

    *ret_line = (struct lk_item_line){.request = *usual, .object = object};
    if (json_is_object(object)) {
        outcome = read_object(ret_line, object, error);
    } else {
        outcome = lk_error_set(error, LK_INVALID, "it is not an object in JSON%s%s",
                               object == NULL ? ": " : "", object == NULL ? where.text : "");
    }
    if (outcome != LK_OK) {
        lk_item_line_done(ret_line);
    }
    return outcome;
}

void lk_item_line_done(struct lk_item_line *line) {
    free(line->value);
    json_decref(line->object);
}
