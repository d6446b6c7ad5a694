/* SPDX-License-Identifier: Apache-2.0 */
/* The engine `mem:` behind its table: a clock of its own, quotas, sleep, bounded records. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../calls.h"
#include "base/clock.h"
#include "engine/event.h"
#include "engine/memory/memory.h"
#include "engine/reply/reply.h"
#include "support.h"

struct clock {
    _Atomic int64_t now_us;
    _Atomic int64_t wall_us;
};

static int64_t read_now_us(void *context) {
    return atomic_load(&((struct clock *)context)->now_us);
}

static int64_t read_wall_us(void *context) {
    return atomic_load(&((struct clock *)context)->wall_us);
}

struct stage {
    struct clock clock;
    struct lk_time_source time;
    struct lk_engine *engine;
};

static int open_stage(void **state) {
    static struct stage stage;
    const struct lk_memory_options options = {.time = &stage.time,
                                              .quotas = {.live_max = 3, .live_per_owner_max = 2}};

    atomic_store(&stage.clock.now_us, 1000000);
    atomic_store(&stage.clock.wall_us, INT64_C(1700000000000000));
    stage.time = (struct lk_time_source){
        .now_us = read_now_us, .wall_us = read_wall_us, .context = &stage.clock};
    assert_int_equal(lk_memory_open(lk_slice_of(""), &options, &stage.engine, NULL), LK_OK);
    *state = &stage;
    return 0;
}

static int close_stage(void **state) {
    struct stage *stage = *state;

    stage->engine->ops->close(stage->engine);
    return 0;
}

static void pass_ms(struct stage *stage, int64_t duration_ms) {
    atomic_fetch_add(&stage->clock.now_us, duration_ms * 1000);
    atomic_fetch_add(&stage->clock.wall_us, duration_ms * 1000);
}

static const struct lk_patience none = {.until_us = 0};

static lk_outcome ask(struct stage *stage, const char *owner, const char *path, lk_style style,
                      struct standing *ret_cursor) {
    struct lk_part part;
    lk_result result = {.outcome = LK_OK};
    lk_outcome outcome;

    assert_int_equal(lk_part_parse(lk_slice_of(path), NULL, &part, NULL), LK_OK);
    const struct lk_ask ask = {.owner = lk_slice_of(owner),
                               .parts = &part,
                               .part_count = 1,
                               .style = style,
                               .ttl_ms = 1000};
    outcome = call_ask_and_stand(stage->engine, &ask, &none, &result, ret_cursor);
    assert_int_equal(result.outcome, outcome);
    lk_result_clear(&result);
    return outcome;
}

static lk_outcome release(struct stage *stage, const char *owner, const char *path) {
    struct lk_part part;
    lk_result result = {.outcome = LK_OK};
    lk_outcome outcome;

    assert_int_equal(lk_part_parse(lk_slice_of(path), NULL, &part, NULL), LK_OK);
    const struct lk_release release = {
        .target = {.owner = lk_slice_of(owner), .parts = &part, .part_count = 1}};
    outcome = call_release(stage->engine, &release, &none, &result);
    lk_result_clear(&result);
    return outcome;
}

static void test_time_is_what_it_is_given(void **state) {
    struct stage *stage = *state;
    struct standing cursor;

    assert_int_equal(ask(stage, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    pass_ms(stage, 999);
    assert_int_equal(ask(stage, "b", "x", LK_TRY, &cursor), LK_BUSY);
    pass_ms(stage, 1);
    assert_int_equal(ask(stage, "b", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(release(stage, "a", "x"), LK_LOST);
}

static void test_quotas(void **state) {
    struct stage *stage = *state;
    struct standing cursor;

    assert_int_equal(ask(stage, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(stage, "a", "y", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(stage, "a", "z", LK_TRY, &cursor), LK_FULL); /* R22, per owner */
    assert_int_equal(ask(stage, "b", "z", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(stage, "c", "v", LK_TRY, &cursor), LK_FULL); /* in all */
    assert_int_equal(ask(stage, "a", "x", LK_TRY, &cursor), LK_GRANTED);
}

/* ---- sleep ----------------------------------------------------------------------------------- */

