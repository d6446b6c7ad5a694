/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies of a scripted service that are wrong, or do not come: a malformed record is refused, read
 * by the tables of records; what a call whose ask had no answer may have made is looked for, and
 * ended if it is new.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lockkeeper/watch.h"
#include "peer.h"

/* ---- malformed records ----------------------------------------------------------------------- */

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static lk_store *open_peer(const struct peer *peer) {
    lk_store *store = NULL;

    assert_int_equal(lk_open(peer->url, &store, NULL), LK_OK);
    return store;
}

#define PATH_A "$4\r\npath\r\n$1\r\na\r\n"
#define OWNER_A "$5\r\nowner\r\n$1\r\nA\r\n"

/* What a table of fields needs, and what lists beside each other have in common. */
static void test_a_record_without_a_required_field_is_refused(void **state) {
    static const char *const listings[] = {
        "%1\r\n" PATH_A,
        "%2\r\n" PATH_A "$5\r\nowner\r\n_\r\n",
        "%3\r\n" PATH_A OWNER_A "$8\r\nblockers\r\n*1\r\n%1\r\n" PATH_A,
        "%3\r\n" PATH_A OWNER_A "$6\r\nticket\r\n:-1\r\n",
    };
    struct lk_error error;

    (void)state;
    for (size_t i = 0; i < COUNT(listings); i++) {
        char reply[512];
        const struct step steps[] = {{.replies = reply, .cut_at = PEER_WHOLE}};
        struct peer peer;
        lk_store *store;
        lk_listing *listing;

        (void)snprintf(reply, sizeof reply, "*2\r\n$1\r\n0\r\n*1\r\n%s", listings[i]);
        peer_start(&peer, peer_hello_3, steps, COUNT(steps));
        store = open_peer(&peer);
        assert_int_equal(lk_show(store, "a", &listing, &error), LK_INTERNAL);
        assert_string_equal(error.text, "the service's answer has an unexpected form");
        lk_close(store);
        peer_end(&peer);
    }
}

#define GRANTED_EVENT "$5\r\nevent\r\n$7\r\ngranted\r\n"
#define PATHS_OF_A "$5\r\npaths\r\n*1\r\n$1\r\na\r\n"

