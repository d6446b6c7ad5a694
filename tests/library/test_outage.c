/* SPDX-License-Identifier: Apache-2.0 */
/* The library with a store that is unavailable, slow, or loses answers. */
#include <stdio.h>

#include "client/lease.h"
#include "client/leftover.h"
#include "client/store.h"
#include "support.h"

struct setup {
    lk_store *store;
    struct faulty *faulty;
};

static int open_setup(void **state) {
    static struct setup setup;

    setup.store = open_faulty(&setup.faulty);
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

static void test_a_try_ends_with_its_time_budget(void **state) {
    struct setup *setup = *state;
    const char *part = "x";
    lk_request request = request_of("a", &part);
    int64_t start_ms = now_ms();
    lk_error error;

    set_fault(setup->faulty, HANGING);
    request.patience_ms = 80;
    assert_int_equal(lk_ask(setup->store, &request, NULL, &error), LK_UNAVAILABLE);
    assert_string_equal(error.text, "away");
    assert_true(now_ms() >= start_ms + 80);
    assert_int_equal(calls_of(setup->faulty), 1);
}

static void test_an_ask_is_repeated_after_a_lost_answer(void **state) {
    struct setup *setup = *state;
    const char *part = "x";
    lk_request request = request_of("a", &part);
    lk_result *result = NULL;

    set_fault(setup->faulty, ANSWER_LOST);
    assert_int_equal(lk_ask(setup->store, &request, NULL, NULL), LK_UNAVAILABLE);
    set_fault(setup->faulty, NO_FAULT);
    assert_int_equal(lk_ask(setup->store, &request, &result, NULL), LK_GRANTED); /* R3 */
    assert_false(result->created);
    assert_int_equal(count_live(setup->store), 1);
    lk_result_free(result);
}

static bool has_notes(lk_store *store) {
    bool has;

    pthread_mutex_lock(&store->leftovers.mutex);
    has = store->leftovers.first != NULL;
    pthread_mutex_unlock(&store->leftovers.mutex);
    return has;
}

/* What the first one may have left belongs to the second one then, and is not ended behind it. */
static void test_another_handle_asks_for_what_a_call_has_left(void **state) {
    struct setup *setup = *state;
    const char *part = "x";
    lk_request request = request_of("a", &part);
    struct faulty *faulty;
    lk_store *other = open_faulty(&faulty);

    atomic_store(&setup->faulty->says_sent, true);
    set_fault(setup->faulty, LOST_AFAR_THEN_AWAY);
    assert_int_equal(lk_ask(setup->store, &request, NULL, NULL), LK_UNAVAILABLE);
    assert_true(has_notes(setup->store));
    part = "y";
    assert_int_equal(lk_ask(other, &request, NULL, NULL), LK_GRANTED);
    assert_true(has_notes(setup->store));
    part = "x";
    assert_int_equal(lk_ask(other, &request, NULL, NULL), LK_GRANTED);
    assert_false(has_notes(setup->store));
    set_fault(setup->faulty, NO_FAULT);
    assert_int_equal(count_live(setup->store), 1);
    lk_close(other);
}

static void test_a_call_leaves_nothing_that_another_one_waits_for(void **state) {
    struct setup *setup = *state;
    struct waiter longer;
    struct waiter waiter;

    atomic_store(&setup->faulty->says_sent, true);
    set_fault(setup->faulty, ANSWER_LOST);
    waiter_prepare(&longer, setup->store, "a", "x");
    longer.request.patience_ms = INT64_C(10) * BOUND_MS;
    waiter_start(&longer);
    wait_for_calls(setup->faulty, 1);
    waiter_prepare(&waiter, setup->store, "a", "x");
    waiter.request.patience_ms = 50;
    waiter_start(&waiter);
    assert_int_equal(waiter_join(&waiter), LK_UNAVAILABLE);
    assert_false(has_notes(setup->store));
    set_fault(setup->faulty, NO_FAULT);
    assert_int_equal(waiter_join(&longer), LK_GRANTED);
    waiter_done(&longer);
    waiter_done(&waiter);
}

static void test_a_wait_outlasts_an_outage(void **state) {
    struct setup *setup = *state;
    struct waiter waiter;

    set_fault(setup->faulty, REFUSING);
    waiter_prepare(&waiter, setup->store, "a", "x");
    waiter_start(&waiter);
    wait_for_calls(setup->faulty, 3);
    set_fault(setup->faulty, NO_FAULT);
    assert_int_equal(waiter_join(&waiter), LK_GRANTED);
    waiter_done(&waiter);
}

static void test_a_wait_with_a_time_budget_ends_in_an_outage(void **state) {
    struct setup *setup = *state;
    struct waiter waiter;
    int64_t start_ms = now_ms();

    set_fault(setup->faulty, REFUSING);
    waiter_prepare(&waiter, setup->store, "a", "x");
    waiter.request.wait_ms = stretched(2000);
    waiter_start(&waiter);
    assert_int_equal(waiter_join(&waiter), LK_UNAVAILABLE);
    assert_true(now_ms() >= start_ms + stretched(2000));
    assert_in_range(calls_of(setup->faulty), 2, stretched(20)); /* it retried, and did not spin */
    waiter_done(&waiter);
    waiter_prepare(&waiter, setup->store, "a", "x");
    waiter.request.patience_ms = 100; /* unlimited in the queue, but not for the store */
    waiter_start(&waiter);
    assert_int_equal(waiter_join(&waiter), LK_UNAVAILABLE);
    waiter_done(&waiter);
}

static void test_a_wait_can_be_cancelled_in_an_outage(void **state) {
    static const enum fault faults[] = {REFUSING, HANGING};
    struct setup *setup = *state;

    for (size_t i = 0; i < 2; i++) {
        lk_cancel *cancel = lk_cancel_new();
        struct waiter waiter;
        int before = calls_of(setup->faulty);

        assert_non_null(cancel);
        set_fault(setup->faulty, faults[i]);
        waiter_prepare(&waiter, setup->store, "a", "x");
        waiter.request.cancel = cancel;
        waiter_start(&waiter);
        wait_for_calls(setup->faulty, before + 1);
        lk_cancel_now(cancel);
        assert_int_equal(waiter_join(&waiter), LK_CANCELLED);
        assert_null(waiter.result->error);
        waiter_done(&waiter);
        lk_cancel_free(cancel);
    }
}

/* A store that has gone while the wait slept must not detain what cancels it for ten seconds. */
static void test_a_cancelled_wait_has_a_short_time_to_withdraw(void **state) {
    struct setup *setup = *state;
    lk_lease *lease = acquire(setup, "x", 60000);
    lk_cancel *cancel = lk_cancel_new();
    struct waiter waiter;

    assert_non_null(cancel);
    waiter_prepare(&waiter, setup->store, "a", "x");
    waiter.request.cancel = cancel;
    waiter_start(&waiter);
    wait_until_waiting(setup->store, 1);
    lk_cancel_now(cancel);
    assert_int_equal(waiter_join(&waiter), LK_CANCELLED);
    assert_in_range(atomic_load(&setup->faulty->release_us), 1, 3000000);
    assert_int_equal(count_live(setup->store), 1);
    waiter_done(&waiter);
    lk_cancel_free(cancel);
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
}

/* A grant that took long to arrive may be about to expire: the library asks again. */
static void test_a_slow_grant_is_asked_for_again(void **state) {
    struct setup *setup = *state;
    struct waiter waiter;

    set_fault(setup->faulty, LATE);
    atomic_store(&setup->faulty->answer_at_ms, now_ms() + stretched(3000));
    waiter_prepare(&waiter, setup->store, "a", "x");
    waiter.request.ttl_ms = stretched(6000);
    waiter_start(&waiter);
    assert_int_equal(waiter_join(&waiter), LK_GRANTED);
    assert_int_equal(calls_of(setup->faulty), 2);
    assert_true(waiter.result->created);
    assert_in_range(waiter.result->expires_in_ms, stretched(3000) + 1, stretched(6000));
    waiter_done(&waiter);
}

/* ---- keeping --------------------------------------------------------------------------------- */

static void test_a_short_outage_loses_no_lease(void **state) {
    static const enum fault faults[] = {REFUSING, HANGING, ANSWER_LOST};
    struct setup *setup = *state;
    lk_lease *lease = acquire(setup, "x", stretched(6000));

    for (size_t i = 0; i < 3; i++) {
        int before = calls_of(setup->faulty);

        set_fault(setup->faulty, faults[i]);
        wait_for_calls(setup->faulty, before + 1); /* a renewal fails */
        set_fault(setup->faulty, NO_FAULT);
        wait_for_calls(setup->faulty, before + 3); /* and is repeated */
        assert_false(lk_lease_is_lost(lease));
    }
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
}

struct recorder {
    atomic_int calls;
};

static void see(void *context, lk_lease *lease) {
    struct recorder *recorder = context;

    (void)lease;
    atomic_fetch_add(&recorder->calls, 1);
}

static void test_a_long_outage_loses_the_lease_at_its_deadline(void **state) {
    static const enum fault faults[] = {REFUSING, HANGING};
    struct setup *setup = *state;

    for (size_t i = 0; i < 2; i++) {
        struct recorder recorder = {.calls = 0};
        int64_t start_ms = now_ms();
        int64_t bound_ms = start_ms + BOUND_MS;

        set_fault(setup->faulty, NO_FAULT);
        lk_lease *lease = acquire(setup, "x", stretched(400));
        int64_t end_ms =
            now_ms() + stretched(400) + 1; /* the store's deadline has passed by then */
        set_fault(setup->faulty, faults[i]);
        lk_lease_on_lost(lease, see, &recorder);
        while (!lk_lease_is_lost(lease)) { /* does not block while the store hangs */
            assert_true(now_ms() < bound_ms);
            wait_until_ms(now_ms() + 1);
        }
        assert_true(now_ms() >= start_ms + stretched(399)); /* 400 ms less the drift of clocks */
        while (atomic_load(&recorder.calls) == 0) {
            assert_true(now_ms() < bound_ms);
            wait_until_ms(now_ms() + 1);
        }
        wait_until_ms(end_ms); /* the lease counts as lost a little earlier: clocks drift */
        set_fault(setup->faulty, NO_FAULT);
        assert_int_equal(lk_lease_release(lease, NULL), LK_LOST);
        assert_int_equal(atomic_load(&recorder.calls), 1);
    }
}

/* A renewal that hangs must not delay those of other leases. */
static void test_a_hanging_renewal_delays_no_other(void **state) {
    struct setup *setup = *state;
    lk_lease *healthy = acquire(setup, "healthy", stretched(3000));
    int64_t bound_ms = now_ms() + BOUND_MS;

    setup->faulty->hung = "frozen";
    lk_lease *frozen = acquire(setup, "frozen", stretched(6000));
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

/* 150 renewals a second are due; one at a time, only 50 would be possible. */
static void test_slow_round_trips_lose_none_of_many(void **state) {
    struct setup *setup = *state;
    lk_lease *leases[MANY];

    atomic_store(&setup->faulty->trip_ms, stretched(20));
    acquire_many(setup, leases, stretched(3000));
    wait_for_renewals(setup->faulty, 4 * MANY);
    release_many(leases);
}

/* Retries of many leases are limited to a rate that a starting store can bear. */
static void test_an_unavailable_store_is_not_flooded(void **state) {
    struct setup *setup = *state;
    lk_lease *leases[MANY];
    int64_t start_ms;
    int refused;

    acquire_many(setup, leases, stretched(9000));
    set_fault(setup->faulty, REFUSING);
    wait_for_calls(setup->faulty, 2 * MANY); /* each was tried once, or some twice */
    start_ms = now_ms();
    refused = calls_of(setup->faulty);
    wait_until_ms(start_ms + 500);
    refused = calls_of(setup->faulty) - refused;
    assert_true(refused <= MANY + (now_ms() - start_ms) / 5 + 1);
    set_fault(setup->faulty, NO_FAULT);
    wait_for_renewals(setup->faulty, MANY);
    release_many(leases);
}

/* A successful renewal whose answer arrives after the deadline changes nothing. */
static void test_a_late_renewal_does_not_revive_a_lost_lease(void **state) {
    struct setup *setup = *state;
    int64_t start_ms = now_ms();
    lk_lease *lease = acquire(setup, "x", stretched(6000));
    int before = calls_of(setup->faulty);

    set_fault(setup->faulty, LATE);
    atomic_store(&setup->faulty->answer_at_ms, start_ms + stretched(6400));
    wait_for_calls(setup->faulty, before + 1); /* sent at a third: good until 8000 by itself */
    wait_until_ms(start_ms + stretched(6600));
    assert_true(lk_lease_is_lost(lease));
    assert_int_equal(lk_lease_remaining_ms(lease), 0);
    lk_lease_abandon(lease);
}

static void test_closing_does_not_wait_for_an_unavailable_store(void **state) {
    struct setup *setup = *state;
    lk_lease *lease = acquire(setup, "x", 60000);
    lk_lease *short_lease = acquire(setup, "y", 1000);
    int before = calls_of(setup->faulty);
    int64_t start_ms;

    set_fault(setup->faulty, HANGING);
    wait_for_calls(setup->faulty, before + 1); /* a renewal of y hangs */
    start_ms = now_ms();
    lk_close(setup->store);
    assert_true(now_ms() < start_ms + BOUND_MS);
    lk_lease_abandon(lease);
    lk_lease_abandon(short_lease);
    setup->store = NULL;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void test_a_release_is_repeated_until_it_is_known(void **state) {
    static const enum fault faults[] = {REFUSING, ANSWER_LOST};
    struct setup *setup = *state;

    for (size_t i = 0; i < 2; i++) {
        lk_lease *lease = acquire(setup, "x", 60000);
        uint64_t token = lk_lease_token(lease);
        struct recorder recorder = {.calls = 0};

        lk_lease_on_lost(lease, see, &recorder);
        set_fault(setup->faulty, faults[i]);
        for (int turn = 0; turn < 2; turn++) { /* it never says OK unasked */
            int before = calls_of(setup->faulty);

            assert_int_equal(lk_lease_release(lease, NULL), LK_UNAVAILABLE);
            assert_int_equal(calls_of(setup->faulty), before + 1);
        }
        assert_true(lk_lease_is_lost(lease)); /* it may have ended */
        assert_int_equal(lk_lease_remaining_ms(lease), 0);
        assert_int_equal(lk_lease_token(lease), token);
        lk_lease_on_lost(lease, see, &recorder);
        set_fault(setup->faulty, NO_FAULT);
        assert_int_equal(lk_lease_release(lease, NULL), LK_OK); /* R3, where it had ended */
        assert_int_equal(atomic_load(&recorder.calls), 0);
        assert_int_equal(count_live(setup->store), 0);
    }
}

static void test_a_release_that_is_repeated_too_late_is_lost(void **state) {
    struct setup *setup = *state;
    lk_lease *lease = acquire(setup, "x", stretched(100));
    int64_t end_ms = now_ms() + stretched(100) + 1;

    set_fault(setup->faulty, REFUSING);
    assert_int_equal(lk_lease_release(lease, NULL), LK_UNAVAILABLE);
    set_fault(setup->faulty, NO_FAULT);
    wait_until_ms(end_ms); /* nothing renews it */
    assert_int_equal(try_part(setup->store, "b", "x"), LK_GRANTED);
    assert_int_equal(lk_lease_release(lease, NULL), LK_LOST);
    assert_int_equal(try_part(setup->store, "c", "x"), LK_BUSY); /* another's lease stays */
}

static void test_a_lease_whose_end_is_unknown_can_be_abandoned(void **state) {
    struct setup *setup = *state;
    lk_lease *lease = acquire(setup, "x", 60000);

    set_fault(setup->faulty, REFUSING);
    assert_int_equal(lk_lease_release(lease, NULL), LK_UNAVAILABLE);
    lk_lease_abandon(lease);
    set_fault(setup->faulty, NO_FAULT);
    assert_int_equal(count_live(setup->store), 1);
}

static void test_a_lease_is_released_when_the_store_answers(void **state) {
    struct setup *setup = *state;
    lk_lease *lease = acquire(setup, "x", INT64_C(10) * BOUND_MS);
    int64_t until_ms = now_ms() + BOUND_MS;
    int before;

    set_fault(setup->faulty, REFUSING);
    before = calls_of(setup->faulty);
    lk_lease_release_later(lease, setup->store);
    wait_for_calls(setup->faulty, before + 2);
    set_fault(setup->faulty, NO_FAULT);
    while (count_live(setup->store) > 0) {
        assert_true(now_ms() < until_ms);
        wait_until_ms(now_ms() + 5);
    }
}

/* The store's memory of ended tokens (R3) does not know with what values one was ended. */
static void test_a_release_is_repeated_with_its_own_values(void **state) {
    static struct lk_engine_ops ops;
    struct setup *setup = *state;
    lk_lease *plain, *putting;

    ops = *setup->faulty->engine.ops;
    ops.capabilities |= LK_CAN_VALUES;
    setup->faulty->engine.ops = &ops;
    plain = acquire(setup, "x", 60000);
    putting = acquire(setup, "y", 60000);
    set_fault(setup->faulty, ANSWER_LOST);
    assert_int_equal(lk_lease_release(plain, NULL), LK_UNAVAILABLE);
    assert_int_equal(lk_lease_release_put(putting, "one", 3, NULL), LK_UNAVAILABLE);
    set_fault(setup->faulty, NO_FAULT);
    assert_int_equal(lk_lease_release_put(plain, "one", 3, NULL), LK_INVALID);
    assert_int_equal(lk_lease_release_put(putting, "two", 3, NULL), LK_INVALID);
    assert_int_equal(lk_lease_release(plain, NULL), LK_OK);
    assert_int_equal(lk_lease_release_put(putting, "one", 3, NULL), LK_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_setup, close_setup)
        TEST(test_a_try_ends_with_its_time_budget),
        TEST(test_an_ask_is_repeated_after_a_lost_answer),
        TEST(test_another_handle_asks_for_what_a_call_has_left),
        TEST(test_a_call_leaves_nothing_that_another_one_waits_for),
        TEST(test_a_wait_outlasts_an_outage),
        TEST(test_a_wait_with_a_time_budget_ends_in_an_outage),
        TEST(test_a_wait_can_be_cancelled_in_an_outage),
        TEST(test_a_cancelled_wait_has_a_short_time_to_withdraw),
        TEST(test_a_slow_grant_is_asked_for_again),
        TEST(test_a_short_outage_loses_no_lease),
        TEST(test_a_long_outage_loses_the_lease_at_its_deadline),
        TEST(test_a_hanging_renewal_delays_no_other),
        TEST(test_slow_round_trips_lose_none_of_many),
        TEST(test_an_unavailable_store_is_not_flooded),
        TEST(test_a_late_renewal_does_not_revive_a_lost_lease),
        TEST(test_closing_does_not_wait_for_an_unavailable_store),
        TEST(test_a_release_is_repeated_until_it_is_known),
        TEST(test_a_release_that_is_repeated_too_late_is_lost),
        TEST(test_a_lease_whose_end_is_unknown_can_be_abandoned),
        TEST(test_a_lease_is_released_when_the_store_answers),
        TEST(test_a_release_is_repeated_with_its_own_values),
    };

    return cmocka_run_group_tests_name("outage", tests, NULL, NULL);
}
