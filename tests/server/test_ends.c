/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core that may not go on as before. One that drains serves what lives to its end, whatever it
 * asks for, and takes nothing new. Of one whose store is shared, which another service may have
 * taken over: what its answers wait for, and what it writes without changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "server/core/core.h"
#include "server/core/exchange.h"

/* ---- draining -------------------------------------------------------------------------------- */

#define WALL_US INT64_C(1700000000000000) /* ahead of the clock of deadlines */
#define TTL_MS INT64_C(1000)

struct draining {
    struct lk_core *core;
    struct lk_session *session;
    struct lk_times times;
    lk_outcome outcome; /* of the last answer; LK_NONE: there was none yet */
    uint64_t live;
};

static void note_answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    struct draining *draining = peer;
    struct lk_model_stats stats;

    (void)tag;
    (void)batch;
    assert_non_null(reply->model);
    lk_model_stats(reply->model, &stats);
    draining->outcome = reply->answer->outcome;
    draining->live = stats.live;
}

static void ignore_durable(void *peer, uint64_t batch) {
    (void)peer;
    (void)batch;
}

static void must_not_fail(void *peer, const char *why) {
    (void)peer;
    fail_msg("%s", why);
}

static lk_outcome call(struct draining *draining, struct lk_call *call) {
    draining->outcome = LK_NONE;
    lk_core_call(draining->core, draining->session, call, &draining->times);
    return draining->outcome;
}

static struct lk_part part_of(const char *path) {
    struct lk_part part = {.path.size = 0};

    assert_int_equal(lk_path_parse(lk_slice_of(path), &part.path, NULL), LK_OK);
    return part;
}

static lk_outcome ask(struct draining *draining, const char *owner, const char *path,
                      lk_style style) {
    struct lk_part part = part_of(path);
    struct lk_call made = {.kind = LK_CALL_COMMAND, .command.kind = LK_COMMAND_ASK};

    made.command.ask = (struct lk_ask){.owner = lk_slice_of(owner),
                                       .parts = &part,
                                       .part_count = 1,
                                       .style = style,
                                       .ttl_ms = TTL_MS};
    made.wait_ms = style == LK_WAIT ? LK_NEVER : 0;
    return call(draining, &made);
}

static lk_outcome release(struct draining *draining, const char *owner, const char *path) {
    struct lk_part part = part_of(path);
    struct lk_call made = {.kind = LK_CALL_COMMAND, .command.kind = LK_COMMAND_RELEASE};

    made.command.release.target =
        (struct lk_target){.owner = lk_slice_of(owner), .parts = &part, .part_count = 1};
    return call(draining, &made);
}

static int begin_draining(void **state) {
    static const struct lk_session_ops ops = {
        .answer = note_answer, .durable = ignore_durable, .failed = must_not_fail};
    const struct lk_core_config config = {.epoch = "test", .is_ephemeral = true};
    struct draining *draining = calloc(1, sizeof *draining);
    lk_error error;

    assert_non_null(draining);
    draining->times = (struct lk_times){.now_us = 1, .wall_us = WALL_US};
    draining->core = lk_core_new(&config);
    assert_non_null(draining->core);
    assert_int_equal(
        lk_core_session_open(draining->core, &ops, draining, &draining->session, &error), LK_OK);
    assert_int_equal(ask(draining, "holder", "x", LK_QUEUE), LK_GRANTED);
    assert_int_equal(ask(draining, "waiter", "x", LK_QUEUE), LK_WAITING);
    assert_false(lk_core_is_draining(draining->core));
    lk_core_drain(draining->core);
    assert_true(lk_core_is_draining(draining->core));
    *state = draining;
    return 0;
}

static int end_draining(void **state) {
    struct draining *draining = *state;

    lk_core_session_close(draining->core, draining->session, &draining->times);
    lk_core_free(draining->core);
    free(draining);
    return 0;
}