static void test_an_event_has_as_many_parts_as_paths(void **state) {
    static const struct {
        const char *event;
        lk_outcome outcome;
    } known[] = {
        {"%3\r\n" GRANTED_EVENT PATHS_OF_A "$5\r\nparts\r\n*1\r\n$1\r\na\r\n", LK_OK},
        {"%2\r\n" GRANTED_EVENT PATHS_OF_A, LK_INTERNAL},
        {"%2\r\n" GRANTED_EVENT "$5\r\nparts\r\n*1\r\n$1\r\na\r\n", LK_INTERNAL},
        {"%3\r\n" GRANTED_EVENT PATHS_OF_A "$5\r\nparts\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n",
         LK_INTERNAL},
        {"%3\r\n" GRANTED_EVENT PATHS_OF_A PATHS_OF_A, LK_INTERNAL},
        {"%1\r\n" GRANTED_EVENT, LK_INTERNAL},
        {"%1\r\n$5\r\nevent\r\n$3\r\ngap\r\n", LK_OK},
        {"%1\r\n$5\r\nevent\r\n$5\r\nother\r\n", LK_INTERNAL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(known); i++) {
        char reply[512];
        const struct step steps[] = {
            {.replies = "*2\r\n:5\r\n*0\r\n", .cut_at = PEER_WHOLE},
            {.replies = reply, .cut_at = PEER_WHOLE},
        };
        const lk_watch_options options = {.size = sizeof options};
        const lk_watch_event *event;
        struct peer peer;
        lk_store *store;
        lk_watch *watch;

        (void)snprintf(reply, sizeof reply, "*2\r\n:6\r\n*1\r\n%s", known[i].event);
        peer_start(&peer, peer_hello_3, steps, COUNT(steps));
        store = open_peer(&peer);
        assert_int_equal(lk_watch_open(store, &options, &watch, NULL), LK_OK);
        assert_int_equal(lk_watch_next(watch, LK_FOREVER, NULL, &event, NULL), known[i].outcome);
        lk_watch_close(watch);
        lk_close(store);
        peer_end(&peer);
    }
}

#define NOT_ADDED "$5\r\nadded\r\n:0\r\n"

static void test_a_push_says_what_it_has_found(void **state) {
    static const struct {
        const char *answer;
        lk_outcome outcome;
        const char *was;
    } known[] = {
        {"%1\r\n$5\r\nadded\r\n:1\r\n", LK_OK, NULL},
        {"%2\r\n" NOT_ADDED "$3\r\nwas\r\n$5\r\nagain\r\n", LK_OK, "again"},
        {"%1\r\n" NOT_ADDED, LK_INTERNAL, NULL},
        {"%2\r\n" NOT_ADDED "$3\r\nwas\r\n$5\r\nother\r\n", LK_INTERNAL, NULL},
        {":1\r\n", LK_INTERNAL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(known); i++) {
        const struct step steps[] = {
            {.expects = "PUSH q 1 META", .replies = known[i].answer, .cut_at = PEER_WHOLE}};
        const lk_push_request request = {.size = sizeof request, .queue = "q", .id = "1"};
        lk_push_result result = {.was = NULL};
        struct peer peer;
        lk_store *store;

        peer_start(&peer, peer_hello_3, steps, COUNT(steps));
        store = open_peer(&peer);
        assert_int_equal(lk_push_item(store, &request, &result, NULL), known[i].outcome);
        if (known[i].was != NULL) {
            assert_string_equal(result.was, known[i].was);
        }
        lk_close(store);
        peer_end(&peer);
    }
}

#define WELL                                                                                       \
    "# Server\r\nlockkeeper_version:" LK_VERSION                                                   \
    "\r\ndurability:full\r\nloading:0\r\ncan_write:1\r\n"

/* What needs an operator is a warning; a service of another version may say less. */
static void test_an_examination_warns_an_operator(void **state) {
    static const struct {
        const char *info;
        const char *warning; /* NULL: none */
    } known[] = {
        {WELL, NULL},
        {"", NULL},
        {"connected_clients:1\r\n", NULL},
        {WELL "connected_clients:79\r\nconnections_max:100\r\n", NULL},
        {WELL "disk_free_bytes:99999999999\r\n", NULL},
        {WELL "connected_clients:80\r\nconnections_max:100\r\n", "80 connections are open"},
        {WELL "refused_full:7\r\n", "7 connections were refused"},
        {WELL "refused_files:2\r\n", "connections had to wait 2 times"},
        {WELL "commit_running_ms:1000\r\n", "under way for 1000 ms"},
        {WELL "commit_p99_us:100000\r\n", "the disk is slow"},
        {WELL "log_bytes:67108865\r\n", "the write-ahead log is large"},
        {WELL "disk_free_bytes:5242880\r\n", "only 5 MiB are left"},
        {"lockkeeper_version:99.0\r\n", "the service is of version 99.0"},
        {"durability:none\r\n", "in memory only"},
        {"loading:1\r\n", "the store is not loaded"},
        {"can_write:0\r\n", "the last write failed"},
        {WELL "refused_full:99999999999999999999999999\r\nconnections_max\r\n:\r\n", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(known); i++) {
        char reply[512];
        const struct step steps[] = {
            {.expects = "INFO", .replies = reply, .cut_at = PEER_WHOLE},
        };
        struct peer peer;
        lk_store *store;
        lk_report *report;

        (void)snprintf(reply, sizeof reply, "$%zu\r\n%s\r\n", strlen(known[i].info), known[i].info);
        peer_start(&peer, peer_hello_3, steps, COUNT(steps));
        store = open_peer(&peer);
        assert_int_equal(lk_examine(store, &report, NULL), LK_OK);
        if (known[i].warning == NULL) {
            assert_string_equal(report->warnings, "");
        } else {
            assert_non_null(strstr(report->warnings, known[i].warning));
        }
        lk_report_free(report);
        lk_close(store);
        peer_end(&peer);
    }
}

/* ---- answers that do not come ---------------------------------------------------------------- */

/* cmocka.h needs those four before it. */
#include <cmocka.h>

#include "base/clock.h"
#include "lockkeeper/work.h"
#include "peer.h"

#define LONG_US INT64_C(20000000)

/* A patience that ends a call, but not before it has asked. */
static int brief_ms(void) {
    return 100 * peer_stretch();
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
    assert_int_equal(try_a(store, brief_ms(), NULL), LK_UNAVAILABLE);
    assert_in_range(lk_clock_now_us() - begun_us, brief_ms() * 1000, LONG_US * peer_stretch());
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
    assert_int_equal(try_a(store, brief_ms(), NULL), LK_UNAVAILABLE);
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
        .size = sizeof request, .queue = "q", .owner = "ana", .patience_ms = brief_ms()};
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
        {.expects = "RETRY q 1 OWNER ana TOKEN 42 UNCOUNTED",
         .replies = "+OK\r\n",
         .cut_at = PEER_WHOLE},
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
        cmocka_unit_test(test_a_record_without_a_required_field_is_refused),
        cmocka_unit_test(test_an_event_has_as_many_parts_as_paths),
        cmocka_unit_test(test_a_push_says_what_it_has_found),
        cmocka_unit_test(test_an_examination_warns_an_operator),
        cmocka_unit_test(test_a_call_ends_with_its_time_budget),
        cmocka_unit_test(test_an_older_lease_is_left_alone),
        cmocka_unit_test(test_a_claim_without_an_answer_is_given_back),
        cmocka_unit_test(test_an_older_claim_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
