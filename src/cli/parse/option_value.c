/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an option's value, by the kind of the option and within its range. */
#include "cli/parse/option_value.h"

#include <string.h>

#include "base/error.h"
#include "cli/parse/value.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)

static lk_outcome parse_choice(const struct lk_option *option, const char *text, int64_t *ret_index,
                               lk_error *error) {
    for (int i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(text, option->choices[i]) == 0) {
            *ret_index = i;
            return LK_OK;
        }
    }
    char known[LK_ERROR_TEXT_MAX] = "";
    for (int i = 0; option->choices[i] != NULL; i++) {
        strncat(known, i > 0 ? " or " : "", sizeof known - strlen(known) - 1);
        strncat(known, option->choices[i], sizeof known - strlen(known) - 1);
    }
    return lk_error_set(error, LK_INVALID, "\"%s\" is not %s", text, known);
}

static lk_outcome parse_duration(const struct lk_option *option, const char *text, int64_t *ret_ms,
                                 lk_error *error) {
    int64_t duration_ms;

    if (lk_duration_parse(text, &duration_ms, error) != LK_OK) {
        return LK_INVALID;
    }
    if (duration_ms < option->min) {
        return lk_error_set(error, LK_INVALID, "\"%s\" is shorter than %lld ms", text,
                            (long long)option->min);
    }
    if (duration_ms > option->max) {
        bool is_hours = option->max < DAY_MS;
        return lk_error_set(error, LK_INVALID, "\"%s\" is longer than %lld %s", text,
                            (long long)(option->max / (is_hours ? HOUR_MS : DAY_MS)),
                            is_hours ? "h" : "d");
    }
    *ret_ms = duration_ms;
    return LK_OK;
}

lk_outcome lk_option_value_parse(enum lk_option_id id, const char *text, int64_t now_unix_ms,
                                 int64_t *ret_number, lk_error *error) {
    const struct lk_option *option = lk_option_at(id);

    switch (option->kind) {
    case LK_KIND_FLAG:
    case LK_KIND_TEXT:
    case LK_KIND_LIST:
        return LK_OK;
    case LK_KIND_CHOICE:
        return parse_choice(option, text, ret_number, error);
    case LK_KIND_NUMBER:
        return lk_number_parse(text, option->min, option->max, ret_number, error);
    case LK_KIND_DURATION:
        return parse_duration(option, text, ret_number, error);
    case LK_KIND_TIME:
        return lk_time_parse(text, now_unix_ms, ret_number, error);
    }
    return LK_INVALID;
}
