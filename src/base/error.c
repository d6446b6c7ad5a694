/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in an lk_error. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

lk_outcome lk_error_set(lk_error *error, lk_outcome outcome, const char *format, ...) {
    if (error != NULL) {
        va_list arguments;
        error->outcome = outcome;
        va_start(arguments, format);
        (void)vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return outcome;
}

lk_outcome lk_error_copy(lk_error *error, const lk_error *from) {
    if (error != NULL) {
        *error = *from;
    }
    return from->outcome;
}

lk_outcome lk_error_clear(lk_error *error, lk_outcome outcome) {
    if (error != NULL) {
        error->outcome = outcome;
        error->text[0] = '\0';
    }
    return outcome;
}
