/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several services at one URL: how it is read, which service is tried next, and which of several,
 * scripted ones, the client turns to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- URLs ------------------------------------------------------------------------------------ */

/* cmocka.h needs those four before it. */
#include <cmocka.h>

#include "base/text.h"
#include "engine/service/address.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static lk_outcome parse(const char *rest, struct lk_service_addresses *ret_addresses,
                        struct lk_service_login *ret_login, lk_error *error) {
    return lk_service_url_parse(lk_slice_of(rest), false, ret_addresses, ret_login, NULL, error);
}

static void test_hosts_are_read(void **state) {
    static const struct {
        const char *rest;
        const char *hosts; /* as they are written in messages */
        const char *user;
        const char *password;
    } cases[] = {
        {"//h", "h:7420", "", ""},
        {"//h:1/", "h:1", "", ""},
        {"//h1,h2", "h1:7420 h2:7420", "", ""},
        {"//h1:1,h2,h3:3", "h1:1 h2:7420 h3:3", "", ""},
        {"//[::1],[::2]:9,h3/", "[::1]:7420 [::2]:9 h3:7420", "", ""},
        {"//ana:se,cr@h1,h2", "h1:7420 h2:7420", "ana", "se,cr"},
        {"//ana:se,cr@t@h1", "h1:7420", "ana", "se,cr@t"},
        {"//ana:s%40,cr@h1,h2", "h1:7420 h2:7420", "ana", "s@,cr"},
        {"//ana:12%2Ccr@h1,h2", "h1:7420 h2:7420", "ana", "12,cr"},
        {"//ana:12@h1,h2", "h1:7420 h2:7420", "ana", "12"},
        {"//h%31,h2?user=ana&password=a%2Cb", "h1:7420 h2:7420", "ana", "a,b"},
        {"//a,a", "a:7420 a:7420", "", ""},
        {"//1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g",
         "1:7420 2:7420 3:7420 4:7420 5:7420 6:7420 7:7420 8:7420 9:7420 a:7420 b:7420 c:7420 "
         "d:7420 e:7420 f:7420 g:7420",
         "", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct lk_service_addresses addresses;
        struct lk_service_login login;
        char bytes[1024] = "";
        struct lk_text text = lk_text_in(bytes, sizeof bytes);
        lk_error error;

        assert_int_equal(parse(cases[i].rest, &addresses, &login, &error), LK_OK);
        for (size_t host = 0; host < addresses.count; host++) {
            char name[LK_SERVICE_ADDRESS_TEXT_BYTES];

            lk_service_address_write(&addresses.each[host], name);
            lk_text_format(&text, "%s%s", host > 0 ? " " : "", name);
        }
        assert_string_equal(bytes, cases[i].hosts);
        assert_string_equal(login.user, cases[i].user);
        assert_string_equal(login.password, cases[i].password);
    }
}

static void test_bad_hosts_are_refused(void **state) {
    static const struct {
        const char *rest;
        const char *says;
    } cases[] = {
        {"//", "HOST:PORT"},
        {"//,", "HOST:PORT"},
        {"//h1,,h2", "HOST:PORT"},
        {"//h1,h2,", "HOST:PORT"},
        {"//,h1", "HOST:PORT"},
        {"//h1,h2:0", "a port is"},
        {"//h1,h2:x", "a port is"},
        {"//h1,[::2", "IPv6"},
        {"//h1,h%2", "HOST:PORT"},
        {"//1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h", "at most 16 services"},
        {"//h1,h2?ca=x", "unknown option"},
        {"//ana:secret@h1,ana:secret@h2", "stands once"},
        {"//ana:secret@h1:7420,h2,ana:secret@h3", "stands once"},
        {"//h1,ana:secret@h2", "stands once"},
        {"//h1:7420,secret@h2", "stands once"},
        {"//127.0.0.1:17431,ana:secret@h2:7", "%2C for a comma"},
        {"//[::1]:7420,ana:secret@h2", "stands once"},
        {"//[::1],ana@h2", "stands once"},
        {"//ana@h1,ana@h2", "stands once"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct lk_service_addresses addresses;
        struct lk_service_login login;
        lk_error error;

        assert_int_equal(parse(cases[i].rest, &addresses, &login, &error), LK_INVALID);
        if (strstr(error.text, cases[i].says) == NULL || strstr(error.text, "secret") != NULL) {
            fail_msg("%s: %s", cases[i].rest, error.text);
        }
    }
}

/* ---- turns ----------------------------------------------------------------------------------- */

static struct lk_service_address named(const char *text) {
    struct lk_service_address address;

    assert_int_equal(lk_service_address_parse(lk_slice_of(text), &address, NULL), LK_OK);
    return address;
}

static void assert_at(const struct lk_service_hosts *hosts, const char *host) {
    assert_string_equal(hosts->address.host, host);
}

static void test_each_host_has_its_turn(void **state) {
    const struct lk_service_address elsewhere = named("d");
    struct lk_service_hosts hosts = {.generation = 0};
    struct lk_service_addresses all;
    struct lk_service_login login;
    lk_error error;

    (void)state;
    assert_int_equal(parse("//a,b,c", &all, &login, &error), LK_OK);
    lk_service_hosts_begin(&hosts, &all);
    assert_at(&hosts, "a");
    lk_service_hosts_advance(&hosts, &all.each[0]);
    assert_at(&hosts, "b");
    lk_service_hosts_advance(&hosts, &all.each[0]); /* another call has seen to it */
    assert_at(&hosts, "b");
    lk_service_hosts_redirect(&hosts, &elsewhere, &all.each[0]);
    assert_at(&hosts, "d");
    assert_int_equal(hosts.generation, 1);
    lk_service_hosts_advance(&hosts, &elsewhere); /* not b, which has named it */
    assert_at(&hosts, "c");
    lk_service_hosts_redirect(&hosts, &all.each[0], &all.each[1]);
    lk_service_hosts_advance(&hosts, &all.each[0]); /* a has just failed */
    assert_at(&hosts, "b");
    lk_service_hosts_redirect(&hosts, &all.each[0], &all.each[1]); /* b still names it */
    lk_service_hosts_advance(&hosts, &all.each[0]);
    assert_at(&hosts, "c");
    lk_service_hosts_advance(&hosts, &all.each[2]);
    assert_at(&hosts, "a");
}

static void test_a_single_host_is_kept(void **state) {
    const struct lk_service_address elsewhere = named("d");
    struct lk_service_hosts hosts = {.generation = 0};
    struct lk_service_addresses all;
    struct lk_service_login login;
    lk_error error;

    (void)state;
    assert_int_equal(parse("//a", &all, &login, &error), LK_OK);
    lk_service_hosts_begin(&hosts, &all);
    lk_service_hosts_advance(&hosts, &all.each[0]);
    assert_at(&hosts, "a");
    lk_service_hosts_redirect(&hosts, &elsewhere, &all.each[0]);
    lk_service_hosts_advance(&hosts, &elsewhere);
    assert_at(&hosts, "a");
}

/* ---- scripted services ----------------------------------------------------------------------- */

/* cmocka.h needs those four before it. */
#include <cmocka.h>

#include "lockkeeper/lockkeeper.h"
#include "peer.h"

#define GRANTED_A                                                                                  \
    "%3\r\n$6\r\nstatus\r\n$7\r\ngranted\r\n$5\r\ntoken\r\n:42\r\n"                                \
    "$13\r\nexpires_in_ms\r\n:60000\r\n"

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
        cmocka_unit_test(test_hosts_are_read),
        cmocka_unit_test(test_bad_hosts_are_refused),
        cmocka_unit_test(test_each_host_has_its_turn),
        cmocka_unit_test(test_a_single_host_is_kept),
        cmocka_unit_test(test_other_services_of_the_url_are_tried),
        cmocka_unit_test(test_one_that_refuses_is_passed_over),
        cmocka_unit_test(test_no_service_of_the_url_is_there),
        cmocka_unit_test(test_redirects_without_end_are_unavailable),
        cmocka_unit_test(test_a_wrong_leader_is_refused),
        cmocka_unit_test(test_the_password_of_a_socket_stays_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
