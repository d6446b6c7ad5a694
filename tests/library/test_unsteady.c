/* SPDX-License-Identifier: Apache-2.0 */
/* What the library does about a store that is away, slow, or loses answers. */
#include <stdio.h>

#include "unsteady.h"
#include "waiter.h"

struct setup {
    lk_store *store;
    struct unsteady *unsteady;
};

static int open_setup(void **state) {
    static struct setup setup;

    setup.store = open_unsteady(&setup.unsteady);
    *state = &setup;
    return 0;
}

static int close_setup(void **state) {
    lk_close(((struct setup *)*state)->store);
    return 0;
}

static lk_lease *acquire(struct setup *setup, const char *part, int64_t ttl_ms) {
    lk_request request = request_of(NULL, &part);
    lk_lease *lease = NULL;

    request.ttl_ms = ttl_ms;
    assert_int_equal(lk_acquire(setup->store, &request, &lease, NULL, NULL), LK_GRANTED);
    return lease;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void test_a_try_is_patient_as_told(void **state) {
    struct setup *setup = *state;
    const char *part = "x";
    lk_request request = request_of("a", &part);
    int64_t start_ms = now_ms();
    lk_error error;

    be(setup->unsteady, HANGING);
    request.patience_ms = 80;
    assert_int_equal(lk_ask(setup->store, &request, NULL, &error), LK_UNAVAILABLE);
    assert_string_equal(error.text, "away");
    assert_true(now_ms() >= start_ms + 80);
    assert_int_equal(calls_of(setup->unsteady), 1);
}

static void test_an_answer_that_was_lost(void **state) {
    struct setup *setup = *state;
    const char *part = "x";
    lk_request request = request_of("a", &part);
    lk_result *result = NULL;

    be(setup->unsteady, DEAF);
    assert_int_equal(lk_ask(setup->store, &request, NULL, NULL), LK_UNAVAILABLE);
    be(setup->unsteady, STEADY);
    assert_int_equal(lk_ask(setup->store, &request, &result, NULL), LK_GRANTED); /* R3 */
    assert_false(result->created);
    assert_int_equal(count_live(setup->store), 1);
    lk_result_free(result);
}

static void test_a_wait_outlasts_the_absence(void **state) {
    struct setup *setup = *state;
    struct waiter waiter;

    be(setup->unsteady, REFUSING);
    waiter_prepare(&waiter, setup->store, "a", "x");
    waiter_start(&waiter);
    wait_for_calls(setup->unsteady, 3);
    be(setup->unsteady, STEADY);
    assert_int_equal(waiter_join(&waiter), LK_GRANTED);
    waiter_done(&waiter);
}

static void test_a_bounded_wait_does_not(void **state) {
    struct setup *setup = *state;
    struct waiter waiter;
    int64_t start_ms = now_ms();

    be(setup->unsteady, REFUSING);
    waiter_prepare(&waiter, setup->store, "a", "x");
    waiter.request.wait_ms = 2000;
    waiter_start(&waiter);
    assert_int_equal(waiter_join(&waiter), LK_UNAVAILABLE);
    assert_true(now_ms() >= start_ms + 2000);
    assert_in_range(calls_of(setup->unsteady), 2, 20); /* it tried again, and did not spin */
    waiter_done(&waiter);
    waiter_prepare(&waiter, setup->store, "a", "x");
    waiter.request.patience_ms = 100; /* for ever in line, but not for the store */
    waiter_start(&waiter);
    assert_int_equal(waiter_join(&waiter), LK_UNAVAILABLE);
    waiter_done(&waiter);
}

static void test_cancelling_while_the_store_is_away(void **state) {
    static const enum unsteady_mood moods[] = {REFUSING, HANGING};
    struct setup *setup = *state;

    for (size_t i = 0; i < 2; i++) {
        lk_cancel *cancel = lk_cancel_new();
        struct waiter waiter;
        int before = calls_of(setup->unsteady);

        assert_non_null(cancel);
        be(setup->unsteady, moods[i]);
        waiter_prepare(&waiter, setup->store, "a", "x");
        waiter.request.cancel = cancel;
        waiter_start(&waiter);
        wait_for_calls(setup->unsteady, before + 1);
        lk_cancel_now(cancel);
        assert_int_equal(waiter_join(&waiter), LK_CANCELLED);
        assert_null(waiter.result->error);
        waiter_done(&waiter);
        lk_cancel_free(cancel);
    }
}

/* A grant that took long to arrive may have little left to live: it is asked for again. */
static void test_a_slow_grant_is_refreshed(void **state) {
    struct setup *setup = *state;
    struct waiter waiter;

    be(setup->unsteady, LATE);
    atomic_store(&setup->unsteady->answer_at_ms, now_ms() + 3000);
    waiter_prepare(&waiter, setup->store, "a", "x");
    waiter.request.ttl_ms = 6000;
    waiter_start(&waiter);
    assert_int_equal(waiter_join(&waiter), LK_GRANTED);
    assert_int_equal(calls_of(setup->unsteady), 2);
    assert_true(waiter.result->created);
    assert_in_range(waiter.result->expires_in_ms, 3001, 6000);
    waiter_done(&waiter);
}

/* ---- keeping --------------------------------------------------------------------------------- */

static void test_a_short_absence_loses_nothing(void **state) {
    static const enum unsteady_mood moods[] = {REFUSING, HANGING, DEAF};
    struct setup *setup = *state;
    lk_lease *lease = acquire(setup, "x", 6000);

    for (size_t i = 0; i < 3; i++) {
        int before = calls_of(setup->unsteady);

        be(setup->unsteady, moods[i]);
        wait_for_calls(setup->unsteady, before + 1); /* a renewal fails */
        be(setup->unsteady, STEADY);
        wait_for_calls(setup->unsteady, before + 3); /* and is made up for */
        assert_false(lk_lease_is_lost(lease));
    }
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
}

struct witness {
    atomic_int calls;
};

static void see(void *context, lk_lease *lease) {
    struct witness *witness = context;

    (void)lease;
    atomic_fetch_add(&witness->calls, 1);
}

static void test_a_long_absence_loses_it_on_time(void **state) {
    static const enum unsteady_mood moods[] = {REFUSING, HANGING};
    struct setup *setup = *state;

    for (size_t i = 0; i < 2; i++) {
        struct witness witness = {.calls = 0};
        int64_t start_ms = now_ms();
        int64_t bound_ms = start_ms + BOUND_MS;

        be(setup->unsteady, STEADY);
        lk_lease *lease = acquire(setup, "x", 400);
        be(setup->unsteady, moods[i]);
        lk_lease_on_lost(lease, see, &witness);
        while (!lk_lease_is_lost(lease)) { /* never blocks: this loop runs as the store hangs */
            assert_true(now_ms() < bound_ms);
            wait_until_ms(now_ms() + 1);
        }
        assert_true(now_ms() >= start_ms + 400);
        while (atomic_load(&witness.calls) == 0) {
            assert_true(now_ms() < bound_ms);
            wait_until_ms(now_ms() + 1);
        }
        be(setup->unsteady, STEADY);
        assert_int_equal(lk_lease_release(lease, NULL), LK_LOST);
        assert_int_equal(atomic_load(&witness.calls), 1);
    }
}

/* One call that hangs is one lease's trouble, however long that lease lives. */
static void test_a_renewal_that_hangs_holds_up_no_other(void **state) {
    struct setup *setup = *state;
    lk_lease *healthy = acquire(setup, "healthy", 1500);
    int64_t bound_ms = now_ms() + BOUND_MS;

    setup->unsteady->hung = "frozen";
    lk_lease *frozen = acquire(setup, "frozen", 4500);
    while (!lk_lease_is_lost(frozen)) {
        assert_false(lk_lease_is_lost(healthy));
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 1);
    }
    lk_lease_abandon(frozen);
    assert_int_equal(lk_lease_release(healthy, NULL), LK_OK);
}

