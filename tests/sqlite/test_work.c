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
#include "scene.h"
#include "sql/format.h"

#define SECOND_US INT64_C(1000000)

enum { LONG_QUEUE = 20000, SHORT_QUEUE = 20, ROUNDS = 60, DEARER_AT_MOST = 4 };

static const struct lk_slice no_value = {NULL, 0};

static lk_outcome push(struct scene *scene, const char *queue, const char *id, int64_t delay_ms,
                       const char *needs) {
    return ground_push(scene->engine, queue, id, lk_slice_of("work"), delay_ms, needs);
}

static lk_outcome take(struct scene *scene, const char *queue, const char *owner, int64_t ttl_ms) {
    return ground_take(scene->engine, queue, owner, ttl_ms, &scene->claim, NULL);
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

static void large_values_come_back(void **state) {
    struct scene *scene = *state;
    struct lk_slice large = make_large();
    struct lk_slice too_large = {large.bytes, large.size + 1};
    lk_value *value;

    assert_int_equal(ground_put(scene->engine, "a", large), LK_OK);
    assert_int_equal(ground_put(scene->engine, "a", too_large), LK_INVALID);
    value = ground_get(scene->engine, "a");
    assert_non_null(value);
    assert_int_equal(value->size, large.size);
    assert_memory_equal(value->bytes, large.bytes, large.size);
    assert_false(value->in_doubt);
    lk_value_free(value);

    assert_int_equal(ground_push(scene->engine, "q", "1", large, 0, ""), LK_OK);
    assert_int_equal(take(scene, "q", "w", 0), LK_GRANTED);
    assert_int_equal(scene->claim->value_size, large.size);
    assert_memory_equal(scene->claim->value, large.bytes, large.size);
    assert_int_equal(ground_finish(scene->engine, scene->claim, LK_FINISH_DONE, 0), LK_OK);
    assert_int_equal(ground_sql(scene->ground.file, "SELECT count(*) FROM item_values"), 0);
}

static void a_value_too_large_for_a_row_is_named(void **state) {
    struct scene *scene = *state;
    struct lk_patience patience = test_patience(SECOND_US);
    struct lk_path path;
    lk_value *value = NULL;
    lk_error error;

    (void)ground_sql(scene->ground.file,
                     "INSERT INTO path_values VALUES ('a', 0, zeroblob(65537))");
    assert_int_equal(lk_path_parse(lk_slice_of("a"), &path, NULL), LK_OK);
    assert_int_equal(scene->engine->ops->value_get(scene->engine, &path, &patience, &value, &error),
                     LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "path_values"));
}

