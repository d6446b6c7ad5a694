/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers: decimal digits, behind a minus where a number may be negative. Nothing else. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "cli/parse/value.h"

/* A minus and digits, where no number may be negative. */
static bool is_negative_number(const char *text) {
    return text[0] == '-' && text[1] != '\0' && text[1 + strspn(text + 1, "0123456789")] == '\0';
}

lk_outcome lk_number_parse(const char *text, int64_t min, int64_t max, int64_t *ret_number,
                           lk_error *error) {
    bool is_negative = min < 0 && text[0] == '-';
    int64_t bound = is_negative ? -min : max;
    size_t first = is_negative ? 1 : 0;
    size_t at = first;
    int64_t number = 0;

    if (!is_negative && is_negative_number(text)) {
        return lk_error_set(error, LK_INVALID, "\"%s\" is less than %" PRId64, text, min);
    }
    for (; text[at] >= '0' && text[at] <= '9'; at++) {
        int digit = text[at] - '0';
        if (digit > bound || number > (bound - digit) / 10) {
            return lk_error_set(error, LK_INVALID, "\"%s\" is %s than %" PRId64, text,
                                is_negative ? "less" : "greater", is_negative ? min : max);
        }
        number = number * 10 + digit;
    }
    number = is_negative ? -number : number;
    if (at == first || text[at] != '\0') {
        return lk_error_set(error, LK_INVALID, "\"%s\" is not a whole number: see byte %zu", text,
                            at + 1);
    }
    if (number < min) {
        return lk_error_set(error, LK_INVALID, "\"%s\" is less than %" PRId64, text, min);
    }
    *ret_number = number;
    return LK_OK;
}
