/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that is a program of its own, in another language, and is asked for rounds by lines: its
 * first line is "ready", or "no: WHY"; then each line that it is told is one round, and it answers
 * with one number. It is started once, so that it is as warm as ours, and ends when its input does.
 */
#ifndef LK_BENCH_COMPANION_H
#define LK_BENCH_COMPANION_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "bench.h"

struct companion {
    pid_t pid;
    FILE *to;
    FILE *from;
};

/* False, with the reason, if the program is not there or cannot work; NULL ends `words`. */
bool companion_start(struct companion *companion, const char *const *words,
                     char ret_why[BENCH_TEXT_BYTES]);

double companion_round(const struct companion *companion, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void companion_stop(struct companion *companion);

#endif