/* A process that takes the lock and its value, says so, and is killed. */
static void die_holding(struct scene *scene, int64_t ttl_ms) {
    int news[2];
    char byte;
    pid_t child;

    assert_int_equal(pipe(news), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct lk_engine *engine = ground_open_durable(scene->ground.file);
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

static void a_killed_holder_leaves_doubt(void **state) {
    struct scene *scene = *state;
    lk_value *value = NULL;
    bool in_doubt = false;

    assert_int_equal(ground_put(scene->engine, "state", lk_slice_of("before")), LK_OK);
    die_holding(scene, 300);
    /* A look alone, of many: nobody sweeps, and nobody has to. */
    for (int64_t end_us = lk_clock_now_us() + 60 * SECOND_US;
         !in_doubt && lk_clock_now_us() < end_us;) {
        value = ground_get(scene->engine, "state");
        assert_non_null(value);
        in_doubt = value->in_doubt;
        lk_value_free(value);
    }
    assert_true(in_doubt);
    assert_int_equal(ground_sql(scene->ground.file, "SELECT in_doubt FROM path_values"), 0);
    assert_int_equal(ground_ask(scene->engine, "next", "state", LK_TRY, 0, &scene->result),
                     LK_GRANTED);
    assert_int_equal(ground_sql(scene->ground.file, "SELECT in_doubt FROM path_values"), 1);
    assert_int_equal(ground_release(scene->engine, "next", "state", 0, &scene->result), LK_OK);
    assert_int_equal(ground_put(scene->engine, "state", lk_slice_of("after")), LK_OK);
    assert_int_equal(ground_sql(scene->ground.file, "SELECT in_doubt FROM path_values"), 0);
}

/* ---- long queues ----------------------------------------------------------------------------- */

static void fill(struct scene *scene, const char *queue, const char *first_digit, unsigned count,
                 const char *needs) {
    for (unsigned i = 0; i < count; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "%s%u", first_digit, i);
        assert_int_equal(push(scene, queue, id, 0, needs), LK_OK);
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
static int64_t cost_us(struct scene *scene, const char *queue, lk_outcome expected) {
    int64_t begun_us = processor_us();

    assert_int_equal(take(scene, queue, "w", 0), expected);
    if (expected == LK_GRANTED) {
        assert_int_equal(ground_finish(scene->engine, scene->claim, LK_FINISH_DONE, 0), LK_OK);
    }
    return processor_us() - begun_us;
}

/* In transactions, so that whatever else the machine is at is in both; by their medians. */
static void assert_no_dearer(struct scene *scene, const char *what, lk_outcome expected) {
    int64_t short_us[ROUNDS];
    int64_t long_us[ROUNDS];

    for (size_t i = 0; i < ROUNDS; i++) {
        short_us[i] = cost_us(scene, "few", expected);
        long_us[i] = cost_us(scene, "many", expected);
    }
    qsort(short_us, ROUNDS, sizeof short_us[0], compare_times);
    qsort(long_us, ROUNDS, sizeof long_us[0], compare_times);
    (void)printf("# %s: %lld us with few items, %lld us with many\n", what,
                 (long long)short_us[ROUNDS / 2], (long long)long_us[ROUNDS / 2]);
    assert_true(long_us[ROUNDS / 2] <= DEARER_AT_MOST * (short_us[ROUNDS / 2] + 50));
}

static void a_long_queue_is_no_dearer(void **state) {
    struct scene *scene = *state;

    fill(scene, "few", "", SHORT_QUEUE + ROUNDS, "");
    fill(scene, "many", "", LONG_QUEUE + ROUNDS, "");
    assert_no_dearer(scene, "claim and done", LK_GRANTED);
    assert_int_equal(
        ground_sql(scene->ground.file, "SELECT count(*) FROM items WHERE queue = 'many'"),
        LONG_QUEUE);

    assert_int_equal(ground_ask(scene->engine, "pause", "few many", LK_TRY, 0, &scene->result),
                     LK_GRANTED);
    assert_no_dearer(scene, "a claim of a paused queue", LK_BUSY);
}

/* Where many items need what is not free, those that do not are still found, in their order. */
static void what_is_not_free_is_passed_over(void **state) {
    struct scene *scene = *state;

    fill(scene, "q", "full", 500, "pool?limit=2");
    fill(scene, "q", "held", 500, "a b?shared");
    assert_int_equal(push(scene, "q", "free1", 0, "c"), LK_OK);
    fill(scene, "q", "late", 100, "pool?limit=2");
    assert_int_equal(push(scene, "q", "free2", 0, ""), LK_OK);
    assert_int_equal(
        ground_ask(scene->engine, "A", "pool?limit=2&units=2 b", LK_TRY, 60000, &scene->result),
        LK_GRANTED);
    assert_int_equal(take(scene, "q", "w", 60000), LK_GRANTED);
    assert_string_equal(scene->claim->id, "free1");
    assert_int_equal(take(scene, "q", "w", 60000), LK_GRANTED);
    assert_string_equal(scene->claim->id, "free2");
    assert_int_equal(take(scene, "q", "w", 60000), LK_BUSY);
    assert_int_equal(ground_release(scene->engine, "A", "pool b", 0, &scene->result), LK_OK);
    assert_int_equal(take(scene, "q", "w", 60000), LK_GRANTED);
    assert_string_equal(scene->claim->id, "full0");
}

/* ---- restarts -------------------------------------------------------------------------------- */

static void a_delay_keeps_its_end_over_a_restart(void **state) {
    struct scene *scene = *state;

    assert_int_equal(push(scene, "q", "1", 600000, ""), LK_OK);
    scene_restart(scene, "second", 300 * SECOND_US);
    assert_int_equal(take(scene, "q", "w", 0), LK_BUSY);
    ground_clock_advance(&scene->clock, 299 * SECOND_US);
    assert_int_equal(take(scene, "q", "w", 0), LK_BUSY);
    ground_clock_advance(&scene->clock, SECOND_US);
    assert_int_equal(take(scene, "q", "w", 0), LK_GRANTED);
}

static void a_claim_lives_on_over_a_restart(void **state) {
    struct scene *scene = *state;

    assert_int_equal(push(scene, "q", "1", 0, ""), LK_OK);
    assert_int_equal(take(scene, "q", "w", 20000), LK_GRANTED);
    scene_restart(scene, "second", 3600 * SECOND_US);
    ground_clock_advance(&scene->clock, 19 * SECOND_US);
    assert_int_equal(ground_finish(scene->engine, scene->claim, LK_FINISH_RETRY, 0), LK_OK);
    assert_int_equal(take(scene, "q", "w", 20000), LK_GRANTED);
    scene_restart(scene, "third", SECOND_US);
    ground_clock_advance(&scene->clock, 20 * SECOND_US);
    assert_int_equal(take(scene, "q", "thief", 0), LK_GRANTED);
    assert_true(scene->claim->is_stolen);
    assert_int_equal(scene->claim->attempt, 3);
}

/* ---- waiting for work ------------------------------------------------------------------------ */

struct later {
    struct scene *scene;
    int64_t after_us;
    void (*act)(struct scene *scene, struct lk_engine *engine);
};

static void *run_later(void *context) {
    const struct later *later = context;
    struct lk_engine *engine = ground_open(later->scene->ground.file, &lk_sqlite_options_default);
    struct lk_waker waker;

    if (!lk_waker_init(&waker)) {
        test_die("no waker");
    }
    (void)lk_waker_sleep(&waker, later->after_us);
    later->act(later->scene, engine);
    lk_waker_done(&waker);
    ground_close(engine);
    return NULL;
}

/* Waits as workers do, until something is claimed. Returns how often it had to ask. */
static unsigned wait_for_work(struct scene *scene, const char *queue) {
    struct standing standing;
    struct lk_waker waker;
    unsigned asked = 1;

    assert_true(lk_waker_init(&waker));
    while (ground_take(scene->engine, queue, "w", 60000, &scene->claim, &standing) == LK_BUSY) {
        assert_int_equal(
            call_await(scene->engine, &standing, lk_clock_now_us() + 60 * SECOND_US, &waker),
            LK_OK);
        asked++;
    }
    assert_non_null(scene->claim);
    lk_waker_done(&waker);
    return asked;
}

/* Waits while `act` happens in another store; it may ask this often. */
static void assert_woken(struct scene *scene, void (*act)(struct scene *, struct lk_engine *),
                         unsigned asks_max) {
    struct later later = {.scene = scene, .after_us = SECOND_US / 10, .act = act};
    int64_t begun_us = lk_clock_now_us();
    pthread_t thread;
    unsigned asked;

    assert_int_equal(pthread_create(&thread, NULL, run_later, &later), 0);
    asked = wait_for_work(scene, "q");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_in_range(asked, 1, asks_max);
    assert_true(lk_clock_now_us() - begun_us < 60 * SECOND_US);
}

static void push_one(struct scene *scene, struct lk_engine *engine) {
    (void)scene;
    if (ground_push(engine, "q", "1", no_value, 0, "") != LK_OK) {
        test_die("no push");
    }
}

static void push_delayed(struct scene *scene, struct lk_engine *engine) {
    (void)scene;
    if (ground_push(engine, "q", "2", no_value, 200, "") != LK_OK) {
        test_die("no push");
    }
}

/* Much happens elsewhere, of which a worker at an empty queue need not be woken. */
static void be_busy_elsewhere(struct scene *scene, struct lk_engine *engine) {
    lk_result result = {.outcome = LK_OK};

    (void)scene;
    for (int i = 0; i < 200; i++) {
        (void)ground_ask(engine, "A", "elsewhere", LK_TRY, 0, &result);
        (void)ground_release(engine, "A", "elsewhere", 0, &result);
    }
    lk_result_clear(&result);
    push_one(scene, engine);
}

static void release_pause(struct scene *scene, struct lk_engine *engine) {
    lk_result result = {.outcome = LK_OK};

    (void)scene;
    if (ground_release(engine, "pause", "q", 0, &result) != LK_OK) {
        test_die("no release");
    }
    lk_result_clear(&result);
}

static void do_nothing(struct scene *scene, struct lk_engine *engine) {
    (void)scene;
    (void)engine;
}

static void workers_are_woken(void **state) {
    struct scene *scene = *state;

    assert_woken(scene, push_one, 3);
    assert_int_equal(ground_finish(scene->engine, scene->claim, LK_FINISH_DONE, 0), LK_OK);
    assert_woken(scene, push_delayed, 3);
    assert_int_equal(ground_finish(scene->engine, scene->claim, LK_FINISH_DONE, 0), LK_OK);
    assert_woken(scene, be_busy_elsewhere, 3);
    assert_int_equal(ground_finish(scene->engine, scene->claim, LK_FINISH_DONE, 0), LK_OK);
}

static void workers_are_woken_by_ends(void **state) {
    struct scene *scene = *state;
    lk_claim_info *lost = NULL;

    /* A lock on the queue is released... */
    assert_int_equal(push(scene, "q", "1", 0, "pool?limit=1"), LK_OK);
    assert_int_equal(ground_ask(scene->engine, "pause", "q", LK_TRY, 60000, &scene->result),
                     LK_GRANTED);
    assert_woken(scene, release_pause, 4);
    assert_int_equal(ground_finish(scene->engine, scene->claim, LK_FINISH_RETRY, 0), LK_OK);

    /* ... a claim perishes, and nobody writes ... */
    assert_int_equal(ground_take(scene->engine, "q", "lost", 300, &lost, NULL), LK_GRANTED);
    assert_woken(scene, do_nothing, 4);
    assert_true(scene->claim->is_stolen);
    assert_int_equal(ground_finish(scene->engine, scene->claim, LK_FINISH_RETRY, 0), LK_OK);

    /* ... and so does whoever holds what the work needs. */
    assert_int_equal(ground_ask(scene->engine, "A", "pool", LK_TRY, 300, &scene->result),
                     LK_GRANTED);
    assert_woken(scene, do_nothing, 4);
    lk_claim_free(lost);
}

static void a_wait_for_work_ends(void **state) {
    struct scene *scene = *state;
    struct standing standing;
    struct lk_waker waker;
    int64_t begun_us = lk_clock_now_us();

    assert_true(lk_waker_init(&waker));
    assert_int_equal(ground_take(scene->engine, "q", "w", 0, &scene->claim, &standing), LK_BUSY);
    assert_int_equal(call_await(scene->engine, &standing, begun_us + SECOND_US / 10, &waker),
                     LK_OK);
    assert_true(lk_clock_now_us() >= begun_us + SECOND_US / 10);
    lk_waker_throw(&waker);
    assert_int_equal(call_await(scene->engine, &standing, LK_NEVER, &waker), LK_CANCELLED);
    lk_waker_done(&waker);
}

/* ---- the format's mark ----------------------------------------------------------------------- */

static int64_t writable_from(const struct scene *scene) {
    return ground_sql(scene->ground.file, "SELECT writable_from FROM meta");
}

/* Older programs know nothing of claims and doubts: they may write until there are such. */
static void work_shuts_out_older_programs(void **state) {
    struct scene *scene = *state;

    assert_int_equal(ground_ask(scene->engine, "A", "x", LK_TRY, 0, &scene->result), LK_GRANTED);
    assert_int_equal(ground_put(scene->engine, "y", lk_slice_of("v")), LK_OK);
    assert_int_equal(take(scene, "q", "w", 0), LK_BUSY);
    assert_int_equal(writable_from(scene), LK_SQL_FORMAT_WRITABLE_FROM);
    assert_int_equal(push(scene, "q", "1", 0, ""), LK_OK);
    assert_int_equal(writable_from(scene), LK_SQL_FORMAT_OF_WORK);
}

static void a_lease_with_a_value_shuts_out_older_programs(void **state) {
    struct scene *scene = *state;
    struct lk_patience patience = test_patience(SECOND_US);
    struct test_parts parts;
    struct lk_ask ask = {.owner = lk_slice_of("A"), .wants_value = true};

    test_parts_parse(&parts, "x");
    ask.parts = parts.parts;
    ask.part_count = parts.count;
    assert_int_equal(call_ask(scene->engine, &ask, &patience, &scene->result), LK_GRANTED);
    assert_null(scene->result.value);
    assert_int_equal(writable_from(scene), LK_SQL_FORMAT_OF_WORK);
}

static void people_can_read_it(void **state) {
    struct scene *scene = *state;
    const char *file = scene->ground.file;

    assert_int_equal(push(scene, "q", "1", 0, "pool?limit=3"), LK_OK);
    assert_int_equal(push(scene, "q", "2", 600000, ""), LK_OK);
    assert_int_equal(take(scene, "q", "worker", 0), LK_GRANTED);
    assert_int_equal(ground_sql(file, "SELECT count(*) FROM lk_items WHERE queue = 'q' AND id = '1'"
                                      " AND state = 'claimed' AND claimed_by = 'worker'"
                                      " AND needs = 'pool?limit=3'"
                                      " AND CAST(value AS TEXT) = 'work'"),
                     1);
    assert_int_equal(ground_sql(file, "SELECT count(*) FROM lk_items WHERE id = '2'"
                                      " AND state = 'delayed' AND due > since"),
                     1);
    assert_int_equal(ground_sql(file, "SELECT count(*) FROM lk_locks WHERE path = 'q/1'"), 1);
}

#define IN_A_SCENE(test)                                                                           \
    cmocka_unit_test_setup_teardown(test, scene_setup_on_machine_clock, scene_teardown)
#define WITH_A_CLOCK(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_SCENE(large_values_come_back),
        IN_A_SCENE(a_value_too_large_for_a_row_is_named),
        IN_A_SCENE(a_killed_holder_leaves_doubt),
        IN_A_SCENE(a_long_queue_is_no_dearer),
        IN_A_SCENE(what_is_not_free_is_passed_over),
        WITH_A_CLOCK(a_delay_keeps_its_end_over_a_restart),
        WITH_A_CLOCK(a_claim_lives_on_over_a_restart),
        IN_A_SCENE(workers_are_woken),
        IN_A_SCENE(workers_are_woken_by_ends),
        IN_A_SCENE(a_wait_for_work_ends),
        IN_A_SCENE(work_shuts_out_older_programs),
        IN_A_SCENE(a_lease_with_a_value_shuts_out_older_programs),
        IN_A_SCENE(people_can_read_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