static void test_nothing_new(void **state) {
    struct draining *draining = *state;
    struct lk_call take = {.kind = LK_CALL_COMMAND, .command.kind = LK_COMMAND_TAKE};

    assert_int_equal(ask(draining, "new", "y", LK_TRY), LK_UNAVAILABLE);
    assert_int_equal(ask(draining, "new", "x", LK_QUEUE), LK_UNAVAILABLE);
    assert_int_equal(ask(draining, "new", "x", LK_WAIT), LK_UNAVAILABLE);
    assert_int_equal(ask(draining, "holder", "y", LK_QUEUE), LK_UNAVAILABLE);
    take.command.take = (struct lk_take){.queue = part_of("jobs").path, .owner = lk_slice_of("o")};
    assert_int_equal(call(draining, &take), LK_UNAVAILABLE);
    assert_int_equal(draining->live, 2);
}

static void test_what_lives_goes_on(void **state) {
    struct draining *draining = *state;

    draining->times.now_us += TTL_MS * 900;
    assert_int_equal(ask(draining, "holder", "x", LK_QUEUE), LK_GRANTED);
    assert_int_equal(ask(draining, "waiter", "x", LK_QUEUE), LK_WAITING);
    draining->times.now_us += TTL_MS * 900;
    assert_int_equal(release(draining, "holder", "x"), LK_OK);
    assert_int_equal(ask(draining, "waiter", "x", LK_QUEUE), LK_GRANTED);
    assert_int_equal(release(draining, "waiter", "x"), LK_OK);
    assert_int_equal(draining->live, 0);
    assert_int_equal(ask(draining, "waiter", "x", LK_QUEUE), LK_UNAVAILABLE);
}

/* A request that is overdue when it is asked for again would be a new one. */
static void test_what_is_overdue_is_gone(void **state) {
    struct draining *draining = *state;

    draining->times.now_us += TTL_MS * 1000;
    assert_int_equal(ask(draining, "holder", "x", LK_QUEUE), LK_UNAVAILABLE);
    assert_int_equal(draining->live, 0);
}

/* ---- a store that is shared ------------------------------------------------------------------ */

#define RENEW_US INT64_C(1000000)

struct fixture {
    struct lk_core *core;
    struct lk_session *session;
    struct lk_times times;
    lk_outcome outcome; /* of the last answer */
    uint64_t batch;     /* that it depends on */
    uint64_t durable;   /* the last one that was told */
};

static void answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    struct fixture *fixture = peer;

    (void)tag;
    fixture->outcome = reply->answer->outcome;
    fixture->batch = batch;
}

static void durable(void *peer, uint64_t batch) {
    ((struct fixture *)peer)->durable = batch;
}

static void failed(void *peer, const char *why) {
    (void)peer;
    (void)why;
}

static struct lk_core_snapshot *empty_snapshot(struct fixture *fixture) {
    const struct lk_model_config config = lk_core_model_config(fixture->core, &fixture->times);
    struct lk_core_snapshot *snapshot = lk_core_snapshot_new(&config);

    assert_non_null(snapshot);
    return snapshot;
}

/* What the core has taken is written, if there is something. Whether there was. */
static bool write_batch(struct fixture *fixture) {
    if (lk_core_take_batch(fixture->core) == NULL) {
        return false;
    }
    lk_core_batch_durable(fixture->core, &fixture->times);
    return true;
}

