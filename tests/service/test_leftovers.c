/* SPDX-License-Identifier: Apache-2.0 */
/* What a call whose ask had no answer may have made: it is looked for, and ended if it is new. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* cmocka.h needs those four before it. */
#include <cmocka.h>

#include "base/clock.h"
#include "peer.h"
#include "try_a.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define LONG_US INT64_C(20000000)

static lk_store *open_peer(const struct peer *peer) {
    lk_store *store = NULL;

    assert_int_equal(lk_open(peer->url, &store, NULL), LK_OK);
    return store;
}

#define LISTED_A(age)                                                                              \
    "*2\r\n$1\r\n0\r\n*1\r\n%5\r\n$4\r\npath\r\n$1\r\na\r\n$5\r\nowner\r\n$3\r\nana\r\n"           \
    "$5\r\nstate\r\n$4\r\nheld\r\n$5\r\ntoken\r\n:42\r\n$6\r\nage_ms\r\n:" age "\r\n"

/* What it may have made is looked for later, and released if it is younger than the call. */
static void test_a_call_ends_with_its_time_budget(void **state) {
    static const struct step steps[] = {
        {.expects = TRY_A, .is_silent = true},
        {.expects = "LIST /a COUNT 1000", .replies = LISTED_A("0"), .cut_at = PEER_WHOLE},
        {.expects = "RELEASE a OWNER ana TOKEN 42", .replies = "+OK\r\n", .cut_at = PEER_WHOLE},
    };
    int64_t begun_us = lk_clock_now_us();
    struct peer peer;
    lk_store *store;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    store = open_peer(&peer);
    assert_int_equal(try_a(store, 100, NULL), LK_UNAVAILABLE);
    assert_in_range(lk_clock_now_us() - begun_us, 100000, LONG_US);
    lk_close(store);
    peer_end(&peer);
}

/* A lease that is older than a call of its owner is left alone, whatever became of the call. */
static void test_an_older_lease_is_left_alone(void **state) {
    static const struct step steps[] = {
        {.expects = TRY_A, .is_silent = true},
        {.expects = "LIST /a COUNT 1000", .replies = LISTED_A("60000"), .cut_at = PEER_WHOLE},
        {.expects = "LIST /a COUNT 1000", .replies = LISTED_A("60000"), .cut_at = PEER_WHOLE},
    };
    struct peer peer;
    lk_store *store;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    store = open_peer(&peer);
    assert_int_equal(try_a(store, 100, NULL), LK_UNAVAILABLE);
    lk_close(store);
    peer_end(&peer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_ends_with_its_time_budget),
        cmocka_unit_test(test_an_older_lease_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
