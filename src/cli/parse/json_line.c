/* SPDX-License-Identifier: Apache-2.0 */
/* Objects in JSON, a line each. */
#include "cli/parse/json_line.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

bool lk_json_line_is_blank(const char *line, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (line[i] == '\0' || strchr(" \t\r\n", line[i]) == NULL) {
            return false;
        }
    }
    return true;
}

lk_outcome lk_json_line_parse(const char *line, size_t size, json_t **ret_object, lk_error *error) {
    json_error_t where;
    json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES, &where);
    lk_outcome outcome = LK_OK;

    if (!json_is_object(object)) {
        outcome = lk_error_set(error, LK_INVALID, "it is not an object in JSON%s%s",
                               object == NULL ? ": " : "", object == NULL ? where.text : "");
        json_decref(object);
        object = NULL;
    }
    *ret_object = object;
    return outcome;
}

const char *lk_json_line_id(const json_t *id, char number[LK_JSON_LINE_NUMBER_BYTES]) {
    if (!json_is_integer(id)) {
        return json_string_value(id);
    }
    (void)snprintf(number, LK_JSON_LINE_NUMBER_BYTES, "%" JSON_INTEGER_FORMAT,
                   json_integer_value(id));
    return number;
}
