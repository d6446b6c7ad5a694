/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values and work in a file, where it is not the rules that are asked after (test_differential.c)
 * but the store: large values, long queues, restarts, waiting for work, and the format's mark.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "fixture.h"
#include "sql/format.h"

#define SECOND_US INT64_C(1000000)

enum { LONG_QUEUE = 20000, SHORT_QUEUE = 20, ROUNDS = 60, DEARER_AT_MOST = 4 };

static const struct lk_slice no_value = {NULL, 0};

static lk_outcome push(struct testcase *testcase, const char *queue, const char *id,
                       int64_t delay_ms, const char *needs) {
    return fixture_push(testcase->engine, queue, id, lk_slice_of("work"), delay_ms, needs);
}

static lk_outcome take(struct testcase *testcase, const char *queue, const char *owner,
                       int64_t ttl_ms) {
    return fixture_take(testcase->engine, queue, owner, ttl_ms, &testcase->claim, NULL);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* All bytes, zeros too. */
static struct lk_slice make_large(void) {
    static char bytes[LK_VALUE_BYTES_MAX];

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 31 + i / 256);
    }
    return (struct lk_slice){bytes, sizeof bytes};
}

static void large_values_are_stored(void **state) {
    struct testcase *testcase = *state;
    struct lk_slice large = make_large();
    struct lk_slice too_large = {large.bytes, large.size + 1};
    lk_value *value;

    assert_int_equal(fixture_put(testcase->engine, "a", large), LK_OK);
    assert_int_equal(fixture_put(testcase->engine, "a", too_large), LK_INVALID);
    value = fixture_get(testcase->engine, "a");
    assert_non_null(value);
    assert_int_equal(value->size, large.size);
    assert_memory_equal(value->bytes, large.bytes, large.size);
    assert_false(value->in_doubt);
    lk_value_free(value);

    assert_int_equal(fixture_push(testcase->engine, "q", "1", large, 0, ""), LK_OK);
    assert_int_equal(take(testcase, "q", "w", 0), LK_GRANTED);
    assert_int_equal(testcase->claim->value_size, large.size);
    assert_memory_equal(testcase->claim->value, large.bytes, large.size);
    assert_int_equal(fixture_finish(testcase->engine, testcase->claim, LK_FINISH_DONE, 0), LK_OK);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT count(*) FROM lk_item_value"), 0);
}

static void a_value_too_large_for_a_row_is_reported(void **state) {
    struct testcase *testcase = *state;
    struct lk_patience patience = test_patience(fixture_stretched(SECOND_US));
    struct lk_path path;
    lk_value *value = NULL;
    lk_error error;

    (void)fixture_sql(testcase->fixture.file,
                      "INSERT INTO lk_value VALUES ('a', 0, zeroblob(65537))");
    assert_int_equal(lk_path_parse(lk_slice_of("a"), &path, NULL), LK_OK);
    assert_int_equal(
        testcase->engine->ops->value_get(testcase->engine, &path, &patience, &value, &error),
        LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "lk_value"));
}

/* The steps of a page of five values below `root`, amid all that are there. */
static int64_t steps_of_page(struct testcase *testcase, const char *root, const char *behind) {
    struct lk_patience patience = test_patience(10 * SECOND_US);
    struct lk_value_query query = {.behind = lk_slice_of(behind), .max = 5};
    struct lk_path prefix;
    lk_value_list *list = NULL;
    lk_error error;

    assert_int_equal(lk_path_parse(lk_slice_of(root), &prefix, NULL), LK_OK);
    query.prefix = &prefix;
    (void)testcase_steps(testcase);
    assert_int_equal(
        testcase->engine->ops->values(testcase->engine, &query, &patience, &list, &error), LK_OK);
    assert_int_equal(list->count, 5);
    assert_int_equal(list->values[4].size, 100);
    assert_non_null(list->reached);
    lk_value_list_free(list);
    return testcase_steps(testcase);
}

static void a_page_of_values_reads_its_own_alone(void **state) {
    struct testcase *testcase = *state;
    int64_t few;
    int64_t many;

    (void)fixture_sql(
        testcase->fixture.file,
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)"
        " INSERT INTO lk_value SELECT r.r || '/' || n.n, 0, zeroblob(100)"
        " FROM n JOIN (SELECT 'few' AS r, 20 AS most"
        " UNION ALL SELECT 'many', 5000) AS r ON n.n < r.most");
    (void)steps_of_page(testcase, "few", "");
    few = steps_of_page(testcase, "few", "few/1");
    many = steps_of_page(testcase, "many", "many/1000000");
    (void)printf("# a page of five values: %lld steps of 19, %lld of 4999\n", (long long)few,
                 (long long)many);
    assert_int_equal(few, many);
}

