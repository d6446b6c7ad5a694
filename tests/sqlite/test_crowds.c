/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an ask and a release cost where many are related to their paths: the steps of SQLite's
 * machine that all statements of a call make, in a small and in a large crowd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fixture.h"

enum {
    FEW = 10,
    MANY = 10000,
    TIMES_ASK = 3, /* so many times as much in the large crowd, at most */
    TIMES_RELEASE = 2,
    BLOCKERS = 16,
    SLOTS = 10,
    UNLIMITED = -1, /* shared, without a limit */
};

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

/* What the requests of a crowd are. */
struct crowd {
    const char *path;
    const char *state; /* waiting or held */
    bool is_below;     /* each at a child of the path that has its owner's name */
    int limit;         /* 0: exclusive; else shared, with one unit */
};

/*
 * A crowd as the calls would leave it behind, with turns in the order of the numbers: each request
 * `number` from `from` to `to` - 1 has its own owner.
 */
static void fill_with(const struct testcase *testcase, int from, int to,
                      const struct crowd *crowd) {
    char text[1024];
    int64_t draw = testcase->clock.wall_us;
    bool is_waiting = strcmp(crowd->state, "waiting") == 0;

    (void)snprintf(text, sizeof text,
                   "WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n"
                   "  WHERE i < %d - 1)"
                   " INSERT INTO lk_request (id, owner, note, state, revoked, attended, fixed,"
                   "  graced, ticket, token, ttl_ms, deadline_us, expires_unix_us)"
                   " SELECT %lld + i, 'owner' || i, '', '%s', 0, 0, 0, 0, %lld + i,"
                   "  CASE WHEN %d THEN 0 ELSE %lld + i END, 600000, %lld, %lld FROM n",
                   from, to, (long long)draw, crowd->state, (long long)draw, is_waiting,
                   (long long)draw, (long long)testcase->clock.now_us + 600000000,
                   (long long)draw + 600000000);
    (void)fixture_sql(testcase->fixture.file, text);
    (void)snprintf(text, sizeof text,
                   "INSERT INTO lk_part (request, position, path, mode, unit_limit, units)"
                   " SELECT id, 0, '%s' || CASE WHEN %d THEN '/' || owner ELSE '' END, '%s', %d, %d"
                   " FROM lk_request WHERE id >= %lld + %d",
                   crowd->path, crowd->is_below, crowd->limit != 0 ? "shared" : "exclusive",
                   crowd->limit == UNLIMITED ? 0 : crowd->limit, crowd->limit != 0, (long long)draw,
                   from);
    (void)fixture_sql(testcase->fixture.file, text);
    (void)snprintf(text, sizeof text,
                   "INSERT INTO lk_root (root, last_draw) VALUES ('%s', %lld + %d)"
                   " ON CONFLICT (root) DO UPDATE SET last_draw = excluded.last_draw",
                   crowd->path, (long long)draw, to);
    (void)fixture_sql(testcase->fixture.file, text);
}

/* Exclusive requests, which wait at the path or hold children of it. */
static void fill(const struct testcase *testcase, int from, int to, const char *path,
                 bool is_waiting) {
    const struct crowd crowd = {
        .path = path, .state = is_waiting ? "waiting" : "held", .is_below = !is_waiting};

    fill_with(testcase, from, to, &crowd);
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
    (void)testcase_steps(testcase);
    assert_int_equal(ask(testcase, "A", "p", LK_TRY), LK_BUSY);
    assert_int_equal(testcase->result.blocker_count,
                     testcase->result.position < BLOCKERS ? testcase->result.position : BLOCKERS);
    return testcase_steps(testcase);
}

static int64_t cost_of_queueing(struct testcase *testcase, const char *path) {
    int64_t cost = 0;

    for (int turn = 0; turn < 2; turn++) {
        (void)testcase_steps(testcase);
        assert_int_equal(ask(testcase, "A", path, LK_QUEUE), LK_WAITING);
        cost = testcase_steps(testcase);
        give_back(testcase, "A", path);
        cost += testcase_steps(testcase);
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
        (void)testcase_steps(testcase);
        give_back(testcase, owner, "l");
        (void)snprintf(owner, sizeof owner, "owner%d", ++*number);
        assert_int_equal(ask(testcase, owner, "l", LK_QUEUE), LK_GRANTED);
        cost = testcase_steps(testcase);
    }
    return cost;
}