static void test_sleep_ends_with_time(void **state) {
    struct stage *stage = *state;
    struct standing cursor;
    int64_t start_us = lk_clock_now_us();

    assert_int_equal(ask(stage, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(stage, "b", "x", LK_WAIT, &cursor), LK_WAITING);
    assert_int_equal(call_await(stage->engine, &cursor, start_us + 30000, NULL), LK_OK);
    assert_true(lk_clock_now_us() >= start_us + 30000);
}

static void test_what_was_missed_is_no_sleep(void **state) {
    struct stage *stage = *state;
    struct standing cursor;
    int64_t start_us = lk_clock_now_us();

    assert_int_equal(ask(stage, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(stage, "b", "x", LK_WAIT, &cursor), LK_WAITING);
    assert_int_equal(release(stage, "a", "x"), LK_OK); /* before b sleeps */
    assert_int_equal(call_await(stage->engine, &cursor, start_us + (int64_t)BOUND_MS * 1000, NULL),
                     LK_OK);
    assert_true(lk_clock_now_us() < start_us + (int64_t)BOUND_MS * 1000);
}

/* So much else happened that the engine cannot tell any more: it does not risk the sleep. */
static void test_what_may_have_been_missed_is_no_sleep(void **state) {
    struct stage *stage = *state;
    struct standing cursor;
    struct standing other;
    int64_t start_us = lk_clock_now_us();

    assert_int_equal(ask(stage, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(stage, "b", "x", LK_WAIT, &cursor), LK_WAITING);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(ask(stage, "c", "y", LK_TRY, &other), LK_GRANTED);
        assert_int_equal(release(stage, "c", "y"), LK_OK);
    }
    assert_int_equal(call_await(stage->engine, &cursor, start_us + (int64_t)BOUND_MS * 1000, NULL),
                     LK_OK);
    assert_true(lk_clock_now_us() < start_us + (int64_t)BOUND_MS * 1000);
}

struct sleeper {
    struct stage *stage;
    struct standing cursor;
    struct lk_waker waker;
    lk_outcome outcome;
};

static void *sleep_in_line(void *context) {
    struct sleeper *sleeper = context;
    struct lk_engine *engine = sleeper->stage->engine;

    sleeper->outcome = call_await(engine, &sleeper->cursor,
                                  lk_clock_now_us() + (int64_t)BOUND_MS * 1000, &sleeper->waker);
    return NULL;
}

static void test_a_thrown_waker_ends_sleep(void **state) {
    struct sleeper sleeper = {.stage = *state};
    pthread_t thread;

    assert_true(lk_waker_init(&sleeper.waker));
    assert_int_equal(ask(*state, "a", "x", LK_TRY, &sleeper.cursor), LK_GRANTED);
    assert_int_equal(ask(*state, "b", "x", LK_WAIT, &sleeper.cursor), LK_WAITING);
    assert_int_equal(pthread_create(&thread, NULL, sleep_in_line, &sleeper), 0);
    lk_waker_throw(&sleeper.waker);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sleeper.outcome, LK_CANCELLED);
    lk_waker_done(&sleeper.waker);
}

/* ---- the record of breaks -------------------------------------------------------------------- */

static void test_the_record_is_bounded(void **state) {
    struct stage *stage = *state;
    struct lk_break broken = {.at_once = true};
    lk_audit *audit = NULL;
    char last[16];
    struct standing cursor;
    size_t count;

    assert_int_equal(lk_path_parse(lk_slice_of("x"), &broken.path, NULL), LK_OK);
    for (int i = 0; i < LK_MEMORY_AUDIT_MAX + 5; i++) {
        (void)snprintf(last, sizeof last, "reason %d", i);
        assert_int_equal(ask(stage, "a", "x", LK_TRY, &cursor), LK_GRANTED);
        assert_int_equal(call_break(stage->engine, &broken, "me", last, &none, &count, NULL),
                         LK_OK);
        assert_int_equal(count, 1);
    }
    assert_int_equal(stage->engine->ops->audit(stage->engine, NULL, &none, &audit, NULL), LK_OK);
    assert_int_equal(audit->count, LK_MEMORY_AUDIT_MAX);
    assert_string_equal(audit->entries[0].reason, "reason 5"); /* the oldest are forgotten */
    assert_string_equal(audit->entries[audit->count - 1].reason, last);
    lk_audit_free(audit);
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct lk_event_page *ask_events(struct stage *stage, uint64_t after) {
    const struct lk_event_query query = {.after = after, .max = 20000};
    struct lk_event_page *page = NULL;

    assert_int_equal(stage->engine->ops->events->read(stage->engine, &query, &none, &page, NULL),
                     LK_OK);
    return page;
}

static uint64_t present(struct stage *stage) {
    struct lk_event_page *page = ask_events(stage, LK_EVENTS_FROM_NOW);
    uint64_t last = page->last;

    lk_event_page_free(page);
    return last;
}

static void do_something(struct stage *stage) {
    struct standing cursor;

    assert_int_equal(ask(stage, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(release(stage, "a", "x"), LK_OK);
}

static void test_a_mark_lasts_half_a_minute(void **state) {
    struct stage *stage = *state;
    uint64_t last = present(stage);
    struct lk_event_page *page;

    pass_ms(stage, LK_WATCHED_US / 1000 - 1);
    do_something(stage);
    pass_ms(stage, 1);
    do_something(stage);
    page = ask_events(stage, last);
    assert_int_equal(page->count, 3);
    assert_int_equal(page->events[1].kind, LK_WATCH_RELEASED);
    assert_int_equal(page->events[2].kind, LK_WATCH_GAP);
    lk_event_page_free(page);
}

static void test_the_last_ten_thousand_are_kept(void **state) {
    struct stage *stage = *state;
    uint64_t last = present(stage);
    struct lk_event_page *page;

    for (int i = 0; i < LK_WATCHED_EVENTS_MAX / 2 + 3; i++) {
        do_something(stage);
    }
    page = ask_events(stage, last);
    assert_int_equal(page->count, LK_WATCHED_EVENTS_MAX + 1);
    assert_int_equal(page->events[0].kind, LK_WATCH_GAP);
    assert_int_equal(page->events[0].sequence, last + 6);
    lk_event_page_free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)
        TEST(test_time_is_what_it_is_given),
        TEST(test_quotas),
        TEST(test_sleep_ends_with_time),
        TEST(test_what_was_missed_is_no_sleep),
        TEST(test_what_may_have_been_missed_is_no_sleep),
        TEST(test_a_thrown_waker_ends_sleep),
        TEST(test_the_record_is_bounded),
        TEST(test_a_mark_lasts_half_a_minute),
        TEST(test_the_last_ten_thousand_are_kept),
    };

    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
