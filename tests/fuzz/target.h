/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fuzz target is: one function that takes any bytes, returns, and dies where something that
 * must hold does not. libFuzzer calls it (tools/fuzz), or driver.c, where no fuzzer is at hand.
 */
#ifndef LK_TESTS_FUZZ_TARGET_H
#define LK_TESTS_FUZZ_TARGET_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FUZZ_INPUT_MAX = 4096 }; /* no target looks at more bytes than these */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_DEMAND(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
