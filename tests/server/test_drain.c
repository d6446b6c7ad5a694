/* SPDX-License-Identifier: Apache-2.0 */
/* Draining: what lives is served to its end, whatever it asks for, and nothing new is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "server/core/core.h"

#define WALL_US INT64_C(1700000000000000) /* ahead of the clock of deadlines */
#define TTL_MS INT64_C(1000)

struct fixture {
    struct lk_core *core;
    struct lk_session *session;
    struct lk_times times;
    lk_outcome outcome; /* of the last answer; LK_NONE: there was none yet */
    uint64_t live;
};

static void answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    struct fixture *fixture = peer;
    struct lk_model_stats stats;

    (void)tag;
    (void)batch;
    assert_non_null(reply->model);
    lk_model_stats(reply->model, &stats);
    fixture->outcome = reply->answer->outcome;
    fixture->live = stats.live;
}

static void durable(void *peer, uint64_t batch) {
    (void)peer;
    (void)batch;
}

static void failed(void *peer, const char *why) {
    (void)peer;
    fail_msg("%s", why);
}

static lk_outcome call(struct fixture *fixture, struct lk_call *call) {
    fixture->outcome = LK_NONE;
    lk_core_call(fixture->core, fixture->session, call, &fixture->times);
    return fixture->outcome;
}

static struct lk_part part_of(const char *path) {
    struct lk_part part = {.path.size = 0};

    assert_int_equal(lk_path_parse(lk_slice_of(path), &part.path, NULL), LK_OK);
    return part;
}

static lk_outcome ask(struct fixture *fixture, const char *owner, const char *path,
                      lk_style style) {
    struct lk_part part = part_of(path);
    struct lk_call made = {.kind = LK_CALL_COMMAND, .command.kind = LK_COMMAND_ASK};

    made.command.ask = (struct lk_ask){.owner = lk_slice_of(owner),
                                       .parts = &part,
                                       .part_count = 1,
                                       .style = style,
                                       .ttl_ms = TTL_MS};
    made.wait_ms = style == LK_WAIT ? LK_NEVER : 0;
    return call(fixture, &made);
}

static lk_outcome release(struct fixture *fixture, const char *owner, const char *path) {
    struct lk_part part = part_of(path);
    struct lk_call made = {.kind = LK_CALL_COMMAND, .command.kind = LK_COMMAND_RELEASE};

    made.command.release.target =
        (struct lk_target){.owner = lk_slice_of(owner), .parts = &part, .part_count = 1};
    return call(fixture, &made);
}

static int set_up(void **state) {
    static const struct lk_session_ops ops = {
        .answer = answer, .durable = durable, .failed = failed};
    const struct lk_core_config config = {.epoch = "test", .is_ephemeral = true};
    struct fixture *fixture = calloc(1, sizeof *fixture);
    lk_error error;

    assert_non_null(fixture);
    fixture->times = (struct lk_times){.now_us = 1, .wall_us = WALL_US};
    fixture->core = lk_core_new(&config);
    assert_non_null(fixture->core);
    assert_int_equal(lk_core_session_open(fixture->core, &ops, fixture, &fixture->session, &error),
                     LK_OK);
    assert_int_equal(ask(fixture, "holder", "x", LK_QUEUE), LK_GRANTED);
    assert_int_equal(ask(fixture, "waiter", "x", LK_QUEUE), LK_WAITING);
    assert_false(lk_core_is_draining(fixture->core));
    lk_core_drain(fixture->core);
    assert_true(lk_core_is_draining(fixture->core));
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;

    lk_core_session_close(fixture->core, fixture->session, &fixture->times);
    lk_core_free(fixture->core);
    free(fixture);
    return 0;
}

static void test_nothing_new(void **state) {
    struct fixture *fixture = *state;
    struct lk_call take = {.kind = LK_CALL_COMMAND, .command.kind = LK_COMMAND_TAKE};

    assert_int_equal(ask(fixture, "new", "y", LK_TRY), LK_UNAVAILABLE);
    assert_int_equal(ask(fixture, "new", "x", LK_QUEUE), LK_UNAVAILABLE);
    assert_int_equal(ask(fixture, "new", "x", LK_WAIT), LK_UNAVAILABLE);
    assert_int_equal(ask(fixture, "holder", "y", LK_QUEUE), LK_UNAVAILABLE);
    take.command.take = (struct lk_take){.queue = part_of("jobs").path, .owner = lk_slice_of("o")};
    assert_int_equal(call(fixture, &take), LK_UNAVAILABLE);
    assert_int_equal(fixture->live, 2);
}

static void test_what_lives_goes_on(void **state) {
    struct fixture *fixture = *state;

    fixture->times.now_us += TTL_MS * 900;
    assert_int_equal(ask(fixture, "holder", "x", LK_QUEUE), LK_GRANTED);
    assert_int_equal(ask(fixture, "waiter", "x", LK_QUEUE), LK_WAITING);
    fixture->times.now_us += TTL_MS * 900;
    assert_int_equal(release(fixture, "holder", "x"), LK_OK);
    assert_int_equal(ask(fixture, "waiter", "x", LK_QUEUE), LK_GRANTED);
    assert_int_equal(release(fixture, "waiter", "x"), LK_OK);
    assert_int_equal(fixture->live, 0);
    assert_int_equal(ask(fixture, "waiter", "x", LK_QUEUE), LK_UNAVAILABLE);
}

/* A request that is overdue when it is asked for again would be a new one. */
static void test_what_is_overdue_is_gone(void **state) {
    struct fixture *fixture = *state;

    fixture->times.now_us += TTL_MS * 1000;
    assert_int_equal(ask(fixture, "holder", "x", LK_QUEUE), LK_UNAVAILABLE);
    assert_int_equal(fixture->live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_new, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_lives_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_overdue_is_gone, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
