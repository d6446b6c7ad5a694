/* SPDX-License-Identifier: Apache-2.0 */
/* Claims and pools of workers with a store that is unavailable, slow, or loses answers. */
#include <pthread.h>

#include "support.h"

struct setup {
    lk_store *store;
    struct faulty *faulty;
    enum fault fault_in_handler;
    atomic_int handled;
};

static int open_setup(void **state) {
    static struct setup setup;

    setup = (struct setup){.fault_in_handler = NO_FAULT};
    setup.store = open_faulty(&setup.faulty);
    *state = &setup;
    return 0;
}

static int close_setup(void **state) {
    lk_close(((struct setup *)*state)->store);
    return 0;
}

static void push(struct setup *setup, const char *id) {
    const lk_push_request request = {.size = sizeof request, .queue = "q", .id = id};

    assert_int_equal(lk_push(setup->store, &request, NULL, NULL), LK_OK);
}

static lk_queue_stats stats_of(struct setup *setup) {
    lk_queue_stats stats;

    assert_int_equal(lk_stats(setup->store, "q", &stats, NULL), LK_OK);
    return stats;
}

/* ---- claims ---------------------------------------------------------------------------------- */

struct claimant {
    struct setup *setup;
    lk_claim_request request;
    lk_outcome outcome;
    lk_claim_info *claim;
    pthread_t thread;
};

static void *claim_in_thread(void *context) {
    struct claimant *claimant = context;

    claimant->outcome =
        lk_claim_next(claimant->setup->store, &claimant->request, &claimant->claim, NULL);
    return NULL;
}

static struct claimant claimant_of(struct setup *setup) {
    return (struct claimant){.setup = setup,
                             .request = {.size = sizeof(lk_claim_request), .queue = "q"}};
}

/* However many answers are lost, one item is claimed once (R3). */
static void test_a_claim_is_found_after_a_lost_answer(void **state) {
    struct setup *setup = *state;
    struct claimant claimant = claimant_of(setup);

    push(setup, "1");
    push(setup, "2");
    set_fault(setup->faulty, ANSWER_LOST);
    assert_int_equal(pthread_create(&claimant.thread, NULL, claim_in_thread, &claimant), 0);
    wait_for_calls(setup->faulty, 3);
    set_fault(setup->faulty, NO_FAULT);
    assert_int_equal(pthread_join(claimant.thread, NULL), 0);
    assert_int_equal(claimant.outcome, LK_GRANTED);
    assert_string_equal(claimant.claim->id, "1");
    assert_int_equal(claimant.claim->attempt, 1);
    assert_int_equal(stats_of(setup).claims, 1);
    assert_int_equal(stats_of(setup).ready_now, 1);
    lk_claim_free(claimant.claim);
}

struct claimant_of_several {
    struct setup *setup;
    lk_claim_request request;
    lk_outcome outcome;
    lk_claim_list *list;
    pthread_t thread;
};

static void *claim_several_in_thread(void *context) {
    struct claimant_of_several *claimant = context;

    claimant->outcome =
        lk_claim_many(claimant->setup->store, &claimant->request, 2, &claimant->list, NULL);
    return NULL;
}

/* The same for several: a repeated ask gives the same items. */
static void test_several_claims_are_found_after_a_lost_answer(void **state) {
    struct setup *setup = *state;
    struct claimant_of_several claimant = {
        .setup = setup, .request = {.size = sizeof(lk_claim_request), .queue = "q"}};

    push(setup, "1");
    push(setup, "2");
    push(setup, "3");
    set_fault(setup->faulty, ANSWER_LOST);
    assert_int_equal(pthread_create(&claimant.thread, NULL, claim_several_in_thread, &claimant), 0);
    wait_for_calls(setup->faulty, 3);
    set_fault(setup->faulty, NO_FAULT);
    assert_int_equal(pthread_join(claimant.thread, NULL), 0);
    assert_int_equal(claimant.outcome, LK_GRANTED);
    assert_int_equal(claimant.list->count, 2);
    assert_string_equal(claimant.list->claims[0]->id, "1");
    assert_string_equal(claimant.list->claims[1]->id, "2");
    assert_int_equal(claimant.list->claims[1]->token, claimant.list->claims[0]->token);
    assert_int_equal(stats_of(setup).claims, 2);
    assert_int_equal(stats_of(setup).ready_now, 1);
    lk_claim_list_free(claimant.list);
}

