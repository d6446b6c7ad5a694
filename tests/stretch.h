/* SPDX-License-Identifier: Apache-2.0 */
/* For tests whose cases depend on time (`env: timed`; the script `timed`). */
#ifndef LK_TESTS_STRETCH_H
#define LK_TESTS_STRETCH_H

#include <stdlib.h>

/* What all their times are multiplied by: 1, or more after a failure on a busy machine. */
static inline int test_stretch(void) {
    const char *stretch = getenv("LK_TEST_STRETCH");

    return stretch != NULL ? atoi(stretch) : 1;
}

#endif
