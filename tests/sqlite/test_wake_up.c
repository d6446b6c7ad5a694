/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wake-ups: a grant wakes its waiter and few others, and a waiter that none reaches looks by
 * itself. Looks are counted; a wait that its wake-up does not end would last an hour.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../emulated.h"
#include "engine/sqlite/change_watch.h"
#include "fixture.h"

#define HOUR_US INT64_C(3600000000)
#define LONG_US INT64_C(60000000) /* no test waits for so long unless it fails */

enum { TTL_MS = 3600000 };

/* qemu-user has no futex_waitv, and without it waiters look more often. */
enum { NOT_EMULATED = 2 };

/* A thread with a connection of its own, as a process has one. */
struct waiter {
    pthread_t thread;
    struct lk_engine *engine;
    char owner[24];
    struct pending_call pending;
    int64_t until_us;
    lk_outcome outcome; /* of asking again, after the wait */
};

static lk_outcome ask_in_line(struct waiter *waiter) {
    struct lk_patience patience = test_patience(LONG_US);
    lk_result result = {.outcome = LK_OK};
    struct test_parts parts;
    struct lk_ask ask = {
        .owner = lk_slice_of(waiter->owner), .style = LK_WAIT, .ttl_ms = TTL_MS, .blockers_max = 1};
    lk_outcome outcome;

    test_parts_parse(&parts, "x");
    ask.parts = parts.parts;
    ask.part_count = parts.count;
    outcome = call_ask_pending(waiter->engine, &ask, &patience, &result, &waiter->pending);
    lk_result_clear(&result);
    return outcome;
}

static void stand_in_line(const struct testcase *testcase, struct waiter *waiter, int number) {
    *waiter = (struct waiter){.engine = fixture_open(testcase->fixture.file, &testcase->options),
                              .until_us = lk_clock_now_us() + LONG_US};
    (void)snprintf(waiter->owner, sizeof waiter->owner, "waiter %d", number);
    assert_int_equal(ask_in_line(waiter), LK_WAITING);
}

static uint64_t looks_of(const struct waiter *waiter) {
    struct lk_sqlite *store = lk_sqlite_of(waiter->engine);
    uint64_t looks;

    pthread_mutex_lock(&store->mutex);
    looks = store->looks;
    pthread_mutex_unlock(&store->mutex);
    return looks;
}

/* One wait; what follows if it is granted: the lock is given on. */
static void *wait_and_give_on(void *context) {
    struct waiter *waiter = context;
    lk_result result = {.outcome = LK_OK};

    (void)call_await(waiter->engine, &waiter->pending, waiter->until_us, NULL);
    waiter->outcome = ask_in_line(waiter);
    if (waiter->outcome == LK_GRANTED) {
        (void)fixture_release(waiter->engine, waiter->owner, "x", 0, &result);
        lk_result_clear(&result);
    }
    return NULL;
}

static void start(struct waiter *waiter) {
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_and_give_on, waiter), 0);
}

/* Until it has looked once: it sleeps, or is about to. */
static void see_it_look(const struct waiter *waiter) {
    while (looks_of(waiter) == 0) {
        (void)sched_yield();
    }
}

static void join(struct waiter *waiter) {
    assert_int_equal(pthread_join(waiter->thread, NULL), 0);
}

/* The holder's engine; the test case's options are those of the waiters that follow. */
static void hold(struct testcase *testcase, int64_t pause_us) {
    assert_int_equal(fixture_ask(testcase->engine, "A", "x", LK_TRY, TTL_MS, &testcase->result),
                     LK_GRANTED);
    testcase->options.pause_us = pause_us;
}

static void let_go(struct testcase *testcase) {
    assert_int_equal(fixture_release(testcase->engine, "A", "x", 0, &testcase->result), LK_OK);
}

enum { WAITERS = 20, LOOKS_A_GRANT = 3 };

