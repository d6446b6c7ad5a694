/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending CMD, its remaining processes, and the clean-up command; and its descendants in other
 * sessions, when lk is stopped or killed: the guard must end them. None of those ends on SIGTERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

/* ---- --max-time ------------------------------------------------------------------------------ */

/* The next --max-time to try, twice the last one; NULL: the command has come to be ready in that,
 * which takes long on a busy machine. */
static const char *next_time(struct fixture *fixture, const char *ready, unsigned *time_ms) {
    if (fixture_exists(ready)) {
        return NULL;
    }
    *time_ms *= 2;
    assert_true(*time_ms < (unsigned)fixture_bound_ms());
    return fixture_text(fixture, "%ums", *time_ms);
}

static void max_time_ends_the_command(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *got = fixture_path(fixture, "got");
    const char *time;

    for (unsigned time_ms = 500; (time = next_time(fixture, ready, &time_ms)) != NULL;) {
        assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--max-time", time, "--", fixture_child(),
                                     "report", ready, got, "0"),
                         124);
    }
    assert_int_equal(fixture_await(got), SIGTERM);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--max-time", fixture_seconds(fixture, 30),
                                 "--", "sh", "-c", "exit 3"),
                     3);
}

/* The lease is renewed while CMD is being ended, so it is not lost and the exit code is 124. */
static void a_command_that_ignores_sigterm_after_max_time_is_killed(void **state) {
    struct fixture *fixture = *state;
    const char *daemon = fixture_path(fixture, "daemon");
    const char *ready = fixture_path(fixture, "ready");
    const char *script = fixture_text(fixture, "%s daemon %s leave; exec %s ignore-term %s",
                                      fixture_child(), daemon, fixture_child(), ready);
    const char *time;

    for (unsigned time_ms = 2000; (time = next_time(fixture, ready, &time_ms)) != NULL;) {
        assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 4),
                                     "--max-time", time, "--", "sh", "-c", script),
                         124);
    }
    assert_true(fixture_is_dead((pid_t)fixture_await(ready)));
    assert_true(fixture_is_dead((pid_t)fixture_await(daemon)));
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--try", "--", "true"), 0);
}

/* Its stderr is a full pipe: it still does its work, and does not hold the lease for longer. */
static void an_unread_stderr_does_not_block_lk(void **state) {
    struct fixture *fixture = *state;
    const char *pipe = fixture_path(fixture, "pipe");
    const char *ready = fixture_path(fixture, "ready");
    const char *got = fixture_path(fixture, "got");
    const char *script = fixture_text(fixture,
                                      "exec 2>%s; exec %s run x --max-time $0 -- "
                                      "%s report %s %s 0",
                                      pipe, getenv("LK_TEST_LK"), fixture_child(), ready, got);
    const char text[4096] = {0};
    const char *time;

    assert_int_equal(mkfifo(pipe, 0600), 0);
    int reader = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    while (write(reader, text, sizeof text) > 0) {
    }
    for (unsigned time_ms = 500; (time = next_time(fixture, ready, &time_ms)) != NULL;) {
        assert_int_equal(FIXTURE_RUN(fixture, "run", "outer", "--", "sh", "-c", script, time), 124);
    }
    assert_int_equal(fixture_await(got), SIGTERM);
    close(reader);
}

/* ---- what is left ---------------------------------------------------------------------------- */

static void background_processes_of_a_command_are_left_alone(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *daemon = fixture_path(fixture, "daemon");
    const char *script = fixture_text(fixture,
                                      "%s hold %s >/dev/null 2>&1 & "
                                      "%s daemon %s leave >/dev/null 2>&1; "
                                      "until test -e %s; do :; done; exit 4",
                                      fixture_child(), ready, fixture_child(), daemon, ready);

    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", "sh", "-c", script), 4);
    pid_t left[] = {(pid_t)fixture_await(ready), (pid_t)fixture_await(daemon)};
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--try", "--", "true"), 0);
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        assert_false(fixture_is_dead(left[i]));
        kill(left[i], SIGKILL);
    }
}

/* ---- lk itself is killed --------------------------------------------------------------------- */

