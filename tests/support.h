/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of engines share: random numbers that can be repeated, how much to do, patience, and
 * parts as text. Everything that goes wrong here ends the program with a sentence.
 */
#ifndef LK_TESTS_SUPPORT_H
#define LK_TESTS_SUPPORT_H

#include "base/random.h"
#include "engine/engine.h"

/* Ends the program with a sentence on stderr. */
_Noreturn void test_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From LK_TEST_SEED, or the kernel; printed either way. */
struct lk_random test_random(void);

/* `count` times LK_TEST_SCALE percent, at least 1. */
unsigned test_scaled(unsigned count);

/* Patience for `duration_us` from now. */
struct lk_patience test_patience(int64_t duration_us);

/* An ask for `text`: parts as in cli.md, separated by a space. Ends what it points to itself. */
struct test_parts {
    char text[2048];
    struct lk_part parts[LK_PARTS_MAX];
    size_t count;
};
void test_parts_parse(struct test_parts *parts, const char *text);

#endif
