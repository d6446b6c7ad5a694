/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `mem:` behind its table: a clock of its own, quotas, sleep, bounded records; series of
 * commands that are repeated, and pages.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../calls.h"
#include "base/clock.h"
#include "base/sleepers.h"
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

struct setup {
    struct clock clock;
    struct lk_time_source time;
    struct lk_engine *engine;
};

static int open_setup(void **state) {
    static struct setup setup;
    const struct lk_memory_options options = {.time = &setup.time,
                                              .quotas = {.live_max = 3, .live_per_owner_max = 2}};

    atomic_store(&setup.clock.now_us, 1000000);
    atomic_store(&setup.clock.wall_us, INT64_C(1700000000000000));
    setup.time = (struct lk_time_source){
        .now_us = read_now_us, .wall_us = read_wall_us, .context = &setup.clock};
    assert_int_equal(lk_memory_open(lk_slice_of(""), &options, &setup.engine, NULL), LK_OK);
    *state = &setup;
    return 0;
}

static int close_setup(void **state) {
    struct setup *setup = *state;

    setup->engine->ops->close(setup->engine);
    return 0;
}

static void pass_ms(struct setup *setup, int64_t duration_ms) {
    atomic_fetch_add(&setup->clock.now_us, duration_ms * 1000);
    atomic_fetch_add(&setup->clock.wall_us, duration_ms * 1000);
}

static const struct lk_patience none = {.until_us = 0};

static lk_outcome ask(struct setup *setup, const char *owner, const char *path, lk_style style,
                      struct pending_call *ret_cursor) {
    struct lk_part part;
    lk_result result = {.outcome = LK_OK};
    lk_outcome outcome;

    assert_int_equal(lk_part_parse(lk_slice_of(path), NULL, &part, NULL), LK_OK);
    const struct lk_ask ask = {.owner = lk_slice_of(owner),
                               .parts = &part,
                               .part_count = 1,
                               .style = style,
                               .ttl_ms = 1000};
    outcome = call_ask_pending(setup->engine, &ask, &none, &result, ret_cursor);
    assert_int_equal(result.outcome, outcome);
    lk_result_clear(&result);
    return outcome;
}

static lk_outcome release(struct setup *setup, const char *owner, const char *path) {
    struct lk_part part;
    lk_result result = {.outcome = LK_OK};
    lk_outcome outcome;

    assert_int_equal(lk_part_parse(lk_slice_of(path), NULL, &part, NULL), LK_OK);
    const struct lk_release release = {
        .target = {.owner = lk_slice_of(owner), .parts = &part, .part_count = 1}};
    outcome = call_release(setup->engine, &release, &none, &result);
    lk_result_clear(&result);
    return outcome;
}

