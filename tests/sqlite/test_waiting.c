/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting: for the store itself, which another process may keep to itself, and for a grant.
 * Nothing here sleeps to synchronise; where a wait must end, the test's own timeout is the bound.
 */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "engine/sqlite/change_watch.h"
#include "fixture.h"

#define SECOND_US INT64_C(1000000)

struct two_stores {
    struct fixture fixture;
    struct lk_engine *engine;
    struct lk_engine *other;
    lk_result result;
};

static int setup(void **state) {
    struct two_stores *testcase = calloc(1, sizeof *testcase);

    if (testcase == NULL) {
        return 1;
    }
    testcase->fixture = fixture_make();
    testcase->engine = fixture_open(testcase->fixture.file, &lk_sqlite_options_default);
    testcase->other = fixture_open(testcase->fixture.file, &lk_sqlite_options_default);
    *state = testcase;
    return 0;
}

static int teardown(void **state) {
    struct two_stores *testcase = *state;

    lk_result_clear(&testcase->result);
    fixture_close(testcase->engine);
    fixture_close(testcase->other);
    fixture_remove(&testcase->fixture);
    free(testcase);
    return 0;
}

/* ---- for the store itself -------------------------------------------------------------------- */

/* A process that takes the write lock and is then stopped, until it is killed. */
static pid_t start_stopped_writer(const char *file) {
    int status = 0;
    pid_t child;

    child = test_fork();
    if (child == 0) {
        sqlite3 *handle = NULL;
        if (sqlite3_open(file, &handle) != SQLITE_OK
            || sqlite3_exec(handle, "BEGIN IMMEDIATE; UPDATE lk_meta SET sweep_root = 'half'", NULL,
                            NULL, NULL)
                   != SQLITE_OK) {
            _exit(1);
        }
        (void)raise(SIGSTOP);
        _exit(2);
    }
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    return child;
}

static void kill_writer(pid_t child) {
    int status = 0;

    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
}

static lk_outcome ask_with(struct two_stores *testcase, const char *owner,
                           const struct lk_patience *patience) {
    struct test_parts parts;
    struct lk_ask ask = {.owner = lk_slice_of(owner), .style = LK_TRY};

    test_parts_parse(&parts, "x");
    ask.parts = parts.parts;
    ask.part_count = parts.count;
    lk_result_clear(&testcase->result);
    return call_ask(testcase->engine, &ask, patience, &testcase->result);
}

static void a_stopped_writer_makes_calls_unavailable_in_time(void **state) {
    struct two_stores *testcase = *state;
    pid_t writer = start_stopped_writer(testcase->fixture.file);
    int64_t begun_us = lk_clock_now_us();
    struct lk_patience patience = test_patience(SECOND_US / 5);
    struct lk_engine *late = NULL;
    lk_listing *listing = NULL;
    lk_error error;

    assert_int_equal(ask_with(testcase, "A", &patience), LK_UNAVAILABLE);
    assert_non_null(strstr(testcase->result.error, "write lock"));
    assert_true(lk_clock_now_us() - begun_us >= SECOND_US / 5);
    /* Reads are not blocked, and neither is opening. */
    assert_int_equal(
        testcase->engine->ops->list(testcase->engine, NULL, &patience, &listing, &error), LK_OK);
    lk_listing_free(listing);
    assert_int_equal(lk_sqlite_open(lk_slice_of(testcase->fixture.file), &lk_sqlite_options_default,
                                    &patience, &late, &error),
                     LK_OK);
    fixture_close(late);

    kill_writer(writer);
    patience = test_patience(20 * SECOND_US);
    assert_int_equal(ask_with(testcase, "A", &patience), LK_GRANTED);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT count(*) FROM lk_meta"
                                                         " WHERE sweep_root = 'half'"),
                     0);
}

