/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a batch is written: how long it waits for clients that were answered, by an invented clock,
 * as that by which a listener accepts; and by which of two threads, of which one runs the loop
 * while the other one writes.
 */
#include <event2/event.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "server/connections/admission.h"
#include "server/program/gathering.h"
#include "server/store/writer.h"

/* ---- how long a batch waits ------------------------------------------------------------------ */

enum { NOW_US = 1000000, TOOK_US = 800 };

static void it_waits_until_all_have_called(void **state) {
    struct lk_gathering gathering = {.until_us = 0};

    (void)state;
    lk_gathering_begin(&gathering, 3, TOOK_US, NOW_US);
    assert_true(lk_gathering_waits(&gathering, 3, NOW_US));
    assert_true(lk_gathering_waits(&gathering, 1, NOW_US + 10));
    assert_false(lk_gathering_waits(&gathering, 0, NOW_US + 20));
    lk_gathering_begin(&gathering, 3, TOOK_US, NOW_US + 900);
    assert_true(lk_gathering_waits(&gathering, 3, NOW_US + 900)); /* it was not in vain */
}

static void it_waits_half_a_write_after_the_last_call(void **state) {
    struct lk_gathering gathering = {.until_us = 0};

    (void)state;
    lk_gathering_begin(&gathering, 4, TOOK_US, NOW_US);
    assert_true(lk_gathering_waits(&gathering, 4, NOW_US + TOOK_US / 2 - 1));
    assert_true(lk_gathering_waits(&gathering, 1, NOW_US + TOOK_US / 2 - 1));
    assert_true(lk_gathering_waits(&gathering, 1, NOW_US + TOOK_US - 2));
    assert_false(lk_gathering_waits(&gathering, 1, NOW_US + TOOK_US - 1));
    lk_gathering_begin(&gathering, 4, TOOK_US, NOW_US);
    assert_true(lk_gathering_waits(&gathering, 4, NOW_US + TOOK_US / 2 - 1));
    assert_false(lk_gathering_waits(&gathering, 4, NOW_US + TOOK_US / 2));
}

/* Sending the answers may take longer than that: the first look is late, and calls are there. */
static void calls_that_came_before_the_look_count(void **state) {
    struct lk_gathering gathering = {.until_us = 0};

    (void)state;
    lk_gathering_begin(&gathering, 4, TOOK_US, NOW_US);
    assert_true(lk_gathering_waits(&gathering, 2, NOW_US + TOOK_US - 1));
}

static void it_waits_no_longer_than_a_write(void **state) {
    struct lk_gathering gathering = {.until_us = 0};

    (void)state;
    lk_gathering_begin(&gathering, 40, TOOK_US, NOW_US);
    for (int i = 0; i < TOOK_US; i += 50) {
        assert_true(lk_gathering_waits(&gathering, 39 - (size_t)i / 50, NOW_US + i));
    }
    assert_false(lk_gathering_waits(&gathering, 1, NOW_US + TOOK_US));
    lk_gathering_begin(&gathering, 4, INT64_C(3600000000), NOW_US);
    assert_true(lk_gathering_waits(&gathering, 1, NOW_US + LK_GATHERING_US_MAX - 1));
    assert_false(lk_gathering_waits(&gathering, 1, NOW_US + LK_GATHERING_US_MAX));
}

/* A large batch is worth its round trip, and many clients need the time to be answered in. */
static void it_does_not_wait_for_many(void **state) {
    struct lk_gathering gathering = {.until_us = 0};

    (void)state;
    lk_gathering_begin(&gathering, LK_GATHERING_CLIENTS_MAX + 1, TOOK_US, NOW_US);
    assert_false(lk_gathering_waits(&gathering, LK_GATHERING_CLIENTS_MAX + 1, NOW_US));
}

