/* SPDX-License-Identifier: Apache-2.0 */
/* The engine `mem:` behind its table: who waits for work is woken, and by what. */
#include <pthread.h>
#include <stdatomic.h>

#include "../calls.h"
#include "base/clock.h"
#include "engine/memory/memory.h"
#include "engine/reply/reply.h"
#include "support.h"

struct stage {
    _Atomic int64_t ahead_us; /* added to the machine's */
    struct lk_time_source time;
    struct lk_engine *engine;
    struct lk_path queue;
};

static int64_t read_now_us(void *context) {
    return lk_clock_now_us() + atomic_load(&((struct stage *)context)->ahead_us);
}

static int64_t read_wall_us(void *context) {
    return lk_clock_wall_us() + atomic_load(&((struct stage *)context)->ahead_us);
}

static int open_stage(void **state) {
    static struct stage stage;
    const struct lk_memory_options options = {.time = &stage.time};

    atomic_store(&stage.ahead_us, 0);
    stage.time =
        (struct lk_time_source){.now_us = read_now_us, .wall_us = read_wall_us, .context = &stage};
    assert_int_equal(lk_memory_open(lk_slice_of(""), &options, &stage.engine, NULL), LK_OK);
    assert_int_equal(lk_path_parse(lk_slice_of("q"), &stage.queue, NULL), LK_OK);
    *state = &stage;
    return 0;
}

static int close_stage(void **state) {
    struct stage *stage = *state;

    stage->engine->ops->close(stage->engine);
    return 0;
}

static const struct lk_patience none = {.until_us = 0};

static void push(struct stage *stage, const char *id, int64_t delay_ms, const char *need) {
    struct lk_part part;
    struct lk_push push = {.queue = stage->queue, .id = lk_slice_of(id), .delay_ms = delay_ms};
    bool is_added = false;

    if (need != NULL) {
        assert_int_equal(lk_part_parse(lk_slice_of(need), NULL, &part, NULL), LK_OK);
        push.needs = &part;
        push.need_count = 1;
    }
    assert_int_equal(call_push(stage->engine, &push, &none, &is_added, NULL), LK_OK);
    assert_true(is_added);
}

static lk_outcome take(struct stage *stage, const char *owner, int64_t ttl_ms,
                       uint32_t max_attempts, struct standing *ret_cursor) {
    const struct lk_take take = {.queue = stage->queue,
                                 .owner = lk_slice_of(owner),
                                 .ttl_ms = ttl_ms,
                                 .max_attempts = max_attempts};
    lk_claim_info *claim = NULL;
    lk_outcome outcome = call_take(stage->engine, &take, &none, &claim, ret_cursor, NULL);

    lk_claim_free(claim);
    return outcome;
}

static void finish(struct stage *stage, const char *id, const char *owner,
                   enum lk_finish_kind kind) {
    const struct lk_finish finish = {
        .queue = stage->queue, .id = lk_slice_of(id), .owner = lk_slice_of(owner), .kind = kind};

    assert_int_equal(call_finish(stage->engine, &finish, &none, NULL), LK_OK);
}

static void lock(struct stage *stage, const char *path) {
    struct lk_part part;
    lk_result result = {.outcome = LK_OK};

    assert_int_equal(lk_part_parse(lk_slice_of(path), NULL, &part, NULL), LK_OK);
    const struct lk_ask ask = {.owner = lk_slice_of("o"), .parts = &part, .part_count = 1};
    assert_int_equal(call_ask(stage->engine, &ask, &none, &result), LK_GRANTED);
    lk_result_clear(&result);
}

static void unlock(struct stage *stage, const char *path) {
    struct lk_part part;
    lk_result result = {.outcome = LK_OK};

    assert_int_equal(lk_part_parse(lk_slice_of(path), NULL, &part, NULL), LK_OK);
    const struct lk_release release = {
        .target = {.owner = lk_slice_of("o"), .parts = &part, .part_count = 1}};
    assert_int_equal(call_release(stage->engine, &release, &none, &result), LK_OK);
    lk_result_clear(&result);
}

/* Sleeps after a take that got nothing; returns for how long, in microseconds. */
static int64_t sleep_for_work(struct stage *stage, const struct standing *cursor, int64_t for_ms) {
    int64_t start_us = lk_clock_now_us();

    assert_int_equal(call_await(stage->engine, cursor, start_us + for_ms * 1000, NULL), LK_OK);
    return lk_clock_now_us() - start_us;
}

/* ---- before the sleep ------------------------------------------------------------------------ */

static void test_sleep_ends_with_time(void **state) {
    struct standing cursor;

    assert_int_equal(take(*state, "a", 0, 0, &cursor), LK_BUSY);
    assert_true(sleep_for_work(*state, &cursor, 30) >= 30000);
}

static void test_what_was_missed_is_no_sleep(void **state) {
    struct standing cursor;

    assert_int_equal(take(*state, "a", 0, 0, &cursor), LK_BUSY);
    push(*state, "1", 0, NULL);
    assert_true(sleep_for_work(*state, &cursor, BOUND_MS) < (int64_t)BOUND_MS * 1000);
}

static void test_what_became_due_meanwhile_is_no_sleep(void **state) {
    struct stage *stage = *state;
    struct standing cursor;

    push(stage, "1", 60000, NULL);
    assert_int_equal(take(stage, "a", 0, 0, &cursor), LK_BUSY);
    atomic_store(&stage->ahead_us, INT64_C(60000000));
    assert_true(sleep_for_work(stage, &cursor, BOUND_MS) < (int64_t)BOUND_MS * 1000);
    assert_int_equal(take(stage, "a", 0, 0, &cursor), LK_GRANTED);
}