/* One of those in line asks again, as a call that waits does to keep its place. */
static int64_t cost_of_asking_again(struct testcase *testcase, const char *owner,
                                    const char *path) {
    (void)ask(testcase, owner, path, LK_QUEUE);
    (void)testcase_steps(testcase);
    assert_int_equal(ask(testcase, owner, path, LK_QUEUE), LK_WAITING);
    return testcase_steps(testcase);
}

static void a_lines_cost_does_not_grow_with_its_length(void **state) {
    struct testcase *testcase = *state;
    int first = 0;
    int64_t few_queue;
    int64_t few_again;
    int64_t few_give;

    assert_int_equal(ask(testcase, "owner0", "l", LK_TRY), LK_GRANTED);
    fill(testcase, 1, 1 + 3 * FEW, "l",
         true); /* of which most are behind the one that asks again */
    few_queue = cost_of_queueing(testcase, "l");
    few_again = cost_of_asking_again(testcase, "owner5", "l");
    few_give = cost_of_giving_on(testcase, &first);
    fill(testcase, 1 + 3 * FEW, 1 + MANY, "l", true);
    expect_times("queueing and withdrawal", few_queue, cost_of_queueing(testcase, "l"), TIMES_ASK);
    expect_times("asking again", few_again, cost_of_asking_again(testcase, "owner9", "l"),
                 TIMES_RELEASE);
    expect_times("giving on", few_give, cost_of_giving_on(testcase, &first), TIMES_RELEASE);
}

/* ---- a semaphore ----------------------------------------------------------------------------- */

static const char semaphore[] = "s?limit=10";

/* One of the holders lets go, the first in line asks again, and then a refused try. */
static int64_t cost_of_slot(struct testcase *testcase, int *number) {
    char owner[32];
    int64_t cost = 0;

    for (int turn = 0; turn < 2; turn++) {
        (void)snprintf(owner, sizeof owner, "owner%d", *number);
        (void)testcase_steps(testcase);
        give_back(testcase, owner, semaphore);
        (void)snprintf(owner, sizeof owner, "owner%d", ++*number + SLOTS - 1);
        assert_int_equal(ask(testcase, owner, semaphore, LK_QUEUE), LK_GRANTED);
        assert_int_equal(testcase->result.in_use, SLOTS);
        assert_int_equal(ask(testcase, "A", semaphore, LK_TRY), LK_BUSY);
        assert_int_equal(testcase->result.in_use, SLOTS);
        assert_true(testcase->result.position >= BLOCKERS);
        cost = testcase_steps(testcase);
    }
    return cost;
}

static void a_semaphores_line_costs_the_same_however_long(void **state) {
    static const struct crowd holders = {.path = "s", .state = "held", .limit = SLOTS};
    static const struct crowd line = {.path = "s", .state = "waiting", .limit = SLOTS};
    struct testcase *testcase = *state;
    int first = 1;
    int64_t few_queue;
    int64_t few_slot;

    fill_with(testcase, 1, 1 + SLOTS, &holders);
    fill_with(testcase, 1 + SLOTS, 1 + 2 * SLOTS + FEW, &line);
    few_queue = cost_of_queueing(testcase, semaphore);
    few_slot = cost_of_slot(testcase, &first);
    fill_with(testcase, 1 + 2 * SLOTS + FEW, 1 + MANY, &line);
    expect_times("queueing and withdrawal for a slot", few_queue,
                 cost_of_queueing(testcase, semaphore), TIMES_ASK);
    expect_times("giving a slot on, and a refused try", few_slot, cost_of_slot(testcase, &first),
                 TIMES_RELEASE);
}

/* ---- readers --------------------------------------------------------------------------------- */