static void a_waker_ends_the_wait_for_the_store(void **state) {
    struct two_stores *testcase = *state;
    pid_t writer = start_stopped_writer(testcase->fixture.file);
    struct lk_waker waker;
    struct lk_patience patience = {.until_us = LK_NEVER, .waker = &waker};

    assert_true(lk_waker_init(&waker));
    lk_waker_throw(&waker);
    assert_int_equal(ask_with(testcase, "A", &patience), LK_CANCELLED);
    lk_waker_done(&waker);
    kill_writer(writer);
}

/* ---- for a grant ----------------------------------------------------------------------------- */

struct sleeper {
    pthread_t thread;
    struct lk_engine *engine;
    struct pending_call pending;
    int64_t until_us;
    struct lk_waker *waker;
    lk_outcome outcome;
};

/* Queues `owner` for `parts`, by this engine. */
static void stand_in_line(struct sleeper *sleeper, struct lk_engine *engine, const char *owner,
                          const char *parts_text) {
    struct lk_patience patience = test_patience(20 * SECOND_US);
    lk_result result = {.outcome = LK_OK};
    struct test_parts parts;
    struct lk_ask ask = {.owner = lk_slice_of(owner), .style = LK_QUEUE, .blockers_max = 1};

    *sleeper = (struct sleeper){.engine = engine, .until_us = LK_NEVER};
    test_parts_parse(&parts, parts_text);
    ask.parts = parts.parts;
    ask.part_count = parts.count;
    assert_int_equal(call_ask_pending(engine, &ask, &patience, &result, &sleeper->pending),
                     LK_WAITING);
    assert_true(sleeper->pending.cursor.id != 0);
    lk_result_clear(&result);
}

static void *sleep_on(void *context) {
    struct sleeper *sleeper = context;

    sleeper->outcome =
        call_await(sleeper->engine, &sleeper->pending, sleeper->until_us, sleeper->waker);
    return NULL;
}

static void start(struct sleeper *sleeper) {
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_on, sleeper), 0);
}

static void join(struct sleeper *sleeper) {
    assert_int_equal(pthread_join(sleeper->thread, NULL), 0);
}

static void a_release_by_another_process_ends_the_wait(void **state) {
    struct two_stores *testcase = *state;
    struct sleeper sleeper;

    assert_int_equal(fixture_ask(testcase->engine, "A", "x", LK_TRY, 0, &testcase->result),
                     LK_GRANTED);
    stand_in_line(&sleeper, testcase->other, "B", "x");
    start(&sleeper);
    assert_int_equal(fixture_release(testcase->engine, "A", "x", 0, &testcase->result), LK_OK);
    join(&sleeper);
    assert_int_equal(sleeper.outcome, LK_OK);
    assert_int_equal(fixture_ask(testcase->other, "B", "x", LK_TRY, 0, &testcase->result),
                     LK_GRANTED);
}

/* A clock that tells when it is read: await() reads it after each look. */
static int64_t read_and_tell(void *context) {
    (void)sem_post(context);
    return lk_clock_now_us();
}

static int64_t read_wall(void *context) {
    (void)context;
    return lk_clock_wall_us();
}

/* Commits of one's own connection are not in its data version. */
static void a_release_by_another_thread_ends_the_wait(void **state) {
    struct two_stores *testcase = *state;
    sem_t readings;
    const struct lk_time_source time = {read_and_tell, read_wall, &readings};
    const struct lk_sqlite_options options = {.time = &time, .overdue_max = 64};
    struct sleeper sleeper;
    struct lk_engine *engine;

    assert_int_equal(sem_init(&readings, 0, 0), 0);
    engine = fixture_open(testcase->fixture.file, &options);
    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &testcase->result), LK_GRANTED);
    stand_in_line(&sleeper, engine, "B", "x");
    while (sem_trywait(&readings) == 0) {
    }
    start(&sleeper);
    assert_int_equal(sem_wait(&readings), 0); /* it has looked, and found itself waiting */
    assert_int_equal(fixture_release(engine, "A", "x", 0, &testcase->result), LK_OK);
    join(&sleeper);
    assert_int_equal(sleeper.outcome, LK_OK);
    assert_int_equal(fixture_ask(engine, "B", "x", LK_TRY, 0, &testcase->result), LK_GRANTED);
    fixture_close(engine);
    (void)sem_destroy(&readings);
}

