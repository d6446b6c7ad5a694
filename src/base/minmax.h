/* SPDX-License-Identifier: Apache-2.0 */
/* The smaller and the larger of two numbers, named as in SQL. Mostly for instants. */
#ifndef LK_BASE_MINMAX_H
#define LK_BASE_MINMAX_H

#include <stdint.h>

static inline int64_t lk_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t lk_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

#endif
