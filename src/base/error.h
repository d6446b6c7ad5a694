/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in an lk_error: one sentence, cut at its bound. */
#ifndef LK_BASE_ERROR_H
#define LK_BASE_ERROR_H

#include "lockkeeper/terms.h"

/* Sets outcome and text, and returns the outcome. `error` may be NULL. */
lk_outcome lk_error_set(lk_error *error, lk_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the outcome with no text, and returns it. `error` may be NULL. */
lk_outcome lk_error_clear(lk_error *error, lk_outcome outcome);

/* Sets the same outcome and text, and returns the outcome. `error` may be NULL. */
lk_outcome lk_error_copy(lk_error *error, const lk_error *from);

#endif
