/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Empty queues (R16): the core and its file keep the counters of a limited number of them. A file
 * from before that limit is reduced to it after a restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "server/core/core.h"
#include "server/core/exchange.h"
#include "server/store/store.h"

enum { IDLE_MAX = LK_IDLE_QUEUES_MAX_DEFAULT, SMALL = IDLE_MAX + 500, LARGE = 2 * SMALL };

struct fixture {
    char directory[128];
    struct lk_storage *storage;
    struct lk_core *core;
    struct lk_session *session;
    struct lk_times times;
    lk_outcome outcome; /* of the last call */
    uint64_t token;
    struct lk_queue_counts counts;
};

static struct lk_path path_of(const char *text) {
    struct lk_path path;

    assert_int_equal(lk_path_parse(lk_slice_of(text), &path, NULL), LK_OK);
    return path;
}

static void answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    struct fixture *fixture = peer;
    struct lk_path path = path_of("q0");
    struct lk_record record;

    (void)tag;
    (void)batch;
    fixture->outcome = reply->answer->outcome;
    if (fixture->outcome == LK_GRANTED) {
        lk_model_record_head(reply->model, reply->answer->request, &record);
        fixture->token = record.token;
    } else if (fixture->outcome == LK_OK) {
        lk_model_queue_counts(reply->model, &path, &fixture->counts);
    }
}

static void durable(void *peer, uint64_t batch) {
    (void)peer;
    (void)batch;
}

static void failed(void *peer, const char *why) {
    (void)peer;
    fail_msg("%s", why);
}

static void flush(struct fixture *fixture) {
    const struct lk_batch *batch;

    while ((batch = lk_core_take_batch(fixture->core)) != NULL) {
        assert_int_equal(fixture->storage->ops->write(fixture->storage, batch, NULL), LK_OK);
        lk_core_batch_durable(fixture->core, &fixture->times);
    }
}

static void start(struct fixture *fixture) {
    static const struct lk_session_ops ops = {answer, durable, failed};
    const struct lk_store_sqlite_options options = {.directory = fixture->directory,
                                                    .is_relaxed = true};
    struct lk_model_config config;
    struct lk_core_snapshot *snapshot = NULL;

    assert_int_equal(lk_store_sqlite_open(&options, &fixture->storage, NULL), LK_OK);
    fixture->core = lk_core_new(&(struct lk_core_config){.hash_seed = 1, .epoch = "e"});
    assert_non_null(fixture->core);
    config = lk_core_model_config(fixture->core, &fixture->times);
    assert_int_equal(
        fixture->storage->ops->load(fixture->storage, &config, &fixture->times, &snapshot, NULL),
        LK_OK);
    assert_int_equal(lk_core_restore(fixture->core, snapshot, &fixture->times, NULL), LK_OK);
    assert_int_equal(lk_core_session_open(fixture->core, &ops, fixture, &fixture->session, NULL),
                     LK_OK);
}

static void stop(struct fixture *fixture) {
    lk_core_session_close(fixture->core, fixture->session, &fixture->times);
    flush(fixture);
    lk_core_free(fixture->core);
    fixture->storage->ops->close(fixture->storage);
}

static void call(struct fixture *fixture, struct lk_call *call) {
    fixture->times.wall_us++;
    lk_core_call(fixture->core, fixture->session, call, &fixture->times);
}

/* Pushes an item into a queue of this name, claims it and does it. */
static void use_queue(struct fixture *fixture, const char *name) {
    struct lk_slice id = lk_slice_of("1");
    struct lk_slice owner = lk_slice_of("w");
    struct lk_path path = path_of(name);
    struct lk_call push = {.kind = LK_CALL_COMMAND, .command.kind = LK_COMMAND_PUSH};
    struct lk_call take = {.kind = LK_CALL_COMMAND, .command.kind = LK_COMMAND_TAKE};
    struct lk_call done = {.kind = LK_CALL_COMMAND, .command.kind = LK_COMMAND_FINISH};

    push.command.push = (struct lk_push){.queue = path, .id = id};
    call(fixture, &push);
    assert_int_equal(fixture->outcome, LK_OK);
    take.command.take = (struct lk_take){.queue = path, .owner = owner};
    call(fixture, &take);
    assert_int_equal(fixture->outcome, LK_GRANTED);
    done.command.finish = (struct lk_finish){.queue = path, .id = id, .owner = owner};
    done.command.finish.kind = LK_FINISH_DONE;
    call(fixture, &done);
    assert_int_equal(fixture->outcome, LK_OK);
}

static void use_queues(struct fixture *fixture, int from, int to) {
    char name[32];

    for (int i = from; i < to; i++) {
        (void)snprintf(name, sizeof name, "q%d", i);
        use_queue(fixture, name);
        if (i % 1000 == 0) {
            flush(fixture);
        }
    }
    flush(fixture);
}

/* The queues in a fresh image of the file; what was pushed to `name` in *ret_pushed. */
static uint64_t queues_in_file(struct fixture *fixture, const char *name, uint64_t *ret_pushed) {
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_path path = path_of(name);
    struct lk_core_snapshot *snapshot = NULL;
    struct lk_queue_counts counts;
    struct lk_model_stats stats;

    assert_int_equal(
        fixture->storage->ops->load(fixture->storage, &config, &fixture->times, &snapshot, NULL),
        LK_OK);
    lk_model_stats(snapshot->model, &stats);
    lk_model_queue_counts(snapshot->model, &path, &counts);
    *ret_pushed = counts.pushed;
    lk_core_snapshot_free(snapshot);
    return stats.queues;
}

