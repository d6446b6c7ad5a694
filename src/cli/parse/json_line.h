/* SPDX-License-Identifier: Apache-2.0 */
/* A line that is an object in JSON: of `lk push QUEUE -`, and of a report of CMD of lk work. */
#ifndef LK_CLI_PARSE_JSON_LINE_H
#define LK_CLI_PARSE_JSON_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lockkeeper/lockkeeper.h"

enum { LK_JSON_LINE_NUMBER_BYTES = 24 };

/* Whether there is nothing in it. */
bool lk_json_line_is_blank(const char *line, size_t size);

/*
 * LK_OK with *ret_object, for json_decref(); LK_INVALID, with a sentence that does not name the
 * line, and NULL.
 */
lk_outcome lk_json_line_parse(const char *line, size_t size, json_t **ret_object, lk_error *error);

/*
 * An id, which may be written as a whole number: that is put into `number`. The result lives as
 * long as `id` and `number`; NULL: it is neither.
 */
const char *lk_json_line_id(const json_t *id, char number[LK_JSON_LINE_NUMBER_BYTES]);

#endif
