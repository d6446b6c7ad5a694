/* SPDX-License-Identifier: Apache-2.0 */
/* The smaller and the larger of two numbers, as SQL calls them: of moments, mostly. */
#ifndef LK_BASE_LEAST_H
#define LK_BASE_LEAST_H

#include <stdint.h>

static inline int64_t lk_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t lk_greatest(int64_t a, int64_t b) {
    return a > b ? a : b;
}

#endif