static void if_lk_is_killed_the_guard_kills_the_command(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *inner = fixture_path(fixture, "inner");
    const char *log = fixture_path(fixture, "cleanup");
    const char *script = fixture_text(fixture, "%s ignore-term %s & exec %s ignore-term %s",
                                      fixture_child(), inner, fixture_child(), ready);
    pid_t run = FIXTURE_START(
        fixture, "run", "x", "--ttl", fixture_seconds(fixture, 4), "--cleanup",
        fixture_text(fixture, "echo $LK_EXIT $LK_PATH >>%s", log), "--", "sh", "-c", script);

    pid_t command = (pid_t)fixture_await(ready);
    pid_t child = (pid_t)fixture_await(inner);
    pid_t guard = fixture_await_child(run, "lk-guard", 0);
    kill(run, SIGKILL);
    assert_int_equal(fixture_end(fixture, run), FIXTURE_DIED + SIGKILL);
    fixture_await_dead(command);
    fixture_await_dead(child);
    fixture_await_dead(guard);
    assert_string_equal(fixture_read(fixture, log), "137 x\n");
    /* The lease expires. */
    assert_int_equal(
        FIXTURE_RUN(fixture, "run", "x", "--wait", fixture_seconds(fixture, 30), "--", "true"), 0);
}

static void a_killed_guard_is_replaced(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *inner = fixture_path(fixture, "inner");
    const char *script = fixture_text(fixture, "%s ignore-term %s & exec %s ignore-term %s",
                                      fixture_child(), inner, fixture_child(), ready);
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 4), "--", "sh",
                              "-c", script);

    fixture_await(ready);
    pid_t child = (pid_t)fixture_await(inner);
    pid_t guard = fixture_await_child(run, "lk-guard", 0);
    kill(guard, SIGKILL);
    pid_t second = fixture_await_child(run, "lk-guard", guard);
    assert_false(fixture_is_dead(child));
    kill(run, SIGKILL);
    assert_int_equal(fixture_end(fixture, run), FIXTURE_DIED + SIGKILL);
    fixture_await_dead(child);
    fixture_await_dead(second);
}

static void if_lk_and_its_guard_are_killed_the_command_ends(void **state) {
    struct fixture *fixture = *state;
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 4), "--",
                              fixture_child(), "ignore-term", fixture_path(fixture, "ready"));
    pid_t command = (pid_t)fixture_await(fixture_path(fixture, "ready"));
    pid_t guard = fixture_await_child(run, "lk-guard", 0);

    kill(run, SIGSTOP); /* so that it does not replace the guard */
    fixture_await_stopped(run);
    kill(guard, SIGKILL);
    kill(run, SIGKILL);
    assert_int_equal(fixture_end(fixture, run), FIXTURE_DIED + SIGKILL);
    fixture_await_dead(command);
}

static void the_guard_exits_with_lk(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--", fixture_child(), "hold", ready);

    fixture_await(ready);
    pid_t guard = fixture_await_child(run, "lk-guard", 0);
    /* A signal to lk's process group does not end the guard. */
    kill(guard, SIGTERM);
    kill(guard, SIGINT);
    kill(guard, SIGHUP);
    assert_false(fixture_is_dead(guard));
    kill(run, SIGTERM);
    assert_int_equal(fixture_end(fixture, run), 128 + SIGTERM);
    assert_true(fixture_is_dead(guard));
}

/* ---- --cleanup ------------------------------------------------------------------------------- */

static void the_clean_up_runs_once_under_the_lease(void **state) {
    struct fixture *fixture = *state;
    const char *log = fixture_path(fixture, "cleanup");
    /* The lease is still held, and the exit code of the clean-up is ignored. */
    const char *cleanup =
        fixture_text(fixture, "%s run x --try -q -- true; echo $LK_EXIT $? $LK_TOKEN >>%s; exit 66",
                     getenv("LK_TEST_LK"), log);

    assert_int_equal(
        FIXTURE_RUN(fixture, "run", "x", "--cleanup", cleanup, "--", "sh", "-c", "exit 3"), 3);
    const char *text = fixture_read(fixture, log);
    assert_true(strncmp(text, "3 75 ", 5) == 0);
    assert_true(strtoull(text + 5, NULL, 10) > 0);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--try", "--", "true"), 0);
}

