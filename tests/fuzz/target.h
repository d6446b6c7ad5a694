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

#include "base/random.h"

enum { FUZZ_INPUT_MAX = 4096 }; /* no target looks at more bytes than these */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_DEMAND(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* ---- for driver.c: a corpus ------------------------------------------------------------------ */

/* The inputs in some files, in the order of their lines. A line is an input in lower-case
 * hexadecimal; an empty line is the empty input. */
enum { CORPUS_INPUTS_MAX = 4096, CORPUS_PLACE_BYTES = 512 };

struct corpus_input {
    char place[CORPUS_PLACE_BYTES]; /* FILE:LINE */
    size_t size;
    uint8_t *bytes;
};

struct corpus {
    size_t count;
    struct corpus_input inputs[CORPUS_INPUTS_MAX];
};

/* Returns the number of bytes, or -1: this is no input in hexadecimal, or one that is too long. */
long corpus_from_hex(const char *hex, size_t digits, uint8_t ret_bytes[FUZZ_INPUT_MAX]);

/* Adds every line of the file. What cannot be read ends the program with a sentence. */
void corpus_read(struct corpus *corpus, const char *file);
void corpus_free(struct corpus *corpus);

/*
 * Makes an input of others: fills `bytes` and returns its size. The same corpus and the same
 * numbers give the same inputs in the same order.
 */
size_t mutate(const struct corpus *corpus, struct lk_random *random, uint8_t bytes[FUZZ_INPUT_MAX]);

#endif
