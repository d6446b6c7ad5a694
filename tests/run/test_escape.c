/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has left CMD's process group, when lk cannot end it: lk is stopped, or dead. Each CMD here
 * starts processes in sessions of their own, none of which SIGTERM ends.
 */
#include <stdlib.h>
#include <string.h>

#include "stage.h"
#include "store.h"

enum { ESCAPED_COUNT = 3 };

struct escape {
    const char *script;                   /* for sh; starts all of these and execs a deaf command */
    const char *ready[ESCAPED_COUNT + 1]; /* the last one is CMD's own */
};

/* A grandchild in a session of its own; one whose environment is empty as well, and which only the
 * process tree leads to; a daemon, whose parents have ended. */
static struct escape make_escape(struct stage *stage) {
    struct escape escape = {.ready = {stage_path(stage, "session"), stage_path(stage, "bare"),
                                      stage_path(stage, "daemon"), stage_path(stage, "ready")}};

    escape.script = stage_text(
        stage, "setsid %s deaf %s & env -i setsid %s deaf %s & %s daemon %s leave; exec %s deaf %s",
        stage_actor(), escape.ready[0], stage_actor(), escape.ready[1], stage_actor(),
        escape.ready[2], stage_actor(), escape.ready[3]);
    return escape;
}

static void await_all(const struct escape *escape, pid_t *ret_processes) {
    for (size_t i = 0; i <= ESCAPED_COUNT; i++) {
        ret_processes[i] = (pid_t)stage_await(escape->ready[i]);
    }
}

static void a_stopped_lk_leaves_nothing_behind_at_the_deadline(void **state) {
    struct stage *stage = *state;
    struct escape escape = make_escape(stage);
    pid_t processes[ESCAPED_COUNT + 1];
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "3s", "--", "sh", "-c", escape.script);

    await_all(&escape, processes);
    store_stop_outside(stage, run);
    /* Granted at the deadline: by then all are dead. */
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--wait", "30s", "--", "true"), 0);
    for (size_t i = 0; i <= ESCAPED_COUNT; i++) {
        assert_true(stage_is_dead(processes[i]));
    }
    kill(run, SIGCONT);
    assert_int_equal(stage_end(stage, run), 78);
}

static void a_killed_lk_takes_along_what_has_its_mark(void **state) {
    struct stage *stage = *state;
    struct escape escape = make_escape(stage);
    pid_t processes[ESCAPED_COUNT + 1];
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "60s", "--", "sh", "-c", escape.script);

    await_all(&escape, processes);
    kill(run, SIGKILL);
    assert_int_equal(stage_end(stage, run), STAGE_DIED + SIGKILL);
    stage_await_dead(processes[0]);
    stage_await_dead(processes[2]);
    stage_await_dead(processes[ESCAPED_COUNT]);
    /* CMD dies with lk, and then nothing tells whose the bare one was; where the guard is faster
     * it is dead, too. */
    kill(processes[1], SIGKILL);
}

/* What a run inside the run has started goes with the outer one. */
static void a_killed_lk_takes_inner_runs_along(void **state) {
    struct stage *stage = *state;
    struct escape escape = make_escape(stage);
    pid_t processes[ESCAPED_COUNT + 1];
    pid_t run = STAGE_START(stage, "run", "x", "--", getenv("LK_TEST_LK"), "run", "y", "--", "sh",
                            "-c", escape.script);

    await_all(&escape, processes);
    kill(run, SIGKILL);
    assert_int_equal(stage_end(stage, run), STAGE_DIED + SIGKILL);
    stage_await_dead(processes[0]);
    stage_await_dead(processes[2]);
    stage_await_dead(processes[ESCAPED_COUNT]);
    kill(processes[1], SIGKILL);
}

/* Two runs side by side have nothing to do with each other, nor has the one around them. */
static void a_killed_lk_leaves_other_runs_alone(void **state) {
    struct stage *stage = *state;
    const char *outer = stage_path(stage, "outer");
    const char *inner = stage_path(stage, "inner");
    const char *beside = stage_path(stage, "beside");
    const char *script = stage_text(
        stage, "setsid %s deaf %s & %s run y -- %s deaf %s & echo $! >%s; exec %s deaf %s",
        stage_actor(), beside, getenv("LK_TEST_LK"), stage_actor(), inner,
        stage_path(stage, "number"), stage_actor(), outer);
    pid_t run = STAGE_START(stage, "run", "x", "--", "sh", "-c", script);
    pid_t left[] = {(pid_t)stage_await(outer), (pid_t)stage_await(beside)};
    pid_t command = (pid_t)stage_await(inner);
    pid_t inner_run = (pid_t)stage_await(stage_path(stage, "number"));
    pid_t guard = stage_await_child(inner_run, "lk-guard", 0);

    kill(inner_run, SIGKILL);
    stage_await_dead(command);
    stage_await_dead(guard);
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        assert_false(stage_is_dead(left[i]));
    }
    kill(run, SIGKILL);
    assert_int_equal(stage_end(stage, run), STAGE_DIED + SIGKILL);
    stage_await_dead(left[0]);
    stage_await_dead(left[1]);
}

/* CMD ends by itself while lk is stopped: what it leaves in the background is left alone. */
static void a_stopped_lk_leaves_alone_what_an_ended_command_left(void **state) {
    struct stage *stage = *state;
    const char *daemon = stage_path(stage, "daemon");
    const char *go = stage_path(stage, "go");
    const char *script = stage_text(stage, "%s daemon %s leave; until test -e %s; do :; done",
                                    stage_actor(), daemon, go);
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "2s", "--", "sh", "-c", script);
    pid_t left = (pid_t)stage_await(daemon);

    store_stop_outside(stage, run);
    assert_int_equal(STAGE_RUN(stage, "run", "y", "--", "touch", go), 0);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--wait", "30s", "--", "true"), 0);
    assert_false(stage_is_dead(left));
    kill(run, SIGCONT);
    assert_int_equal(stage_end(stage, run), 78);
    assert_false(stage_is_dead(left));
    kill(left, SIGKILL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define STORY(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
        STORY(a_stopped_lk_leaves_nothing_behind_at_the_deadline),
        STORY(a_killed_lk_takes_along_what_has_its_mark),
        STORY(a_killed_lk_takes_inner_runs_along),
        STORY(a_killed_lk_leaves_other_runs_alone),
        STORY(a_stopped_lk_leaves_alone_what_an_ended_command_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
