/* SPDX-License-Identifier: Apache-2.0 */
/* A corpus: the inputs in the files of some directories, in the order of the files' names. */
#ifndef LK_TESTS_FUZZ_CORPUS_H
#define LK_TESTS_FUZZ_CORPUS_H

#include "target.h"

enum { CORPUS_INPUTS_MAX = 4096 };

struct corpus_input {
    char *file;
    size_t size;
    uint8_t *bytes;
};

struct corpus {
    size_t count;
    struct corpus_input inputs[CORPUS_INPUTS_MAX];
};

/* Adds every file of the directory. What cannot be read ends the program with a sentence. */
void corpus_read(struct corpus *corpus, const char *directory);
void corpus_free(struct corpus *corpus);

#endif
