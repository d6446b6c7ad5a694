/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an ask and a release cost where many are related to their paths: the steps of SQLite's
 * machine that all statements of a call make, in a small and in a large crowd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "engine/sqlite/store.h"
#include "testcase.h"

enum {
    FEW = 10,
    MANY = 10000,
    TIMES_ASK = 3, /* so many times as much in the large crowd, at most */
    TIMES_RELEASE = 2,
    BLOCKERS = 16,
};

/* Steps made since the last call. */
static int64_t steps(const struct testcase *testcase) {
    const struct lk_sqlite *store = lk_sqlite_of(testcase->engine);
    int64_t count = 0;

    for (sqlite3_stmt *statement = sqlite3_next_stmt(store->sql.handle, NULL); statement != NULL;
         statement = sqlite3_next_stmt(store->sql.handle, statement)) {
        count += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    }
    return count;
}

/* As the command line asks: with blockers. */
static lk_outcome ask(struct testcase *testcase, const char *owner, const char *text,
                      lk_style style) {
    struct lk_patience patience = test_patience(60000000);
    struct test_parts parts;
    struct lk_ask ask = {
        .owner = lk_slice_of(owner), .style = style, .ttl_ms = 600000, .blockers_max = BLOCKERS};

    test_parts_parse(&parts, text);
    ask.parts = parts.parts;
    ask.part_count = parts.count;
    lk_result_clear(&testcase->result);
    return call_ask(testcase->engine, &ask, &patience, &testcase->result);
}

static void give_back(struct testcase *testcase, const char *owner, const char *parts) {
    assert_int_equal(fixture_release(testcase->engine, owner, parts, 0, &testcase->result), LK_OK);
}

/*
 * A crowd as the calls would leave it behind, with turns in the order of the numbers: each request
 * `number` from `from` to `to` - 1 has its own owner, and waits at the path or holds a child of it.
 */
static void fill(const struct testcase *testcase, int from, int to, const char *path,
                 bool is_waiting) {
    char text[1024];
    int64_t draw = testcase->clock.wall_us;

    (void)snprintf(text, sizeof text,
                   "WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n"
                   "  WHERE i < %d - 1)"
                   " INSERT INTO requests (id, owner, note, state, revoked, attended, fixed,"
                   "  graced, ticket, token, ttl_ms, deadline_us, expires_unix_us)"
                   " SELECT %lld + i, 'owner' || i, '', '%s', 0, 0, 0, 0, %lld + i,"
                   "  CASE WHEN %d THEN 0 ELSE %lld + i END, 600000, %lld, %lld FROM n",
                   from, to, (long long)draw, is_waiting ? "waiting" : "held", (long long)draw,
                   is_waiting, (long long)draw, (long long)testcase->clock.now_us + 600000000,
                   (long long)draw + 600000000);
    (void)fixture_sql(testcase->fixture.file, text);
    (void)snprintf(text, sizeof text,
                   "INSERT INTO parts (request, position, path, mode, unit_limit, units)"
                   " SELECT id, 0, '%s' || CASE WHEN %d THEN '' ELSE '/' || owner END,"
                   "  'exclusive', 0, 0 FROM requests WHERE id >= %lld + %d",
                   path, is_waiting, (long long)draw, from);
    (void)fixture_sql(testcase->fixture.file, text);
    (void)snprintf(text, sizeof text,
                   "INSERT INTO roots (root, last_draw) VALUES ('%s', %lld + %d)"
                   " ON CONFLICT (root) DO UPDATE SET last_draw = excluded.last_draw",
                   path, (long long)draw, to);
    (void)fixture_sql(testcase->fixture.file, text);
}

static void expect_times(const char *what, int64_t few, int64_t many, int times) {
    print_message("%s: %lld steps among %d, %lld among %d\n", what, (long long)few, FEW,
                  (long long)many, MANY);
    assert_true(many <= times * few);
}

/* ---- a parent of many ------------------------------------------------------------------------ */

/* Statements are prepared and the first file pages read by a call that is not counted. */
static int64_t cost_of_try(struct testcase *testcase) {
    assert_int_equal(ask(testcase, "A", "p", LK_TRY), LK_BUSY);
    (void)steps(testcase);
    assert_int_equal(ask(testcase, "A", "p", LK_TRY), LK_BUSY);
    assert_int_equal(testcase->result.blocker_count,
                     testcase->result.position < BLOCKERS ? testcase->result.position : BLOCKERS);
    return steps(testcase);
}

static int64_t cost_of_queueing(struct testcase *testcase, const char *path) {
    int64_t cost = 0;

    for (int turn = 0; turn < 2; turn++) {
        (void)steps(testcase);
        assert_int_equal(ask(testcase, "A", path, LK_QUEUE), LK_WAITING);
        cost = steps(testcase);
        give_back(testcase, "A", path);
        cost += steps(testcase);
    }
    return cost;
}

