/* SPDX-License-Identifier: Apache-2.0 */
/* What is set up before each test case, and removed after it. */
#include "testcase.h"

#include <stdlib.h>

#include "engine/sqlite/store.h"

static struct testcase *make_scene(void) {
    struct testcase *testcase = calloc(1, sizeof *testcase);

    if (testcase == NULL) {
        test_die("memory is exhausted");
    }
    testcase->fixture = fixture_make();
    fixture_clock_init(&testcase->clock);
    testcase->options = lk_sqlite_options_default;
    return testcase;
}

int testcase_setup(void **state) {
    struct testcase *testcase = make_scene();

    testcase->options.time = &testcase->clock.source;
    testcase->options.boot_id = "first";
    testcase->engine = fixture_open(testcase->fixture.file, &testcase->options);
    *state = testcase;
    return 0;
}

int testcase_setup_on_machine_clock(void **state) {
    struct testcase *testcase = make_scene();

    testcase->engine = fixture_open(testcase->fixture.file, &testcase->options);
    *state = testcase;
    return 0;
}

int testcase_teardown(void **state) {
    struct testcase *testcase = *state;

    lk_claim_free(testcase->claim);
    lk_result_clear(&testcase->result);
    fixture_close(testcase->engine);
    fixture_remove(&testcase->fixture);
    free(testcase);
    return 0;
}

void testcase_reopen(struct testcase *testcase) {
    fixture_close(testcase->engine);
    testcase->engine = fixture_open(testcase->fixture.file, &testcase->options);
}

int64_t testcase_steps(const struct testcase *testcase) {
    const struct lk_sqlite *store = lk_sqlite_of(testcase->engine);
    int64_t count = 0;

    for (sqlite3_stmt *statement = sqlite3_next_stmt(store->sql.handle, NULL); statement != NULL;
         statement = sqlite3_next_stmt(store->sql.handle, statement)) {
        count += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    }
    return count;
}

void testcase_restart(struct testcase *testcase, const char *boot_id, int64_t down_us) {
    fixture_close(testcase->engine);
    testcase->clock.now_us = 5000000;
    testcase->clock.wall_us += down_us;
    testcase->options.boot_id = boot_id;
    testcase->engine = fixture_open(testcase->fixture.file, &testcase->options);
}
