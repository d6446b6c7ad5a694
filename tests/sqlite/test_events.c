/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events and bounds in a file, on a clock of the test's. Events (R21): the mark that makes them
 * kept, how many are, when they are forgotten, and rows that no rule could have made. Bounds
 * (R22): how many live is counted by the file itself, whatever program writes it, and what is
 * overdue is no part of it, swept or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "engine/event.h"
#include "engine/sqlite/store.h"
#include "fixture.h"

/* ---- events (R21) ---------------------------------------------------------------------------- */

/* What has happened behind `after`; the caller frees it. */
static struct lk_event_page *ask_events(struct testcase *testcase, uint64_t after) {
    struct lk_patience patience = test_patience(10000000);
    const struct lk_event_query query = {.after = after, .max = 100000};
    struct lk_event_page *page = NULL;
    lk_error error;

    assert_int_equal(
        testcase->engine->ops->events->read(testcase->engine, &query, &patience, &page, &error),
        LK_OK);
    return page;
}

static uint64_t present(struct testcase *testcase) {
    struct lk_event_page *page = ask_events(testcase, LK_EVENTS_FROM_NOW);
    uint64_t last = page->last;

    assert_int_equal(page->count, 0);
    lk_event_page_free(page);
    return last;
}

/* One grant and one release: two events. */
static void do_something(struct testcase *testcase) {
    fixture_clock_advance(&testcase->clock, 1000);
    assert_int_equal(fixture_ask(testcase->engine, "A", "x", LK_TRY, 60000, &testcase->result),
                     LK_GRANTED);
    assert_int_equal(fixture_release(testcase->engine, "A", "x", 0, &testcase->result), LK_OK);
}

static int64_t count_rows(struct testcase *testcase) {
    return fixture_sql(testcase->fixture.file, "SELECT count(*) FROM lk_event");
}

static void bound_events(struct testcase *testcase, uint64_t events) {
    struct lk_patience patience = test_patience(10000000);
    const lk_limits limits = {sizeof limits,  LK_LIMIT_AS_IS, LK_LIMIT_AS_IS,
                              LK_LIMIT_AS_IS, LK_LIMIT_AS_IS, events};
    lk_error error;

    assert_int_equal(
        testcase->engine->ops->limits->set(testcase->engine, &limits, &patience, &error), LK_OK);
}

static void without_a_watch_no_event_is_written(void **state) {
    struct testcase *testcase = *state;

    do_something(testcase);
    assert_int_equal(count_rows(testcase), 0);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT last_event FROM lk_meta"), 0);
}

static void a_watch_mark_lasts_half_a_minute(void **state) {
    struct testcase *testcase = *state;
    uint64_t last = present(testcase);
    struct lk_event_page *page;

    fixture_clock_advance(&testcase->clock, LK_WATCHED_US - 2000);
    do_something(testcase);
    assert_int_equal(count_rows(testcase), 2);
    fixture_clock_advance(&testcase->clock, 2000);
    do_something(testcase);
    assert_int_equal(count_rows(testcase), 2);
    page = ask_events(testcase, last);
    assert_int_equal(page->count, 3);
    assert_int_equal(page->events[0].kind, LK_WATCH_GRANTED);
    assert_int_equal(page->events[1].kind, LK_WATCH_RELEASED);
    assert_int_equal(page->events[2].kind, LK_WATCH_GAP);
    lk_event_page_free(page);
}

static void another_read_renews_the_mark(void **state) {
    struct testcase *testcase = *state;
    uint64_t last = present(testcase);

    for (int i = 0; i < 10; i++) {
        struct lk_event_page *page;

        fixture_clock_advance(&testcase->clock, LK_WATCHED_US - LK_WATCHED_LEAST_US);
        do_something(testcase);
        page = ask_events(testcase, last);
        assert_int_equal(page->count, 2);
        last = page->last;
        lk_event_page_free(page);
    }
}

static void a_mark_of_another_boot_is_ignored(void **state) {
    struct testcase *testcase = *state;
    uint64_t last = present(testcase);
    struct lk_event_page *page;

    testcase_restart(testcase, "second", 0);
    do_something(testcase);
    assert_int_equal(count_rows(testcase), 0);
    page = ask_events(testcase, last);
    assert_int_equal(page->count, 1);
    assert_int_equal(page->events[0].kind, LK_WATCH_GAP);
    lk_event_page_free(page);
}

static void a_mark_too_far_in_the_future_is_ignored(void **state) {
    struct testcase *testcase = *state;

    (void)fixture_sql(testcase->fixture.file, "UPDATE lk_meta SET watched_until_us = 1 << 60");
    do_something(testcase);
    assert_int_equal(count_rows(testcase), 0);
}

static void the_latest_events_are_retained(void **state) {
    struct testcase *testcase = *state;
    uint64_t last = present(testcase);
    struct lk_event_page *page;

    bound_events(testcase, 5);
    for (int i = 0; i < 10; i++) {
        do_something(testcase);
    }
    assert_int_equal(count_rows(testcase), 5);
    page = ask_events(testcase, last);
    assert_int_equal(page->count, 6);
    assert_int_equal(page->events[0].kind, LK_WATCH_GAP);
    assert_int_equal(page->events[0].sequence + 1, page->events[1].sequence);
    lk_event_page_free(page);
}