static void it_does_not_wait_for_nobody(void **state) {
    struct lk_gathering gathering = {.until_us = 0};

    (void)state;
    assert_false(lk_gathering_waits(&gathering, 0, NOW_US));
    lk_gathering_begin(&gathering, 0, TOOK_US, NOW_US);
    assert_false(lk_gathering_waits(&gathering, 0, NOW_US));
}

/* Clients that do something else meanwhile would only make the others wait. */
static void it_leaves_batches_out_where_that_is_in_vain(void **state) {
    struct lk_gathering gathering = {.until_us = 0};

    (void)state;
    lk_gathering_begin(&gathering, 4, TOOK_US, NOW_US);
    assert_true(lk_gathering_waits(&gathering, 2, NOW_US));
    assert_false(lk_gathering_waits(&gathering, 2, NOW_US + TOOK_US));
    for (int i = 0; i < LK_GATHERING_LEFT_OUT; i++) {
        lk_gathering_begin(&gathering, 4, TOOK_US, NOW_US);
        assert_false(lk_gathering_waits(&gathering, 4, NOW_US));
    }
    lk_gathering_begin(&gathering, 4, TOOK_US, NOW_US);
    assert_true(lk_gathering_waits(&gathering, 4, NOW_US));
}

/* No call came for a while: that says nothing about whether to wait is worth it. */
static void a_batch_that_came_late_has_not_waited(void **state) {
    struct lk_gathering gathering = {.until_us = 0};

    (void)state;
    lk_gathering_begin(&gathering, 4, TOOK_US, NOW_US);
    assert_false(lk_gathering_waits(&gathering, 4, NOW_US + TOOK_US));
    lk_gathering_begin(&gathering, 4, TOOK_US, NOW_US);
    assert_true(lk_gathering_waits(&gathering, 4, NOW_US));
}

static void wait_in_a_loop(struct event_base *loop, struct lk_gathering *gathering) {
    while (lk_gathering_waits(gathering, 3, lk_clock_now_us())) {
        assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
    }
}

/* Else a batch would wait for the next call, whenever that comes. */
static void the_loop_wakes_up_when_the_time_is_over(void **state) {
    struct event_base *loop = event_base_new();
    struct lk_gathering gathering = {.until_us = 0};
    int64_t begun_us = lk_clock_now_us();

    (void)state;
    assert_non_null(loop);
    assert_true(lk_gathering_open(&gathering, loop));
    lk_gathering_begin(&gathering, 3, TOOK_US, begun_us);
    wait_in_a_loop(loop, &gathering);
    assert_true(lk_clock_now_us() - begun_us >= TOOK_US / 2);
    gathering.left_out = 0;
    begun_us = lk_clock_now_us();
    lk_gathering_begin(&gathering, 4, LK_GATHERING_US_MAX, begun_us);
    (void)lk_gathering_waits(&gathering, 4, begun_us); /* the timer is set for earlier */
    wait_in_a_loop(loop, &gathering);
    assert_true(lk_clock_now_us() - begun_us >= LK_GATHERING_US_MAX / 2);
    lk_gathering_close(&gathering);
    event_base_free(loop);
}

/* ---- how often a listener accepts ------------------------------------------------------------ */

static const int64_t begun_us = 1000000;

static void note_burst(struct lk_pace *pace) {
    for (int i = 1; i < LK_PACE_BURST; i++) {
        assert_int_equal(lk_pace_note(pace, begun_us), 0);
    }
}

static void a_burst_is_accepted_at_once(void **state) {
    struct lk_pace pace = {0};

    (void)state;
    note_burst(&pace);
    assert_int_equal(lk_pace_note(&pace, begun_us), LK_PACE_PERIOD_US);
}

static void then_one_in_each_period(void **state) {
    struct lk_pace pace = {0};
    int64_t now_us = begun_us;

    (void)state;
    note_burst(&pace);
    for (int i = 0; i < 10; i++) {
        int64_t rest_us = lk_pace_note(&pace, now_us);
        assert_int_equal(rest_us, LK_PACE_PERIOD_US);
        now_us += rest_us;
    }
    assert_int_equal(lk_pace_note(&pace, now_us + LK_PACE_PERIOD_US), 0);
}