/* One of the readers withdraws from the midst of them, and another one joins. */
static int64_t cost_of_reader(struct testcase *testcase, int *number) {
    char owner[32];
    int64_t cost = 0;

    for (int turn = 0; turn < 2; turn++) {
        (void)snprintf(owner, sizeof owner, "owner%d", (*number)++);
        (void)testcase_steps(testcase);
        give_back(testcase, owner, "r?shared");
        assert_int_equal(ask(testcase, owner, "r?shared", LK_QUEUE), LK_WAITING);
        assert_int_equal(ask(testcase, "A", "r", LK_TRY), LK_BUSY);
        assert_true(testcase->result.position >= BLOCKERS);
        cost = testcase_steps(testcase);
    }
    return cost;
}

static void readers_behind_a_writer_cost_the_same_however_many(void **state) {
    static const struct crowd readers = {.path = "r", .state = "waiting", .limit = UNLIMITED};
    struct testcase *testcase = *state;
    int first = 2;
    int64_t few_queue;
    int64_t few_reader;

    assert_int_equal(ask(testcase, "writer", "r", LK_TRY), LK_GRANTED);
    fill_with(testcase, 1, 1 + 2 * BLOCKERS, &readers);
    few_queue = cost_of_queueing(testcase, "r?shared");
    few_reader = cost_of_reader(testcase, &first);
    fill_with(testcase, 100 * BLOCKERS, 1 + MANY, &readers); /* behind those that have joined */
    expect_times("a reader queues and withdraws", few_queue, cost_of_queueing(testcase, "r?shared"),
                 TIMES_ASK);
    expect_times("a reader withdraws from the midst, and joins", few_reader,
                 cost_of_reader(testcase, &first), TIMES_RELEASE);
}

/* One of many slots is given back and taken again. Units in use are counted by the ask alone. */
static int64_t cost_of_giving_back(struct testcase *testcase, int *number, int64_t holders) {
    char owner[32];
    int64_t cost = 0;

    for (int turn = 0; turn < 2; turn++) {
        (void)snprintf(owner, sizeof owner, "owner%d", (*number)++);
        (void)testcase_steps(testcase);
        give_back(testcase, owner, "w?limit=20000");
        cost = testcase_steps(testcase);
        assert_int_equal(ask(testcase, owner, "w?limit=20000", LK_QUEUE), LK_GRANTED);
        assert_int_equal(testcase->result.in_use, holders);
    }
    return cost;
}

static void a_slot_is_given_back_however_many_are_held(void **state) {
    static const struct crowd holders = {.path = "w", .state = "held", .limit = 2 * MANY};
    struct testcase *testcase = *state;
    int first = 2;
    int64_t few;

    testcase->options.crowd_max = 0;
    testcase_reopen(testcase);
    fill_with(testcase, 1, 1 + FEW, &holders);
    few = cost_of_giving_back(testcase, &first, FEW);
    fill_with(testcase, 1 + 10 * FEW, 1 + MANY, &holders); /* behind those taken again */
    expect_times("giving a slot back", few, cost_of_giving_back(testcase, &first, MANY - 9 * FEW),
                 TIMES_RELEASE);
}

/* ---- what is not asked about ---------------------------------------------------------------- */

static int64_t cost_of_pair(struct testcase *testcase) {
    int64_t cost = 0;

    for (int turn = 0; turn < 2; turn++) {
        (void)testcase_steps(testcase);
        assert_int_equal(ask(testcase, "A", "own/table/row", LK_TRY), LK_GRANTED);
        give_back(testcase, "A", "own/table/row");
        cost = testcase_steps(testcase);
    }
    return cost;
}

