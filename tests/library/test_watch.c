/* SPDX-License-Identifier: Apache-2.0 */
/* Following events (R21), and bounds (R22), on each engine. */
#include <pthread.h>
#include <string.h>

#include "support.h"

static lk_store *store_of(void **state) {
    return ((struct fixture *)*state)->store;
}

static lk_watch *watch_from(lk_store *store, const char *prefix, uint64_t after) {
    const lk_watch_options options = {.size = sizeof options, .prefix = prefix, .after = after};
    lk_watch *watch = NULL;

    assert_int_equal(lk_watch_open(store, &options, &watch, NULL), LK_OK);
    return watch;
}

static const lk_watch_event *next_of(lk_watch *watch) {
    const lk_watch_event *event = NULL;

    assert_int_equal(lk_watch_next(watch, BOUND_MS, NULL, &event, NULL), LK_OK);
    return event;
}

static void expect_event(lk_watch *watch, lk_watch_kind kind, const char *path, const char *owner) {
    const lk_watch_event *event = next_of(watch);

    assert_string_equal(lk_watch_kind_name(event->kind), lk_watch_kind_name(kind));
    assert_true(event->part_count >= 1);
    assert_string_equal(event->paths[0], path);
    assert_string_equal(event->owner, owner);
}

static void expect_nothing(lk_watch *watch) {
    const lk_watch_event *untouched = (const lk_watch_event *)&watch;

    assert_int_equal(lk_watch_next(watch, 0, NULL, &untouched, NULL), LK_TIMEOUT);
    assert_ptr_equal(untouched, &watch);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void test_events_come_once_and_in_order(void **state) {
    lk_store *store = store_of(state);
    lk_watch *watch = watch_from(store, NULL, 0);
    const lk_watch_event *event;
    uint64_t sequence;

    expect_nothing(watch);
    assert_int_equal(try_part(store, "A", "db/t1"), LK_GRANTED);
    assert_int_equal(try_part(store, "B", "db"), LK_BUSY);
    assert_int_equal(release_part(store, "A", "db/t1"), LK_OK);
    event = next_of(watch);
    assert_int_equal(event->kind, LK_WATCH_GRANTED);
    assert_int_equal(event->part_count, 1);
    assert_string_equal(event->paths[0], "db/t1");
    assert_string_equal(event->parts[0], "db/t1");
    assert_string_equal(event->owner, "A");
    assert_null(event->note);
    assert_null(event->queue);
    assert_true(event->token > 0 && event->token == event->ticket);
    assert_true(event->at_unix_ms > INT64_C(1600000000000));
    sequence = event->sequence;
    assert_int_equal(lk_watch_position(watch), sequence);
    event = next_of(watch);
    assert_int_equal(event->kind, LK_WATCH_REFUSED);
    assert_int_equal(event->refusal, LK_BUSY);
    assert_int_equal(event->token, 0);
    assert_int_equal(event->sequence, sequence + 1);
    expect_event(watch, LK_WATCH_RELEASED, "db/t1", "A");
    expect_nothing(watch);
    lk_watch_close(watch);
}

static void test_a_watch_goes_on_after_another(void **state) {
    lk_store *store = store_of(state);
    lk_watch *watch = watch_from(store, "x", 0);
    uint64_t position;

    assert_int_equal(try_part(store, "A", "x"), LK_GRANTED);
    assert_int_equal(try_part(store, "A", "y"), LK_GRANTED);
    assert_int_equal(release_part(store, "A", "x"), LK_OK);
    expect_event(watch, LK_WATCH_GRANTED, "x", "A");
    position = lk_watch_position(watch);
    lk_watch_close(watch);
    watch = watch_from(store, NULL, position);
    assert_int_equal(lk_watch_position(watch), position);
    expect_event(watch, LK_WATCH_GRANTED, "y", "A");
    expect_event(watch, LK_WATCH_RELEASED, "x", "A");
    expect_nothing(watch);
    lk_watch_close(watch);
}

static void test_no_events_are_recorded_without_a_watch(void **state) {
    lk_store *store = store_of(state);
    lk_watch *watch;

    assert_int_equal(try_part(store, "A", "x"), LK_GRANTED);
    watch = watch_from(store, NULL, 1);
    expect_nothing(watch);
    assert_int_equal(release_part(store, "A", "x"), LK_OK);
    expect_event(watch, LK_WATCH_RELEASED, "x", "A");
    lk_watch_close(watch);
}

static void test_a_position_ahead_of_the_store_is_a_gap(void **state) {
    lk_store *store = store_of(state);
    lk_watch *watch = watch_from(store, NULL, 1000000);

    assert_int_equal(next_of(watch)->kind, LK_WATCH_GAP);
    assert_int_equal(try_part(store, "A", "x"), LK_GRANTED);
    expect_event(watch, LK_WATCH_GRANTED, "x", "A");
    lk_watch_close(watch);
}

static void test_a_watch_that_falls_behind_receives_a_gap(void **state) {
    lk_store *store = store_of(state);
    lk_limits limits = {sizeof limits,  LK_LIMIT_AS_IS, LK_LIMIT_AS_IS,
                        LK_LIMIT_AS_IS, LK_LIMIT_AS_IS, 2};
    lk_watch *watch = watch_from(store, NULL, 0);
    const lk_watch_event *event;
    uint64_t gap;

    assert_int_equal(lk_limits_set(store, &limits, NULL), LK_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(try_part(store, "A", "x"), LK_GRANTED);
        assert_int_equal(release_part(store, "A", "x"), LK_OK);
    }
    event = next_of(watch);
    assert_int_equal(event->kind, LK_WATCH_GAP);
    assert_int_equal(event->part_count, 0);
    gap = event->sequence;
    event = next_of(watch);
    assert_int_equal(event->kind, LK_WATCH_GRANTED);
    assert_int_equal(event->sequence, gap + 1);
    expect_event(watch, LK_WATCH_RELEASED, "x", "A");
    expect_nothing(watch);
    lk_watch_close(watch);
}

static void test_many_events_come_in_batches(void **state) {
    lk_store *store = store_of(state);
    lk_watch *watch = watch_from(store, "x", 0);
    uint64_t before = 0;

    for (int i = 0; i < 300; i++) {
        assert_int_equal(try_part(store, "A", i % 3 == 0 ? "y" : "x"), LK_GRANTED);
        assert_int_equal(release_part(store, "A", i % 3 == 0 ? "y" : "x"), LK_OK);
    }
    for (int i = 0; i < 400; i++) {
        const lk_watch_event *event = next_of(watch);
        assert_int_equal(event->kind, i % 2 == 0 ? LK_WATCH_GRANTED : LK_WATCH_RELEASED);
        assert_string_equal(event->paths[0], "x");
        assert_true(event->sequence > before);
        before = event->sequence;
    }
    expect_nothing(watch);
    lk_watch_close(watch);
}

/* ---- waiting for them ------------------------------------------------------------------------ */

struct follower {
    lk_watch *watch;
    lk_cancel *cancel;
    lk_outcome outcome;
    const lk_watch_event *event;
    pthread_t thread;
};

static void *follow(void *context) {
    struct follower *follower = context;

    follower->outcome =
        lk_watch_next(follower->watch, LK_FOREVER, follower->cancel, &follower->event, NULL);
    return NULL;
}

static void begin(struct follower *follower, lk_store *store) {
    follower->watch = watch_from(store, NULL, 0);
    follower->cancel = lk_cancel_new();
    assert_non_null(follower->cancel);
    assert_int_equal(pthread_create(&follower->thread, NULL, follow, follower), 0);
}

static void end(struct follower *follower) {
    lk_watch_close(follower->watch);
    lk_cancel_free(follower->cancel);
}

static void test_a_wait_ends_with_an_event(void **state) {
    struct follower follower;

    begin(&follower, store_of(state));
    assert_int_equal(try_part(store_of(state), "A", "x"), LK_GRANTED);
    assert_int_equal(pthread_join(follower.thread, NULL), 0);
    assert_int_equal(follower.outcome, LK_OK);
    assert_int_equal(follower.event->kind, LK_WATCH_GRANTED);
    end(&follower);
}

static void test_a_wait_ends_with_an_event_of_another_handle(void **state) {
    struct follower follower;
    lk_store *other = open_again(*state);

    begin(&follower, store_of(state));
    assert_int_equal(try_part(other, "A", "x"), LK_GRANTED);
    assert_int_equal(pthread_join(follower.thread, NULL), 0);
    assert_int_equal(follower.outcome, LK_OK);
    assert_string_equal(follower.event->owner, "A");
    end(&follower);
    lk_close(other);
}

static void test_a_wait_can_be_cancelled(void **state) {
    struct follower follower;

    begin(&follower, store_of(state));
    lk_cancel_now(follower.cancel);
    assert_int_equal(pthread_join(follower.thread, NULL), 0);
    assert_int_equal(follower.outcome, LK_CANCELLED);
    end(&follower);
}

/* No other client is there to find that it has perished. */
static void test_an_expired_lease_ends_a_wait(void **state) {
    lk_store *store = store_of(state);
    lk_watch *watch = watch_from(store, NULL, 0);
    const char *part = "x";
    lk_request request = request_of("A", &part);

    request.ttl_ms = 100;
    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_GRANTED);
    expect_event(watch, LK_WATCH_GRANTED, "x", "A");
    expect_event(watch, LK_WATCH_PERISHED, "x", "A");
    assert_int_equal(count_live(store), 0);
    lk_watch_close(watch);
}

