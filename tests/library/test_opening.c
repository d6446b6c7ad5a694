/* SPDX-License-Identifier: Apache-2.0 */
/* Opening an engine that blocks, as a name server that is silent makes it: in time or not at all.
 */
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "client/store.h"
#include "support.h"

/* What the stand-in of an engine does, and has done. */
static struct {
    sem_t entered;
    sem_t gate; /* heeds neither patience nor waker, as getaddrinfo() does not */
    sem_t closed;
    bool is_reached; /* before it blocks */
    lk_outcome outcome;
    const char *text;
    struct lk_patience patience;
    lk_cancel *cancelled; /* while it is blocked */
} blocking;

static struct lk_engine engine;

static lk_outcome open_blocking(struct lk_slice rest, const struct lk_patience *patience,
                                struct lk_engine **ret_engine, lk_error *error) {
    (void)rest;
    blocking.patience = *patience;
    if (blocking.is_reached) {
        lk_patience_note_reached(patience);
    }
    sem_post(&blocking.entered);
    if (blocking.cancelled != NULL) {
        lk_cancel_now(blocking.cancelled);
    }
    sem_wait(&blocking.gate);
    if (blocking.outcome == LK_OK) {
        *ret_engine = &engine;
        return LK_OK;
    }
    return lk_error_set(error, blocking.outcome, "%s", blocking.text);
}

/* As an engine on sockets: it ends with its time, or its waker. */
static lk_outcome open_heeding(struct lk_slice rest, const struct lk_patience *patience,
                               struct lk_engine **ret_engine, lk_error *error) {
    const struct lk_patience contact = lk_patience_for_contact(patience);

    (void)rest;
    (void)ret_engine;
    if (lk_waker_sleep(contact.waker, contact.until_us - lk_clock_now_us())) {
        return lk_error_clear(error, LK_CANCELLED);
    }
    return lk_error_set(error, LK_UNAVAILABLE, "nothing is heard");
}

static void close_engine(struct lk_engine *closed) {
    assert_ptr_equal(closed, &engine);
    sem_post(&blocking.closed);
}

static const struct lk_engine_ops remote = {
    .scheme = "far", .is_remote = true, .open = open_blocking, .close = close_engine};
static const struct lk_engine_ops heeding = {
    .scheme = "far", .is_remote = true, .open = open_heeding, .close = close_engine};

static struct lk_opening_order order_of(const struct lk_engine_ops *ops) {
    return (struct lk_opening_order){.ops = ops,
                                     .rest = lk_slice_of("//host"),
                                     .name = "far://host",
                                     .contact_ms = stretched(100)};
}

static int set_up(void **state) {
    (void)state;
    memset(&blocking, 0, sizeof blocking);
    engine.ops = &remote;
    return sem_init(&blocking.entered, 0, 0) + sem_init(&blocking.gate, 0, 0)
           + sem_init(&blocking.closed, 0, 0);
}

static void assert_silence(const lk_error *error, const char *cause) {
    assert_int_equal(error->outcome, LK_UNAVAILABLE);
    if (strncmp(error->text, "far://host: no answer within ", 29) != 0
        || strstr(error->text, cause) == NULL) {
        fail_msg("\"%s\" does not say who was silent, and \"%s\"", error->text, cause);
    }
}

/* It is abandoned; what it opens afterwards is closed. */
static void test_it_is_abandoned(void **state) {
    const struct lk_opening_order order = order_of(&remote);
    struct lk_engine *untouched = NULL;
    lk_error error;

    (void)state;
    assert_int_equal(lk_opening_carry_out(&order, &untouched, &error), LK_UNAVAILABLE);
    assert_silence(&error, "address");
    assert_null(untouched);
    sem_post(&blocking.gate);
    sem_wait(&blocking.closed);
}

static void test_it_is_cancelled(void **state) {
    struct lk_opening_order order = order_of(&remote);
    struct lk_engine *untouched = NULL;
    lk_error error;

    (void)state;
    order.contact_ms = LK_PATIENCE_DEFAULT_MS;
    order.cancel = blocking.cancelled = lk_cancel_new();
    assert_int_equal(lk_opening_carry_out(&order, &untouched, &error), LK_CANCELLED);
    assert_int_equal(error.outcome, LK_CANCELLED);
    assert_null(untouched);
    sem_post(&blocking.gate);
    sem_wait(&blocking.closed);
    lk_cancel_free(order.cancel);
}

static void *open_gate_after_its_time(void *context) {
    (void)context;
    sem_wait(&blocking.entered);
    /* Beyond the time of contact and what the caller adds to it. */
    (void)lk_waker_sleep(NULL, stretched(1000) * 1000);
    sem_post(&blocking.gate);
    return NULL;
}

/* A server that has answered is waited for. */
static void test_contact_ends_the_bound(void **state) {
    const struct lk_opening_order order = order_of(&remote);
    struct lk_engine *opened = NULL;
    pthread_t thread;
    lk_error error;

    (void)state;
    blocking.is_reached = true;
    assert_int_equal(pthread_create(&thread, NULL, open_gate_after_its_time, NULL), 0);
    assert_int_equal(lk_opening_carry_out(&order, &opened, &error), LK_OK);
    assert_ptr_equal(opened, &engine);
    assert_true(blocking.patience.until_us - blocking.patience.contact_us
                >= (LK_PATIENCE_DEFAULT_MS - order.contact_ms) * 1000);
    pthread_join(thread, NULL);
}

/* Its time is over when the engine's own is: never CANCELLED without a cancellation. */
static void test_an_engine_that_heeds_its_time(void **state) {
    struct lk_opening_order order = order_of(&heeding);
    struct lk_engine *untouched = NULL;
    lk_error error;

    (void)state;
    assert_int_equal(lk_opening_carry_out(&order, &untouched, &error), LK_UNAVAILABLE);
    assert_silence(&error, ""); /* what it says, unless it is late */
    order.contact_ms = LK_PATIENCE_DEFAULT_MS;
    order.cancel = lk_cancel_new();
    lk_cancel_now(order.cancel);
    assert_int_equal(lk_opening_carry_out(&order, &untouched, &error), LK_CANCELLED);
    assert_null(untouched);
    lk_cancel_free(order.cancel);
}

/* What an engine says stays as it is, also of a wrong password that a signal has met. */
static void test_other_outcomes(void **state) {
    struct lk_opening_order order = order_of(&remote);
    struct lk_engine *untouched = NULL;
    lk_error error;

    (void)state;
    order.contact_ms = LK_PATIENCE_DEFAULT_MS;
    blocking.outcome = LK_DENIED;
    blocking.text = "the password is wrong";
    sem_post(&blocking.gate);
    assert_int_equal(lk_opening_carry_out(&order, &untouched, &error), LK_DENIED);
    assert_string_equal(error.text, "the password is wrong");
    blocking.outcome = LK_UNAVAILABLE;
    blocking.text = "it refuses the connection";
    sem_post(&blocking.gate);
    assert_int_equal(lk_opening_carry_out(&order, &untouched, &error), LK_UNAVAILABLE);
    assert_string_equal(error.text, "it refuses the connection");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_it_is_abandoned, set_up),
        cmocka_unit_test_setup(test_it_is_cancelled, set_up),
        cmocka_unit_test_setup(test_contact_ends_the_bound, set_up),
        cmocka_unit_test_setup(test_an_engine_that_heeds_its_time, set_up),
        cmocka_unit_test_setup(test_other_outcomes, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