/* A process that takes the lock and its value, says so, and is killed. */
static void die_holding(struct testcase *testcase, int64_t ttl_ms) {
    int news[2];
    char byte;
    pid_t child;

    assert_int_equal(pipe(news), 0);
    child = test_fork();
    if (child == 0) {
        struct lk_engine *engine = fixture_open_durable(testcase->fixture.file);
        struct lk_patience patience = test_patience(20 * SECOND_US);
        lk_result result = {.outcome = LK_OK};
        struct test_parts parts;
        struct lk_ask ask = {.owner = lk_slice_of("dead"), .ttl_ms = ttl_ms, .wants_value = true};
        test_parts_parse(&parts, "state");
        ask.parts = parts.parts;
        ask.part_count = parts.count;
        if (call_ask(engine, &ask, &patience, &result) == LK_GRANTED && result.value_size == 6
            && memcmp(result.value, "before", 6) == 0 && write(news[1], "", 1) == 1) {
            (void)pause();
        }
        _exit(1);
    }
    assert_int_equal(read(news[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    (void)close(news[0]);
    (void)close(news[1]);
}

static void a_killed_holder_leaves_the_value_in_doubt(void **state) {
    struct testcase *testcase = *state;
    lk_value *value = NULL;
    bool in_doubt = false;

    assert_int_equal(fixture_put(testcase->engine, "state", lk_slice_of("before")), LK_OK);
    die_holding(testcase, 300);
    /* A look alone, of many: nothing is swept, and nothing has to be. */
    for (int64_t end_us = lk_clock_now_us() + 60 * SECOND_US;
         !in_doubt && lk_clock_now_us() < end_us;) {
        value = fixture_get(testcase->engine, "state");
        assert_non_null(value);
        in_doubt = value->in_doubt;
        lk_value_free(value);
    }
    assert_true(in_doubt);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT in_doubt FROM lk_value"), 0);
    assert_int_equal(fixture_ask(testcase->engine, "next", "state", LK_TRY, 0, &testcase->result),
                     LK_GRANTED);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT in_doubt FROM lk_value"), 1);
    assert_int_equal(fixture_release(testcase->engine, "next", "state", 0, &testcase->result),
                     LK_OK);
    assert_int_equal(fixture_put(testcase->engine, "state", lk_slice_of("after")), LK_OK);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT in_doubt FROM lk_value"), 0);
}

/* ---- long queues ----------------------------------------------------------------------------- */

static void fill(struct testcase *testcase, const char *queue, const char *first_digit,
                 unsigned count, const char *needs) {
    for (unsigned i = 0; i < count; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "%s%u", first_digit, i);
        assert_int_equal(push(testcase, queue, id, 0, needs), LK_OK);
    }
}

static int compare_times(const void *a, const void *b) {
    const int64_t left = *(const int64_t *)a;
    const int64_t right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

static int64_t processor_us(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

/* What a claim and what ends it costs the processor; or a refused claim. */
static int64_t cost_us(struct testcase *testcase, const char *queue, lk_outcome expected) {
    int64_t begun_us = processor_us();

    assert_int_equal(take(testcase, queue, "w", 0), expected);
    if (expected == LK_GRANTED) {
        assert_int_equal(fixture_finish(testcase->engine, testcase->claim, LK_FINISH_DONE, 0),
                         LK_OK);
    }
    return processor_us() - begun_us;
}

/* In transactions, so that whatever else the machine is at is in both; by their medians. */
static void assert_no_dearer(struct testcase *testcase, const char *what, lk_outcome expected) {
    int64_t short_us[ROUNDS];
    int64_t long_us[ROUNDS];

    for (size_t i = 0; i < ROUNDS; i++) {
        short_us[i] = cost_us(testcase, "few", expected);
        long_us[i] = cost_us(testcase, "many", expected);
    }
    qsort(short_us, ROUNDS, sizeof short_us[0], compare_times);
    qsort(long_us, ROUNDS, sizeof long_us[0], compare_times);
    (void)printf("# %s: %lld us with few items, %lld us with many\n", what,
                 (long long)short_us[ROUNDS / 2], (long long)long_us[ROUNDS / 2]);
    assert_true(long_us[ROUNDS / 2] <= DEARER_AT_MOST * (short_us[ROUNDS / 2] + 50));
}

static void a_claim_from_a_long_queue_costs_no_more(void **state) {
    struct testcase *testcase = *state;

    fill(testcase, "few", "", SHORT_QUEUE + ROUNDS, "");
    fill(testcase, "many", "", LONG_QUEUE + ROUNDS, "");
    assert_no_dearer(testcase, "claim and done", LK_GRANTED);
    assert_int_equal(
        fixture_sql(testcase->fixture.file, "SELECT count(*) FROM lk_item WHERE queue = 'many'"),
        LONG_QUEUE);

    assert_int_equal(
        fixture_ask(testcase->engine, "pause", "few many", LK_TRY, 0, &testcase->result),
        LK_GRANTED);
    assert_no_dearer(testcase, "a claim of a paused queue", LK_BUSY);
}

/* Where many items need what is not free, those that do not are still found, in their order. */
static void a_claim_skips_items_that_are_not_free(void **state) {
    struct testcase *testcase = *state;

    fill(testcase, "q", "full", 500, "pool?limit=2");
    fill(testcase, "q", "held", 500, "a b?shared");
    assert_int_equal(push(testcase, "q", "free1", 0, "c"), LK_OK);
    fill(testcase, "q", "late", 100, "pool?limit=2");
    assert_int_equal(push(testcase, "q", "free2", 0, ""), LK_OK);
    assert_int_equal(fixture_ask(testcase->engine, "A", "pool?limit=2&units=2 b", LK_TRY, 60000,
                                 &testcase->result),
                     LK_GRANTED);
    assert_int_equal(take(testcase, "q", "w", 60000), LK_GRANTED);
    assert_string_equal(testcase->claim->id, "free1");
    assert_int_equal(take(testcase, "q", "w", 60000), LK_GRANTED);
    assert_string_equal(testcase->claim->id, "free2");
    assert_int_equal(take(testcase, "q", "w", 60000), LK_BUSY);
    assert_int_equal(fixture_release(testcase->engine, "A", "pool b", 0, &testcase->result), LK_OK);
    assert_int_equal(take(testcase, "q", "w", 60000), LK_GRANTED);
    assert_string_equal(testcase->claim->id, "full0");
}

/* Steps of SQLite that a claim takes, and what ends it; statements are prepared, pages are read. */
static int64_t steps_of_claim(struct testcase *testcase, const char *queue, lk_outcome expected) {
    (void)testcase_steps(testcase);
    (void)cost_us(testcase, queue, expected);
    return testcase_steps(testcase);
}

static void fill_in_sql(struct testcase *testcase, const char *queue, int count) {
    char text[512];

    (void)snprintf(
        text, sizeof text,
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %d)"
        " INSERT INTO lk_item (queue, id, sequence, state, due_us, due_unix_us,"
        " attempts, was_lost, needs) SELECT '%s', 'blocked' || n, n, 'ready', 0, 0, 0, 0,"
        " CASE WHEN n %% 2 THEN 'customer/a' ELSE 'pool?limit=2' END FROM n",
        count, queue);
    (void)fixture_sql(testcase->fixture.file, text);
}

static void a_claim_reads_the_first_of_those_that_need_the_same(void **state) {
    struct testcase *testcase = *state;
    const char *const queues[] = {"few", "many"};
    int64_t nothing[2];
    int64_t behind[2];

    assert_int_equal(fixture_ask(testcase->engine, "A", "customer/a pool?limit=2&units=2", LK_TRY,
                                 600000, &testcase->result),
                     LK_GRANTED);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(push(testcase, queues[i], "first", 0, ""), LK_OK);
        fill_in_sql(testcase, queues[i], i == 0 ? SHORT_QUEUE : LONG_QUEUE);
        (void)steps_of_claim(testcase, queues[i], LK_GRANTED);
        (void)steps_of_claim(testcase, queues[i], LK_BUSY);
        nothing[i] = steps_of_claim(testcase, queues[i], LK_BUSY);
        assert_int_equal(push(testcase, queues[i], "behind", 0, "customer/b"), LK_OK);
        behind[i] = steps_of_claim(testcase, queues[i], LK_GRANTED);
        assert_string_equal(testcase->claim->id, "behind");
    }
    (void)printf("# a claim of nothing: %lld steps beside %d, %lld beside %d; of the last: %lld,"
                 " %lld\n",
                 (long long)nothing[0], SHORT_QUEUE, (long long)nothing[1], LONG_QUEUE,
                 (long long)behind[0], (long long)behind[1]);
    assert_true(nothing[1] <= nothing[0] + nothing[0] / 4);
    assert_true(behind[1] <= behind[0] + behind[0] / 4);
}

static void fill_behind_head(struct testcase *testcase, const char *queue, int count) {
    char text[512];

    assert_int_equal(push(testcase, queue, "head", 0, "line?strict"), LK_OK);
    assert_int_equal(take(testcase, queue, "w", 0), LK_GRANTED);
    assert_int_equal(fixture_finish(testcase->engine, testcase->claim, LK_FINISH_RETRY, 3600000),
                     LK_OK);
    (void)snprintf(text, sizeof text,
                   "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %d)"
                   " INSERT INTO lk_item (queue, id, sequence, state, due_us, due_unix_us,"
                   " attempts, was_lost, needs) SELECT '%s', 'behind' || n, n, 'ready', 0, 0, 0, 0,"
                   " 'line?strict' FROM n",
                   count, queue);
    (void)fixture_sql(testcase->fixture.file, text);
}

/* The head of their strict need waits for its next attempt (R16). */
static void a_claim_reads_none_of_those_behind_a_head(void **state) {
    struct testcase *testcase = *state;
    const char *const queues[] = {"few", "many"};
    int64_t nothing[2];
    int64_t beside[2];

    for (size_t i = 0; i < 2; i++) {
        fill_behind_head(testcase, queues[i], i == 0 ? SHORT_QUEUE : LONG_QUEUE);
        (void)steps_of_claim(testcase, queues[i], LK_BUSY);
        nothing[i] = steps_of_claim(testcase, queues[i], LK_BUSY);
        assert_int_equal(push(testcase, queues[i], "other", 0, "other?strict"), LK_OK);
        beside[i] = steps_of_claim(testcase, queues[i], LK_GRANTED);
        assert_string_equal(testcase->claim->id, "other");
    }
    (void)printf("# a claim of nothing: %lld steps before %d behind a head, %lld before %d; of"
                 " another one: %lld, %lld\n",
                 (long long)nothing[0], SHORT_QUEUE, (long long)nothing[1], LONG_QUEUE,
                 (long long)beside[0], (long long)beside[1]);
    assert_true(nothing[1] <= nothing[0] + nothing[0] / 4);
    assert_true(beside[1] <= beside[0] + beside[0] / 4);
}

/* Of these ready items; what each of them adds is in two indices, one entry in each. */
enum { FEW_READY = 10, MANY_READY = 1000, STEPS_FOR_EACH_MAX = 25 };

/* Statements are prepared, and pages read, by a call that is not counted. */
static int64_t steps_of_counts(struct testcase *testcase, const char *text, unsigned ready) {
    const struct lk_patience until = test_patience(60000000);
    struct lk_engine *engine = testcase->engine;
    lk_queue_stats stats;
    struct lk_path queue;
    lk_error error;

    assert_int_equal(lk_path_parse(lk_slice_of(text), &queue, NULL), LK_OK);
    for (int turn = 0; turn < 2; turn++) {
        (void)testcase_steps(testcase);
        assert_int_equal(engine->ops->stats(engine, &queue, LK_STATS_WHOLE, &until, &stats, &error),
                         LK_OK);
    }
    assert_int_equal(stats.ready_now, ready);
    assert_true(stats.oldest_ready_ms >= 0);
    return testcase_steps(testcase);
}

/* The counts pass by each item, and so does the age: neither sorts, nor reads the items' rows. */
static void the_age_costs_as_much_for_each_item_as_the_counts(void **state) {
    struct testcase *testcase = *state;
    int64_t few;
    int64_t many;

    fill(testcase, "few", "", FEW_READY, "");
    fill(testcase, "many", "", MANY_READY, "");
    few = steps_of_counts(testcase, "few", FEW_READY);
    many = steps_of_counts(testcase, "many", MANY_READY);
    print_message("counts: %lld steps of %d items, %lld of %d\n", (long long)few, FEW_READY,
                  (long long)many, MANY_READY);
    assert_true(many - few <= STEPS_FOR_EACH_MAX * (MANY_READY - FEW_READY));
}

/* An item that is locked itself is passed over alone, and in the order of all. */
static void an_item_that_is_locked_itself_hides_no_other(void **state) {
    struct testcase *testcase = *state;
    static const char *const order[] = {"2", "3", "4", "5"};

    for (int i = 1; i <= 5; i++) {
        const char *needs = i % 2 == 0 ? "pool?limit=9" : i == 3 ? "" : "a?shared";
        char id[8];
        (void)snprintf(id, sizeof id, "%d", i);
        assert_int_equal(push(testcase, "q", id, 0, needs), LK_OK);
    }
    assert_int_equal(fixture_ask(testcase->engine, "A", "q/1", LK_TRY, 60000, &testcase->result),
                     LK_GRANTED);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        assert_int_equal(take(testcase, "q", "w", 60000), LK_GRANTED);
        assert_string_equal(testcase->claim->id, order[i]);
    }
    assert_int_equal(take(testcase, "q", "w", 60000), LK_BUSY);
}

/* Marks follow the items, whatever happens to the first of those that need the same. */
static void the_next_item_is_first_when_the_first_is_gone(void **state) {
    struct testcase *testcase = *state;
    const char *file = testcase->fixture.file;
    static const char firsts[] =
        "SELECT count(*) FROM lk_item WHERE state = 'ready' AND NOT behind";

    fill(testcase, "q", "", 4, "a");
    assert_int_equal(fixture_sql(file, firsts), 1);
    assert_int_equal(take(testcase, "q", "w", 60000), LK_GRANTED);
    assert_int_equal(fixture_sql(file, firsts), 1);
    assert_int_equal(fixture_sql(file, "SELECT count(*) FROM lk_item WHERE behind"), 2);
    assert_int_equal(fixture_finish(testcase->engine, testcase->claim, LK_FINISH_RETRY, 0), LK_OK);
    assert_int_equal(fixture_sql(file, "SELECT count(*) FROM lk_item WHERE behind"), 3);
    assert_int_equal(fixture_sql(file, "SELECT behind FROM lk_item WHERE id = '0'"), 0);
    (void)fixture_sql(file, "DELETE FROM lk_item WHERE id = '0'");
    assert_int_equal(fixture_sql(file, "SELECT behind FROM lk_item WHERE id = '1'"), 0);
    assert_int_equal(push(testcase, "q", "late", 60000, "a"), LK_OK);
    assert_int_equal(fixture_sql(file, "SELECT behind FROM lk_item WHERE id = 'late'"), 0);
    assert_int_equal(fixture_sql(file, firsts), 1);
}

/* ---- restarts -------------------------------------------------------------------------------- */

static void a_delay_survives_a_restart(void **state) {
    struct testcase *testcase = *state;

    assert_int_equal(push(testcase, "q", "1", 600000, ""), LK_OK);
    testcase_restart(testcase, "second", 300 * SECOND_US);
    assert_int_equal(take(testcase, "q", "w", 0), LK_BUSY);
    fixture_clock_advance(&testcase->clock, 299 * SECOND_US);
    assert_int_equal(take(testcase, "q", "w", 0), LK_BUSY);
    fixture_clock_advance(&testcase->clock, SECOND_US);
    assert_int_equal(take(testcase, "q", "w", 0), LK_GRANTED);
}

static void a_claim_survives_a_restart(void **state) {
    struct testcase *testcase = *state;

    assert_int_equal(push(testcase, "q", "1", 0, ""), LK_OK);
    assert_int_equal(take(testcase, "q", "w", 20000), LK_GRANTED);
    testcase_restart(testcase, "second", 3600 * SECOND_US);
    fixture_clock_advance(&testcase->clock, 19 * SECOND_US);
    assert_int_equal(fixture_finish(testcase->engine, testcase->claim, LK_FINISH_RETRY, 0), LK_OK);
    assert_int_equal(take(testcase, "q", "w", 20000), LK_GRANTED);
    testcase_restart(testcase, "third", SECOND_US);
    fixture_clock_advance(&testcase->clock, 20 * SECOND_US);
    assert_int_equal(take(testcase, "q", "thief", 0), LK_GRANTED);
    assert_true(testcase->claim->is_stolen);
    assert_int_equal(testcase->claim->attempt, 3);
}

/* ---- waiting for work ------------------------------------------------------------------------ */

struct later {
    struct testcase *testcase;
    int64_t after_us;
    void (*act)(struct testcase *testcase, struct lk_engine *engine);
};

static void *run_later(void *context) {
    const struct later *later = context;
    struct lk_engine *engine =
        fixture_open(later->testcase->fixture.file, &lk_sqlite_options_default);
    struct lk_waker waker;

    if (!lk_waker_init(&waker)) {
        test_die("no waker");
    }
    (void)lk_waker_sleep(&waker, later->after_us);
    later->act(later->testcase, engine);
    lk_waker_done(&waker);
    fixture_close(engine);
    return NULL;
}

/* Waits as workers do, until something is claimed. Returns how often it had to ask. */
static unsigned wait_for_work(struct testcase *testcase, const char *queue) {
    struct pending_call pending;
    struct lk_waker waker;
    unsigned asked = 1;

    assert_true(lk_waker_init(&waker));
    while (fixture_take(testcase->engine, queue, "w", 60000, &testcase->claim, &pending)
           == LK_BUSY) {
        assert_int_equal(
            call_await(testcase->engine, &pending, lk_clock_now_us() + 60 * SECOND_US, &waker),
            LK_OK);
        asked++;
    }
    assert_non_null(testcase->claim);
    lk_waker_done(&waker);
    return asked;
}

/* Waits while `act` happens in another store; it may ask this often. */
static void assert_woken(struct testcase *testcase,
                         void (*act)(struct testcase *, struct lk_engine *), unsigned asks_max) {
    struct later later = {.testcase = testcase, .after_us = SECOND_US / 10, .act = act};
    int64_t begun_us = lk_clock_now_us();
    pthread_t thread;
    unsigned asked;

    assert_int_equal(pthread_create(&thread, NULL, run_later, &later), 0);
    asked = wait_for_work(testcase, "q");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_in_range(asked, 1, asks_max);
    assert_true(lk_clock_now_us() - begun_us < 60 * SECOND_US);
}

static void push_one(struct testcase *testcase, struct lk_engine *engine) {
    (void)testcase;
    if (fixture_push(engine, "q", "1", no_value, 0, "") != LK_OK) {
        test_die("no push");
    }
}

static void push_delayed(struct testcase *testcase, struct lk_engine *engine) {
    (void)testcase;
    if (fixture_push(engine, "q", "2", no_value, 200, "") != LK_OK) {
        test_die("no push");
    }
}

/* Much happens elsewhere, of which a worker at an empty queue need not be woken. */
static void be_busy_elsewhere(struct testcase *testcase, struct lk_engine *engine) {
    lk_result result = {.outcome = LK_OK};

    (void)testcase;
    for (int i = 0; i < 200; i++) {
        (void)fixture_ask(engine, "A", "elsewhere", LK_TRY, 0, &result);
        (void)fixture_release(engine, "A", "elsewhere", 0, &result);
    }
    lk_result_clear(&result);
    push_one(testcase, engine);
}

static void release_pause(struct testcase *testcase, struct lk_engine *engine) {
    lk_result result = {.outcome = LK_OK};

    (void)testcase;
    if (fixture_release(engine, "pause", "q", 0, &result) != LK_OK) {
        test_die("no release");
    }
    lk_result_clear(&result);
}

static void do_nothing(struct testcase *testcase, struct lk_engine *engine) {
    (void)testcase;
    (void)engine;
}

static void a_push_wakes_a_worker(void **state) {
    struct testcase *testcase = *state;

    assert_woken(testcase, push_one, 3);
    assert_int_equal(fixture_finish(testcase->engine, testcase->claim, LK_FINISH_DONE, 0), LK_OK);
    assert_woken(testcase, push_delayed, 3);
    assert_int_equal(fixture_finish(testcase->engine, testcase->claim, LK_FINISH_DONE, 0), LK_OK);
    assert_woken(testcase, be_busy_elsewhere, 3);
    assert_int_equal(fixture_finish(testcase->engine, testcase->claim, LK_FINISH_DONE, 0), LK_OK);
}

static void an_ended_claim_wakes_a_worker(void **state) {
    struct testcase *testcase = *state;
    lk_claim_info *lost = NULL;

    /* A lock on the queue is released... */
    assert_int_equal(push(testcase, "q", "1", 0, "pool?limit=1"), LK_OK);
    assert_int_equal(fixture_ask(testcase->engine, "pause", "q", LK_TRY, 60000, &testcase->result),
                     LK_GRANTED);
    assert_woken(testcase, release_pause, 4);
    assert_int_equal(fixture_finish(testcase->engine, testcase->claim, LK_FINISH_RETRY, 0), LK_OK);

    /* ... a claim perishes, and no call writes ... */
    assert_int_equal(fixture_take(testcase->engine, "q", "lost", 300, &lost, NULL), LK_GRANTED);
    assert_woken(testcase, do_nothing, 4);
    assert_true(testcase->claim->is_stolen);
    assert_int_equal(fixture_finish(testcase->engine, testcase->claim, LK_FINISH_RETRY, 0), LK_OK);

    /* ... and so does the holder of what the work needs. */
    assert_int_equal(fixture_ask(testcase->engine, "A", "pool", LK_TRY, 300, &testcase->result),
                     LK_GRANTED);
    assert_woken(testcase, do_nothing, 4);
    lk_claim_free(lost);
}

static void a_wait_for_work_ends_at_its_time_limit(void **state) {
    struct testcase *testcase = *state;
    struct pending_call pending;
    struct lk_waker waker;
    int64_t begun_us = lk_clock_now_us();

    assert_true(lk_waker_init(&waker));
    assert_int_equal(fixture_take(testcase->engine, "q", "w", 0, &testcase->claim, &pending),
                     LK_BUSY);
    assert_int_equal(call_await(testcase->engine, &pending, begun_us + SECOND_US / 10, &waker),
                     LK_OK);
    assert_true(lk_clock_now_us() >= begun_us + SECOND_US / 10);
    lk_waker_throw(&waker);
    assert_int_equal(call_await(testcase->engine, &pending, LK_NEVER, &waker), LK_CANCELLED);
    lk_waker_done(&waker);
}

/* ---- for people ------------------------------------------------------------------------------ */

static void the_views_are_readable(void **state) {
    struct testcase *testcase = *state;
    const char *file = testcase->fixture.file;

    assert_int_equal(push(testcase, "q", "1", 0, "pool?limit=3"), LK_OK);
    assert_int_equal(push(testcase, "q", "2", 600000, ""), LK_OK);
    assert_int_equal(take(testcase, "q", "worker", 0), LK_GRANTED);
    assert_int_equal(fixture_sql(file,
                                 "SELECT count(*) FROM lk_items WHERE queue = 'q' AND id = '1'"
                                 " AND state = 'claimed' AND claimed_by = 'worker'"
                                 " AND needs = 'pool?limit=3'"
                                 " AND CAST(value AS TEXT) = 'work'"),
                     1);
    assert_int_equal(fixture_sql(file, "SELECT count(*) FROM lk_items WHERE id = '2'"
                                       " AND state = 'delayed' AND due > since"),
                     1);
    assert_int_equal(fixture_sql(file, "SELECT count(*) FROM lk_locks WHERE path = 'q/1'"), 1);
}

#define IN_A_SCENE(test)                                                                           \
    cmocka_unit_test_setup_teardown(test, testcase_setup_on_machine_clock, testcase_teardown)
#define WITH_A_CLOCK(test) cmocka_unit_test_setup_teardown(test, testcase_setup, testcase_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_SCENE(large_values_are_stored),
        IN_A_SCENE(a_value_too_large_for_a_row_is_reported),
        IN_A_SCENE(a_page_of_values_reads_its_own_alone),
        IN_A_SCENE(a_killed_holder_leaves_the_value_in_doubt),
        IN_A_SCENE(a_claim_from_a_long_queue_costs_no_more),
        IN_A_SCENE(a_claim_skips_items_that_are_not_free),
        IN_A_SCENE(a_claim_reads_the_first_of_those_that_need_the_same),
        IN_A_SCENE(a_claim_reads_none_of_those_behind_a_head),
        IN_A_SCENE(the_age_costs_as_much_for_each_item_as_the_counts),
        IN_A_SCENE(an_item_that_is_locked_itself_hides_no_other),
        IN_A_SCENE(the_next_item_is_first_when_the_first_is_gone),
        WITH_A_CLOCK(a_delay_survives_a_restart),
        WITH_A_CLOCK(a_claim_survives_a_restart),
        IN_A_SCENE(a_push_wakes_a_worker),
        IN_A_SCENE(an_ended_claim_wakes_a_worker),
        IN_A_SCENE(a_wait_for_work_ends_at_its_time_limit),
        IN_A_SCENE(the_views_are_readable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
