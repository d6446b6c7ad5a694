/* SPDX-License-Identifier: Apache-2.0 */
/* Leases that are kept alive: on each engine, what keeps them, what loses them, what ends them. */
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/store.h"
#include "support.h"

static lk_store *store_of(void **state) {
    return ((struct fixture *)*state)->store;
}

static lk_lease *acquire(lk_store *store, const char *part, int64_t ttl_ms) {
    lk_request request = request_of(NULL, &part);
    lk_lease *lease = NULL;
    lk_result *result = NULL;

    request.ttl_ms = ttl_ms;
    assert_int_equal(lk_acquire(store, &request, &lease, &result, NULL), LK_GRANTED);
    assert_non_null(lease);
    assert_int_equal(lk_lease_token(lease), result->token);
    assert_string_equal(lk_lease_owner(lease), result->owner);
    lk_result_free(result);
    return lease;
}

static void wait_until_lost(const lk_lease *lease) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (!lk_lease_is_lost(lease)) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 2);
    }
}

/* ---- kept ------------------------------------------------------------------------------------ */

static void test_a_lease_is_renewed_over_several_ttls(void **state) {
    lk_store *store = store_of(state);
    lk_lease *lease = acquire(store, "x", stretched(3000));

    wait_until_ms(now_ms() + stretched(7000));
    assert_false(lk_lease_is_lost(lease));
    assert_in_range(lk_lease_remaining_ms(lease), 1, stretched(3000));
    assert_int_equal(try_part(store, "other", "x"), LK_BUSY);
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
    assert_int_equal(count_live(store), 0);
}

static void test_many_leases_are_renewed(void **state) {
    enum { COUNT = 20 };
    lk_store *store = store_of(state);
    lk_lease *leases[COUNT];

    for (int i = 0; i < COUNT; i++) {
        leases[i] = acquire(store, "pool?limit=20", stretched(6000 + i * 20));
    }
    wait_until_ms(now_ms() + stretched(9000));
    for (int i = 0; i < COUNT; i++) {
        assert_false(lk_lease_is_lost(leases[i]));
    }
    assert_int_equal(count_live(store), COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(lk_lease_release(leases[i], NULL), LK_OK);
    }
}

static void test_a_refusal_returns_no_lease(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_of(NULL, &part);
    lk_lease *untouched = (lk_lease *)&request;

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(lk_acquire(store, &request, &untouched, NULL, NULL), LK_BUSY);
    request.ttl_ms = 1;
    assert_int_equal(lk_acquire(store, &request, &untouched, NULL, NULL), LK_INVALID);
    assert_ptr_equal(untouched, &request);
}

static void test_an_abandoned_lease_lasts_until_its_deadline(void **state) {
    lk_store *store = store_of(state);

    lk_lease_abandon(acquire(store, "x", stretched(3000)));
    assert_int_equal(try_part(store, "a", "x"), LK_BUSY);
    wait_until_ms(now_ms() + stretched(3000) + 1); /* and is not renewed any more */
    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    lk_lease_abandon(NULL);
}

static void test_fixed_end(void **state) {
    const char *part = "x";
    lk_request request = request_of(NULL, &part);
    struct timespec now;
    lk_lease *lease = NULL;

    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    request.until_unix_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + stretched(3000);
    int64_t asked_ms = now_ms();
    assert_int_equal(lk_acquire(store_of(state), &request, &lease, NULL, NULL), LK_GRANTED);
    int64_t took_ms = now_ms() - asked_ms;
    assert_in_range(lk_lease_remaining_ms(lease), 1, stretched(3000));
    wait_until_lost(lease);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    /* A holder counts from its question on, stops 500 ppm of the span early, and clocks are read
     * in whole milliseconds. */
    assert_true((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000
                >= request.until_unix_ms - stretched(4) - took_ms);
    wait_until_ms(now_ms()
                  + stretched(10)); /* one's own deadline is never later than the store's */
    assert_int_equal(lk_lease_release(lease, NULL), LK_LOST);
}

/* ---- lost ------------------------------------------------------------------------------------ */

struct recorder {
    atomic_int calls;
    lk_lease *lease;
    atomic_bool was_lost;
    struct recorder *next;
};

static void see(void *context, lk_lease *lease) {
    struct recorder *recorder = context;

    atomic_store(&recorder->was_lost, lk_lease_is_lost(lease) && lease == recorder->lease);
    atomic_fetch_add(&recorder->calls, 1);
}

static void see_and_unset(void *context, lk_lease *lease) {
    see(context, lease);
    lk_lease_on_lost(lease, NULL, NULL);
}

static void see_and_set_next(void *context, lk_lease *lease) {
    struct recorder *recorder = context;

    see(context, lease);
    lk_lease_on_lost(lease, see, recorder->next);
    assert_int_equal(recorder->next->calls, 0); /* it is called behind this one */
}

static void wait_until_called(struct recorder *recorder) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (atomic_load(&recorder->calls) == 0) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 2);
    }
}

