/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of a store (R22): how many live is counted by the file itself, whatever program writes it,
 * and what is overdue is no part of it, swept or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "fixture.h"

enum { OVERDUE = 300, OVERDUE_MAX = 4 }; /* far more than a call sweeps */

static int setup(void **state) {
    struct testcase *testcase;

    (void)testcase_setup(state);
    testcase = *state;
    testcase->options.overdue_max = OVERDUE_MAX;
    testcase_reopen(testcase);
    return 0;
}

static lk_outcome ask(const struct testcase *testcase, const char *owner, const char *parts,
                      int64_t ttl_ms) {
    lk_result result = {.outcome = LK_OK};
    lk_outcome outcome = fixture_ask(testcase->engine, owner, parts, LK_TRY, ttl_ms, &result);

    lk_result_clear(&result);
    return outcome;
}

static void give_back(const struct testcase *testcase, const char *owner, const char *parts) {
    lk_result result = {.outcome = LK_OK};

    assert_int_equal(fixture_release(testcase->engine, owner, parts, 0, &result), LK_OK);
    lk_result_clear(&result);
}

static void bound_live(const struct testcase *testcase, uint64_t live) {
    const lk_limits limits = {sizeof limits,  live,           LK_LIMIT_AS_IS,
                              LK_LIMIT_AS_IS, LK_LIMIT_AS_IS, LK_LIMIT_AS_IS};
    struct lk_patience patience = test_patience(1000000);
    lk_error error;

    assert_int_equal(
        testcase->engine->ops->limits->set(testcase->engine, &limits, &patience, &error), LK_OK);
}

static int64_t sql(const struct testcase *testcase, const char *text) {
    return fixture_sql(testcase->fixture.file, text);
}

static void expect_counted(const struct testcase *testcase, int64_t count) {
    assert_int_equal(sql(testcase, "SELECT count(*) FROM lk_request"), count);
    assert_int_equal(sql(testcase, "SELECT requests FROM lk_request_count"), count);
}

static void the_limit_on_live_requests_holds(void **state) {
    struct testcase *testcase = *state;

    assert_int_equal(ask(testcase, "A", "a x?shared", 60000), LK_GRANTED);
    bound_live(testcase, 3);
    expect_counted(testcase, 1);
    assert_int_equal(ask(testcase, "B", "b x?shared", 1000), LK_GRANTED);
    assert_int_equal(ask(testcase, "C", "c", 60000), LK_GRANTED);
    expect_counted(testcase, 3);
    assert_int_equal(ask(testcase, "D", "d", 60000), LK_FULL);
    assert_int_equal(ask(testcase, "D", "a", 60000), LK_BUSY); /* before anything is counted */
    assert_int_equal(ask(testcase, "A", "a x?shared", 60000), LK_GRANTED);
    give_back(testcase, "C", "c");
    assert_int_equal(ask(testcase, "D", "d", 60000), LK_GRANTED);
    assert_int_equal(ask(testcase, "E", "e", 60000), LK_FULL);
    fixture_clock_advance(&testcase->clock, 2000000); /* B's time is over */
    assert_int_equal(ask(testcase, "E", "e", 60000), LK_GRANTED);
    assert_int_equal(ask(testcase, "F", "f", 60000), LK_FULL);
    expect_counted(testcase, 3);
}

static void expired_requests_do_not_count(void **state) {
    struct testcase *testcase = *state;
    char path[32];

    for (int i = 0; i < OVERDUE; i++) {
        (void)snprintf(path, sizeof path, "many/%d", i);
        assert_int_equal(ask(testcase, "A", path, 1000), LK_GRANTED);
    }
    bound_live(testcase, 2);
    assert_int_equal(ask(testcase, "B", "b", 60000), LK_FULL);
    fixture_clock_advance(&testcase->clock, 2000000);
    assert_int_equal(ask(testcase, "B", "b", 60000), LK_GRANTED);
    assert_int_equal(ask(testcase, "C", "c", 60000), LK_GRANTED);
    assert_int_equal(ask(testcase, "D", "d", 60000), LK_FULL);
    assert_true(sql(testcase, "SELECT count(*) FROM lk_request") > OVERDUE / 2);
}

/* A program that knows of no count sets the bound, or writes, or has spoilt the count. */
static void the_file_counts_requests_of_other_writers(void **state) {
    struct testcase *testcase = *state;

    assert_int_equal(ask(testcase, "A", "a", 60000), LK_GRANTED);
    (void)sql(testcase, "UPDATE lk_meta SET live_max = 2");
    assert_int_equal(ask(testcase, "B", "b", 60000), LK_GRANTED);
    expect_counted(testcase, 2);
    assert_int_equal(ask(testcase, "C", "c", 60000), LK_FULL);
    (void)sql(testcase, "DELETE FROM lk_part WHERE path = 'a'");
    (void)sql(testcase, "DELETE FROM lk_request WHERE owner = 'A'");
    expect_counted(testcase, 1);
    assert_int_equal(ask(testcase, "C", "c", 60000), LK_GRANTED);
    (void)sql(testcase, "DELETE FROM lk_request_count");
    assert_int_equal(ask(testcase, "D", "d", 60000), LK_FULL);
    expect_counted(testcase, 2);
    (void)sql(testcase, "UPDATE lk_request_count SET requests = -7");
    assert_int_equal(ask(testcase, "D", "d", 60000), LK_GRANTED);
}

/* Nothing is counted without a bound. */
static void without_the_limit_nothing_is_counted(void **state) {
    static const char find[] = "SELECT count(*) FROM sqlite_schema WHERE name IN"
                               " ('lk_request_count', 'lk_request_came', 'lk_request_went')";
    struct testcase *testcase = *state;

    assert_int_equal(sql(testcase, find), 0);
    bound_live(testcase, 2);
    bound_live(testcase, 5);
    assert_int_equal(sql(testcase, find), 3);
    assert_int_equal(ask(testcase, "A", "a", 60000), LK_GRANTED);
    bound_live(testcase, 0);
    assert_int_equal(sql(testcase, find), 0);
    assert_int_equal(ask(testcase, "B", "b", 60000), LK_GRANTED);
    bound_live(testcase, 2);
    assert_int_equal(ask(testcase, "C", "c", 60000), LK_FULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_limit_on_live_requests_holds, setup, testcase_teardown),
        cmocka_unit_test_setup_teardown(expired_requests_do_not_count, setup, testcase_teardown),
        cmocka_unit_test_setup_teardown(the_file_counts_requests_of_other_writers, setup,
                                        testcase_teardown),
        cmocka_unit_test_setup_teardown(without_the_limit_nothing_is_counted, setup,
                                        testcase_teardown),
    };

    return cmocka_run_group_tests_name("sqlite: bounds", tests, NULL, NULL);
}