static void a_quiet_time_makes_the_burst_free_again(void **state) {
    struct lk_pace pace = {0};

    (void)state;
    note_burst(&pace);
    for (int i = 1; i < LK_PACE_BURST; i++) {
        assert_int_equal(
            lk_pace_note(&pace, begun_us + INT64_C(10) * LK_PACE_BURST * LK_PACE_PERIOD_US), 0);
    }
}

static void who_has_called_does_not_count(void **state) {
    struct lk_pace pace = {0};

    (void)state;
    for (int i = 0; i < 10 * LK_PACE_BURST; i++) {
        assert_int_equal(lk_pace_note(&pace, begun_us), 0);
        lk_pace_forget(&pace);
    }
    note_burst(&pace);
    assert_int_equal(lk_pace_note(&pace, begun_us), LK_PACE_PERIOD_US);
}

/* ---- which of two threads writes ------------------------------------------------------------- */

struct fixture {
    struct lk_storage storage; /* first */
    struct lk_writer *writer;
    atomic_bool is_held; /* writes end only when `let_go` is posted */
    atomic_uint writes;
    atomic_bool is_closed;
    pthread_t wrote; /* the thread of the last write */
    sem_t let_go;
    sem_t has_loop; /* posted when the thread that stood by runs the loop */
    sem_t ends;     /* ... which it does until this is posted */
};

static lk_outcome write_batch(struct lk_storage *storage, const struct lk_batch *batch,
                              lk_error *error) {
    struct fixture *fixture = (struct fixture *)storage;

    (void)batch;
    (void)error;
    fixture->wrote = pthread_self();
    if (fixture->is_held) {
        (void)sem_wait(&fixture->let_go);
    }
    fixture->writes++;
    return LK_OK;
}

static void close_storage(struct lk_storage *storage) {
    ((struct fixture *)storage)->is_closed = true;
}

static const struct lk_storage_ops ops = {.write = write_batch, .close = close_storage};

/* What a service's other thread does: runs the loop whenever it has taken it over. */
static void stand_by(void *context) {
    struct fixture *fixture = context;

    if (lk_writer_stand_by(fixture->writer)) {
        (void)sem_post(&fixture->has_loop);
        (void)sem_wait(&fixture->ends);
        lk_writer_end(fixture->writer);
    }
}

static int begin(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    lk_error error;

    *state = fixture;
    fixture->storage.ops = &ops;
    (void)sem_init(&fixture->let_go, 0, 0);
    (void)sem_init(&fixture->has_loop, 0, 0);
    (void)sem_init(&fixture->ends, 0, 0);
    return lk_writer_start(&fixture->storage, stand_by, fixture, &fixture->writer, &error) == LK_OK
               ? 0
               : -1;
}

static int end(void **state) {
    struct fixture *fixture = *state;

    lk_writer_stop(fixture->writer);
    assert_true(fixture->is_closed);
    free(fixture);
    return 0;
}

static void await_result(const struct fixture *fixture) {
    struct pollfd wanted = {.fd = lk_writer_descriptor(fixture->writer), .events = POLLIN};

    assert_int_equal(poll(&wanted, 1, 60000), 1);
}

static void a_job_is_done_by_the_other_thread(void **state) {
    struct fixture *fixture = *state;
    const struct lk_batch batch = {.number = 1};
    struct lk_job_result result;

    for (unsigned i = 1; i <= 100; i++) {
        lk_writer_write(fixture->writer, &batch);
        assert_true(lk_writer_is_busy(fixture->writer));
        await_result(fixture);
        result = lk_writer_fetch(fixture->writer, false);
        assert_int_equal(result.job, LK_JOB_WRITE);
        assert_int_equal(result.outcome, LK_OK);
        assert_false(lk_writer_is_busy(fixture->writer));
        assert_int_equal(fixture->writes, i);
        assert_false(pthread_equal(fixture->wrote, pthread_self()));
    }
}

