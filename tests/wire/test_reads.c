/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read, requests and replies: what they are made of, how far they reach, the walk over a
 * reply, what is none or refused, and that no cut between pieces matters.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/text.h"
#include "wire/resp.h"

/* ---- requests -------------------------------------------------------------------------------- */

static const struct lk_resp_bounds bounds = {
    .arguments_max = 8,
    .request_bytes_max = 200,
};

/* The arguments, each in brackets; static storage. */
static const char *joined(const struct lk_resp_request *request) {
    static char text[1024];
    size_t size = 0;

    for (size_t i = 0; i < request->argument_count; i++) {
        text[size++] = '[';
        memcpy(text + size, request->arguments[i].bytes, request->arguments[i].size);
        size += request->arguments[i].size;
        text[size++] = ']';
    }
    text[size] = '\0';
    return text;
}

/* A copy of exactly so many bytes, so that a look behind them is noticed by the sanitizers. */
static struct lk_slice piece_of(struct lk_slice whole, size_t size) {
    char *bytes = malloc(size > 0 ? size : 1);

    assert_non_null(bytes);
    memcpy(bytes, whole.bytes, size);
    return (struct lk_slice){.bytes = bytes, .size = size};
}

static enum lk_resp_step parse_piece(struct lk_slice whole, size_t size,
                                     struct lk_resp_request *request) {
    struct lk_slice piece = piece_of(whole, size);
    enum lk_resp_step step = lk_resp_request_parse(piece, &bounds, request);

    free((char *)(uintptr_t)piece.bytes);
    return step;
}

/* ---- what is read ---------------------------------------------------------------------------- */

static const struct {
    const char *input;
    const char *behind; /* what is behind the request in the test */
    const char *arguments;
} good_requests[] = {
    {"*1\r\n$4\r\nPING\r\n", "", "[PING]"},
    {"*3\r\n$7\r\nACQUIRE\r\n$4\r\ndb/t\r\n$3\r\nTRY\r\n", "", "[ACQUIRE][db/t][TRY]"},
    {"*2\r\n$0\r\n\r\n$4\r\n\r\n\r\n\r\n", "", "[][\r\n\r\n]"},
    {"*0\r\n", "", ""},
    {"*-1\r\n", "", ""},
    {"*1\r\n$1\r\nx\r\n", "*1\r\n$1\r\ny\r\n", "[x]"},
    {"PING\r\n", "", "[PING]"},
    {"PING\n", "", "[PING]"},
    {"\r\n", "", ""},
    {"  acquire \t db/t1  wait 5\r\n", "more", "[acquire][db/t1][wait][5]"},
    {"put x \"a b\\x41\\n\\\"\\\\\" 'it\\'s \\n' \"\"\r\n", "", "[put][x][a bA\n\"\\][it's \\n][]"},
    {"put x a\"b c\"\n", "", "[put][x][ab c]"},
};

static void test_good_requests(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good_requests / sizeof good_requests[0]; i++) {
        static struct lk_resp_request request;
        char input[128];
        (void)snprintf(input, sizeof input, "%s%s", good_requests[i].input,
                       good_requests[i].behind);
        assert_int_equal(lk_resp_request_parse(lk_slice_of(input), &bounds, &request),
                         LK_RESP_DONE);
        assert_int_equal(request.size, strlen(good_requests[i].input));
        assert_string_equal(joined(&request), good_requests[i].arguments);
    }
}

/* Every beginning wants more, and never asks for more than there will be. */
static void test_requests_in_pieces(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good_requests / sizeof good_requests[0]; i++) {
        static struct lk_resp_request request;
        struct lk_slice input = lk_slice_of(good_requests[i].input);
        for (size_t size = 0; size < input.size; size++) {
            assert_int_equal(parse_piece(input, size, &request), LK_RESP_MORE);
            assert_in_range(request.size, size + 1, input.size);
        }
        assert_int_equal(parse_piece(input, input.size, &request), LK_RESP_DONE);
    }
}

