/* SPDX-License-Identifier: Apache-2.0 */
/* The client of several services, scripted ones: which of them it turns to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* cmocka.h needs those four before it. */
#include <cmocka.h>

#include "lockkeeper/lockkeeper.h"
#include "peer.h"
#include "try_a.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define GRANTED_A "%2\r\n$6\r\nstatus\r\n$7\r\ngranted\r\n$5\r\ntoken\r\n:42\r\n"

/* Nothing listens there. */
#define ABSENT "127.0.0.1:1"

enum { STEPS = 64, BRIEF_MS = 200 };

/* The leader that is named is away, so the list goes on behind the service that has named it. */
static void test_other_services_of_the_url_are_tried(void **state) {
    static const struct step here[] = {
        {.expects = TRY_A, .replies = "-MOVED 0 " ABSENT "\r\n", .cut_at = PEER_WHOLE}};
    static const struct step there[] = {
        {.expects = TRY_A, .replies = GRANTED_A, .cut_at = PEER_WHOLE},
        {.expects = TRY_A, .replies = GRANTED_A, .cut_at = PEER_WHOLE}};
    struct peer follower;
    struct peer leader;
    char url[128];
    lk_store *store;

    (void)state;
    peer_start_on_loopback(&follower, peer_hello_3, here, COUNT(here));
    peer_start_on_loopback(&leader, peer_hello_3, there, COUNT(there));
    (void)snprintf(url, sizeof url, "lk://" ABSENT ",127.0.0.1:%d,127.0.0.1:%d", follower.port,
                   leader.port);
    assert_int_equal(lk_open(url, &store, NULL), LK_OK);
    assert_string_equal(lk_store_url(store), url);
    assert_int_equal(try_a(store, 0, NULL), LK_GRANTED);
    assert_int_equal(try_a(store, 0, NULL), LK_GRANTED); /* it is remembered */
    lk_close(store);
    peer_end(&follower);
    peer_end(&leader);
}

/* What one of them refuses does not keep a client from the others. */
static void test_one_that_refuses_is_passed_over(void **state) {
    struct peer refusing;
    struct peer leader;
    char url[128];
    lk_store *store;
    lk_error error;

    (void)state;
    peer_start_on_loopback(&refusing, "-WRONGPASS no\r\n", NULL, 0);
    peer_start_on_loopback(&leader, peer_hello_3, NULL, 0);
    (void)snprintf(url, sizeof url, "lk://127.0.0.1:%d,127.0.0.1:%d", refusing.port, leader.port);
    assert_int_equal(lk_open(url, &store, NULL), LK_OK);
    lk_close(store);
    peer_end(&leader);
    (void)snprintf(url, sizeof url, "lk://127.0.0.1:%d,127.0.0.1:%d", refusing.port, refusing.port);
    assert_int_equal(lk_open(url, &store, &error), LK_DENIED);
    peer_end(&refusing);
}

static void test_no_service_of_the_url_is_there(void **state) {
    lk_store *store;
    lk_error error;

    (void)state;
    assert_int_equal(lk_open("lk://" ABSENT "," ABSENT, &store, &error), LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "none of the 2 services can be used"));
    assert_int_equal(lk_open("lk://" ABSENT, &store, &error), LK_UNAVAILABLE);
    assert_null(strstr(error.text, "none of"));
}

/* Each says that another leads: the call ends with its patience, and pauses meanwhile. */
static void test_redirects_without_end_are_unavailable(void **state) {
    static struct step steps[STEPS];
    char moved[64];
    struct peer peer;
    lk_store *store;

    (void)state;
    for (size_t i = 0; i < STEPS; i++) {
        steps[i] = (struct step){.expects = TRY_A, .replies = moved, .cut_at = PEER_WHOLE};
    }
    peer_start_on_loopback(&peer, peer_hello_3, steps, STEPS);
    (void)snprintf(moved, sizeof moved, "-MOVED 0 127.0.0.1:%d\r\n", peer.port);
    assert_int_equal(lk_open(peer.url, &store, NULL), LK_OK);
    assert_int_equal(try_a(store, BRIEF_MS, NULL), LK_UNAVAILABLE);
    lk_close(store);
    assert_true(peer.step < STEPS);
    peer_end_whatever_came(&peer);
}

