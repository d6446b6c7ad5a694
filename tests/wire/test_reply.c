/* SPDX-License-Identifier: Apache-2.0 */
/* Replies: every type, how far they reach, the walk over them, and what is none. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/text.h"
#include "wire/resp.h"

enum { REPLY_BYTES_MAX = 120 };

static void tell(struct lk_resp_cursor *cursor, struct lk_text *text);

static void tell_several(struct lk_resp_cursor *cursor, size_t count, const char *ends,
                         struct lk_text *text) {
    lk_text_format(text, "%c", ends[0]);
    for (size_t i = 0; i < count; i++) {
        lk_text_format(text, "%s", i > 0 ? " " : "");
        tell(cursor, text);
    }
    lk_text_format(text, "%c", ends[1]);
}

/* One value as text: text as it is, numbers in digits, aggregates in brackets. */
static void tell(struct lk_resp_cursor *cursor, struct lk_text *text) {
    static const char *const marks[] = {
        [LK_RESP_SIMPLE] = "+",
        [LK_RESP_ERROR] = "-",
        [LK_RESP_BULK] = "$",
        [LK_RESP_DOUBLE] = ",",
    };
    struct lk_resp_value value;

    assert_true(lk_resp_cursor_next(cursor, &value));
    switch (value.kind) {
    case LK_RESP_NUMBER:
        lk_text_format(text, "%" PRId64, value.number);
        break;
    case LK_RESP_BOOLEAN:
        lk_text_format(text, "%s", value.number != 0 ? "true" : "false");
        break;
    case LK_RESP_NULL:
        lk_text_format(text, "null");
        break;
    case LK_RESP_ARRAY:
        tell_several(cursor, value.count, "[]", text);
        break;
    case LK_RESP_PUSH:
        tell_several(cursor, value.count, "<>", text);
        break;
    case LK_RESP_MAP:
        tell_several(cursor, value.count * 2, "{}", text);
        break;
    default:
        lk_text_format(text, "%s%.*s", marks[value.kind], (int)value.text.size, value.text.bytes);
        break;
    }
}

static const struct {
    const char *input;
    const char *expected;
} good[] = {
    {"+OK\r\n", "+OK"},
    {"-BUSY not now\r\n", "-BUSY not now"},
    {":-12\r\n", "-12"},
    {"$3\r\na\r\n\r\n", "$a\r\n"},
    {"$0\r\n\r\n", "$"},
    {"$-1\r\n", "null"},
    {"*-1\r\n", "null"},
    {"_\r\n", "null"},
    {"#t\r\n", "true"},
    {"#f\r\n", "false"},
    {",1.5\r\n", ",1.5"},
    {"(123456789012345678901\r\n", ",123456789012345678901"},
    {"!4\r\nFULL\r\n", "-FULL"},
    {"=5\r\ntxt:a\r\n", "$a"},
    {"*0\r\n", "[]"},
    {"*2\r\n:1\r\n*1\r\n+x\r\n", "[1 [+x]]"},
    {"%1\r\n$6\r\nstatus\r\n*2\r\n#t\r\n%0\r\n", "{$status [true {}]}"},
    {"~1\r\n:7\r\n", "[7]"},
    {">2\r\n+watch\r\n%1\r\n+a\r\n:1\r\n", "<+watch {+a 1}>"},
    {"|1\r\n+ttl\r\n*1\r\n:3\r\n+OK\r\n", "+OK"},
    {"*2\r\n|1\r\n+a\r\n:1\r\n+x\r\n+y\r\n", "[+x +y]"},
};

static void assert_reply(struct lk_slice reply, const char *expected) {
    char bytes[256];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);
    struct lk_resp_cursor cursor = {.reply = reply};

    tell(&cursor, &text);
    assert_string_equal(bytes, expected);
    assert_int_equal(cursor.at, reply.size);
}

