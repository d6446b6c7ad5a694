/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers: decimal digits and nothing else. */
#include <inttypes.h>
#include <stddef.h>

#include "base/error.h"
#include "cli/parse/value.h"

lk_outcome lk_number_parse(const char *text, int64_t min, int64_t max, int64_t *ret_number,
                           lk_error *error) {
    int64_t number = 0;
    size_t at = 0;

    for (; text[at] >= '0' && text[at] <= '9'; at++) {
        int digit = text[at] - '0';
        if (digit > max || number > (max - digit) / 10) {
            return lk_error_set(error, LK_INVALID, "\"%s\" is greater than %" PRId64, text, max);
        }
        number = number * 10 + digit;
    }
    if (at == 0 || text[at] != '\0') {
        return lk_error_set(error, LK_INVALID, "\"%s\" is not a whole number: see byte %zu", text,
                            at + 1);
    }
    if (number < min) {
        return lk_error_set(error, LK_INVALID, "\"%s\" is less than %" PRId64, text, min);
    }
    *ret_number = number;
    return LK_OK;
}
