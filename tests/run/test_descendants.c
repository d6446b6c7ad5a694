/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descendants of CMD in other sessions, when lk is stopped or killed: the guard must end them. None
 * of them ends on SIGTERM.
 */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "store.h"

enum { DESCENDANT_COUNT = 3 };

struct descendants {
    const char *script; /* for sh: starts the descendants, then execs CMD, which ignores SIGTERM */
    const char *ready[DESCENDANT_COUNT + 1]; /* the last one is CMD's own */
};

/* A grandchild in another session; one that also has an empty environment, so that only the process
 * tree identifies it; and a daemon, whose parents have ended. */
static struct descendants make_descendants(struct fixture *fixture) {
    struct descendants descendants = {
        .ready = {fixture_path(fixture, "session"), fixture_path(fixture, "bare"),
                  fixture_path(fixture, "daemon"), fixture_path(fixture, "ready")}};

    descendants.script =
        fixture_text(fixture,
                     "setsid %s ignore-term %s & env -i setsid %s ignore-term %s & "
                     "%s daemon %s leave; exec %s ignore-term %s",
                     fixture_child(), descendants.ready[0], fixture_child(), descendants.ready[1],
                     fixture_child(), descendants.ready[2], fixture_child(), descendants.ready[3]);
    return descendants;
}

static void await_all(const struct descendants *descendants, pid_t *ret_processes) {
    for (size_t i = 0; i <= DESCENDANT_COUNT; i++) {
        ret_processes[i] = (pid_t)fixture_await(descendants->ready[i]);
    }
}

/* Kills lk. All its descendants die, but perhaps not the second, which has no mark of the run. */
static void kill_run(struct fixture *fixture, pid_t run, const pid_t *processes) {
    kill(run, SIGKILL);
    assert_int_equal(fixture_end(fixture, run), FIXTURE_DIED + SIGKILL);
    fixture_await_dead(processes[0]);
    fixture_await_dead(processes[2]);
    fixture_await_dead(processes[DESCENDANT_COUNT]);
}

static void if_lk_is_stopped_all_descendants_are_dead_at_the_deadline(void **state) {
    struct fixture *fixture = *state;
    struct descendants descendants = make_descendants(fixture);
    pid_t processes[DESCENDANT_COUNT + 1];
    pid_t run =
        FIXTURE_START(fixture, "run", "x", "--ttl", "10s", "--", "sh", "-c", descendants.script);

    await_all(&descendants, processes);
    store_stop_unlocked(fixture, run);
    /* Granted at the deadline; all descendants must be dead by then. The guard has a twentieth of
     * the ttl for that. */
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--wait", "30s", "--", "true"), 0);
    for (size_t i = 0; i <= DESCENDANT_COUNT; i++) {
        assert_true(fixture_is_dead(processes[i]));
    }
    kill(run, SIGCONT);
    assert_int_equal(fixture_end(fixture, run), 78);
}

static void if_lk_is_killed_marked_descendants_are_killed(void **state) {
    struct fixture *fixture = *state;
    struct descendants descendants = make_descendants(fixture);
    pid_t processes[DESCENDANT_COUNT + 1];
    pid_t run =
        FIXTURE_START(fixture, "run", "x", "--ttl", "60s", "--", "sh", "-c", descendants.script);

    await_all(&descendants, processes);
    kill_run(fixture, run, processes);
    /* CMD dies with lk, and then nothing tells whose the bare one was; where the guard is faster
     * it is dead, too. */
    kill(processes[1], SIGKILL);
}

/* Processes of a nested run end with the outer run. */
static void if_lk_is_killed_nested_runs_are_killed(void **state) {
    struct fixture *fixture = *state;
    struct descendants descendants = make_descendants(fixture);
    pid_t processes[DESCENDANT_COUNT + 1];
    pid_t run = FIXTURE_START(fixture, "run", "x", "--", getenv("LK_TEST_LK"), "run", "y", "--",
                              "sh", "-c", descendants.script);

    await_all(&descendants, processes);
    kill_run(fixture, run, processes);
    kill(processes[1], SIGKILL);
}

/* Two nested runs are independent of each other. */
static void if_lk_is_killed_other_runs_go_on(void **state) {
    struct fixture *fixture = *state;
    const char *outer = fixture_path(fixture, "outer");
    const char *inner = fixture_path(fixture, "inner");
    const char *beside = fixture_path(fixture, "beside");
    const char *script =
        fixture_text(fixture,
                     "setsid %s ignore-term %s & %s run y -- %s ignore-term %s & echo $! >%s; "
                     "exec %s ignore-term %s",
                     fixture_child(), beside, getenv("LK_TEST_LK"), fixture_child(), inner,
                     fixture_path(fixture, "number"), fixture_child(), outer);
    pid_t run = FIXTURE_START(fixture, "run", "x", "--", "sh", "-c", script);
    pid_t left[] = {(pid_t)fixture_await(outer), (pid_t)fixture_await(beside)};
    pid_t command = (pid_t)fixture_await(inner);
    pid_t inner_run = (pid_t)fixture_await(fixture_path(fixture, "number"));
    pid_t guard = fixture_await_child(inner_run, "lk-guard", 0);

    kill(inner_run, SIGKILL);
    fixture_await_dead(command);
    fixture_await_dead(guard);
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        assert_false(fixture_is_dead(left[i]));
    }
    kill(run, SIGKILL);
    assert_int_equal(fixture_end(fixture, run), FIXTURE_DIED + SIGKILL);
    fixture_await_dead(left[0]);
    fixture_await_dead(left[1]);
}

/* CMD exits by itself while lk is stopped: its background processes are not killed. */
static void if_lk_is_stopped_background_processes_of_an_ended_command_go_on(void **state) {
    struct fixture *fixture = *state;
    const char *daemon = fixture_path(fixture, "daemon");
    const char *go = fixture_path(fixture, "go");
    const char *script = fixture_text(fixture, "%s daemon %s leave; until test -e %s; do :; done",
                                      fixture_child(), daemon, go);
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", "2s", "--", "sh", "-c", script);
    pid_t left = (pid_t)fixture_await(daemon);

    store_stop_unlocked(fixture, run);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "y", "--", "touch", go), 0);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--wait", "30s", "--", "true"), 0);
    assert_false(fixture_is_dead(left));
    kill(run, SIGCONT);
    assert_int_equal(fixture_end(fixture, run), 78);
    assert_false(fixture_is_dead(left));
    kill(left, SIGKILL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(if_lk_is_stopped_all_descendants_are_dead_at_the_deadline),
        TEST(if_lk_is_killed_marked_descendants_are_killed),
        TEST(if_lk_is_killed_nested_runs_are_killed),
        TEST(if_lk_is_killed_other_runs_go_on),
        TEST(if_lk_is_stopped_background_processes_of_an_ended_command_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
