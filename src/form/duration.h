/* SPDX-License-Identifier: Apache-2.0 */
/* Durations with a unit, the same on the command line and in JSON bodies. */
#ifndef LK_FORM_DURATION_H
#define LK_FORM_DURATION_H

#include <stdint.h>

#include "lockkeeper/terms.h"

#define LK_DURATION_MAX_MS (INT64_C(36600) * 24 * 60 * 60 * 1000) /* a hundred years */

/*
 * `250ms`, `10s`, `5m`, `2h`, `3d`, decimals as in `1.5h`; a bare number is seconds. Fractions of a
 * millisecond are rounded up, so that only zero becomes zero.
 */
lk_outcome lk_duration_parse(const char *text, int64_t *ret_ms, lk_error *error);

#endif
