/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A corpus: the inputs in some files, in the order of their lines. A line is an input in lower-case
 * hexadecimal; an empty line is the empty input.
 */
#ifndef LK_TESTS_FUZZ_CORPUS_H
#define LK_TESTS_FUZZ_CORPUS_H

#include "base/random.h"
#include "target.h"

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