/* Lowered far, it is reached step by step. */
static void a_lower_limit_is_reached_gradually(void **state) {
    struct testcase *testcase = *state;

    bound_events(testcase, 1000);
    for (int i = 0; i < 50; i++) {
        do_something(testcase);
    }
    assert_int_equal(count_rows(testcase), 100);
    bound_events(testcase, 10);
    for (int i = 0; i < 50; i++) {
        do_something(testcase);
    }
    assert_int_equal(count_rows(testcase), 10);
}

static void a_limit_retains_events_without_a_watch(void **state) {
    struct testcase *testcase = *state;
    uint64_t last;

    bound_events(testcase, 5);
    fixture_clock_advance(&testcase->clock, INT64_C(3600000000));
    do_something(testcase);
    assert_int_equal(count_rows(testcase), 2);
    last = (uint64_t)fixture_sql(testcase->fixture.file, "SELECT last_event FROM lk_meta");
    bound_events(testcase, 0);
    do_something(testcase);
    assert_true(count_rows(testcase) <= 2); /* now and then a call sweeps what is not kept */
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT last_event FROM lk_meta"), last);
    assert_int_equal(present(testcase),
                     last + 1); /* a watcher that has seen the last finds a hole */
}

static void events_are_removed_without_a_watch(void **state) {
    struct testcase *testcase = *state;

    (void)present(testcase);
    do_something(testcase);
    fixture_clock_advance(&testcase->clock, LK_WATCHED_US + LK_EVENTS_LINGER_US);
    for (int i = 0; i < 400 && count_rows(testcase) > 0; i++) {
        do_something(testcase);
    }
    assert_int_equal(count_rows(testcase), 0);
}

static void damaged_event_rows_are_refused(void **state) {
    static const char *const rows[] = {
        "UPDATE lk_event SET event = 'exploded'",
        "UPDATE lk_event SET event = ''",
        "UPDATE lk_event SET refusal = 'maybe'",
        "UPDATE lk_event SET parts = ''",
        "UPDATE lk_event SET parts = 'a//b'",
        "UPDATE lk_event SET parts = 'a b c d e f g h i j k l m n o p q'",
        "UPDATE lk_event SET parts = hex(zeroblob(30000))",
        "UPDATE lk_event SET owner = hex(zeroblob(100))",
        "UPDATE lk_event SET note = hex(zeroblob(200))",
        "UPDATE lk_event SET broken_by = hex(zeroblob(128))",
        "UPDATE lk_event SET reason = hex(zeroblob(513))",
        "UPDATE lk_event SET ticket = -1",
        "UPDATE lk_event SET attempt = 1 << 40",
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lk_patience patience = test_patience(10000000);
        const struct lk_event_query query = {.after = 1, .max = 10};
        struct lk_event_page *page = NULL;
        struct testcase *testcase;
        lk_error error;

        assert_int_equal(testcase_setup(state), 0);
        testcase = *state;
        (void)present(testcase);
        do_something(testcase);
        (void)fixture_sql(testcase->fixture.file, rows[i]);
        assert_int_equal(
            testcase->engine->ops->events->read(testcase->engine, &query, &patience, &page, &error),
            LK_UNAVAILABLE);
        assert_non_null(strstr(error.text, "event "));
        do_something(testcase); /* and no other client is affected */
        assert_int_equal(testcase_teardown(state), 0);
    }
}

static void huge_event_numbers_do_no_harm(void **state) {
    struct testcase *testcase = *state;

    (void)present(testcase);
    do_something(testcase);
    (void)fixture_sql(testcase->fixture.file,
                      "UPDATE lk_event SET sequence = -sequence, at_unix_us = -1 << 62");
    (void)fixture_sql(testcase->fixture.file,
                      "UPDATE lk_meta SET last_event = -5, events_max = -1");
    lk_event_page_free(ask_events(testcase, 1));
    do_something(testcase);
}

#define ON_FILE(test) cmocka_unit_test_setup_teardown(test, testcase_setup, testcase_teardown)

/* ---- bounds (R22) ---------------------------------------------------------------------------- */

enum { OVERDUE = 300, OVERDUE_MAX = 4 }; /* far more than a call sweeps */

static int setup_bounded(void **state) {
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
    struct lk_patience patience = test_patience(fixture_stretched(1000000));
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
        ON_FILE(without_a_watch_no_event_is_written),
        ON_FILE(a_watch_mark_lasts_half_a_minute),
        ON_FILE(another_read_renews_the_mark),
        ON_FILE(a_mark_of_another_boot_is_ignored),
        ON_FILE(a_mark_too_far_in_the_future_is_ignored),
        ON_FILE(the_latest_events_are_retained),
        ON_FILE(a_lower_limit_is_reached_gradually),
        ON_FILE(a_limit_retains_events_without_a_watch),
        ON_FILE(events_are_removed_without_a_watch),
        cmocka_unit_test(damaged_event_rows_are_refused),
        ON_FILE(huge_event_numbers_do_no_harm),
        cmocka_unit_test_setup_teardown(the_limit_on_live_requests_holds, setup_bounded,
                                        testcase_teardown),
        cmocka_unit_test_setup_teardown(expired_requests_do_not_count, setup_bounded,
                                        testcase_teardown),
        cmocka_unit_test_setup_teardown(the_file_counts_requests_of_other_writers, setup_bounded,
                                        testcase_teardown),
        cmocka_unit_test_setup_teardown(without_the_limit_nothing_is_counted, setup_bounded,
                                        testcase_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