static void test_a_lease_broken_at_once_is_lost(void **state) {
    lk_store *store = store_of(state);
    struct recorder recorder = {.lease = acquire(store, "x", stretched(3000))};

    lk_lease_on_lost(recorder.lease, see, &recorder);
    assert_int_equal(break_path(store, "x", true), 1);
    wait_until_called(&recorder);
    assert_true(recorder.was_lost);
    assert_true(lk_lease_is_lost(recorder.lease));
    assert_int_equal(lk_lease_remaining_ms(recorder.lease), 0);
    wait_until_ms(now_ms() + stretched(3100)); /* another ttl: it is notified once */
    assert_int_equal(recorder.calls, 1);
    assert_int_equal(lk_lease_release(recorder.lease, NULL), LK_LOST);
}

static void test_a_revoked_lease_is_lost(void **state) {
    lk_store *store = store_of(state);
    lk_lease *lease = acquire(store, "x", stretched(6000));

    assert_int_equal(break_path(store, "x", false), 1);
    wait_until_lost(lease); /* R12: by the answer to its next renewal */
    assert_int_equal(lk_lease_release(lease, NULL),
                     LK_OK); /* held to its deadline, and given back */
}

/* An hour's renewals are twenty minutes apart: nothing but the news of the break is in time. */
static void test_a_store_tells_at_once_that_a_lease_is_revoked(void **state) {
    enum { HOUR_MS = 3600000 };
    lk_store *store = store_of(state);
    lk_lease *kept = acquire(store, "kept", HOUR_MS);

    assert_non_null(store->engine->ops->revoked);
    for (int i = 0; i < 3; i++) { /* the first one before the watch has begun */
        lk_lease *lease = acquire(store, "x", HOUR_MS);
        assert_int_equal(break_path(store, "x", i == 1), 1);
        wait_until_lost(lease);
        assert_int_equal(lk_lease_release(lease, NULL), i == 1 ? LK_LOST : LK_OK);
    }
    assert_false(lk_lease_is_lost(kept));
    assert_int_equal(lk_lease_release(kept, NULL), LK_OK);
}

static void test_a_callback_set_after_the_loss_is_called(void **state) {
    lk_store *store = store_of(state);
    struct recorder first = {.lease = acquire(store, "x", stretched(3000))};
    struct recorder second = {.lease = first.lease};

    lk_lease_on_lost(first.lease, see, &first);
    lk_lease_on_lost(first.lease, NULL, NULL);
    assert_int_equal(break_path(store, "x", true), 1);
    wait_until_lost(first.lease);
    lk_lease_on_lost(second.lease, see, &second);
    wait_until_called(&second);
    assert_int_equal(first.calls, 0);
    assert_int_equal(second.calls, 1);
    lk_lease_abandon(second.lease);
}

/* ---- ended ----------------------------------------------------------------------------------- */