static int begin(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const char *temporary = getenv("TMPDIR");

    (void)snprintf(fixture->directory, sizeof fixture->directory, "%s/lk-queues-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    fixture->times = (struct lk_times){.now_us = 1000000, .wall_us = INT64_C(1700000000000000)};
    *state = fixture;
    return mkdtemp(fixture->directory) != NULL ? 0 : -1;
}

static int end(void **state) {
    static const char *const names[] = {"locks.db", "locks.db-wal", "locks.db-shm",
                                        "locks.db-served"};
    struct fixture *fixture = *state;
    char path[200];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", fixture->directory, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(fixture->directory);
    free(fixture);
    return 0;
}

/* At both sizes the same is kept; the oldest is forgotten, not the newest, nor what has items. */
static void idle_queues_are_limited(void **state) {
    struct fixture *fixture = *state;
    static const int sizes[] = {SMALL, LARGE};
    struct lk_call push = {.kind = LK_CALL_COMMAND, .command.kind = LK_COMMAND_PUSH};
    struct lk_call stats = {.kind = LK_CALL_STATS,
                            .selection = {.path = path_of("q0"), .has_path = true}};
    int used = 0;

    start(fixture);
    push.command.push = (struct lk_push){.queue = path_of("kept"), .id = lk_slice_of("1")};
    call(fixture, &push);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char newest[32];
        uint64_t pushed;

        use_queues(fixture, used, sizes[i]);
        used = sizes[i];
        (void)snprintf(newest, sizeof newest, "q%d", used - 1);
        call(fixture, &stats);
        flush(fixture);
        assert_int_equal(fixture->counts.pushed, 0);
        assert_int_equal(queues_in_file(fixture, "q0", &pushed), IDLE_MAX + 1);
        assert_int_equal(pushed, 0);
        (void)queues_in_file(fixture, newest, &pushed);
        assert_int_equal(pushed, 1);
        stop(fixture);
        start(fixture);
        assert_int_equal(queues_in_file(fixture, "kept", &pushed), IDLE_MAX + 1);
        assert_int_equal(pushed, 1);
    }
    stop(fixture);
}

/* A queue that comes and goes within one batch counts from the beginning, once it was forgotten. */
static void a_removed_queue_can_be_used_again(void **state) {
    struct fixture *fixture = *state;
    struct lk_call stats = {.kind = LK_CALL_STATS,
                            .selection = {.path = path_of("q0"), .has_path = true}};
    uint64_t pushed;

    start(fixture);
    use_queue(fixture, "q0");
    use_queue(fixture, "q0");
    call(fixture, &stats);
    assert_int_equal(fixture->counts.pushed, 2);
    for (int i = 1; i <= IDLE_MAX; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "q%d", i);
        use_queue(fixture, name);
    }
    use_queue(fixture, "q0");
    call(fixture, &stats);
    assert_int_equal(fixture->counts.pushed, 1);
    flush(fixture);
    assert_int_equal(queues_in_file(fixture, "q0", &pushed), IDLE_MAX);
    assert_int_equal(pushed, 1);
    stop(fixture);
}

/* Rows of idle queues, as a service would have left them that kept them all. */
static void write_queues(struct fixture *fixture, size_t count) {
    struct lk_row *rows = calloc(count, sizeof *rows);
    char(*names)[16] = calloc(count, sizeof *names);
    struct lk_batch batch = {
        .number = 1, .times = fixture->times, .first = rows, .row_count = count};

    assert_non_null(rows);
    assert_non_null(names);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "q%d", (int)i);
        rows[i] =
            (struct lk_row){.kind = LK_ROW_QUEUE, .next = i + 1 < count ? &rows[i + 1] : NULL};
        rows[i].queue.path = lk_slice_of(names[i]);
        rows[i].queue.counts.pushed = 1;
    }
    assert_int_equal(fixture->storage->ops->write(fixture->storage, &batch, NULL), LK_OK);
    free(rows);
    free(names);
}

/* Each call forgets some of what an older file has too many of. */
static void an_older_file_is_reduced_to_the_limit(void **state) {
    struct fixture *fixture = *state;
    struct lk_call stats = {.kind = LK_CALL_STATS,
                            .selection = {.path = path_of("q0"), .has_path = true}};
    uint64_t pushed;

    start(fixture);
    write_queues(fixture, IDLE_MAX + 150);
    stop(fixture);
    start(fixture);
    assert_int_equal(queues_in_file(fixture, "q0", &pushed), IDLE_MAX + 150);
    for (int i = 0; i < 3; i++) {
        call(fixture, &stats);
    }
    flush(fixture);
    assert_int_equal(queues_in_file(fixture, "q0", &pushed), IDLE_MAX);
    stop(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(idle_queues_are_limited, begin, end),
        cmocka_unit_test_setup_teardown(a_removed_queue_can_be_used_again, begin, end),
        cmocka_unit_test_setup_teardown(an_older_file_is_reduced_to_the_limit, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
