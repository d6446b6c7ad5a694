/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of canal.h: a fresh region for each test, and child processes. */
#ifndef LK_TESTS_CANAL_SUPPORT_H
#define LK_TESTS_CANAL_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
/* cmocka.h needs these four headers before it. */
#include <cmocka.h>

#include "lockkeeper/canal.h"

struct fixture {
    char name[64];
    lk_canal *canal;
    lk_canal_holder *holder;
};

/* cmocka's set-up and tear-down of one test: *state is a struct fixture. */
int open_fixture(void **state);
int close_fixture(void **state);

/* Makes a unique name. */
void make_name(char ret_name[64]);

/* Opens the region again and joins it. Ends the process if that fails. */
lk_canal *open_again(const char *name);
lk_canal_holder *join(lk_canal *canal, lk_canal_bond bond);

/* Takes the key as a text. Without `ret_permit` the permit is not returned. */
lk_canal_status acquire(lk_canal_holder *holder, const char *key, uint32_t limit,
                        lk_canal_permit *ret_permit);
uint32_t count(lk_canal *canal, const char *key);

/* Starts a child that runs `act` and then waits for SIGKILL. Returns when `act` has returned. */
pid_t start_child(const char *name, void (*act)(const char *name));
void end_child(pid_t child, int signal_number);

/* Iterations: `count`, or a part of it where LK_TEST_SCALE, a divisor, is set. At least 1. */
uint32_t scaled(uint32_t iterations);

#endif
