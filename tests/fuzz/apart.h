/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running inputs in a child process, so that whatever they bring about - an abort, a signal, a
 * sanitizer's verdict, a hang - is told with the input that did it.
 */
#ifndef LK_TESTS_FUZZ_APART_H
#define LK_TESTS_FUZZ_APART_H

#include <stdbool.h>

#include "target.h"

/* In memory that parent and child share. */
struct apart_board {
    size_t number; /* of the input in hand, from the first of the run */
    size_t size;
    uint8_t bytes[FUZZ_INPUT_MAX];
};

/* Puts the input of that number on the board; false: there is none. Called in the child. */
typedef bool apart_next(void *context, size_t number, struct apart_board *board);

struct apart_fate {
    bool lived;
    char text[128]; /* what became of it otherwise */
};

/* Ends the program if the system has no memory for it. */
struct apart_board *apart_board_new(void);
void apart_board_free(struct apart_board *board);

/*
 * Runs inputs from `first` on in one child, until there is none. No input may take longer than
 * `seconds_max`. If the child died, the board has the input, and its number, that it died of.
 */
struct apart_fate apart_run(struct apart_board *board, apart_next *next, void *context,
                            size_t first, unsigned seconds_max);

#endif