static void test_wrong_calls(void **state) {
    lk_store *store = store_of(state);
    const lk_watch_options no_path = {.size = sizeof no_path, .prefix = "a//b"};
    const lk_watch_options no_size = {.prefix = "a"};
    lk_watch *untouched = NULL;
    lk_watch *watch = watch_from(store, NULL, 0);
    const lk_watch_event *event = NULL;
    lk_error error;

    assert_int_equal(lk_watch_open(store, &no_path, &untouched, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "R1"));
    assert_int_equal(lk_watch_open(store, &no_size, &untouched, NULL), LK_INVALID);
    assert_null(untouched);
    assert_int_equal(lk_watch_next(watch, -1, NULL, &event, NULL), LK_INVALID);
    assert_null(event);
    assert_string_equal(lk_watch_kind_name((lk_watch_kind)99), "unknown");
    lk_watch_close(watch);
    lk_watch_close(NULL);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static lk_limits unchanged(void) {
    return (lk_limits){sizeof(lk_limits), LK_LIMIT_AS_IS, LK_LIMIT_AS_IS,
                       LK_LIMIT_AS_IS,    LK_LIMIT_AS_IS, LK_LIMIT_AS_IS};
}

static void test_limits_are_set_one_by_one(void **state) {
    lk_store *store = store_of(state);
    lk_store *other = open_again(*state);
    lk_limits limits = unchanged();

    limits.live = 7;
    limits.waiters_per_path = 3;
    assert_int_equal(lk_limits_set(store, &limits, NULL), LK_OK);
    limits = unchanged();
    limits.live = 8;
    limits.live_per_owner = LK_EVENTS_KEPT_MAX;
    limits.live_per_root = INT32_MAX;
    limits.events = LK_EVENTS_KEPT_MAX;
    assert_int_equal(lk_limits_set(store, &limits, NULL), LK_OK);
    limits = (lk_limits){.size = sizeof limits};
    assert_int_equal(lk_limits_get(other, &limits, NULL), LK_OK);
    assert_int_equal(limits.live, 8);
    assert_int_equal(limits.live_per_owner, LK_EVENTS_KEPT_MAX);
    assert_int_equal(limits.live_per_root, INT32_MAX);
    assert_int_equal(limits.waiters_per_path, 3);
    assert_int_equal(limits.events, LK_EVENTS_KEPT_MAX);
    lk_close(other);
}

static void test_limits_out_of_range_are_refused(void **state) {
    lk_store *store = store_of(state);
    lk_limits limits = unchanged();
    lk_error error;

    limits.events = LK_EVENTS_KEPT_MAX + 1;
    assert_int_equal(lk_limits_set(store, &limits, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "R22"));
    limits = unchanged();
    limits.live = (uint64_t)INT32_MAX + 1;
    assert_int_equal(lk_limits_set(store, &limits, NULL), LK_INVALID);
    limits = (lk_limits){.size = 0};
    assert_int_equal(lk_limits_get(store, &limits, NULL), LK_INVALID);
    assert_int_equal(lk_limits_set(store, &limits, NULL), LK_INVALID);
}

static void test_a_wait_at_a_limit_is_full(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_of("B", &part);
    lk_limits limits = unchanged();

    limits.live = 1;
    assert_int_equal(lk_limits_set(store, &limits, NULL), LK_OK);
    assert_int_equal(try_part(store, "A", "x"), LK_GRANTED);
    request.style = LK_WAIT;
    request.wait_ms = LK_FOREVER;
    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_FULL);
}

#define ON_STORE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        ON_STORE(test_events_come_once_and_in_order),
        ON_STORE(test_a_watch_goes_on_after_another),
        ON_STORE(test_no_events_are_recorded_without_a_watch),
        ON_STORE(test_a_position_ahead_of_the_store_is_a_gap),
        ON_STORE(test_a_watch_that_falls_behind_receives_a_gap),
        ON_STORE(test_many_events_come_in_batches),
        ON_STORE(test_a_wait_ends_with_an_event),
        ON_STORE(test_a_wait_ends_with_an_event_of_another_handle),
        ON_STORE(test_a_wait_can_be_cancelled),
        ON_STORE(test_an_expired_lease_ends_a_wait),
        ON_STORE(test_wrong_calls),
        ON_STORE(test_limits_are_set_one_by_one),
        ON_STORE(test_limits_out_of_range_are_refused),
        ON_STORE(test_a_wait_at_a_limit_is_full),
    };

    choose_scheme(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
