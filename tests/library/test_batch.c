/* SPDX-License-Identifier: Apache-2.0 */
/* Batches over several nodes (R14), of a store that is unavailable or loses answers. */
#include "client/store.h"
#include "faulty_store.h"
#include "support.h"

struct setup {
    lk_store *store;
    struct faulty *faulty;
};

/* Each of the roots a, b and so on has a node of its own. */
static unsigned node_of(struct lk_engine *engine, struct lk_slice root) {
    (void)engine;
    return (unsigned char)root.bytes[0];
}

static int open_setup(void **state) {
    static struct setup setup;
    static struct lk_engine_ops ops;

    setup.store = open_faulty(&setup.faulty);
    ops = *setup.faulty->engine.ops;
    ops.node_of = node_of;
    setup.faulty->engine.ops = &ops;
    *state = &setup;
    return 0;
}

static int close_setup(void **state) {
    lk_close(((struct setup *)*state)->store);
    return 0;
}

/* The request of an owner that is named, for the roots a and b. */
static lk_request batch_of(lk_style style) {
    static const char *const parts[] = {"a", "b"};
    lk_request request = request_of("owner", parts);

    request.part_count = 2;
    request.style = style;
    request.wait_ms = 100;
    request.patience_ms = 100;
    return request;
}

/* A call without an answer does not know whether the requests at the nodes are older. */
static void test_a_batch_that_is_asked_for_again_in_an_outage_stays(void **state) {
    static const lk_style styles[] = {LK_TRY, LK_WAIT};
    struct setup *setup = *state;

    for (size_t i = 0; i < 2; i++) {
        lk_request request = batch_of(styles[i]);
        lk_result *result = NULL;

        assert_int_equal(lk_ask(setup->store, &request, &result, NULL), LK_GRANTED);
        lk_result_free(result);
        set_fault(setup->faulty, ANSWER_LOST);
        assert_int_equal(lk_ask(setup->store, &request, NULL, NULL), LK_UNAVAILABLE);
        set_fault(setup->faulty, NO_FAULT);
        assert_int_equal(count_live(setup->store), 2);
        assert_int_equal(lk_ask(setup->store, &request, &result, NULL), LK_GRANTED);
        assert_false(result->created);
        lk_result_free(result);
        assert_int_equal(lk_release(setup->store, &request, 0, NULL, NULL), LK_OK);
    }
}

static void test_a_batch_of_a_call_without_an_answer_is_taken_back(void **state) {
    static const lk_style styles[] = {LK_TRY, LK_WAIT};
    struct setup *setup = *state;

    for (size_t i = 0; i < 2; i++) {
        lk_request request = batch_of(styles[i]);

        set_fault(setup->faulty, LOST_AFAR);
        assert_int_equal(lk_ask(setup->store, &request, NULL, NULL), LK_UNAVAILABLE);
        set_fault(setup->faulty, NO_FAULT);
        assert_int_equal(count_live(setup->store), 0);
    }
}

static lk_lease *acquire_batch(struct setup *setup) {
    lk_request request = batch_of(LK_TRY);
    lk_lease *lease = NULL;

    assert_int_equal(lk_acquire(setup->store, &request, &lease, NULL, NULL), LK_GRANTED);
    return lease;
}

/* Each node knows by its own token what has been released (R3). */
static void test_a_release_of_a_batch_is_repeated_until_it_is_known(void **state) {
    struct setup *setup = *state;
    lk_lease *lease;

    lease = acquire_batch(setup);
    set_fault(setup->faulty, ANSWER_LOST);
    assert_int_equal(lk_lease_release(lease, NULL), LK_UNAVAILABLE);
    set_fault(setup->faulty, NO_FAULT);
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
    assert_int_equal(count_live(setup->store), 0);
}

/* A part that was broken, and is held again since, is not the lease's any more. */
static void test_a_batch_of_which_a_node_has_a_newer_part_is_lost(void **state) {
    const lk_break_request broken = {
        .size = sizeof broken, .path = "b", .reason = "test", .by = "test", .at_once = true};
    struct setup *setup = *state;
    lk_request request = batch_of(LK_TRY);
    size_t count = 0;
    lk_lease *lease;

    lease = acquire_batch(setup);
    assert_int_equal(lk_break(setup->store, &broken, &count, NULL), LK_OK);
    assert_int_equal(count, 1);
    assert_int_equal(lk_ask(setup->store, &request, NULL, NULL), LK_GRANTED);
    assert_int_equal(lk_lease_release(lease, NULL), LK_LOST);
    assert_int_equal(count_live(setup->store), 1);
}

static void wait_for_none(lk_store *store) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (count_live(store) > 0) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 1);
    }
}

/* Its node is away when the call ends. */
static void test_a_batch_is_taken_back_when_its_node_answers(void **state) {
    static const lk_style styles[] = {LK_TRY, LK_WAIT};
    struct setup *setup = *state;

    for (size_t i = 0; i < 4; i++) {
        lk_request request = batch_of(styles[i / 2]);

        request.owner = i % 2 == 0 ? "owner" : NULL;
        set_fault(setup->faulty, LOST_AFAR_THEN_AWAY);
        assert_int_equal(lk_ask(setup->store, &request, NULL, NULL), LK_UNAVAILABLE);
        assert_int_equal(count_live(setup->store), 1);
        set_fault(setup->faulty, NO_FAULT);
        wait_for_none(setup->store);
    }
}

/* What a thread would take back is wanted now. */
static void test_a_batch_that_is_asked_for_again_is_not_taken_back(void **state) {
    struct setup *setup = *state;
    lk_request request = batch_of(LK_TRY);
    lk_result *result = NULL;

    set_fault(setup->faulty, LOST_AFAR_THEN_AWAY);
    assert_int_equal(lk_ask(setup->store, &request, NULL, NULL), LK_UNAVAILABLE);
    set_fault(setup->faulty, NO_FAULT);
    assert_int_equal(lk_ask(setup->store, &request, &result, NULL), LK_GRANTED);
    lk_result_free(result);
    wait_until_ms(now_ms() + 300); /* the thread makes its attempts in this time */
    assert_int_equal(count_live(setup->store), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_setup, close_setup)
        TEST(test_a_batch_that_is_asked_for_again_in_an_outage_stays),
        TEST(test_a_batch_of_a_call_without_an_answer_is_taken_back),
        TEST(test_a_release_of_a_batch_is_repeated_until_it_is_known),
        TEST(test_a_batch_of_which_a_node_has_a_newer_part_is_lost),
        TEST(test_a_batch_is_taken_back_when_its_node_answers),
        TEST(test_a_batch_that_is_asked_for_again_is_not_taken_back),
    };

    return cmocka_run_group_tests_name("batches", tests, NULL, NULL);
}