struct release {
    struct fixture *fixture;
    bool was_busy;
    bool had_result;
};

/* As the thread that runs the loop now: the write of the former one is a job under way. */
static void *let_go(void *context) {
    struct release *release = context;
    struct fixture *fixture = release->fixture;

    (void)sem_wait(&fixture->has_loop);
    release->was_busy = lk_writer_is_busy(fixture->writer);
    release->had_result = lk_writer_fetch(fixture->writer, false).job != LK_JOB_NONE;
    (void)sem_post(&fixture->let_go);
    return NULL;
}

/* A write that hangs does not hold the loop: the other thread runs it, and gets the result. */
static void a_write_that_hangs_gives_the_loop_away(void **state) {
    struct fixture *fixture = *state;
    struct release release = {.fixture = fixture};
    const struct lk_batch batch = {.number = 1};
    struct lk_job_result result = {.job = LK_JOB_NONE};
    pthread_t thread;

    fixture->is_held = true;
    assert_int_equal(pthread_create(&thread, NULL, let_go, &release), 0);
    assert_false(lk_writer_write_here(fixture->writer, &batch, &result));
    (void)pthread_join(thread, NULL);
    assert_true(pthread_equal(fixture->wrote, pthread_self()));
    assert_int_equal(result.job, LK_JOB_NONE);
    assert_true(release.was_busy);
    assert_false(release.had_result);
    await_result(fixture);
    result = lk_writer_fetch(fixture->writer, false);
    assert_int_equal(result.job, LK_JOB_WRITE);
    assert_int_equal(result.outcome, LK_OK);
    assert_false(lk_writer_is_busy(fixture->writer));

    /* This thread does the jobs now, until the other one ends the loop. */
    fixture->is_held = false;
    lk_writer_write(fixture->writer, &batch);
    (void)sem_post(&fixture->ends);
    assert_false(lk_writer_stand_by(fixture->writer));
    assert_int_equal(fixture->writes, 2);
    assert_true(pthread_equal(fixture->wrote, pthread_self()));
    await_result(fixture);
}

/* After the loop has ended no thread takes it over, however long the last write takes. */
static void the_last_write_stays_where_it_is(void **state) {
    struct fixture *fixture = *state;
    const struct lk_batch batch = {.number = 1};
    struct lk_job_result result = {.job = LK_JOB_NONE};

    lk_writer_end(fixture->writer);
    for (unsigned i = 0; i < 100; i++) {
        assert_true(lk_writer_write_here(fixture->writer, &batch, &result));
        assert_int_equal(result.job, LK_JOB_WRITE);
        assert_true(pthread_equal(fixture->wrote, pthread_self()));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_waits_until_all_have_called),
        cmocka_unit_test(it_waits_half_a_write_after_the_last_call),
        cmocka_unit_test(calls_that_came_before_the_look_count),
        cmocka_unit_test(it_waits_no_longer_than_a_write),
        cmocka_unit_test(it_does_not_wait_for_many),
        cmocka_unit_test(it_does_not_wait_for_nobody),
        cmocka_unit_test(it_leaves_batches_out_where_that_is_in_vain),
        cmocka_unit_test(a_batch_that_came_late_has_not_waited),
        cmocka_unit_test(the_loop_wakes_up_when_the_time_is_over),
        cmocka_unit_test(a_burst_is_accepted_at_once),
        cmocka_unit_test(then_one_in_each_period),
        cmocka_unit_test(who_has_called_does_not_count),
        cmocka_unit_test(a_quiet_time_makes_the_burst_free_again),
        cmocka_unit_test_setup_teardown(a_job_is_done_by_the_other_thread, begin, end),
        cmocka_unit_test_setup_teardown(a_write_that_hangs_gives_the_loop_away, begin, end),
        cmocka_unit_test_setup_teardown(the_last_write_stays_where_it_is, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
