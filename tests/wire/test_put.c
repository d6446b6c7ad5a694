/* SPDX-License-Identifier: Apache-2.0 */
/* What is written, in both versions; and that a full buffer takes no part of a value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "wire/resp.h"

static void assert_written(struct lk_buffer *out, const char *expected) {
    assert_false(out->failed);
    assert_int_equal(out->size, strlen(expected));
    assert_memory_equal(out->bytes, expected, out->size);
    lk_buffer_done(out);
}

static void put_one_of_each(struct lk_buffer *out, int version) {
    lk_resp_put_simple(out, "OK");
    lk_resp_put_number(out, INT64_MIN);
    lk_resp_put_bulk(out, lk_slice_of("a\r\nb"));
    lk_resp_put_bulk(out, lk_slice_of(""));
    lk_resp_put_null(out, version);
    lk_resp_put_boolean(out, version, true);
    lk_resp_put_boolean(out, version, false);
    lk_resp_insert_map(out, version, out->size, 5);
    lk_resp_put_array(out, 12);
    lk_resp_put_push(out, version, 3);
}

static void test_version_2(void **state) {
    struct lk_buffer out = {0};

    (void)state;
    put_one_of_each(&out, 2);
    assert_written(&out,
                   "+OK\r\n:-9223372036854775808\r\n$4\r\na\r\nb\r\n$0\r\n\r\n$-1\r\n:1\r\n:0\r\n"
                   "*10\r\n*12\r\n*3\r\n");
}

static void test_version_3(void **state) {
    struct lk_buffer out = {0};

    (void)state;
    put_one_of_each(&out, 3);
    assert_written(&out,
                   "+OK\r\n:-9223372036854775808\r\n$4\r\na\r\nb\r\n$0\r\n\r\n_\r\n#t\r\n#f\r\n"
                   "%5\r\n*12\r\n>3\r\n");
}

/* An error is one line, whatever is in its text. */
static void test_errors(void **state) {
    struct lk_buffer out = {0};

    (void)state;
    lk_resp_put_error(&out, "LOST", lk_slice_of("not\r\nheld"));
    lk_resp_put_error(&out, "LOST", lk_slice_of(""));
    lk_resp_put_error(&out, "", lk_slice_of("MOVED 0 a:1"));
    assert_written(&out, "-LOST not  held\r\n-LOST\r\n-MOVED 0 a:1\r\n");
}

static void test_inserted_headers(void **state) {
    struct lk_buffer out = {0};
    size_t at;

    (void)state;
    lk_resp_put_simple(&out, "OK");
    at = out.size;
    lk_resp_put_number(&out, 1);
    lk_resp_put_number(&out, 2);
    lk_resp_insert_map(&out, 3, at, 1);
    lk_resp_insert_map(&out, 2, at, 11);
    lk_resp_insert_array(&out, at, 100);
    assert_written(&out, "+OK\r\n*100\r\n*22\r\n%1\r\n:1\r\n:2\r\n");
}

/* At every bound: what failed is left out as a whole, and so is all behind it. */
static void test_bounds(void **state) {
    (void)state;
    for (size_t max = 1; max < 64; max++) {
        struct lk_buffer out = {.max = max};
        lk_resp_put_bulk(&out, lk_slice_of("0123456789"));
        assert_in_range(out.size, 0, max);
        assert_int_equal(out.failed, out.size == 0);
        if (out.failed) {
            lk_resp_put_null(&out, 3);
            lk_buffer_insert(&out, 0, "x", 1);
            assert_int_equal(out.size, 0);
        }
        lk_buffer_done(&out);
    }
}

static void test_buffer(void **state) {
    struct lk_buffer buffer = {.max = 1000};

    (void)state;
    lk_buffer_add_text(&buffer, "abcdef");
    lk_buffer_consume(&buffer, 2);
    lk_buffer_consume(&buffer, 0);
    lk_buffer_cut(&buffer, 3);
    lk_buffer_add_number(&buffer, -70);
    lk_buffer_insert(&buffer, 3, "+", 1);
    lk_buffer_add(&buffer, NULL, 0);
    assert_written(&buffer, "cde+-70");
    assert_int_equal(buffer.max, 1000);
    assert_null(lk_buffer_reserve(&buffer, 1001));
    assert_true(buffer.failed);
    lk_buffer_done(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_2), cmocka_unit_test(test_version_3),
        cmocka_unit_test(test_errors),    cmocka_unit_test(test_inserted_headers),
        cmocka_unit_test(test_bounds),    cmocka_unit_test(test_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
