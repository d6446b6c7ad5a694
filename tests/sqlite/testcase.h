/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up and tear-down of a cmocka test whose *state is a struct testcase: a store in a fixture. */
#ifndef LK_TESTS_SQLITE_TESTCASE_H
#define LK_TESTS_SQLITE_TESTCASE_H

#include "fixture.h"

struct testcase {
    struct fixture fixture;
    struct fixture_clock clock;
    struct lk_sqlite_options options; /* what the engine is opened with */
    struct lk_engine *engine;
    lk_result result; /* of the last call */
    lk_claim_info *claim;
};

/* On a clock that the test moves; or on the machine's. */
int testcase_setup(void **state);
int testcase_setup_on_machine_clock(void **state);
int testcase_teardown(void **state);

/* Closes the store and opens it again, with the options as they are now. */
void testcase_reopen(struct testcase *testcase);

/* The steps that SQLite's machine has made for all statements of the store since the last call. */
int64_t testcase_steps(const struct testcase *testcase);

/* The machine is down for `down_us`, and comes up with a clock that starts again. */
void testcase_restart(struct testcase *testcase, const char *boot_id, int64_t down_us);

#endif