/* After a cancellation nothing stays claimed that the claimant does not know of. */
static void test_several_claims_are_returned_after_a_cancellation(void **state) {
    struct setup *setup = *state;
    struct claimant_of_several claimant = {
        .setup = setup,
        .request = {.size = sizeof(lk_claim_request), .queue = "q", .cancel = lk_cancel_new()}};

    push(setup, "1");
    push(setup, "2");
    set_fault(setup->faulty, ANSWER_LOST);
    assert_int_equal(pthread_create(&claimant.thread, NULL, claim_several_in_thread, &claimant), 0);
    wait_for_calls(setup->faulty, 1);
    set_fault(setup->faulty, NO_FAULT);
    lk_cancel_now(claimant.request.cancel);
    assert_int_equal(pthread_join(claimant.thread, NULL), 0);
    lk_cancel_free(claimant.request.cancel);
    if (claimant.outcome == LK_GRANTED) { /* the repetition came before the cancellation */
        assert_int_equal(stats_of(setup).claimed_now, 2);
        lk_claim_list_free(claimant.list);
    } else {
        assert_int_equal(claimant.outcome, LK_CANCELLED);
        assert_int_equal(stats_of(setup).ready_now, 2);
    }
}

static void test_a_claim_ends_with_its_time_budget(void **state) {
    static const enum fault faults[] = {REFUSING, HANGING};
    struct setup *setup = *state;

    push(setup, "1");
    for (size_t i = 0; i < 2; i++) {
        struct claimant claimant = claimant_of(setup);
        int64_t start_ms = now_ms();

        set_fault(setup->faulty, faults[i]);
        claimant.request.patience_ms = 150;
        (void)claim_in_thread(&claimant);
        assert_int_equal(claimant.outcome, LK_UNAVAILABLE);
        assert_true(now_ms() >= start_ms + 150);
        claimant.request.wait_ms = LK_FOREVER; /* unlimited for work, but not for the store */
        (void)claim_in_thread(&claimant);
        assert_int_equal(claimant.outcome, LK_UNAVAILABLE);
        assert_null(claimant.claim);
    }
    assert_in_range(calls_of(setup->faulty), 4, 40); /* it did not spin */
}

/* The last take of a wait has time to be answered. */
static void test_a_wait_ends_as_timeout_in_a_distant_store(void **state) {
    struct setup *setup = *state;
    struct claimant claimant = claimant_of(setup);

    set_fault(setup->faulty, DISTANT);
    claimant.request.wait_ms = 1100;
    (void)claim_in_thread(&claimant);
    assert_int_equal(claimant.outcome, LK_TIMEOUT);
}

static void test_a_claim_can_be_cancelled_in_an_outage(void **state) {
    static const enum fault faults[] = {REFUSING, HANGING};
    struct setup *setup = *state;

    for (size_t i = 0; i < 2; i++) {
        struct claimant claimant = claimant_of(setup);
        int former = calls_of(setup->faulty);

        set_fault(setup->faulty, faults[i]);
        claimant.request.wait_ms = LK_FOREVER;
        claimant.request.cancel = lk_cancel_new();
        assert_int_equal(pthread_create(&claimant.thread, NULL, claim_in_thread, &claimant), 0);
        wait_for_calls(setup->faulty, former + 1);
        lk_cancel_now(claimant.request.cancel);
        assert_int_equal(pthread_join(claimant.thread, NULL), 0);
        assert_int_equal(claimant.outcome, LK_CANCELLED);
        lk_cancel_free(claimant.request.cancel);
    }
}

/* A claim whose answer took long is asked for again, so that its full ttl remains. */
static void test_a_slow_claim_is_asked_for_again(void **state) {
    struct setup *setup = *state;
    struct claimant claimant = claimant_of(setup);

    push(setup, "1");
    set_fault(setup->faulty, LATE);
    atomic_store(&setup->faulty->answer_at_ms, now_ms() + stretched(2500));
    claimant.request.ttl_ms = stretched(6000);
    (void)claim_in_thread(&claimant);
    assert_int_equal(claimant.outcome, LK_GRANTED);
    assert_in_range(claimant.claim->expires_in_ms, stretched(3500) + 1, stretched(6000));
    assert_int_equal(calls_of(setup->faulty), 2);
    assert_int_equal(stats_of(setup).claims, 1);
    lk_claim_free(claimant.claim);
}

