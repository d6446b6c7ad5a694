/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of a build for another machine, which run under an emulator: meson.build says so. */
#ifndef LK_TESTS_EMULATED_H
#define LK_TESTS_EMULATED_H

#include <stddef.h>
#include <stdlib.h>

/* How many of the cases run: the last `not_emulated` need what the emulator lacks. */
static inline size_t test_case_count(size_t count, size_t not_emulated) {
    return getenv("LK_TEST_EMULATED") != NULL ? count - not_emulated : count;
}

/* Path by which the program can exec itself: there, that of a script which starts the emulator. */
static inline const char *test_own_path(void) {
    const char *script = getenv("LK_TEST_SELF");

    return script != NULL ? script : "/proc/self/exe";
}

#endif