/* Each looks once before it sleeps and once when it is woken; a commit just then adds a look. */
static void a_grant_wakes_its_waiter_and_few_others(void **state) {
    struct testcase *testcase = *state;
    struct waiter waiters[WAITERS];
    uint64_t looks = 0;

    hold(testcase, HOUR_US);
    for (int i = 0; i < WAITERS; i++) {
        stand_in_line(testcase, &waiters[i], i);
    }
    for (int i = 0; i < WAITERS; i++) {
        start(&waiters[i]);
        see_it_look(&waiters[i]);
    }
    let_go(testcase);
    for (int i = 0; i < WAITERS; i++) {
        join(&waiters[i]);
        assert_int_equal(waiters[i].outcome, LK_GRANTED);
        assert_true(lk_clock_now_us() < waiters[i].until_us);
        looks += looks_of(&waiters[i]);
        fixture_close(waiters[i].engine);
    }
    print_message("%d grants in a line, %llu looks\n", WAITERS, (unsigned long long)looks);
    assert_true(looks <= (uint64_t)LOOKS_A_GRANT * WAITERS);
}

/* As by an older program, or by a process that was killed behind its commit. */
static void a_lost_wake_up_is_made_up_for_by_looking(void **state) {
    struct testcase *testcase = *state;
    struct waiter waiter;

    testcase->options.wakes_none = true;
    testcase_reopen(testcase);
    hold(testcase, 0);
    stand_in_line(testcase, &waiter, 1);
    start(&waiter);
    see_it_look(&waiter);
    let_go(testcase);
    join(&waiter);
    assert_int_equal(waiter.outcome, LK_GRANTED);
    assert_true(lk_clock_now_us() < waiter.until_us);
    fixture_close(waiter.engine);
}

/* Nothing but looking ends such a wait, and it does not look before the pause is over. */
static void what_is_not_woken_sleeps_on(void **state) {
    struct testcase *testcase = *state;
    struct waiter waiter;

    testcase->options.wakes_none = true;
    testcase_reopen(testcase);
    hold(testcase, HOUR_US);
    stand_in_line(testcase, &waiter, 1);
    waiter.until_us = lk_clock_now_us() + 200000;
    start(&waiter);
    join(&waiter);
    assert_true(lk_clock_now_us() >= waiter.until_us);
    assert_int_equal(waiter.outcome, LK_WAITING);
    assert_true(looks_of(&waiter) <= 2);
    fixture_close(waiter.engine);
}

static void the_end_of_a_waiting_request_wakes_it(void **state) {
    struct testcase *testcase = *state;
    struct lk_patience patience = test_patience(LONG_US);
    struct lk_break broken = {.at_once = true, .owner = lk_slice_of("waiter 1")};
    struct waiter waiter;
    size_t count = 0;
    lk_error error;

    hold(testcase, HOUR_US);
    stand_in_line(testcase, &waiter, 1);
    start(&waiter);
    see_it_look(&waiter);
    assert_int_equal(lk_path_parse(lk_slice_of("x"), &broken.path, &error), LK_OK);
    assert_int_equal(
        call_break(testcase->engine, &broken, "root", "enough", &patience, &count, &error), LK_OK);
    assert_int_equal(count, 1);
    join(&waiter);
    assert_true(lk_clock_now_us() < waiter.until_us);
    fixture_close(waiter.engine);
}

/* ---- a deadline that has moved --------------------------------------------------------------- */

static int find_it_over(struct lk_change_watch *watch) {
    watch->is_over = true;
    return SQLITE_OK;
}

/* The holder may have renewed since the last look: a waiter that does not look would write. */
static void a_waiter_looks_before_it_acts_on_a_deadline(void **state) {
    struct testcase *testcase = *state;
    struct lk_change_watch watch =
        lk_change_watch_make(lk_sqlite_of(testcase->engine), find_it_over, 1000, 25000);

    watch.due_us = lk_clock_now_us() - 1;
    assert_int_equal(lk_change_watch_wait(&watch, LK_NEVER, NULL), LK_OK);
    assert_true(watch.is_over);
}

#define SCENE(name)                                                                                \
    cmocka_unit_test_setup_teardown(name, testcase_setup_on_machine_clock, testcase_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        SCENE(a_lost_wake_up_is_made_up_for_by_looking),
        SCENE(the_end_of_a_waiting_request_wakes_it),
        SCENE(a_waiter_looks_before_it_acts_on_a_deadline),
        /* NOT_EMULATED from here */
        SCENE(a_grant_wakes_its_waiter_and_few_others),
        SCENE(what_is_not_woken_sleeps_on),
    };
    size_t count = test_case_count(sizeof tests / sizeof tests[0], NOT_EMULATED);

    return _cmocka_run_group_tests("sqlite: wake-ups", tests, count, NULL, NULL);
}