/* Only the waiter is there to sweep the dead holder. */
static void the_deadline_of_a_blocker_ends_the_wait(void **state) {
    struct two_stores *testcase = *state;
    struct sleeper sleeper;

    assert_int_equal(fixture_ask(testcase->engine, "A", "x/y", LK_TRY, 3000, &testcase->result),
                     LK_GRANTED);
    stand_in_line(&sleeper, testcase->other, "B", "x");
    start(&sleeper);
    join(&sleeper);
    assert_int_equal(sleeper.outcome, LK_OK);
    assert_int_equal(fixture_ask(testcase->other, "B", "x", LK_TRY, 0, &testcase->result),
                     LK_GRANTED);
}

static void a_break_ends_the_wait(void **state) {
    struct two_stores *testcase = *state;
    struct lk_patience patience = test_patience(20 * SECOND_US);
    struct lk_break broken = {.at_once = true, .owner = lk_slice_of("B")};
    struct sleeper sleeper;
    size_t count = 0;
    lk_error error;

    assert_int_equal(fixture_ask(testcase->engine, "A", "x", LK_TRY, 0, &testcase->result),
                     LK_GRANTED);
    stand_in_line(&sleeper, testcase->other, "B", "x");
    start(&sleeper);
    assert_int_equal(lk_path_parse(lk_slice_of("x"), &broken.path, &error), LK_OK);
    assert_int_equal(
        call_break(testcase->engine, &broken, "root", "enough", &patience, &count, &error), LK_OK);
    assert_int_equal(count, 1);
    join(&sleeper);
    assert_int_equal(sleeper.outcome, LK_OK);
}

static void a_waker_ends_the_wait(void **state) {
    struct two_stores *testcase = *state;
    struct sleeper sleeper;
    struct lk_waker waker;

    assert_true(lk_waker_init(&waker));
    assert_int_equal(fixture_ask(testcase->engine, "A", "x", LK_TRY, 0, &testcase->result),
                     LK_GRANTED);
    stand_in_line(&sleeper, testcase->other, "B", "x");
    sleeper.waker = &waker;
    start(&sleeper);
    lk_waker_throw(&waker);
    join(&sleeper);
    assert_int_equal(sleeper.outcome, LK_CANCELLED);
    lk_waker_done(&waker);
}