enum { MANY = 150 };

static void acquire_many(struct setup *setup, lk_lease *leases[MANY], int64_t ttl_ms) {
    for (int i = 0; i < MANY; i++) {
        char part[16];

        (void)snprintf(part, sizeof part, "many/%d", i);
        leases[i] = acquire(setup, part, ttl_ms);
    }
}

static void release_many(lk_lease *leases[MANY]) {
    for (int i = 0; i < MANY; i++) {
        assert_false(lk_lease_is_lost(leases[i]));
        lk_lease_abandon(leases[i]);
    }
}

/* 150 renewals a second are due, and one after the other there would be 50. */
static void test_slow_round_trips_lose_none_of_many(void **state) {
    struct setup *setup = *state;
    lk_lease *leases[MANY];

    atomic_store(&setup->unsteady->trip_ms, 20);
    acquire_many(setup, leases, 3000);
    wait_for_renewals(setup->unsteady, 4 * MANY);
    release_many(leases);
}

/* Retries of many leases are as few a second as a store can bear that is just starting. */
static void test_a_store_that_is_away_is_not_flooded(void **state) {
    struct setup *setup = *state;
    lk_lease *leases[MANY];
    int64_t start_ms;
    int refused;

    acquire_many(setup, leases, 9000);
    be(setup->unsteady, REFUSING);
    wait_for_calls(setup->unsteady, 2 * MANY); /* each has been tried once, or some again */
    start_ms = now_ms();
    refused = calls_of(setup->unsteady);
    wait_until_ms(start_ms + 500);
    refused = calls_of(setup->unsteady) - refused;
    assert_true(refused <= MANY + (now_ms() - start_ms) / 5 + 1);
    be(setup->unsteady, STEADY);
    wait_for_renewals(setup->unsteady, MANY);
    release_many(leases);
}

