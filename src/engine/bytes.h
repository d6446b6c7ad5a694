/* SPDX-License-Identifier: Apache-2.0 */
/* Values as callers get them: their bytes, and a 0 behind them so that text can be used as text. */
#ifndef LK_ENGINE_BYTES_H
#define LK_ENGINE_BYTES_H

#include "base/slice.h"

/* A copy with a terminating 0. NULL when memory is exhausted. Free with free(). */
void *lk_bytes_copy_with_end(struct lk_slice bytes);

#endif