/* Its caller, who does not know when it was asked for, is told what is left of it by then. */
static void test_a_claim_lasts_from_its_return_on(void **state) {
    struct setup *setup = *state;
    struct claimant claimant = claimant_of(setup);

    push(setup, "1");
    set_fault(setup->faulty, LATE);
    atomic_store(&setup->faulty->answer_at_ms, now_ms() + stretched(1500));
    claimant.request.ttl_ms = stretched(9000);
    (void)claim_in_thread(&claimant);
    assert_int_equal(claimant.outcome, LK_GRANTED);
    assert_in_range(claimant.claim->expires_in_ms, 1, stretched(9000 - 1500));
    assert_int_equal(calls_of(setup->faulty), 1);
    lk_claim_free(claimant.claim);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
    struct setup *setup = context;

    (void)claim;
    (void)lease;
    atomic_fetch_add(&setup->handled, 1);
    set_fault(setup->faulty, setup->fault_in_handler);
    return 0;
}

static void *come_back(void *context) {
    struct setup *setup = context;

    wait_for_calls(setup->faulty, calls_of(setup->faulty) + 3);
    set_fault(setup->faulty, NO_FAULT);
    return NULL;
}

/* Whether the request or the answer is lost, the item is completed once. */
static void test_a_pool_outlasts_an_outage(void **state) {
    static const enum fault faults[] = {REFUSING, ANSWER_LOST};
    struct setup *setup = *state;

    for (size_t i = 0; i < 2; i++) {
        const lk_work_options options = {.size = sizeof options,
                                         .queue = "q",
                                         .handle = handle,
                                         .context = setup,
                                         .drain = true};
        lk_work_counts counts;
        pthread_t thread;

        set_fault(setup->faulty, NO_FAULT);
        push(setup, "1");
        setup->fault_in_handler = faults[i];
        assert_int_equal(pthread_create(&thread, NULL, come_back, setup), 0);
        assert_int_equal(lk_work(setup->store, &options, &counts, NULL), LK_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(counts.claims, 1);
        assert_int_equal(counts.done, 1);
        assert_int_equal(counts.unknown + counts.lost, 0);
    }
    assert_int_equal(stats_of(setup).done, 2);
}

/* The outage lasts until the claim has expired: whether the item was completed is unknown. */
static void test_an_unknown_result_of_a_claim_is_reported(void **state) {
    struct setup *setup = *state;
    const lk_work_options options = {.size = sizeof options,
                                     .queue = "q",
                                     .handle = handle,
                                     .context = setup,
                                     .ttl_ms = stretched(2000),
                                     .patience_ms = 100};
    lk_work_counts counts;

    push(setup, "1");
    setup->fault_in_handler = REFUSING;
    assert_int_equal(lk_work(setup->store, &options, &counts, NULL), LK_UNAVAILABLE);
    assert_int_equal(counts.claims, 1);
    assert_int_equal(counts.unknown, 1);
    /* The worker stops a little before the claim does (R11: clocks may drift apart). */
    while (stats_of(setup).ready_now != 1) {
        wait_until_ms(now_ms() + 1);
    }
    assert_int_equal(stats_of(setup).done, 0);
}

/* The message names the engine and what it does not support. */
static void test_an_unsupported_operation_names_the_engine(void **state) {
    struct setup *setup = *state;
    const char *part = "x";
    lk_request request = request_of("a", &part);
    lk_value *value = NULL;
    lk_error error;

    assert_int_equal(lk_value_get(setup->store, "x", &value, &error), LK_UNSUPPORTED);
    assert_string_equal(error.text, "a store of faulty: cannot keep values");
    assert_int_equal(lk_value_put(setup->store, "x", NULL, 0, "v", 1, NULL), LK_UNSUPPORTED);
    assert_int_equal(lk_release_put(setup->store, &request, 0, "v", 1, NULL, NULL), LK_UNSUPPORTED);
    request.value = true;
    assert_int_equal(lk_ask(setup->store, &request, NULL, NULL), LK_UNSUPPORTED);
    assert_int_equal(count_live(setup->store), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_setup, close_setup)
        TEST(test_a_claim_is_found_after_a_lost_answer),
        TEST(test_several_claims_are_found_after_a_lost_answer),
        TEST(test_several_claims_are_returned_after_a_cancellation),
        TEST(test_a_claim_ends_with_its_time_budget),
        TEST(test_a_wait_ends_as_timeout_in_a_distant_store),
        TEST(test_a_claim_can_be_cancelled_in_an_outage),
        TEST(test_a_slow_claim_is_asked_for_again),
        TEST(test_a_claim_lasts_from_its_return_on),
        TEST(test_a_pool_outlasts_an_outage),
        TEST(test_an_unknown_result_of_a_claim_is_reported),
        TEST(test_an_unsupported_operation_names_the_engine),
    };

    return cmocka_run_group_tests_name("outage work", tests, NULL, NULL);
}
