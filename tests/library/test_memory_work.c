/* SPDX-License-Identifier: Apache-2.0 */
/* The engine `mem:` behind its table: what wakes a worker that waits for work. */
#include <pthread.h>
#include <stdatomic.h>

#include "../calls.h"
#include "base/clock.h"
#include "engine/memory/memory.h"
#include "engine/reply/reply.h"
#include "support.h"

struct setup {
    _Atomic int64_t ahead_us; /* added to the machine's */
    struct lk_time_source time;
    struct lk_engine *engine;
    struct lk_path queue;
};

static int64_t read_now_us(void *context) {
    return lk_clock_now_us() + atomic_load(&((struct setup *)context)->ahead_us);
}

static int64_t read_wall_us(void *context) {
    return lk_clock_wall_us() + atomic_load(&((struct setup *)context)->ahead_us);
}

static int open_setup(void **state) {
    static struct setup setup;
    const struct lk_memory_options options = {.time = &setup.time};

    atomic_store(&setup.ahead_us, 0);
    setup.time =
        (struct lk_time_source){.now_us = read_now_us, .wall_us = read_wall_us, .context = &setup};
    assert_int_equal(lk_memory_open(lk_slice_of(""), &options, &setup.engine, NULL), LK_OK);
    assert_int_equal(lk_path_parse(lk_slice_of("q"), &setup.queue, NULL), LK_OK);
    *state = &setup;
    return 0;
}

static int close_setup(void **state) {
    struct setup *setup = *state;

    setup->engine->ops->close(setup->engine);
    return 0;
}

static const struct lk_patience none = {.until_us = 0};

static void push(struct setup *setup, const char *id, int64_t delay_ms, const char *need) {
    struct lk_part part;
    struct lk_push push = {.queue = setup->queue, .id = lk_slice_of(id), .delay_ms = delay_ms};
    bool is_added = false;

    if (need != NULL) {
        assert_int_equal(lk_part_parse(lk_slice_of(need), NULL, &part, NULL), LK_OK);
        push.needs = &part;
        push.need_count = 1;
    }
    assert_int_equal(call_push(setup->engine, &push, &none, &is_added, NULL), LK_OK);
    assert_true(is_added);
}

static lk_outcome take(struct setup *setup, const char *owner, int64_t ttl_ms,
                       uint32_t max_attempts, struct pending_call *ret_cursor) {
    const struct lk_take take = {.queue = setup->queue,
                                 .owner = lk_slice_of(owner),
                                 .ttl_ms = ttl_ms,
                                 .max_attempts = max_attempts};
    lk_claim_info *claim = NULL;
    lk_outcome outcome = call_take(setup->engine, &take, &none, &claim, ret_cursor, NULL);

    lk_claim_free(claim);
    return outcome;
}

static void finish(struct setup *setup, const char *id, const char *owner,
                   enum lk_finish_kind kind) {
    const struct lk_finish finish = {
        .queue = setup->queue, .id = lk_slice_of(id), .owner = lk_slice_of(owner), .kind = kind};

    assert_int_equal(call_finish(setup->engine, &finish, &none, NULL), LK_OK);
}

static void lock(struct setup *setup, const char *path) {
    struct lk_part part;
    lk_result result = {.outcome = LK_OK};

    assert_int_equal(lk_part_parse(lk_slice_of(path), NULL, &part, NULL), LK_OK);
    const struct lk_ask ask = {.owner = lk_slice_of("o"), .parts = &part, .part_count = 1};
    assert_int_equal(call_ask(setup->engine, &ask, &none, &result), LK_GRANTED);
    lk_result_clear(&result);
}

static void unlock(struct setup *setup, const char *path) {
    struct lk_part part;
    lk_result result = {.outcome = LK_OK};

    assert_int_equal(lk_part_parse(lk_slice_of(path), NULL, &part, NULL), LK_OK);
    const struct lk_release release = {
        .target = {.owner = lk_slice_of("o"), .parts = &part, .part_count = 1}};
    assert_int_equal(call_release(setup->engine, &release, &none, &result), LK_OK);
    lk_result_clear(&result);
}

/* Sleeps after a take that got nothing; returns for how long, in microseconds. */
static int64_t sleep_for_work(struct setup *setup, const struct pending_call *cursor,
                              int64_t for_ms) {
    int64_t start_us = lk_clock_now_us();

    assert_int_equal(call_await(setup->engine, cursor, start_us + for_ms * 1000, NULL), LK_OK);
    return lk_clock_now_us() - start_us;
}

/* ---- before the sleep ------------------------------------------------------------------------ */

static void test_a_wait_ends_at_its_time_limit(void **state) {
    struct pending_call cursor;

    assert_int_equal(take(*state, "a", 0, 0, &cursor), LK_BUSY);
    assert_true(sleep_for_work(*state, &cursor, 30) >= 30000);
}

static void test_a_wait_after_a_push_returns_at_once(void **state) {
    struct pending_call cursor;

    assert_int_equal(take(*state, "a", 0, 0, &cursor), LK_BUSY);
    push(*state, "1", 0, NULL);
    assert_true(sleep_for_work(*state, &cursor, BOUND_MS) < (int64_t)BOUND_MS * 1000);
}

static void test_a_wait_after_an_item_became_due_returns_at_once(void **state) {
    struct setup *setup = *state;
    struct pending_call cursor;

    push(setup, "1", 60000, NULL);
    assert_int_equal(take(setup, "a", 0, 0, &cursor), LK_BUSY);
    atomic_store(&setup->ahead_us, INT64_C(60000000));
    assert_true(sleep_for_work(setup, &cursor, BOUND_MS) < (int64_t)BOUND_MS * 1000);
    assert_int_equal(take(setup, "a", 0, 0, &cursor), LK_GRANTED);
}