/* Measured at once, with another reply behind it. */
static void test_good(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char input[128];
        struct lk_resp_measure measure = {0};
        (void)snprintf(input, sizeof input, "%s+next\r\n", good[i].input);
        assert_int_equal(lk_resp_reply_measure(lk_slice_of(input), REPLY_BYTES_MAX, &measure),
                         LK_RESP_DONE);
        assert_int_equal(measure.size, strlen(good[i].input));
        assert_reply((struct lk_slice){input, measure.size}, good[i].expected);
    }
}

/* Measured byte by byte, the state kept; and again from every beginning. */
static void test_pieces(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct lk_resp_measure kept = {0};
        size_t whole = strlen(good[i].input);
        for (size_t size = 0; size <= whole; size++) {
            struct lk_resp_measure fresh = {0};
            char *copy = malloc(size > 0 ? size : 1);
            assert_non_null(copy);
            memcpy(copy, good[i].input, size);
            struct lk_slice piece = {.bytes = copy, .size = size};
            enum lk_resp_step expected = size < whole ? LK_RESP_MORE : LK_RESP_DONE;
            assert_int_equal(lk_resp_reply_measure(piece, REPLY_BYTES_MAX, &fresh), expected);
            assert_int_equal(lk_resp_reply_measure(piece, REPLY_BYTES_MAX, &kept), expected);
            free(copy);
        }
        assert_int_equal(kept.size, whole);
    }
}

static void test_bad(void **state) {
    static const char *const bad[] = {
        "?\r\n",          "\r\n",
        "OK\r\n",         ":\r\n",
        ":1x\r\n",        ":99999999999999999999\r\n",
        "$-2\r\n",        "$1\r\nxx\r\n",
        "$121\r\n",       "*-2\r\n",
        "*999999999\r\n", "%-1\r\n",
        "_x\r\n",         "#x\r\n",
        ",\r\n",          "=3\r\ntxt\r\n",
        "!-1\r\n",        "+a\nb\r\n",
        "+a\rb\r\n",      "*100\r\n*100\r\n",
        "*1\r\n?\r\n",    "$?\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct lk_resp_measure measure = {0};
        assert_int_equal(lk_resp_reply_measure(lk_slice_of(bad[i]), REPLY_BYTES_MAX, &measure),
                         LK_RESP_BAD);
        assert_non_null(measure.error);
    }
}

/* What goes on and on is refused at the bound, whatever it is. */
static void test_too_large(void **state) {
    char input[REPLY_BYTES_MAX];
    struct lk_resp_measure measure = {0};

    (void)state;
    memset(input, 'x', sizeof input);
    input[0] = '+';
    assert_int_equal(lk_resp_reply_measure((struct lk_slice){input, sizeof input - 1},
                                           REPLY_BYTES_MAX, &measure),
                     LK_RESP_MORE);
    assert_int_equal(
        lk_resp_reply_measure((struct lk_slice){input, sizeof input}, REPLY_BYTES_MAX, &measure),
        LK_RESP_BAD);
}

static void test_skip(void **state) {
    struct lk_resp_cursor cursor = {
        .reply = lk_slice_of("%2\r\n+a\r\n*2\r\n:1\r\n%1\r\n:2\r\n:3\r\n+b\r\n:4\r\n")};
    struct lk_resp_value value;

    (void)state;
    assert_true(lk_resp_cursor_next(&cursor, &value));
    assert_int_equal(value.count, 2);
    assert_true(lk_resp_cursor_next(&cursor, &value));
    assert_true(lk_resp_cursor_next(&cursor, &value));
    assert_int_equal(value.kind, LK_RESP_ARRAY);
    lk_resp_cursor_skip(&cursor, &value);
    assert_true(lk_resp_cursor_next(&cursor, &value));
    assert_true(lk_slice_equal(value.text, lk_slice_of("b")));
    lk_resp_cursor_skip(&cursor, &value);
    assert_true(lk_resp_cursor_next(&cursor, &value));
    assert_int_equal(value.number, 4);
    assert_false(lk_resp_cursor_next(&cursor, &value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),      cmocka_unit_test(test_pieces), cmocka_unit_test(test_bad),
        cmocka_unit_test(test_too_large), cmocka_unit_test(test_skip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
