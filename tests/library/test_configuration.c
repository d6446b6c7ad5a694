/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files: what is understood, and what each refusal says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/configuration.h"
#include "support.h"

static char path[64];

static int make_file(void **state) {
    (void)state;
    (void)strcpy(path, "/tmp/lk-conf-XXXXXX");
    int descriptor = mkstemp(path);
    return descriptor >= 0 ? close(descriptor) : -1;
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static lk_outcome read_bytes(const char *bytes, size_t size, struct lk_configured_store *ret_store,
                             lk_error *error) {
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return lk_configuration_read(path, ret_store, error);
}

/* `url` NULL: the text names no store. */
static void assert_names(const char *text, const char *url, unsigned line) {
    struct lk_configured_store store;
    char at[80];

    assert_int_equal(read_bytes(text, strlen(text), &store, NULL), LK_OK);
    if (url == NULL) {
        assert_null(store.url);
        assert_null(store.at);
        return;
    }
    (void)snprintf(at, sizeof at, "%s:%u", path, line);
    assert_string_equal(store.url, url);
    assert_string_equal(store.at, at);
    free(store.url);
    free(store.at);
}

static void assert_refused(const char *text, lk_outcome outcome, unsigned line, const char *word) {
    struct lk_configured_store store;
    lk_error error;
    char at[80];

    assert_int_equal(read_bytes(text, strlen(text), &store, &error), outcome);
    assert_null(store.url);
    assert_null(store.at);
    (void)snprintf(at, sizeof at, "%s:%u: ", path, line);
    if (strncmp(error.text, at, strlen(at)) != 0 || strstr(error.text, word) == NULL) {
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", error.text, at, word);
    }
}

static void test_a_file_names_a_store(void **state) {
    (void)state;
    assert_names("store = mem:a\n", "mem:a", 1);
    assert_names("store=mem:a", "mem:a", 1);
    assert_names("\t store\t=  mem:a \r\n", "mem:a", 1);
    assert_names("# store = mem:b\n\n  # more\nstore = mem:a#b\n", "mem:a#b", 4);
    assert_names("store = mem:a\nstore = mem:b\n", "mem:b", 2);
    assert_names("store = lk://db.example?password-file=/etc/lk.pw\n",
                 "lk://db.example?password-file=/etc/lk.pw", 1);
}

static void test_a_file_may_name_none(void **state) {
    (void)state;
    assert_names("", NULL, 0);
    assert_names("\n  \n# store = mem:a\n", NULL, 0);
}

static void test_what_is_not_understood_is_refused(void **state) {
    struct lk_configured_store store;
    lk_error error;

    (void)state;
    assert_refused("store mem:a\n", LK_INVALID, 1, "store = URL");
    assert_refused("\n[main]\n", LK_INVALID, 2, "\"=\"");
    assert_refused("store = mem:a\nshop = mem:a\n", LK_INVALID, 2, "unknown name");
    assert_refused("= mem:a\n", LK_INVALID, 1, "unknown name");
    assert_refused("store =\n", LK_INVALID, 1, "no URL");
    assert_refused("store = locks.db\n", LK_INVALID, 1, "scheme");
    assert_refused("# a\nstore = x-db:y\n", LK_UNSUPPORTED, 2, "x-db:");
    assert_refused("store = lk://h?password-file=pw\n", LK_INVALID, 1, "begin it with /");
    assert_refused("store = lk+unix:lk.sock\n", LK_INVALID, 1, "begin it with /");
    assert_int_equal(read_bytes("store\0= mem:a\n", 14, &store, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "byte 0"));
}

static void test_files_that_cannot_be_read(void **state) {
    struct lk_configured_store store;
    lk_error error;

    (void)state;
    assert_int_equal(lk_configuration_read("/nonexistent/lk.conf", &store, &error), LK_OK);
    assert_null(store.url);
    assert_int_equal(lk_configuration_read("/", &store, &error), LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "configuration file /"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_names_a_store),
        cmocka_unit_test(test_a_file_may_name_none),
        cmocka_unit_test(test_what_is_not_understood_is_refused),
        cmocka_unit_test(test_files_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