static void test_a_store_can_be_closed_with_open_leases(void **state) {
    lk_store *store = open_again(*state);
    lk_lease *released = acquire(store, "x", stretched(3000));
    lk_lease *abandoned = acquire(store, "y", stretched(3000));
    lk_error error;

    lk_close(store);
    assert_int_equal(count_live(store_of(state)), 2);
    wait_until_lost(released);
    struct recorder recorder = {.lease = released};
    lk_lease_on_lost(released, see_and_unset, &recorder); /* in this thread */
    assert_int_equal(recorder.calls, 1);
    struct recorder last = {.lease = released};
    struct recorder first = {.lease = released, .next = &last};
    lk_lease_on_lost(released, see_and_set_next, &first);
    assert_int_equal(first.calls, 1);
    assert_int_equal(last.calls, 1);
    for (int i = 0; i < 2; i++) { /* it is never known */
        assert_int_equal(lk_lease_release(released, &error), LK_UNAVAILABLE);
        assert_true(error.text[0] != '\0');
    }
    lk_lease_abandon(released);
    lk_lease_abandon(abandoned);
}

/* ---- a least time ---------------------------------------------------------------------------- */

static lk_request request_at_least(const char *const *part, int64_t at_least_ms) {
    lk_request request = request_of(NULL, part);

    request.at_least_ms = at_least_ms;
    return request;
}

static lk_lease *acquire_at_least(lk_store *store, const char *part, int64_t at_least_ms) {
    lk_request request = request_at_least(&part, at_least_ms);
    lk_lease *lease = NULL;

    assert_int_equal(lk_acquire(store, &request, &lease, NULL, NULL), LK_GRANTED);
    return lease;
}

/* Milliseconds left of the only lease. */
static int64_t left_ms(lk_store *store) {
    lk_listing *listing = NULL;

    assert_int_equal(lk_list(store, NULL, &listing, NULL), LK_OK);
    assert_int_equal(listing->count, 1);
    int64_t left = listing->entries[0].expires_in_ms;
    lk_listing_free(listing);
    return left;
}

static void test_a_quick_lease_stays_for_its_least_time(void **state) {
    lk_store *store = store_of(state);
    int64_t began_ms = now_ms();
    lk_lease *lease = acquire_at_least(store, "x", stretched(2000));

    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
    assert_int_equal(try_part(store, "a", "x"), LK_BUSY);
    assert_true(left_ms(store) <= stretched(2000)); /* not the ttl, and nothing renews it */
    while (try_part(store, "a", "x") == LK_BUSY) {
        wait_until_ms(now_ms() + 5);
    }
    assert_true(now_ms() - began_ms >= stretched(2000));
}

static void test_a_slow_lease_ends_at_its_release(void **state) {
    lk_store *store = store_of(state);
    lk_lease *lease = acquire_at_least(store, "x", 60);

    wait_until_ms(now_ms() + 70);
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
}

static void test_the_least_time_may_be_longer_than_the_ttl(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x?limit=1";
    lk_request request = request_at_least(&part, 3600000);
    lk_lease *lease = NULL;

    request.ttl_ms = 1000;
    assert_int_equal(lk_acquire(store, &request, &lease, NULL, NULL), LK_GRANTED);
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
    assert_in_range(left_ms(store), 3600000 - BOUND_MS, 3600000);
}

static void test_a_least_time_can_be_ended(void **state) {
    lk_store *store = store_of(state);
    lk_request request = {0};
    const char *part = "x";
    lk_lease *lease = acquire_at_least(store, part, 3600000);

    assert_int_equal(lk_lease_release_now(lease, NULL), LK_OK);
    assert_int_equal(count_live(store), 0);

    lease = acquire_at_least(store, part, 3600000); /* by the token, later */
    uint64_t token = lk_lease_token(lease);
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
    request = lk_request_init(&part, 1);
    assert_int_equal(lk_release(store, &request, token, NULL, NULL), LK_OK);
    assert_int_equal(count_live(store), 0);
}

static void test_what_was_broken_does_not_stay(void **state) {
    lk_store *store = store_of(state);
    lk_lease *lease = acquire_at_least(store, "x", 3600000);

    assert_int_equal(break_path(store, "x", false), 1); /* revoked */
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
    assert_int_equal(count_live(store), 0);

    lease = acquire_at_least(store, "x", 3600000);
    assert_int_equal(break_path(store, "x", true), 1);
    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(lk_lease_release(lease, NULL), LK_LOST);
    assert_int_equal(count_live(store), 1);
}

