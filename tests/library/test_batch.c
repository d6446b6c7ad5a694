/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is unavailable or loses answers: batches over several nodes (R14), and whose a
 * request is that a call may have left: told by its age, however late answers come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "client/leftover.h"
#include "client/store.h"
#include "support.h"

/* ---- batches --------------------------------------------------------------------------------- */

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
    request.wait_ms = stretched(100);
    request.patience_ms = stretched(100);
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

/* ---- what a call may have left --------------------------------------------------------------- */

/* cmocka.h needs those four before it. */
#include <cmocka.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/waker.h"
#include "engine/reply/reply.h"

/* A store with one lease. */
struct far {
    struct lk_engine engine;
    int64_t made_us; /* the lease */
    int64_t late_us; /* by which the first answer comes late */
    int listed;
    int released;
};

static void pass_us(int64_t duration_us) {
    struct lk_waker waker;

    assert_true(lk_waker_init(&waker));
    (void)lk_waker_sleep(&waker, duration_us);
    lk_waker_done(&waker);
}

static lk_outcome list(struct lk_engine *engine, const struct lk_path *prefix,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       lk_error *error) {
    struct far *far = (struct far *)engine;
    lk_listing *listing = calloc(1, sizeof *listing);

    (void)prefix;
    (void)patience;
    (void)error;
    assert_non_null(listing);
    listing->entries = calloc(1, sizeof *listing->entries);
    assert_non_null(listing->entries);
    listing->count = 1;
    listing->entries[0].path = lk_text_copy(lk_slice_of("a"));
    listing->entries[0].owner = lk_text_copy(lk_slice_of("ana"));
    listing->entries[0].ticket = 42;
    listing->entries[0].token = 42;
    listing->entries[0].age_ms = (lk_clock_now_us() - far->made_us) / 1000;
    if (far->listed++ == 0) {
        pass_us(far->late_us);
    }
    *ret_listing = listing;
    return LK_OK;
}

static lk_outcome decide(struct lk_engine *engine, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *ret_decision) {
    struct far *far = (struct far *)engine;

    (void)patience;
    assert_int_equal(command->kind, LK_COMMAND_RELEASE);
    assert_int_equal(command->release.target.token, 42);
    far->released++;
    lk_decision_begin(ret_decision, command);
    return LK_OK;
}

/* Ends what a call that began then has left. */
static lk_outcome end(struct far *far, int64_t began_us) {
    static const struct lk_engine_ops ops = {.list = list, .decide = decide};
    const struct lk_part part = {.path = {.bytes = "a", .size = 1}, .mode = LK_EXCLUSIVE};
    const struct lk_leftover leftover = {.owner = lk_slice_of("ana"),
                                         .parts = &part,
                                         .part_count = 1,
                                         .began_us = began_us,
                                         .ttl_ms = 60000};
    const struct lk_patience patience = {.until_us = LK_NEVER};

    far->engine.ops = &ops;
    return lk_leftover_end(&far->engine, &leftover, &patience, NULL);
}

/* An answer that is late makes a lease look young that was there before the call. */
static void test_an_older_lease_stays_when_an_answer_is_late(void **state) {
    struct far far = {.made_us = lk_clock_now_us(), .late_us = 200000};

    (void)state;
    assert_int_equal(end(&far, far.made_us + 20000), LK_BUSY);
    assert_int_equal(far.released, 0);
}

static void test_a_lease_that_the_call_has_made_is_released(void **state) {
    struct far far = {.made_us = lk_clock_now_us() - 5000000};

    (void)state;
    assert_int_equal(end(&far, far.made_us - 5000000), LK_OK);
    assert_int_equal(far.listed, 1);
    assert_int_equal(far.released, 1);
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
        cmocka_unit_test(test_an_older_lease_stays_when_an_answer_is_late),
        cmocka_unit_test(test_a_lease_that_the_call_has_made_is_released),
    };

    return cmocka_run_group_tests_name("batches", tests, NULL, NULL);
}