static void the_clean_up_receives_the_exit_code(void **state) {
    struct fixture *fixture = *state;
    const char *log = fixture_path(fixture, "cleanup");
    const char *cleanup = fixture_text(fixture, "echo $LK_EXIT >>%s", log);

    assert_int_equal(
        FIXTURE_RUN(fixture, "run", "x", "--cleanup", cleanup, "--", "sh", "-c", "kill -TERM $$"),
        143);
    assert_int_equal(
        FIXTURE_RUN(fixture, "run", "x", "--cleanup", cleanup, "--", "no-such-command"), 127);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--cleanup", cleanup, "--max-time", "50ms",
                                 "--", fixture_child(), "hold", fixture_path(fixture, "ready")),
                     124);
    pid_t run =
        FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 4), "--cleanup",
                      cleanup, "--", fixture_child(), "hold", fixture_path(fixture, "lost"));
    fixture_await(fixture_path(fixture, "lost"));
    assert_int_equal(FIXTURE_RUN(fixture, "break", "x", "--reason", "test", "--now"), 0);
    assert_int_equal(fixture_end(fixture, run), 78);
    assert_string_equal(fixture_read(fixture, log), "143\n127\n124\n78\n");
}

static void a_clean_up_is_not_started_twice(void **state) {
    struct fixture *fixture = *state;
    const char *log = fixture_path(fixture, "cleanup");
    const char *cleanup = fixture_text(fixture, "echo begun >>%s; exec %s hold %s", log,
                                       fixture_child(), fixture_path(fixture, "cleaning"));
    pid_t run = FIXTURE_START(fixture, "run", "x", "--cleanup", cleanup, "--", "true");
    pid_t cleaner = (pid_t)fixture_await(fixture_path(fixture, "cleaning"));
    pid_t guard = fixture_await_child(run, "lk-guard", 0);

    kill(run, SIGKILL);
    assert_int_equal(fixture_end(fixture, run), FIXTURE_DIED + SIGKILL);
    fixture_await_dead(guard);
    assert_string_equal(fixture_read(fixture, log), "begun\n");
    kill(cleaner, SIGKILL);
}

static void a_hanging_clean_up_can_be_interrupted(void **state) {
    struct fixture *fixture = *state;
    pid_t run = FIXTURE_START(fixture, "run", "x", "--cleanup",
                              fixture_text(fixture, "exec %s hold %s", fixture_child(),
                                           fixture_path(fixture, "cleaning")),
                              "--", "sh", "-c", "exit 3");

    fixture_await(fixture_path(fixture, "cleaning"));
    kill(run, SIGTERM);
    assert_int_equal(fixture_end(fixture, run), 3);
}

/* ---- descendants in other sessions ----------------------------------------------------------- */

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
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 10), "--",
                              "sh", "-c", descendants.script);

    await_all(&descendants, processes);
    store_stop_unlocked(fixture, run);
    /* Granted at the deadline; all descendants must be dead by then. The guard has a twentieth of
     * the ttl for that. */
    assert_int_equal(
        FIXTURE_RUN(fixture, "run", "x", "--wait", fixture_seconds(fixture, 30), "--", "true"), 0);
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
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 2), "--", "sh",
                              "-c", script);
    pid_t left = (pid_t)fixture_await(daemon);

    store_stop_unlocked(fixture, run);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "y", "--", "touch", go), 0);
    assert_int_equal(
        FIXTURE_RUN(fixture, "run", "x", "--wait", fixture_seconds(fixture, 30), "--", "true"), 0);
    assert_false(fixture_is_dead(left));
    kill(run, SIGCONT);
    assert_int_equal(fixture_end(fixture, run), 78);
    assert_false(fixture_is_dead(left));
    kill(left, SIGKILL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(max_time_ends_the_command),
        TEST(a_command_that_ignores_sigterm_after_max_time_is_killed),
        TEST(an_unread_stderr_does_not_block_lk),
        TEST(background_processes_of_a_command_are_left_alone),
        TEST(if_lk_is_killed_the_guard_kills_the_command),
        TEST(a_killed_guard_is_replaced),
        TEST(if_lk_and_its_guard_are_killed_the_command_ends),
        TEST(the_guard_exits_with_lk),
        TEST(the_clean_up_runs_once_under_the_lease),
        TEST(the_clean_up_receives_the_exit_code),
        TEST(a_clean_up_is_not_started_twice),
        TEST(a_hanging_clean_up_can_be_interrupted),
        TEST(if_lk_is_stopped_all_descendants_are_dead_at_the_deadline),
        TEST(if_lk_is_killed_marked_descendants_are_killed),
        TEST(if_lk_is_killed_nested_runs_are_killed),
        TEST(if_lk_is_killed_other_runs_go_on),
        TEST(if_lk_is_stopped_background_processes_of_an_ended_command_go_on),
    };
    return cmocka_run_group_tests_name("run: the end", tests, NULL, NULL);
}