static void test_time_is_that_of_the_given_source(void **state) {
    struct setup *setup = *state;
    struct pending_call cursor;

    assert_int_equal(ask(setup, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    pass_ms(setup, 999);
    assert_int_equal(ask(setup, "b", "x", LK_TRY, &cursor), LK_BUSY);
    pass_ms(setup, 1);
    assert_int_equal(ask(setup, "b", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(release(setup, "a", "x"), LK_LOST);
}

static void test_quotas(void **state) {
    struct setup *setup = *state;
    struct pending_call cursor;

    assert_int_equal(ask(setup, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(setup, "a", "y", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(setup, "a", "z", LK_TRY, &cursor), LK_FULL); /* R22, per owner */
    assert_int_equal(ask(setup, "b", "z", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(setup, "c", "v", LK_TRY, &cursor), LK_FULL); /* in all */
    assert_int_equal(ask(setup, "a", "x", LK_TRY, &cursor), LK_GRANTED);
}

/* ---- sleep ----------------------------------------------------------------------------------- */

static void test_a_wait_ends_at_its_time_limit(void **state) {
    struct setup *setup = *state;
    struct pending_call cursor;
    int64_t start_us = lk_clock_now_us();

    assert_int_equal(ask(setup, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(setup, "b", "x", LK_WAIT, &cursor), LK_WAITING);
    assert_int_equal(call_await(setup->engine, &cursor, start_us + 30000, NULL), LK_OK);
    assert_true(lk_clock_now_us() >= start_us + 30000);
}

static void test_a_wait_after_a_grant_returns_at_once(void **state) {
    struct setup *setup = *state;
    struct pending_call cursor;
    int64_t start_us = lk_clock_now_us();

    assert_int_equal(ask(setup, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(setup, "b", "x", LK_WAIT, &cursor), LK_WAITING);
    assert_int_equal(release(setup, "a", "x"), LK_OK); /* before b sleeps */
    assert_int_equal(call_await(setup->engine, &cursor, start_us + (int64_t)BOUND_MS * 1000, NULL),
                     LK_OK);
    assert_true(lk_clock_now_us() < start_us + (int64_t)BOUND_MS * 1000);
}

/* So much else happened that the engine cannot tell any more: it does not risk the sleep. */
static void test_a_wait_after_a_possible_grant_returns_at_once(void **state) {
    struct setup *setup = *state;
    struct pending_call cursor;
    struct pending_call other;
    int64_t start_us = lk_clock_now_us();

    assert_int_equal(ask(setup, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(ask(setup, "b", "x", LK_WAIT, &cursor), LK_WAITING);
    for (int i = 0; i < LK_WAKE_UPS_RECALLED; i++) {
        assert_int_equal(ask(setup, "c", "y", LK_TRY, &other), LK_GRANTED);
        assert_int_equal(release(setup, "c", "y"), LK_OK);
    }
    assert_int_equal(call_await(setup->engine, &cursor, start_us + (int64_t)BOUND_MS * 1000, NULL),
                     LK_OK);
    assert_true(lk_clock_now_us() < start_us + (int64_t)BOUND_MS * 1000);
}

struct sleeper {
    struct setup *setup;
    struct pending_call cursor;
    struct lk_waker waker;
    lk_outcome outcome;
};

static void *sleep_in_line(void *context) {
    struct sleeper *sleeper = context;
    struct lk_engine *engine = sleeper->setup->engine;

    sleeper->outcome = call_await(engine, &sleeper->cursor,
                                  lk_clock_now_us() + (int64_t)BOUND_MS * 1000, &sleeper->waker);
    return NULL;
}

static void test_a_triggered_waker_ends_a_wait(void **state) {
    struct sleeper sleeper = {.setup = *state};
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

static void test_the_audit_is_bounded(void **state) {
    struct setup *setup = *state;
    struct lk_break broken = {.at_once = true};
    lk_audit *audit = NULL;
    char last[16];
    struct pending_call cursor;
    size_t count;

    assert_int_equal(lk_path_parse(lk_slice_of("x"), &broken.path, NULL), LK_OK);
    for (int i = 0; i < LK_MEMORY_AUDIT_MAX + 5; i++) {
        (void)snprintf(last, sizeof last, "reason %d", i);
        assert_int_equal(ask(setup, "a", "x", LK_TRY, &cursor), LK_GRANTED);
        assert_int_equal(call_break(setup->engine, &broken, "me", last, &none, &count, NULL),
                         LK_OK);
        assert_int_equal(count, 1);
    }
    assert_int_equal(setup->engine->ops->audit(setup->engine, NULL, &none, &audit, NULL), LK_OK);
    assert_int_equal(audit->count, LK_MEMORY_AUDIT_MAX);
    assert_string_equal(audit->entries[0].reason, "reason 5"); /* the oldest are forgotten */
    assert_string_equal(audit->entries[audit->count - 1].reason, last);
    lk_audit_free(audit);
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct lk_event_page *ask_events(struct setup *setup, uint64_t after) {
    const struct lk_event_query query = {.after = after, .max = 20000};
    struct lk_event_page *page = NULL;

    assert_int_equal(setup->engine->ops->events->read(setup->engine, &query, &none, &page, NULL),
                     LK_OK);
    return page;
}

static uint64_t present(struct setup *setup) {
    struct lk_event_page *page = ask_events(setup, LK_EVENTS_FROM_NOW);
    uint64_t last = page->last;

    lk_event_page_free(page);
    return last;
}

static void do_something(struct setup *setup) {
    struct pending_call cursor;

    assert_int_equal(ask(setup, "a", "x", LK_TRY, &cursor), LK_GRANTED);
    assert_int_equal(release(setup, "a", "x"), LK_OK);
}

static void test_events_are_recorded_for_half_a_minute_after_a_read(void **state) {
    struct setup *setup = *state;
    uint64_t last = present(setup);
    struct lk_event_page *page;

    pass_ms(setup, LK_WATCHED_US / 1000 - 1);
    do_something(setup);
    pass_ms(setup, 1);
    do_something(setup);
    page = ask_events(setup, last);
    assert_int_equal(page->count, 3);
    assert_int_equal(page->events[1].kind, LK_WATCH_RELEASED);
    assert_int_equal(page->events[2].kind, LK_WATCH_GAP);
    lk_event_page_free(page);
}

static void test_the_last_ten_thousand_events_are_kept(void **state) {
    struct setup *setup = *state;
    uint64_t last = present(setup);
    struct lk_event_page *page;

    for (int i = 0; i < LK_WATCHED_EVENTS_MAX / 2 + 3; i++) {
        do_something(setup);
    }
    page = ask_events(setup, last);
    assert_int_equal(page->count, LK_WATCHED_EVENTS_MAX + 1);
    assert_int_equal(page->events[0].kind, LK_WATCH_GAP);
    assert_int_equal(page->events[0].sequence, last + 6);
    lk_event_page_free(page);
}

/* ---- series of commands, and pages ----------------------------------------------------------- */

struct many {
    struct lk_engine *engine;
    struct lk_path queue;
};

static int open_many(void **state) {
    static struct many many;
    const struct lk_memory_options options = {.time = NULL};

    assert_int_equal(lk_memory_open(lk_slice_of(""), &options, &many.engine, NULL), LK_OK);
    assert_int_equal(lk_path_parse(lk_slice_of("q"), &many.queue, NULL), LK_OK);
    *state = &many;
    return 0;
}

static int close_many(void **state) {
    struct many *many = *state;

    many->engine->ops->close(many->engine);
    return 0;
}

static void push(struct many *many, const struct lk_path *queue, const char *id) {
    const struct lk_push push = {.queue = *queue, .id = lk_slice_of(id)};
    bool is_added = false;

    assert_int_equal(call_push(many->engine, &push, &none, &is_added, NULL), LK_OK);
    assert_true(is_added);
}

/* Takes with the numbers of one ask. */
static void take(struct many *many, uint64_t ask_number, struct lk_command *commands, size_t count,
                 struct lk_series *series) {
    for (size_t i = 0; i < count; i++) {
        commands[i] = (struct lk_command){.kind = LK_COMMAND_TAKE};
        commands[i].take = (struct lk_take){.queue = many->queue,
                                            .owner = lk_slice_of("a"),
                                            .ttl_ms = LK_TTL_DEFAULT_MS,
                                            .max_attempts = 1,
                                            .ask_number = lk_take_number(ask_number, i)};
    }
    assert_int_equal(
        many->engine->ops->batches->decide_many(many->engine, commands, count, &none, series),
        LK_OK);
}

static void expect_item(const struct lk_series *series, size_t at, const char *id) {
    assert_int_equal(series->answers[at].outcome, LK_GRANTED);
    assert_string_equal(series->answers[at].claim->id, id);
    assert_int_equal(series->answers[at].claim->token, series->answers[0].claim->token);
    assert_int_equal(series->answers[at].claim->attempt, 1);
}

/* R3: the same items with the same token, however often; another ask gets others. */
static void test_a_repeated_series_has_the_same_answers(void **state) {
    struct many *many = *state;
    struct lk_command commands[3];
    struct lk_series_answer answers[3];
    struct lk_series series = {.answers = answers};
    uint64_t token = 0;

    push(many, &many->queue, "1");
    push(many, &many->queue, "2");
    for (int turn = 0; turn < 3; turn++) {
        take(many, 7, commands, 3, &series);
        assert_int_equal(series.count, 3);
        expect_item(&series, 0, "1");
        expect_item(&series, 1, "2");
        assert_int_equal(answers[2].outcome, LK_BUSY);
        assert_string_not_equal(series.error.text, "");
        assert_true(turn == 0 || answers[0].claim->token == token);
        token = answers[0].claim->token;
        lk_series_done(&series);
        if (turn == 1) { /* its sequence is a later draw, so its claim needs a token of its own */
            push(many, &many->queue, "3");
        }
    }
    take(many, 8, commands, 3, &series);
    assert_int_equal(series.count, 2);
    expect_item(&series, 0, "3");
    assert_true(answers[0].claim->token > token);
    lk_series_done(&series);
}

static void test_nothing_for_a_series_can_be_waited_out(void **state) {
    struct many *many = *state;
    struct lk_command commands[2];
    struct lk_series_answer answers[2];
    struct lk_series series = {.answers = answers};

    take(many, 1, commands, 2, &series);
    assert_int_equal(series.count, 1);
    assert_int_equal(answers[0].outcome, LK_BUSY);
    push(many, &many->queue, "1");
    assert_int_equal(many->engine->ops->await(many->engine, &series.cursor, INT64_MAX, NULL),
                     LK_OK);
    lk_series_done(&series);
}

static void test_parked_items_come_by_pages(void **state) {
    static const char *const ids[] = {"1", "2", "3"};
    struct many *many = *state;
    struct lk_command commands[3];
    struct lk_series_answer answers[3];
    struct lk_series series = {.answers = answers};
    struct lk_parked_query query = {.queue = &many->queue, .max = 2};

    for (size_t i = 0; i < 3; i++) {
        push(many, &many->queue, ids[i]);
    }
    take(many, 1, commands, 3, &series);
    lk_series_done(&series);
    for (size_t i = 0; i < 3; i++) {
        const struct lk_finish retry = {.queue = many->queue,
                                        .id = lk_slice_of(ids[i]),
                                        .owner = lk_slice_of("a"),
                                        .kind = LK_FINISH_RETRY};

        assert_int_equal(call_finish(many->engine, &retry, &none, NULL), LK_OK);
    }
    for (size_t seen = 0; seen < 3;) {
        lk_item_list *list = NULL;

        assert_int_equal(many->engine->ops->batches->parked(many->engine, &query, &none, &list,
                                                            &query.behind, NULL),
                         LK_OK);
        assert_int_equal(list->count, seen == 0 ? 2 : 1);
        for (size_t i = 0; i < list->count; i++) {
            assert_string_equal(list->items[i].id, ids[seen++]);
        }
        assert_int_equal(query.behind == 0, seen == 3);
        lk_item_list_free(list);
    }
}

static void test_queues_come_by_pages(void **state) {
    static const char *const paths[] = {"a", "a/b", "a/c", "b"};
    struct many *many = *state;
    struct lk_queue_query query = {.max = 3};
    lk_queue_list *list = NULL;
    struct lk_path path;
    bool has_more = false;

    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(lk_path_parse(lk_slice_of(paths[i]), &path, NULL), LK_OK);
        push(many, &path, "1");
    }
    assert_int_equal(
        many->engine->ops->batches->queues(many->engine, &query, &none, &list, &has_more, NULL),
        LK_OK);
    assert_int_equal(list->count, 3);
    assert_true(has_more);
    assert_string_equal(list->queues[2].queue, "a/c");
    lk_queue_list_free(list);
    query.behind = lk_slice_of("a/c");
    assert_int_equal(
        many->engine->ops->batches->queues(many->engine, &query, &none, &list, &has_more, NULL),
        LK_OK);
    assert_int_equal(list->count, 1);
    assert_false(has_more);
    assert_string_equal(list->queues[0].queue, "b");
    lk_queue_list_free(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_setup, close_setup)
        TEST(test_time_is_that_of_the_given_source),
        TEST(test_quotas),
        TEST(test_a_wait_ends_at_its_time_limit),
        TEST(test_a_wait_after_a_grant_returns_at_once),
        TEST(test_a_wait_after_a_possible_grant_returns_at_once),
        TEST(test_a_triggered_waker_ends_a_wait),
        TEST(test_the_audit_is_bounded),
        TEST(test_events_are_recorded_for_half_a_minute_after_a_read),
        TEST(test_the_last_ten_thousand_events_are_kept),
#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_many, close_many)
        TEST(test_a_repeated_series_has_the_same_answers),
        TEST(test_nothing_for_a_series_can_be_waited_out),
        TEST(test_parked_items_come_by_pages),
        TEST(test_queues_come_by_pages),
    };

    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
