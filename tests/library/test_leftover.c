/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a request is that a call may have left: told by its age, however late answers come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "client/leftover.h"
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
        cmocka_unit_test(test_an_older_lease_stays_when_an_answer_is_late),
        cmocka_unit_test(test_a_lease_that_the_call_has_made_is_released),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