/* A pipeline is read one after the other, inline and not. */
static void test_pipeline(void **state) {
    static struct lk_resp_request request;
    struct lk_slice input = lk_slice_of("*1\r\n$1\r\na\r\nb c\r\n*2\r\n$1\r\nd\r\n$1\r\ne\r\n");
    static const char *const expected[] = {"[a]", "[b][c]", "[d][e]"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(lk_resp_request_parse(input, &bounds, &request), LK_RESP_DONE);
        assert_string_equal(joined(&request), expected[i]);
        assert_int_equal(request.is_inline, i == 1);
        input.bytes += request.size;
        input.size -= request.size;
    }
    assert_int_equal(input.size, 0);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static const struct {
    const char *input;
    const char *error;
} bad_requests[] = {
    {"*9\r\n", "Protocol error: too many arguments"},
    {"*99999999999999999999\r\n", "Protocol error: invalid multibulk length"},
    {"*x\r\n", "Protocol error: invalid multibulk length"},
    {"*\r\n", "Protocol error: invalid multibulk length"},
    {"*+1\r\n", "Protocol error: invalid multibulk length"},
    {"*1\n$1\r\n", "Protocol error: invalid multibulk length"},
    {"*1\rx", "Protocol error: invalid multibulk length"},
    {"*00000000000000000000000000000000000", "Protocol error: invalid multibulk length"},
    {"*1\r\nPING\r\n", "Protocol error: expected '$'"},
    {"*1\r\n:1\r\n", "Protocol error: expected '$'"},
    {"*1\r\n$-1\r\n", "Protocol error: invalid bulk length"},
    {"*1\r\n$1x\r\n", "Protocol error: invalid bulk length"},
    {"*1\r\n$9223372036854775808\r\n", "Protocol error: invalid bulk length"},
    {"*1\r\n$201\r\n", "Protocol error: request too large"},
    {"*1\r\n$9223372036854775807\r\n", "Protocol error: request too large"},
    {"*1\r\n$1\r\nxyz", "Protocol error: expected CR LF after a bulk"},
    {"*1\r\n$3\r\nx\r\n\rz", "Protocol error: expected CR LF after a bulk"},
    {"a b c d e f g h i\r\n", "Protocol error: too many arguments"},
    {"get \"x\r\n", "Protocol error: unbalanced quotes in request"},
    {"get 'x\r\n", "Protocol error: unbalanced quotes in request"},
    {"get \"x\"y\r\n", "Protocol error: unbalanced quotes in request"},
    {"get \"x\\\"\r\n", "Protocol error: unbalanced quotes in request"},
};

/* Found at the first byte that shows it, and at every one behind. */
static void test_bad_requests(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_requests / sizeof bad_requests[0]; i++) {
        static struct lk_resp_request request;
        struct lk_slice input = lk_slice_of(bad_requests[i].input);
        bool is_found = false;
        for (size_t size = 0; size <= input.size; size++) {
            enum lk_resp_step step = parse_piece(input, size, &request);
            assert_int_equal(step == LK_RESP_BAD, is_found || step == LK_RESP_BAD);
            assert_int_not_equal(step, LK_RESP_DONE);
            is_found = step == LK_RESP_BAD;
        }
        assert_true(is_found);
        assert_string_equal(request.error, bad_requests[i].error);
    }
}

/* A line without an end is refused once it is as long as a request may be. */
static void test_endless_line(void **state) {
    static struct lk_resp_request request;
    char input[200];

    (void)state;
    memset(input, 'x', sizeof input);
    assert_int_equal(lk_resp_request_parse((struct lk_slice){input, 199}, &bounds, &request),
                     LK_RESP_MORE);
    assert_int_equal(lk_resp_request_parse((struct lk_slice){input, 200}, &bounds, &request),
                     LK_RESP_BAD);
    assert_string_equal(request.error, "Protocol error: too big inline request");
}

/* Bytes of any kind are arguments. */
static void test_any_bytes(void **state) {
    static struct lk_resp_request request;
    struct lk_buffer out = {0};
    char every[128];

    (void)state;
    for (size_t i = 0; i < sizeof every; i++) {
        every[i] = (char)(i * 2);
    }
    lk_resp_put_array(&out, 1);
    lk_resp_put_bulk(&out, (struct lk_slice){every, sizeof every});
    assert_int_equal(
        lk_resp_request_parse((struct lk_slice){out.bytes, out.size}, &bounds, &request),
        LK_RESP_DONE);
    assert_int_equal(request.size, out.size);
    assert_int_equal(request.arguments[0].size, sizeof every);
    assert_memory_equal(request.arguments[0].bytes, every, sizeof every);
    lk_buffer_done(&out);
}

/* ---- replies --------------------------------------------------------------------------------- */

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
} good_replies[] = {
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
static void test_good_replies(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good_replies / sizeof good_replies[0]; i++) {
        char input[128];
        struct lk_resp_measure measure = {0};
        (void)snprintf(input, sizeof input, "%s+next\r\n", good_replies[i].input);
        assert_int_equal(lk_resp_reply_measure(lk_slice_of(input), REPLY_BYTES_MAX, &measure),
                         LK_RESP_DONE);
        assert_int_equal(measure.size, strlen(good_replies[i].input));
        assert_reply((struct lk_slice){input, measure.size}, good_replies[i].expected);
    }
}

/* Measured byte by byte, the state kept; and again from every beginning. */
static void test_replies_in_pieces(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good_replies / sizeof good_replies[0]; i++) {
        struct lk_resp_measure kept = {0};
        size_t whole = strlen(good_replies[i].input);
        for (size_t size = 0; size <= whole; size++) {
            struct lk_resp_measure fresh = {0};
            char *copy = malloc(size > 0 ? size : 1);
            assert_non_null(copy);
            memcpy(copy, good_replies[i].input, size);
            struct lk_slice piece = {.bytes = copy, .size = size};
            enum lk_resp_step expected = size < whole ? LK_RESP_MORE : LK_RESP_DONE;
            assert_int_equal(lk_resp_reply_measure(piece, REPLY_BYTES_MAX, &fresh), expected);
            assert_int_equal(lk_resp_reply_measure(piece, REPLY_BYTES_MAX, &kept), expected);
            free(copy);
        }
        assert_int_equal(kept.size, whole);
    }
}

static void test_bad_replies(void **state) {
    static const char *const bad_replies[] = {
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
    for (size_t i = 0; i < sizeof bad_replies / sizeof bad_replies[0]; i++) {
        struct lk_resp_measure measure = {0};
        assert_int_equal(
            lk_resp_reply_measure(lk_slice_of(bad_replies[i]), REPLY_BYTES_MAX, &measure),
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
        cmocka_unit_test(test_good_requests), cmocka_unit_test(test_requests_in_pieces),
        cmocka_unit_test(test_pipeline),      cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_endless_line),  cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_good_replies),  cmocka_unit_test(test_replies_in_pieces),
        cmocka_unit_test(test_bad_replies),   cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_skip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