static int set_up(void **state) {
    static const struct lk_session_ops ops = {
        .answer = answer, .durable = durable, .failed = failed};
    const struct lk_core_config config = {.epoch = "test", .is_fenced = true, .renew_us = RENEW_US};
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_non_null(fixture);
    fixture->times = (struct lk_times){.now_us = 1, .wall_us = INT64_C(1700000000000000)};
    fixture->core = lk_core_new(&config);
    assert_non_null(fixture->core);
    assert_int_equal(lk_core_session_open(fixture->core, &ops, fixture, &fixture->session, NULL),
                     LK_OK);
    assert_int_equal(lk_core_restore(fixture->core, empty_snapshot(fixture), &fixture->times, NULL),
                     LK_OK);
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

static void read_value(struct fixture *fixture) {
    struct lk_call call = {.kind = LK_CALL_GET, .selection.has_path = true};

    assert_int_equal(lk_path_parse(lk_slice_of("a"), &call.selection.path, NULL), LK_OK);
    lk_core_call(fixture->core, fixture->session, &call, &fixture->times);
}

/* The batch that is being written may have been under way when another service took over. */
static void a_read_waits_for_a_batch_closed_after_it(void **state) {
    struct fixture *fixture = *state;

    read_value(fixture);
    assert_int_equal(fixture->outcome, LK_NONE);
    assert_int_equal(fixture->batch, 1);
    assert_non_null(lk_core_take_batch(fixture->core));
    read_value(fixture);
    assert_int_equal(fixture->batch, 2);
    lk_core_batch_durable(fixture->core, &fixture->times);
    assert_int_equal(fixture->durable, 1);
    assert_true(write_batch(fixture));
    assert_int_equal(fixture->durable, 2);
    assert_false(write_batch(fixture));
}

static void an_idle_leader_renews_its_lease(void **state) {
    struct fixture *fixture = *state;

    assert_int_equal(lk_core_next_due(fixture->core), fixture->times.now_us); /* it has loaded */
    lk_core_tick(fixture->core, &fixture->times);
    assert_true(write_batch(fixture));
    assert_int_equal(lk_core_next_due(fixture->core), fixture->times.now_us + RENEW_US);
    fixture->times.now_us += RENEW_US - 1;
    lk_core_tick(fixture->core, &fixture->times);
    assert_false(write_batch(fixture));
    fixture->times.now_us++;
    lk_core_tick(fixture->core, &fixture->times);
    assert_true(write_batch(fixture));
    assert_int_equal(lk_core_next_due(fixture->core), fixture->times.now_us + RENEW_US);
}

/* Any other batch renews it as well. */
static void a_busy_leader_writes_no_batch_more(void **state) {
    struct fixture *fixture = *state;

    fixture->times.now_us += RENEW_US / 2;
    read_value(fixture);
    assert_true(write_batch(fixture));
    fixture->times.now_us += RENEW_US / 2 + 1;
    assert_true(lk_core_next_due(fixture->core) > fixture->times.now_us);
}

/* The next batch may wait for it (server/program/gathering.h). */
static void a_session_is_awaited_until_it_calls_again(void **state) {
    struct fixture *fixture = *state;

    read_value(fixture);
    assert_int_equal(lk_core_awaited(fixture->core), 0);
    assert_true(lk_core_has_batch(fixture->core));
    assert_true(write_batch(fixture));
    assert_false(lk_core_has_batch(fixture->core));
    assert_int_equal(lk_core_awaited(fixture->core), 1);
    read_value(fixture);
    read_value(fixture);
    assert_int_equal(lk_core_awaited(fixture->core), 0);
    assert_true(write_batch(fixture));
    assert_int_equal(lk_core_awaited(fixture->core), 1);
    fixture->times.now_us += RENEW_US;
    lk_core_tick(fixture->core, &fixture->times);
    assert_true(write_batch(fixture)); /* answers none */
    assert_int_equal(lk_core_awaited(fixture->core), 0);
    read_value(fixture);
    assert_int_equal(lk_core_awaited(fixture->core), 0);
}

/* One that has called while the batch was written has its answer still to come. */
static void a_session_with_a_call_under_way_is_not_awaited(void **state) {
    struct fixture *fixture = *state;

    read_value(fixture);
    assert_non_null(lk_core_take_batch(fixture->core));
    read_value(fixture);
    lk_core_batch_durable(fixture->core, &fixture->times);
    assert_int_equal(lk_core_awaited(fixture->core), 0);
    assert_non_null(lk_core_take_batch(fixture->core));
    lk_core_batch_failed(fixture->core, "no answer", &fixture->times);
    assert_int_equal(lk_core_awaited(fixture->core), 0);
}

static uint64_t count_bound(struct fixture *fixture) {
    struct lk_core_stats stats;

    lk_core_stats(fixture->core, &stats);
    return stats.bound;
}

static struct lk_part make_part(void) {
    struct lk_part part = {.mode = LK_EXCLUSIVE};

    assert_int_equal(lk_path_parse(lk_slice_of("a"), &part.path, NULL), LK_OK);
    return part;
}

static void bind_request(struct fixture *fixture) {
    struct lk_part part = make_part();
    struct lk_call call = {
        .kind = LK_CALL_COMMAND, .is_bound = true, .command.kind = LK_COMMAND_ASK};

    call.command.ask = (struct lk_ask){.owner = lk_session_owner(fixture->session),
                                       .parts = &part,
                                       .part_count = 1,
                                       .style = LK_TRY};
    lk_core_call(fixture->core, fixture->session, &call, &fixture->times);
    assert_int_equal(fixture->outcome, LK_GRANTED);
    assert_true(write_batch(fixture));
    assert_int_equal(count_bound(fixture), 1);
}

/* A request of the same id, bound to a connection of the service that has led since. */
static struct lk_core_snapshot *snapshot_with_bound(struct fixture *fixture) {
    struct lk_core_snapshot *snapshot = empty_snapshot(fixture);
    static struct lk_record record;

    record = (struct lk_record){.id = 1,
                                .owner = lk_slice_of("conn:other.1"),
                                .state = LK_STATE_HELD,
                                .ticket = 1,
                                .token = 1,
                                .ttl_ms = 10000,
                                .deadline_us = fixture->times.now_us + 10000000,
                                .part_count = 1};
    record.parts[0] = make_part();
    assert_int_equal(lk_model_restore(snapshot->model, &record), LK_OK);
    assert_true(lk_core_snapshot_add_bound(snapshot, record.id));
    return snapshot;
}

/* Else this connection would keep what belongs to another one, until it ends. */
static void a_service_that_was_replaced_is_bound_to_nothing(void **state) {
    struct fixture *fixture = *state;
    struct lk_core_snapshot *snapshot;

    bind_request(fixture);
    read_value(fixture);
    assert_non_null(lk_core_take_batch(fixture->core));
    lk_core_batch_failed(fixture->core, "another service leads", &fixture->times);
    snapshot = snapshot_with_bound(fixture);
    snapshot->is_foreign = true;
    assert_int_equal(lk_core_restore(fixture->core, snapshot, &fixture->times, NULL), LK_OK);
    assert_int_equal(count_bound(fixture), 0);
    lk_core_tick(fixture->core, &fixture->times);
    assert_int_equal(count_bound(fixture), 0);
}

static void a_service_that_leads_again_keeps_what_is_bound(void **state) {
    struct fixture *fixture = *state;

    bind_request(fixture);
    read_value(fixture);
    assert_non_null(lk_core_take_batch(fixture->core));
    lk_core_batch_failed(fixture->core, "no answer", &fixture->times);
    assert_int_equal(
        lk_core_restore(fixture->core, snapshot_with_bound(fixture), &fixture->times, NULL), LK_OK);
    assert_int_equal(count_bound(fixture), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_new, begin_draining, end_draining),
        cmocka_unit_test_setup_teardown(test_what_lives_goes_on, begin_draining, end_draining),
        cmocka_unit_test_setup_teardown(test_what_is_overdue_is_gone, begin_draining, end_draining),
        cmocka_unit_test_setup_teardown(a_read_waits_for_a_batch_closed_after_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_idle_leader_renews_its_lease, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_busy_leader_writes_no_batch_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_session_is_awaited_until_it_calls_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_session_with_a_call_under_way_is_not_awaited, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_service_that_was_replaced_is_bound_to_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_service_that_leads_again_keeps_what_is_bound, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