/* The dead are swept some at a time, by whatever call comes. */
static void a_pair_costs_the_same_beside_all_else(void **state) {
    static const struct crowd others = {.path = "other", .state = "held", .is_below = true};
    struct testcase *testcase = *state;
    int64_t few;

    fill_with(testcase, 1, 1 + FEW, &others);
    few = cost_of_pair(testcase);
    fill_with(testcase, 1 + FEW, 1 + MANY, &others);
    expect_times("a pair beside others", few, cost_of_pair(testcase), TIMES_RELEASE);
    testcase->clock.now_us += 700000000;
    testcase->clock.wall_us += 700000000;
    few = cost_of_pair(testcase);
    fill_with(testcase, 2 * MANY, 6 * MANY, &others);
    testcase->clock.now_us += 700000000;
    testcase->clock.wall_us += 700000000;
    expect_times("a pair beside five times as many dead", few, cost_of_pair(testcase),
                 TIMES_RELEASE);
}

/* ---- indexes, and R8 ------------------------------------------------------------------------- */

/* The index of owners comes with the first long line, and goes with a bound (R22). */
static void what_is_missing_is_made_again(void **state) {
    static const char find[] =
        "SELECT count(*) FROM sqlite_schema WHERE name = 'lk_request_by_owner'";
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
        (void)fixture_sql(file, "DROP INDEX lk_request_by_owner");
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
                                 "SELECT count(*) FROM lk_request WHERE owner = 'O'"
                                 " AND state = 'held'"),
                     4);
}

/*
 * R13: B is granted past A, who waits for a smaller limit, and now waits for B, who waits behind A.
 * No ask of either has closed this cycle. A asked again before, and was on none.
 */
static void a_cycle_that_formed_without_an_ask_is_found(void **state) {
    struct testcase *testcase = *state;

    testcase->options.crowd_max = 0;
    testcase_reopen(testcase);
    assert_int_equal(ask(testcase, "H", "s?limit=10&units=3", LK_TRY), LK_GRANTED);
    assert_int_equal(ask(testcase, "C", "q", LK_TRY), LK_GRANTED);
    assert_int_equal(ask(testcase, "A", "s?limit=3", LK_QUEUE), LK_WAITING);
    assert_int_equal(ask(testcase, "D", "s?limit=3", LK_QUEUE), LK_WAITING);
    assert_int_equal(ask(testcase, "A", "s?limit=3", LK_QUEUE), LK_WAITING);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT possible FROM lk_hidden_cycle"),
                     0);
    give_back(testcase, "D", "s?limit=3");
    assert_int_equal(ask(testcase, "B", "s?limit=10&units=3 q", LK_QUEUE), LK_WAITING);
    assert_int_equal(ask(testcase, "B", "s r", LK_QUEUE), LK_WAITING);
    assert_int_equal(ask(testcase, "A", "s?limit=3", LK_QUEUE), LK_WAITING);
    give_back(testcase, "C", "q");
    assert_int_equal(ask(testcase, "A", "s?limit=3", LK_QUEUE), LK_DEADLOCK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_parents_cost_does_not_grow_with_its_children,
                                        testcase_setup, testcase_teardown),
        cmocka_unit_test_setup_teardown(a_lines_cost_does_not_grow_with_its_length, testcase_setup,
                                        testcase_teardown),
        cmocka_unit_test_setup_teardown(a_semaphores_line_costs_the_same_however_long,
                                        testcase_setup, testcase_teardown),
        cmocka_unit_test_setup_teardown(a_pair_costs_the_same_beside_all_else, testcase_setup,
                                        testcase_teardown),
        cmocka_unit_test_setup_teardown(a_slot_is_given_back_however_many_are_held, testcase_setup,
                                        testcase_teardown),
        cmocka_unit_test_setup_teardown(readers_behind_a_writer_cost_the_same_however_many,
                                        testcase_setup, testcase_teardown),
        cmocka_unit_test_setup_teardown(the_holders_own_request_is_found_behind_the_line,
                                        testcase_setup, testcase_teardown),
        cmocka_unit_test_setup_teardown(a_cycle_that_formed_without_an_ask_is_found, testcase_setup,
                                        testcase_teardown),
        cmocka_unit_test_setup_teardown(what_is_missing_is_made_again, testcase_setup,
                                        testcase_teardown),
    };

    return cmocka_run_group_tests_name("sqlite: crowds", tests, NULL, NULL);
}
