/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running inputs in a child process, so that whatever they bring about - an abort, a signal, a
 * sanitizer's verdict, a hang - is reported with the input that did it.
 */
#ifndef LK_TESTS_FUZZ_CHILD_H
#define LK_TESTS_FUZZ_CHILD_H

#include <stdbool.h>

#include "target.h"

/* In memory that parent and child share. */
struct child_input {
    size_t number; /* of the input in hand, from the first of the run */
    size_t size;
    uint8_t bytes[FUZZ_INPUT_MAX];
};

/* Puts the input of that number on the input; false: there is none. Called in the child. */
typedef bool child_next(void *context, size_t number, struct child_input *input);

struct child_result {
    bool lived;
    char text[128]; /* what became of it otherwise */
};

/* Ends the program if the system has no memory for it. */
struct child_input *child_input_new(void);
void child_input_free(struct child_input *input);

/*
 * Runs inputs from `first` on in one child, until there is none. No input may take longer than
 * `seconds_max`. If the child died, the input has the input, and its number, that it died of.
 */
struct child_result child_run(struct child_input *input, child_next *next, void *context,
                              size_t first, unsigned seconds_max);

#endif