/* A renewal that was answered after the deadline had passed changes nothing, good as it was. */
static void test_too_late_an_answer_revives_nothing(void **state) {
    struct setup *setup = *state;
    int64_t start_ms = now_ms();
    lk_lease *lease = acquire(setup, "x", 6000);
    int before = calls_of(setup->unsteady);

    be(setup->unsteady, LATE);
    atomic_store(&setup->unsteady->answer_at_ms, start_ms + 6400);
    wait_for_calls(setup->unsteady, before + 1); /* sent at a third: good until 8000 by itself */
    wait_until_ms(start_ms + 6600);
    assert_true(lk_lease_is_lost(lease));
    assert_int_equal(lk_lease_remaining_ms(lease), 0);
    lk_lease_abandon(lease);
}

static void test_closing_does_not_wait_for_the_store(void **state) {
    struct setup *setup = *state;
    lk_lease *lease = acquire(setup, "x", 60000);
    lk_lease *short_lease = acquire(setup, "y", 1000);
    int before = calls_of(setup->unsteady);
    int64_t start_ms;

    be(setup->unsteady, HANGING);
    wait_for_calls(setup->unsteady, before + 1); /* a renewal of y hangs */
    start_ms = now_ms();
    lk_close(setup->store);
    assert_true(now_ms() < start_ms + BOUND_MS);
    lk_lease_abandon(lease);
    lk_lease_abandon(short_lease);
    setup->store = NULL;
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_setup, close_setup)
        TEST(test_a_try_is_patient_as_told),
        TEST(test_an_answer_that_was_lost),
        TEST(test_a_wait_outlasts_the_absence),
        TEST(test_a_bounded_wait_does_not),
        TEST(test_cancelling_while_the_store_is_away),
        TEST(test_a_slow_grant_is_refreshed),
        TEST(test_a_short_absence_loses_nothing),
        TEST(test_a_long_absence_loses_it_on_time),
        TEST(test_a_renewal_that_hangs_holds_up_no_other),
        TEST(test_slow_round_trips_lose_none_of_many),
        TEST(test_a_store_that_is_away_is_not_flooded),
        TEST(test_too_late_an_answer_revives_nothing),
        TEST(test_closing_does_not_wait_for_the_store),
    };

    return cmocka_run_group_tests_name("unsteady", tests, NULL, NULL);
}