/* What is due under a lock on the queue is no reason to look again and again. */
static void test_a_wait_lasts_through_a_pause_of_the_queue(void **state) {
    struct setup *setup = *state;
    struct pending_call cursor;

    push(setup, "1", 10, NULL);
    lock(setup, "q");
    atomic_store(&setup->ahead_us, INT64_C(20000));
    assert_int_equal(take(setup, "a", 0, 0, &cursor), LK_BUSY);
    assert_true(sleep_for_work(setup, &cursor, 50) >= 50000);
}

/* ---- what wakes ------------------------------------------------------------------------------ */

struct sleeper {
    struct setup *setup;
    struct pending_call cursor;
    int64_t slept_us;
    pthread_t thread;
};

static void *sleep_in_thread(void *context) {
    struct sleeper *sleeper = context;

    sleeper->slept_us = sleep_for_work(sleeper->setup, &sleeper->cursor, BOUND_MS);
    return NULL;
}

/* Finds nothing to claim, and sleeps. It may or may not sleep yet when this returns. */
static void fall_asleep(struct sleeper *sleeper, struct setup *setup) {
    sleeper->setup = setup;
    assert_int_equal(take(setup, "sleeper", 0, 0, &sleeper->cursor), LK_BUSY);
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_in_thread, sleeper), 0);
    wait_until_ms(now_ms() + 10);
}

/* It was woken, and there is something to claim. */
static void expect_awake(struct sleeper *sleeper) {
    assert_int_equal(pthread_join(sleeper->thread, NULL), 0);
    assert_true(sleeper->slept_us < (int64_t)BOUND_MS * 1000);
    assert_int_equal(take(sleeper->setup, "sleeper", 0, 0, &sleeper->cursor), LK_GRANTED);
}

static void test_an_item_ends_a_wait(void **state) {
    struct setup *setup = *state;
    struct sleeper sleeper;
    const struct lk_unpark unpark = {.queue = setup->queue, .id = lk_slice_of("2")};

    fall_asleep(&sleeper, setup);
    push(setup, "1", 0, NULL);
    expect_awake(&sleeper);
    fall_asleep(&sleeper, setup);
    finish(setup, "1", "sleeper", LK_FINISH_RETRY);
    expect_awake(&sleeper);
    push(setup, "2", 0, NULL);
    assert_int_equal(take(setup, "a", 0, 1, &sleeper.cursor), LK_GRANTED);
    finish(setup, "2", "a", LK_FINISH_RETRY); /* parked */
    fall_asleep(&sleeper, setup);
    assert_int_equal(call_unpark(setup->engine, &unpark, &none, NULL), LK_OK);
    expect_awake(&sleeper);
}

static void test_the_end_of_a_delay_ends_a_wait(void **state) {
    struct sleeper sleeper;

    push(*state, "1", 100, NULL);
    fall_asleep(&sleeper, *state);
    expect_awake(&sleeper);
}

static void test_a_claim_that_expires_ends_a_wait(void **state) {
    struct sleeper sleeper;

    push(*state, "1", 0, NULL);
    assert_int_equal(take(*state, "a", 100, 0, &sleeper.cursor), LK_GRANTED);
    fall_asleep(&sleeper, *state);
    expect_awake(&sleeper);
}

static void test_a_released_lock_ends_a_wait(void **state) {
    static const char *const paths[] = {"q", "q/1"};
    struct setup *setup = *state;
    struct sleeper sleeper;

    push(setup, "1", 0, NULL);
    for (size_t i = 0; i < 2; i++) {
        lock(setup, paths[i]);
        fall_asleep(&sleeper, setup);
        unlock(setup, paths[i]);
        expect_awake(&sleeper);
        finish(setup, "1", "sleeper", LK_FINISH_RETRY);
    }
}

static void test_a_released_need_of_an_item_ends_a_wait(void **state) {
    struct setup *setup = *state;
    struct sleeper sleeper;

    lock(setup, "far/away");
    push(setup, "1", 0, "far");
    fall_asleep(&sleeper, setup);
    unlock(setup, "far/away");
    expect_awake(&sleeper);
}

static void test_a_triggered_waker_ends_a_wait(void **state) {
    struct setup *setup = *state;
    struct pending_call cursor;
    struct lk_waker waker;

    assert_int_equal(take(setup, "a", 0, 0, &cursor), LK_BUSY);
    assert_true(lk_waker_init(&waker));
    lk_waker_throw(&waker);
    assert_int_equal(
        call_await(setup->engine, &cursor, lk_clock_now_us() + (int64_t)BOUND_MS * 1000, &waker),
        LK_CANCELLED);
    lk_waker_done(&waker);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_setup, close_setup)
        TEST(test_a_wait_ends_at_its_time_limit),
        TEST(test_a_wait_after_a_push_returns_at_once),
        TEST(test_a_wait_after_an_item_became_due_returns_at_once),
        TEST(test_a_wait_lasts_through_a_pause_of_the_queue),
        TEST(test_an_item_ends_a_wait),
        TEST(test_the_end_of_a_delay_ends_a_wait),
        TEST(test_a_claim_that_expires_ends_a_wait),
        TEST(test_a_released_lock_ends_a_wait),
        TEST(test_a_released_need_of_an_item_ends_a_wait),
        TEST(test_a_triggered_waker_ends_a_wait),
    };

    return cmocka_run_group_tests_name("memory work", tests, NULL, NULL);
}
