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
#include "lockkeeper/work.h"
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

/* ---- claims ---------------------------------------------------------------------------------- */

#define LISTED_Q(age)                                                                              \
    "*2\r\n$1\r\n0\r\n*1\r\n%5\r\n$4\r\npath\r\n$3\r\nq/1\r\n$5\r\nowner\r\n$3\r\nana\r\n"         \
    "$5\r\nstate\r\n$4\r\nheld\r\n$5\r\ntoken\r\n:42\r\n$6\r\nage_ms\r\n:" age "\r\n"
#define CLAIMED                                                                                    \
    "%6\r\n$6\r\nstatus\r\n$7\r\ngranted\r\n$5\r\nqueue\r\n$1\r\nq\r\n$2\r\nid\r\n$1\r\n1\r\n"     \
    "$7\r\nattempt\r\n:1\r\n$5\r\ntoken\r\n:42\r\n$5\r\nowner\r\n$3\r\nana\r\n"

static void claim_in_vain(struct peer *peer) {
    const lk_claim_request request = {
        .size = sizeof request, .queue = "q", .owner = "ana", .patience_ms = 100};
    lk_store *store = open_peer(peer);
    lk_claim_info *claim = NULL;

    assert_int_equal(lk_claim_next(store, &request, &claim, NULL), LK_UNAVAILABLE);
    assert_null(claim);
    lk_close(store);
}

/* The number of the ask finds what it has claimed (R3), and the item is given back. */
static void test_a_claim_without_an_answer_is_given_back(void **state) {
    static const struct step steps[] = {
        {.is_silent = true},
        {.expects = "LIST /q COUNT 1000", .replies = LISTED_Q("0"), .cut_at = PEER_WHOLE},
        {.replies = CLAIMED, .cut_at = PEER_WHOLE},
        {.expects = "RETRY q 1 OWNER ana TOKEN 42", .replies = "+OK\r\n", .cut_at = PEER_WHOLE},
    };
    struct peer peer;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    claim_in_vain(&peer);
    peer_end(&peer);
}

/* An older claim of that owner is not the call's, and no other item is claimed to find that out. */
static void test_an_older_claim_is_left_alone(void **state) {
    static const struct step steps[] = {
        {.is_silent = true},
        {.expects = "LIST /q COUNT 1000", .replies = LISTED_Q("60000"), .cut_at = PEER_WHOLE},
        {.expects = "LIST /q COUNT 1000", .replies = LISTED_Q("60000"), .cut_at = PEER_WHOLE},
        {.expects = "LIST /q COUNT 1000", .replies = LISTED_Q("60000"), .cut_at = PEER_WHOLE},
        {.expects = "LIST /q COUNT 1000", .replies = LISTED_Q("60000"), .cut_at = PEER_WHOLE},
    };
    struct peer peer;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    claim_in_vain(&peer);
    peer_end_whatever_came(&peer); /* how often it has looked is a matter of time */
    assert_string_equal(peer.complaint, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_ends_with_its_time_budget),
        cmocka_unit_test(test_an_older_lease_is_left_alone),
        cmocka_unit_test(test_a_claim_without_an_answer_is_given_back),
        cmocka_unit_test(test_an_older_claim_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
