/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the tests of engines: random numbers with a seed, scale, time budgets, child processes,
 * and parts as text. A failure here aborts the program with a message.
 */
#ifndef LK_TESTS_SUPPORT_H
#define LK_TESTS_SUPPORT_H

#include <sys/types.h>

#include "base/random.h"
#include "engine/engine.h"

/* Prints the message on stderr and aborts the program. */
_Noreturn void test_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From LK_TEST_SEED, or the kernel; printed either way. */
struct lk_random test_random(void);

/* `count` times LK_TEST_SCALE percent, at least 1. */
unsigned test_scaled(unsigned count);

/* A time budget of `duration_us` from now. */
struct lk_patience test_patience(int64_t duration_us);

/* fork(), after flushing the streams; aborts the program if that fails. */
pid_t test_fork(void);

/* Waits until the child ends (-1: any child). Returns its exit status, or 128 + N for signal N. */
int test_exit_status(pid_t child);

/* Reads a random number of bytes, up to `bytes_max`, from `progress`, kills a random child with
 * SIGKILL and waits for its end. Returns its index in `children`. */
size_t test_kill_one(const pid_t *children, size_t count, int progress, int bytes_max,
                     struct lk_random *random);

/* The parts of an ask, parsed from `text`: as in cli.md, separated by spaces. */
struct test_parts {
    char text[2048];
    struct lk_part parts[LK_PARTS_MAX];
    size_t count;
};
void test_parts_parse(struct test_parts *parts, const char *text);

/* What is in a file, of 1 MiB at most, to be freed; ends the test if it cannot be read. */
char *test_read_text(const char *name);

#endif