static void test_what_cannot_stay_is_refused(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_at_least(&part, 49);
    lk_lease *lease = NULL;
    lk_error error;

    assert_int_equal(lk_acquire(store, &request, &lease, NULL, &error), LK_INVALID);
    request.at_least_ms = INT64_C(366) * 24 * 3600 * 1000 + 1;
    assert_int_equal(lk_acquire(store, &request, &lease, NULL, &error), LK_INVALID);
    request.at_least_ms = 1000;
    assert_int_equal(lk_ask(store, &request, NULL, &error), LK_INVALID);
    request.value = true;
    assert_int_equal(lk_acquire(store, &request, &lease, NULL, &error), LK_INVALID);
    request.value = false;
    request.bound = true;
    assert_int_equal(lk_acquire(store, &request, &lease, NULL, &error), LK_INVALID);
    request.bound = false;
    request.until_unix_ms = INT64_C(4000000000000);
    assert_int_equal(lk_acquire(store, &request, &lease, NULL, &error), LK_INVALID);
    assert_null(lease);
    assert_int_equal(count_live(store), 0);

    lease = acquire_at_least(store, "x", 3600000);
    assert_int_equal(lk_lease_release_put(lease, "v", 1, &error), LK_INVALID);
    assert_false(lk_lease_is_lost(lease));
    assert_int_equal(lk_lease_release_now(lease, NULL), LK_OK);
}

/* What a child of fork() must find; returns its exit code. */
static int look_as_child(lk_store *store, lk_lease *lease) {
    const char *part = "x";
    lk_request request = request_of("a", &part);
    lk_listing *listing = NULL;
    lk_error error;

    if (lk_ask(store, &request, NULL, &error) != LK_INTERNAL || error.text[0] == '\0') {
        return 1;
    }
    if (lk_release(store, &request, 0, NULL, NULL) != LK_INTERNAL
        || lk_list(store, NULL, &listing, NULL) != LK_INTERNAL) {
        return 2;
    }
    if (!lk_lease_is_lost(lease) || lk_lease_remaining_ms(lease) != 0) {
        return 3;
    }
    if (lk_lease_release(lease, NULL) != LK_INTERNAL) {
        return 4;
    }
    lk_lease_abandon(lease);
    lk_close(store);
    return 0;
}

static void test_a_forked_child_has_no_leases(void **state) {
    lk_store *store = store_of(state);
    lk_lease *lease = acquire(store, "x", 60000);
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        _exit(look_as_child(store, lease));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_false(lk_lease_is_lost(lease)); /* the parent's is as it was */
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
        TEST(test_a_lease_is_renewed_over_several_ttls),
        TEST(test_many_leases_are_renewed),
        TEST(test_a_refusal_returns_no_lease),
        TEST(test_an_abandoned_lease_lasts_until_its_deadline),
        TEST(test_fixed_end),
        TEST(test_a_lease_broken_at_once_is_lost),
        TEST(test_a_revoked_lease_is_lost),
        TEST(test_a_callback_set_after_the_loss_is_called),
        TEST(test_a_store_can_be_closed_with_open_leases),
        TEST(test_a_quick_lease_stays_for_its_least_time),
        TEST(test_a_slow_lease_ends_at_its_release),
        TEST(test_the_least_time_may_be_longer_than_the_ttl),
        TEST(test_a_least_time_can_be_ended),
        TEST(test_what_was_broken_does_not_stay),
        TEST(test_what_cannot_stay_is_refused),
        TEST(test_a_forked_child_has_no_leases),
    };
    const struct CMUnitTest of_stores_that_tell[] = {
        TEST(test_a_store_tells_at_once_that_a_lease_is_revoked),
    };
    int failed;

    choose_scheme(argc, argv);
    failed = cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
    if (strcmp(argv[1], "mem") != 0) { /* a lease there is lost at its next renewal */
        failed += cmocka_run_group_tests_name("told at once", of_stores_that_tell, NULL, NULL);
    }
    return failed;
}
