/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which connections are used for another call. One on which an answer is outstanding would give it
 * to the next call, which would take it for its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/procedures/procedures.h"

/* A connection of the invented database, and what its next exchange comes to. */
struct connection {
    bool is_open;
    bool is_waiting; /* for an answer */
};

static struct connection connections[8];
static size_t connection_count;
static enum lk_fate next_fate;
static bool next_waits;

static lk_outcome connect_to(struct lk_procedures *store, const struct lk_patience *patience,
                             void **ret_connection, lk_error *error) {
    (void)store;
    (void)patience;
    assert_true(connection_count < sizeof connections / sizeof connections[0]);
    connections[connection_count] = (struct connection){.is_open = true};
    *ret_connection = &connections[connection_count++];
    return lk_error_clear(error, LK_OK);
}

/* What is late has not come yet. */
static bool is_alive(void *connection) {
    return ((struct connection *)connection)->is_open;
}

static bool is_idle(const void *connection) {
    return !((const struct connection *)connection)->is_waiting;
}

static void disconnect(void *connection) {
    ((struct connection *)connection)->is_open = false;
}

static enum lk_fate exchange(struct lk_procedures *store, void *connection,
                             const struct lk_procedure_call *call,
                             const struct lk_patience *patience, struct lk_rows **ret_rows,
                             lk_outcome *ret_outcome, lk_error *error) {
    struct connection *used = connection;
    enum lk_fate fate = next_fate;

    (void)store;
    (void)call;
    (void)patience;
    (void)ret_rows;
    assert_true(used->is_open);
    assert_false(used->is_waiting);
    used->is_waiting = next_waits;
    next_fate = LK_FATE_ANSWERED;
    next_waits = false;
    *ret_outcome = lk_error_set(error, LK_BUSY, "answered");
    return fate;
}

static const struct lk_database database = {
    .connect = connect_to,
    .is_alive = is_alive,
    .is_idle = is_idle,
    .disconnect = disconnect,
    .exchange = exchange,
};

static struct lk_procedures store;

static int set_up(void **state) {
    (void)state;
    connection_count = 0;
    store = (struct lk_procedures){.idle_count = 0};
    return lk_procedures_init(&store, NULL, &database) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    lk_procedures_done(&store);
    for (size_t i = 0; i < connection_count; i++) {
        assert_false(connections[i].is_open);
    }
    return 0;
}

static void call(enum lk_fate fate, bool waits) {
    const struct lk_patience patience = {.until_us = lk_clock_now_us() + 10000000};
    struct lk_rows *rows = NULL;
    lk_error error;

    next_fate = fate;
    next_waits = waits;
    assert_int_equal(lk_procedures_ask_sql(&store, "SELECT 1", &patience, &rows, &error), LK_BUSY);
}

static void one_that_was_answered_is_used_again(void **state) {
    (void)state;
    call(LK_FATE_ANSWERED, false);
    call(LK_FATE_CONFLICTED, false);
    call(LK_FATE_ANSWERED, false);
    assert_int_equal(connection_count, 1);
}

static void one_that_owes_an_answer_is_closed(void **state) {
    (void)state;
    call(LK_FATE_ANSWERED, true);
    assert_false(connections[0].is_open);
    call(LK_FATE_ANSWERED, false);
    assert_int_equal(connection_count, 2);
    assert_int_equal(store.interruptions, 0); /* the call itself was answered */
}

static void a_call_is_not_repeated_on_it(void **state) {
    (void)state;
    call(LK_FATE_CONFLICTED, true);
    assert_false(connections[0].is_open);
    assert_int_equal(connection_count, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_was_answered_is_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_owes_an_answer_is_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_is_not_repeated_on_it, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