/* A service that is not the named leader is asked nothing; the message has both addresses. */
/* Whether the error says all of it. On a busy machine a brief call may end before it knows. */
static bool says_soon(lk_store *store, const char *const texts[3],
                      char ret_error[LK_ERROR_TEXT_MAX]) {
    bool says = false;

    for (int patience_ms = BRIEF_MS; !says && patience_ms <= 32 * BRIEF_MS; patience_ms *= 2) {
        lk_result *result = NULL;

        assert_int_not_equal(try_a(store, patience_ms, &result), LK_GRANTED);
        (void)snprintf(ret_error, LK_ERROR_TEXT_MAX, "%s", result->error);
        lk_result_free(result);
        says = strstr(ret_error, texts[0]) != NULL && strstr(ret_error, texts[1]) != NULL
               && strstr(ret_error, texts[2]) != NULL;
    }
    return says;
}

static void test_a_wrong_leader_is_refused(void **state) {
    static const struct {
        const char *info; /* NULL: nothing listens there */
        const char *says;
    } cases[] = {
        {"$13\r\nrole:master\r\n\r\n", "has a store of its own"},
        {"$13\r\nis_leader:0\r\n\r\n", "does not lead"},
        {"$28\r\nis_leader:1\r\nleader:h:7420\r\n\r\n", "advertised as h:7420"},
        {"-DENIED no user may do this\r\n", "no user may do this"},
        {NULL, "Connection refused"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        static struct step asks[STEPS];
        static struct step infos[STEPS];
        char moved[64] = "-MOVED 0 " ABSENT "\r\n";
        char named[96];
        struct peer stranger;
        struct peer follower;
        char error[LK_ERROR_TEXT_MAX];
        lk_store *store;

        for (size_t step = 0; step < STEPS; step++) {
            infos[step] =
                (struct step){.expects = "INFO", .replies = cases[i].info, .cut_at = PEER_WHOLE};
            asks[step] = (struct step){.expects = TRY_A, .replies = moved, .cut_at = PEER_WHOLE};
        }
        peer_start_on_loopback(&stranger, peer_hello_3, infos, STEPS);
        if (cases[i].info != NULL) {
            (void)snprintf(moved, sizeof moved, "-MOVED 0 127.0.0.1:%d\r\n", stranger.port);
        }
        peer_start_on_loopback(&follower, peer_hello_3, asks, STEPS);
        (void)snprintf(named, sizeof named, "127.0.0.1:%d says that %.*s leads", follower.port,
                       (int)strcspn(moved + 9, "\r"), moved + 9);
        assert_int_equal(lk_open(follower.url, &store, NULL), LK_OK);
        if (!says_soon(store, (const char *const[]){named, cases[i].says, "--advertise"}, error)) {
            fail_msg("%s: %s", cases[i].says, error);
        }
        lk_close(store);
        peer_end_whatever_came(&follower);
        assert_string_equal(stranger.complaint, "");
        peer_end_whatever_came(&stranger);
    }
}

/* It would go over the network in plain text, which its user did not ask for. */
static void test_the_password_of_a_socket_stays_here(void **state) {
    static struct step steps[STEPS];
    char moved[64];
    char url[160];
    struct peer peer;
    struct peer leader;
    lk_store *store;

    (void)state;
    peer_start_on_loopback(&leader, peer_hello_3, NULL, 0);
    (void)snprintf(moved, sizeof moved, "-MOVED 0 127.0.0.1:%d\r\n", leader.port);
    for (size_t i = 0; i < STEPS; i++) {
        steps[i] = (struct step){.expects = TRY_A, .replies = moved, .cut_at = PEER_WHOLE};
    }
    peer_start(&peer, peer_hello_3, steps, STEPS);
    (void)snprintf(url, sizeof url, "%s?password=secret", peer.url);
    assert_int_equal(lk_open(url, &store, NULL), LK_OK);
    assert_int_equal(try_a(store, BRIEF_MS, NULL), LK_UNAVAILABLE);
    lk_close(store);
    peer_end_whatever_came(&peer);
    assert_int_equal(leader.connections, 0);
    peer_end_whatever_came(&leader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_services_of_the_url_are_tried),
        cmocka_unit_test(test_one_that_refuses_is_passed_over),
        cmocka_unit_test(test_no_service_of_the_url_is_there),
        cmocka_unit_test(test_redirects_without_end_are_unavailable),
        cmocka_unit_test(test_a_wrong_leader_is_refused),
        cmocka_unit_test(test_the_password_of_a_socket_stays_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
