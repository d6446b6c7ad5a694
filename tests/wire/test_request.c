/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: what they are made of, what is refused, and that no cut between pieces matters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "wire/resp.h"

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
} good[] = {
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

static void test_good(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        static struct lk_resp_request request;
        char input[128];
        (void)snprintf(input, sizeof input, "%s%s", good[i].input, good[i].behind);
        assert_int_equal(lk_resp_request_parse(lk_slice_of(input), &bounds, &request),
                         LK_RESP_DONE);
        assert_int_equal(request.size, strlen(good[i].input));
        assert_string_equal(joined(&request), good[i].arguments);
    }
}

/* Every beginning wants more, and never asks for more than there will be. */
static void test_pieces(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        static struct lk_resp_request request;
        struct lk_slice input = lk_slice_of(good[i].input);
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
} bad[] = {
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
static void test_bad(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        static struct lk_resp_request request;
        struct lk_slice input = lk_slice_of(bad[i].input);
        bool is_found = false;
        for (size_t size = 0; size <= input.size; size++) {
            enum lk_resp_step step = parse_piece(input, size, &request);
            assert_int_equal(step == LK_RESP_BAD, is_found || step == LK_RESP_BAD);
            assert_int_not_equal(step, LK_RESP_DONE);
            is_found = step == LK_RESP_BAD;
        }
        assert_true(is_found);
        assert_string_equal(request.error, bad[i].error);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),         cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_pipeline),     cmocka_unit_test(test_bad),
        cmocka_unit_test(test_endless_line), cmocka_unit_test(test_any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