static void a_parents_cost_does_not_grow_with_its_children(void **state) {
    struct testcase *testcase = *state;
    int64_t few_try;
    int64_t few_queue;

    fill(testcase, 1, 1 + FEW, "p", false);
    few_try = cost_of_try(testcase);
    few_queue = cost_of_queueing(testcase, "p");
    fill(testcase, 1 + FEW, 1 + MANY, "p", false);
    expect_times("a try", few_try, cost_of_try(testcase), TIMES_ASK);
    expect_times("queueing and withdrawal", few_queue, cost_of_queueing(testcase, "p"), TIMES_ASK);
}

/* ---- a long line ----------------------------------------------------------------------------- */

/* The holder gives the lock on, and who has it now asks again, as a call that waited does. */
static int64_t cost_of_giving_on(struct testcase *testcase, int *number) {
    char owner[32];
    int64_t cost = 0;

    for (int turn = 0; turn < 2; turn++) {
        (void)snprintf(owner, sizeof owner, "owner%d", *number);
        (void)steps(testcase);
        give_back(testcase, owner, "l");
        (void)snprintf(owner, sizeof owner, "owner%d", ++*number);
        assert_int_equal(ask(testcase, owner, "l", LK_QUEUE), LK_GRANTED);
        cost = steps(testcase);
    }
    return cost;
}

static void a_lines_cost_does_not_grow_with_its_length(void **state) {
    struct testcase *testcase = *state;
    int first = 0;
    int64_t few_queue;
    int64_t few_give;

    assert_int_equal(ask(testcase, "owner0", "l", LK_TRY), LK_GRANTED);
    fill(testcase, 1, 1 + FEW, "l", true);
    few_queue = cost_of_queueing(testcase, "l");
    few_give = cost_of_giving_on(testcase, &first);
    fill(testcase, 1 + FEW, 1 + MANY, "l", true);
    expect_times("queueing and withdrawal", few_queue, cost_of_queueing(testcase, "l"), TIMES_ASK);
    expect_times("giving on", few_give, cost_of_giving_on(testcase, &first), TIMES_RELEASE);
}

/* The index of owners comes with the first long line, and goes with a bound (R22). */
static void what_is_missing_is_made_again(void **state) {
    static const char find[] =
        "SELECT count(*) FROM sqlite_schema WHERE name = 'requests_by_owner'";
    struct testcase *testcase = *state;
    const char *file = testcase->fixture.file;

    assert_int_equal(ask(testcase, "owner0", "l", LK_TRY), LK_GRANTED);
    fill(testcase, 1, 1 + FEW, "l", true);
    assert_int_equal(ask(testcase, "A", "l", LK_QUEUE), LK_WAITING);
    assert_int_equal(testcase->result.position, 1 + FEW);
    assert_int_equal(fixture_sql(file, find), 0);
    fill(testcase, 10 * FEW, 20 * FEW, "l", true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask(testcase, "B", "l", LK_QUEUE), LK_WAITING);
        assert_true(testcase->result.position >= BLOCKERS);
        assert_int_equal(fixture_sql(file, find), 1);
        give_back(testcase, "B", "l");
        (void)fixture_sql(file, "DROP INDEX requests_by_owner");
    }
}

/*
 * R8: an owner who holds the path, and waits for a limit there, goes before all who wait; also
 * before the exclusive request at which the end of another one stops to read.
 */
static void the_holders_own_request_is_found_behind_the_line(void **state) {
    struct testcase *testcase = *state;

    testcase->options.crowd_max = 0;
    testcase_reopen(testcase);
    assert_int_equal(ask(testcase, "O", "p", LK_TRY), LK_GRANTED);
    assert_int_equal(ask(testcase, "O", "z", LK_TRY), LK_GRANTED);
    assert_int_equal(ask(testcase, "O", "p?limit=9 y", LK_TRY), LK_GRANTED);
    assert_int_equal(ask(testcase, "B", "p?shared", LK_QUEUE), LK_WAITING);
    assert_int_equal(ask(testcase, "W", "p", LK_QUEUE), LK_WAITING);
    assert_int_equal(ask(testcase, "O", "p?limit=2 z", LK_QUEUE), LK_WAITING);
    give_back(testcase, "B", "p");
    assert_int_equal(fixture_sql(testcase->fixture.file,
                                 "SELECT count(*) FROM requests WHERE owner = 'O'"
                                 " AND state = 'held'"),
                     4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_parents_cost_does_not_grow_with_its_children,
                                        testcase_setup, testcase_teardown),
        cmocka_unit_test_setup_teardown(a_lines_cost_does_not_grow_with_its_length, testcase_setup,
                                        testcase_teardown),
        cmocka_unit_test_setup_teardown(the_holders_own_request_is_found_behind_the_line,
                                        testcase_setup, testcase_teardown),
        cmocka_unit_test_setup_teardown(what_is_missing_is_made_again, testcase_setup,
                                        testcase_teardown),
    };

    return cmocka_run_group_tests_name("sqlite: crowds", tests, NULL, NULL);
}
