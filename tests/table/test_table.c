/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of rows as segments of paths (R17). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "../sqlite/fixture.h"
#include "engine/row_id.h"

static void ids_and_segments_are_one_to_one(void **state) {
    static const char *const pairs[][2] = {
        {"42", "42"},
        {"-1", "-1"},
        {"a b", "a%20b"},
        {"a/b", "a%2Fb"},
        {"?{}", "%3F%7B%7D"},
        {"%41", "%2541"},
        {".", "%2E"},
        {"..", "%2E%2E"},
        {"...", "..."},
        {"\x01", "%01"},
        {"\xff", "%FF"},
        {"\xc3\xa9", "\xc3\xa9"},
        {"\xe2\x80\xa8", "%E2%80%A8"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct lk_row_id segment;
        struct lk_row_id id;

        assert_true(lk_row_id_encode(lk_slice_of(pairs[i][0]), &segment));
        assert_string_equal(segment.bytes, pairs[i][1]);
        assert_true(lk_row_id_decode(lk_slice_of(pairs[i][1]), &id));
        assert_string_equal(id.bytes, pairs[i][0]);
    }
}

static void any_bytes_make_a_path_or_nothing(void **state) {
    struct lk_random random = test_random();
    (void)state;

    for (int turn = 0; turn < 20000; turn++) {
        char bytes[300];
        struct lk_slice id = {bytes, (size_t)lk_random_between(&random, 0, turn % 2 ? 12 : 299)};
        struct lk_row_id segment;
        struct lk_row_id again;
        struct lk_path path;

        for (size_t i = 0; i < id.size; i++) {
            bytes[i] = (char)lk_random_next(&random);
        }
        if (lk_row_id_encode(id, &segment)) {
            assert_int_equal(
                lk_path_parse((struct lk_slice){segment.bytes, segment.size}, &path, NULL), LK_OK);
            assert_int_equal(path.depth, 1);
            assert_true(lk_row_id_decode((struct lk_slice){segment.bytes, segment.size}, &again));
            assert_true(lk_slice_equal((struct lk_slice){again.bytes, again.size}, id));
        }
        if (lk_row_id_decode(id, &again)) {
            assert_true(lk_row_id_encode((struct lk_slice){again.bytes, again.size}, &segment));
            assert_true(lk_slice_equal((struct lk_slice){segment.bytes, segment.size}, id));
        }
    }
}

static void other_spellings_are_refused(void **state) {
    static const char *const wrong[] = {"%4", "%", "%41", "%2f", "a b", "%GG", "", ".", "%00"};
    struct lk_row_id id;
    (void)state;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(lk_row_id_decode(lk_slice_of(wrong[i]), &id));
    }
}

static void whole_numbers_are_told_from_texts(void **state) {
    static const char *const texts[] = {"007", "+1", "1.0", " 1", "", "9223372036854775808", "-0"};
    struct lk_row_id id;
    int64_t number = 0;
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        id.size = strlen(texts[i]);
        memcpy(id.bytes, texts[i], id.size + 1);
        assert_false(lk_row_id_is_integer(&id, &number));
    }
    (void)snprintf(id.bytes, sizeof id.bytes, "-9223372036854775808");
    assert_true(lk_row_id_is_integer(&id, &number));
    assert_true(number == INT64_MIN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_and_segments_are_one_to_one),
        cmocka_unit_test(any_bytes_make_a_path_or_nothing),
        cmocka_unit_test(other_spellings_are_refused),
        cmocka_unit_test(whole_numbers_are_told_from_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
