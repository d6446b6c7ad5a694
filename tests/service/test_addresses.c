/* SPDX-License-Identifier: Apache-2.0 */
/* The URLs of services, of one and of several, and which service is tried next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts_are_read),
        cmocka_unit_test(test_bad_hosts_are_refused),
        cmocka_unit_test(test_each_host_has_its_turn),
        cmocka_unit_test(test_a_single_host_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