/* What is due under a lock on the queue is no reason to look again and again. */
static void test_a_pause_is_slept_through(void **state) {
    struct stage *stage = *state;
    struct standing cursor;

    push(stage, "1", 10, NULL);
    lock(stage, "q");
    atomic_store(&stage->ahead_us, INT64_C(20000));
    assert_int_equal(take(stage, "a", 0, 0, &cursor), LK_BUSY);
    assert_true(sleep_for_work(stage, &cursor, 50) >= 50000);
}

/* ---- what wakes ------------------------------------------------------------------------------ */

struct sleeper {
    struct stage *stage;
    struct standing cursor;
    int64_t slept_us;
    pthread_t thread;
};

static void *sleep_in_thread(void *context) {
    struct sleeper *sleeper = context;

    sleeper->slept_us = sleep_for_work(sleeper->stage, &sleeper->cursor, BOUND_MS);
    return NULL;
}

/* Finds nothing to claim, and sleeps. It may or may not sleep yet when this returns. */
static void fall_asleep(struct sleeper *sleeper, struct stage *stage) {
    sleeper->stage = stage;
    assert_int_equal(take(stage, "sleeper", 0, 0, &sleeper->cursor), LK_BUSY);
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_in_thread, sleeper), 0);
    wait_until_ms(now_ms() + 10);
}

/* It was woken, and there is something to claim. */
static void expect_awake(struct sleeper *sleeper) {
    assert_int_equal(pthread_join(sleeper->thread, NULL), 0);
    assert_true(sleeper->slept_us < (int64_t)BOUND_MS * 1000);
    assert_int_equal(take(sleeper->stage, "sleeper", 0, 0, &sleeper->cursor), LK_GRANTED);
}

static void test_woken_by_items(void **state) {
    struct stage *stage = *state;
    struct sleeper sleeper;
    const struct lk_unpark unpark = {.queue = stage->queue, .id = lk_slice_of("2")};

    fall_asleep(&sleeper, stage);
    push(stage, "1", 0, NULL);
    expect_awake(&sleeper);
    fall_asleep(&sleeper, stage);
    finish(stage, "1", "sleeper", LK_FINISH_RETRY);
    expect_awake(&sleeper);
    push(stage, "2", 0, NULL);
    assert_int_equal(take(stage, "a", 0, 1, &sleeper.cursor), LK_GRANTED);
    finish(stage, "2", "a", LK_FINISH_RETRY); /* parked */
    fall_asleep(&sleeper, stage);
    assert_int_equal(call_unpark(stage->engine, &unpark, &none, NULL), LK_OK);
    expect_awake(&sleeper);
}

static void test_woken_by_a_delay(void **state) {
    struct sleeper sleeper;

    push(*state, "1", 100, NULL);
    fall_asleep(&sleeper, *state);
    expect_awake(&sleeper);
}

static void test_woken_by_a_claim_that_perishes(void **state) {
    struct sleeper sleeper;

    push(*state, "1", 0, NULL);
    assert_int_equal(take(*state, "a", 100, 0, &sleeper.cursor), LK_GRANTED);
    fall_asleep(&sleeper, *state);
    expect_awake(&sleeper);
}

static void test_woken_by_locks(void **state) {
    static const char *const paths[] = {"q", "q/1"};
    struct stage *stage = *state;
    struct sleeper sleeper;

    push(stage, "1", 0, NULL);
    for (size_t i = 0; i < 2; i++) {
        lock(stage, paths[i]);
        fall_asleep(&sleeper, stage);
        unlock(stage, paths[i]);
        expect_awake(&sleeper);
        finish(stage, "1", "sleeper", LK_FINISH_RETRY);
    }
}

static void test_woken_by_what_an_item_needs(void **state) {
    struct stage *stage = *state;
    struct sleeper sleeper;

    lock(stage, "far/away");
    push(stage, "1", 0, "far");
    fall_asleep(&sleeper, stage);
    unlock(stage, "far/away");
    expect_awake(&sleeper);
}

static void test_a_thrown_waker_ends_sleep(void **state) {
    struct stage *stage = *state;
    struct standing cursor;
    struct lk_waker waker;

    assert_int_equal(take(stage, "a", 0, 0, &cursor), LK_BUSY);
    assert_true(lk_waker_init(&waker));
    lk_waker_throw(&waker);
    assert_int_equal(
        call_await(stage->engine, &cursor, lk_clock_now_us() + (int64_t)BOUND_MS * 1000, &waker),
        LK_CANCELLED);
    lk_waker_done(&waker);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)
        TEST(test_sleep_ends_with_time),
        TEST(test_what_was_missed_is_no_sleep),
        TEST(test_what_became_due_meanwhile_is_no_sleep),
        TEST(test_a_pause_is_slept_through),
        TEST(test_woken_by_items),
        TEST(test_woken_by_a_delay),
        TEST(test_woken_by_a_claim_that_perishes),
        TEST(test_woken_by_locks),
        TEST(test_woken_by_what_an_item_needs),
        TEST(test_a_thrown_waker_ends_sleep),
    };

    return cmocka_run_group_tests_name("memory work", tests, NULL, NULL);
}
