/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exit codes of the program `lk` (R23). The public functions and procedures raise them,
 * too: as the SQLSTATE LK0nn, and in MySQL with the number 30000 + nn.
 */
#ifndef LK_MODEL_EXIT_CODES_H
#define LK_MODEL_EXIT_CODES_H

enum {
    LK_EXIT_DONE = 0,
    LK_EXIT_NONE = 1,
    LK_EXIT_INVALID = 64,
    LK_EXIT_UNAVAILABLE = 69,
    LK_EXIT_INTERNAL = 70,
    LK_EXIT_FULL = 73,
    LK_EXIT_NOT_GRANTED = 75, /* waiting, busy, timeout, cancelled */
    LK_EXIT_DEADLOCK = 76,
    LK_EXIT_DENIED = 77,
    LK_EXIT_LOST = 78,
    LK_EXIT_UNSUPPORTED = 79,
};

#endif