/* Watching is looking: the file's counter of changes does not change. */
static void waiting_writes_nothing(void **state) {
    struct two_stores *testcase = *state;
    struct sleeper sleeper;
    sqlite3 *handle = NULL;
    sqlite3_stmt *version = NULL;
    int64_t before;

    assert_int_equal(fixture_ask(testcase->engine, "A", "x", LK_TRY, 0, &testcase->result),
                     LK_GRANTED);
    stand_in_line(&sleeper, testcase->other, "B", "x");
    assert_int_equal(sqlite3_open(testcase->fixture.file, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, "PRAGMA data_version", -1, &version, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(version), SQLITE_ROW);
    before = sqlite3_column_int64(version, 0);
    assert_int_equal(sqlite3_reset(version), SQLITE_OK);

    sleeper.until_us = lk_clock_now_us() + SECOND_US / 5;
    (void)sleep_on(&sleeper);
    assert_int_equal(sleeper.outcome, LK_OK);
    assert_true(lk_clock_now_us() >= sleeper.until_us);
    assert_int_equal(sqlite3_step(version), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int64(version, 0), before);
    assert_int_equal(sqlite3_finalize(version), SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

/* ---- threads on one store -------------------------------------------------------------------- */

enum { THREADS = 4, TURNS = 40 };

struct contender {
    pthread_t thread;
    struct lk_engine *engine;
    char owner[16];
    atomic_int *inside; /* shared by all */
    int wrong;
};

/* Gets the lock, finds itself alone in it, and gives it back; again and again. */
static void *contend(void *context) {
    struct contender *contender = context;
    struct lk_engine *engine = contender->engine;
    lk_result result = {.outcome = LK_OK};
    struct test_parts parts;
    struct lk_ask ask = {.owner = lk_slice_of(contender->owner), .style = LK_WAIT};

    test_parts_parse(&parts, "x");
    ask.parts = parts.parts;
    ask.part_count = parts.count;
    for (int i = 0; i < TURNS; i++) {
        struct lk_patience patience = test_patience(20 * SECOND_US);
        struct pending_call pending;
        lk_result_clear(&result);
        while (call_ask_pending(engine, &ask, &patience, &result, &pending) == LK_WAITING) {
            lk_result_clear(&result);
            (void)call_await(engine, &pending, LK_NEVER, NULL);
        }
        contender->wrong += result.outcome != LK_GRANTED;
        contender->wrong += atomic_fetch_add(contender->inside, 1) != 0;
        (void)atomic_fetch_sub(contender->inside, 1);
        contender->wrong +=
            fixture_release(engine, contender->owner, "x", result.token, &result) != LK_OK;
    }
    lk_result_clear(&result);
    return NULL;
}

static void threads_may_share_one_store(void **state) {
    struct two_stores *testcase = *state;
    struct contender contenders[THREADS];
    atomic_int inside = 0;

    for (int i = 0; i < THREADS; i++) {
        contenders[i] = (struct contender){
            .engine = i % 2 == 0 ? testcase->engine : testcase->other, .inside = &inside};
        (void)snprintf(contenders[i].owner, sizeof contenders[i].owner, "thread %d", i);
        assert_int_equal(pthread_create(&contenders[i].thread, NULL, contend, &contenders[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(contenders[i].thread, NULL), 0);
        assert_int_equal(contenders[i].wrong, 0);
    }
}

/* ---- how often ------------------------------------------------------------------------------- */

static bool finds_it_unmoved;

static int query_as_told(struct lk_change_watch *watch) {
    watch->is_unmoved = finds_it_unmoved;
    return SQLITE_OK;
}

/* Whether a check after a commit elsewhere takes it for news. */
static bool is_news(struct two_stores *testcase, struct lk_change_watch *watch, const char *path) {
    assert_int_equal(fixture_ask(testcase->other, "B", path, LK_TRY, 60000, &testcase->result),
                     LK_GRANTED);
    watch->changed_us = 0;
    assert_int_equal(lk_change_watch_check(watch), LK_OK);
    return watch->changed_us != 0;
}

/* So the pauses of one who waits in a busy store grow as in a quiet one. */
static void a_commit_that_changes_nothing_here_is_no_news(void **state) {
    struct two_stores *testcase = *state;
    struct lk_change_watch watch =
        lk_change_watch_make(lk_sqlite_of(testcase->engine), query_as_told, 1000, 25000);

    finds_it_unmoved = false;
    assert_true(is_news(testcase, &watch, "a"));
    finds_it_unmoved = true;
    assert_false(is_news(testcase, &watch, "b"));
    finds_it_unmoved = false;
    assert_true(is_news(testcase, &watch, "c"));
}

#define SCENE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        SCENE(a_stopped_writer_makes_calls_unavailable_in_time),
        SCENE(a_waker_ends_the_wait_for_the_store),
        SCENE(a_release_by_another_process_ends_the_wait),
        SCENE(a_release_by_another_thread_ends_the_wait),
        SCENE(the_deadline_of_a_blocker_ends_the_wait),
        SCENE(a_break_ends_the_wait),
        SCENE(a_waker_ends_the_wait),
        SCENE(waiting_writes_nothing),
        SCENE(threads_may_share_one_store),
        SCENE(a_commit_that_changes_nothing_here_is_no_news),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
