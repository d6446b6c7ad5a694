/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads, one loop, one store: which of them runs the loop while the other one writes. */
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

#include "server/store/writer.h"

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
        cmocka_unit_test_setup_teardown(a_job_is_done_by_the_other_thread, begin, end),
        cmocka_unit_test_setup_teardown(a_write_that_hangs_gives_the_loop_away, begin, end),
        cmocka_unit_test_setup_teardown(the_last_write_stays_where_it_is, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
