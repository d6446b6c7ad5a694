/* SPDX-License-Identifier: Apache-2.0 */
/* How CMD is ended, what is left of it, and the clean-up command. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stage.h"

/* ---- --max-time ------------------------------------------------------------------------------ */

static void a_command_has_only_so_much_time(void **state) {
    struct stage *stage = *state;
    const char *got = stage_path(stage, "got");

    assert_int_equal(STAGE_RUN(stage, "run", "x", "--max-time", "4s", "--", stage_actor(), "report",
                               stage_path(stage, "ready"), got, "0"),
                     124);
    assert_int_equal(stage_await(got), SIGTERM);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--max-time", "30s", "--", "sh", "-c", "exit 3"),
                     3);
}

/* The lease is renewed while CMD is being killed: it is not lost, and 124 it is. */
static void out_of_time_and_deaf_means_killed(void **state) {
    struct stage *stage = *state;
    const char *daemon = stage_path(stage, "daemon");
    const char *ready = stage_path(stage, "ready");
    const char *script = stage_text(stage, "%s daemon %s leave; exec %s deaf %s", stage_actor(),
                                    daemon, stage_actor(), ready);

    assert_int_equal(
        STAGE_RUN(stage, "run", "x", "--ttl", "1s", "--max-time", "4s", "--", "sh", "-c", script),
        124);
    assert_true(stage_is_dead((pid_t)stage_await(ready)));
    assert_true(stage_is_dead((pid_t)stage_await(daemon)));
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--try", "--", "true"), 0);
}

/* Nobody reads what it says: it does its work all the same, and keeps the lease no longer. */
static void nobody_has_to_read_what_it_says(void **state) {
    struct stage *stage = *state;
    const char *pipe = stage_path(stage, "pipe");
    const char *got = stage_path(stage, "got");
    const char *script =
        stage_text(stage,
                   "exec 2>%s; exec %s run x --max-time 100ms -- "
                   "%s report %s %s 0",
                   pipe, getenv("LK_TEST_LK"), stage_actor(), stage_path(stage, "ready"), got);
    const char text[4096] = {0};

    assert_int_equal(mkfifo(pipe, 0600), 0);
    int reader = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    while (write(reader, text, sizeof text) > 0) {
    }
    assert_int_equal(STAGE_RUN(stage, "run", "outer", "--", "sh", "-c", script), 124);
    assert_int_equal(stage_await(got), SIGTERM);
    close(reader);
}

/* ---- what is left ---------------------------------------------------------------------------- */

static void what_a_command_leaves_behind_is_left_alone(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *daemon = stage_path(stage, "daemon");
    const char *script = stage_text(stage,
                                    "%s hold %s >/dev/null 2>&1 & "
                                    "%s daemon %s leave >/dev/null 2>&1; "
                                    "until test -e %s; do :; done; exit 4",
                                    stage_actor(), ready, stage_actor(), daemon, ready);

    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", "sh", "-c", script), 4);
    pid_t left[] = {(pid_t)stage_await(ready), (pid_t)stage_await(daemon)};
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--try", "--", "true"), 0);
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        assert_false(stage_is_dead(left[i]));
        kill(left[i], SIGKILL);
    }
}

/* ---- lk itself is killed --------------------------------------------------------------------- */

static void a_killed_lk_takes_its_command_along(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *inner = stage_path(stage, "inner");
    const char *log = stage_path(stage, "cleanup");
    const char *script = stage_text(stage, "%s deaf %s & exec %s deaf %s", stage_actor(), inner,
                                    stage_actor(), ready);
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "4s", "--cleanup",
                            stage_text(stage, "echo $LK_EXIT $LK_PATH >>%s", log), "--", "sh", "-c",
                            script);

    pid_t command = (pid_t)stage_await(ready);
    pid_t child = (pid_t)stage_await(inner);
    pid_t guard = stage_await_child(run, "lk-guard", 0);
    kill(run, SIGKILL);
    assert_int_equal(stage_end(stage, run), STAGE_DIED + SIGKILL);
    stage_await_dead(command);
    stage_await_dead(child);
    stage_await_dead(guard);
    assert_string_equal(stage_read(stage, log), "137 x\n");
    /* The lease perishes by its ttl. */
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--wait", "30s", "--", "true"), 0);
}

static void a_killed_guard_is_replaced(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *inner = stage_path(stage, "inner");
    const char *script = stage_text(stage, "%s deaf %s & exec %s deaf %s", stage_actor(), inner,
                                    stage_actor(), ready);
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "4s", "--", "sh", "-c", script);

    stage_await(ready);
    pid_t child = (pid_t)stage_await(inner);
    pid_t guard = stage_await_child(run, "lk-guard", 0);
    kill(guard, SIGKILL);
    pid_t second = stage_await_child(run, "lk-guard", guard);
    assert_false(stage_is_dead(child));
    kill(run, SIGKILL);
    assert_int_equal(stage_end(stage, run), STAGE_DIED + SIGKILL);
    stage_await_dead(child);
    stage_await_dead(second);
}

static void killed_with_its_guard_lk_takes_the_command_along(void **state) {
    struct stage *stage = *state;
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "4s", "--", stage_actor(), "deaf",
                            stage_path(stage, "ready"));
    pid_t command = (pid_t)stage_await(stage_path(stage, "ready"));
    pid_t guard = stage_await_child(run, "lk-guard", 0);

    kill(run, SIGSTOP); /* so that it does not replace the guard */
    stage_await_stopped(run);
    kill(guard, SIGKILL);
    kill(run, SIGKILL);
    assert_int_equal(stage_end(stage, run), STAGE_DIED + SIGKILL);
    stage_await_dead(command);
}

static void the_guard_leaves_with_lk(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    pid_t run = STAGE_START(stage, "run", "x", "--", stage_actor(), "hold", ready);

    stage_await(ready);
    pid_t guard = stage_await_child(run, "lk-guard", 0);
    /* What ends lk's job does not end it. */
    kill(guard, SIGTERM);
    kill(guard, SIGINT);
    kill(guard, SIGHUP);
    assert_false(stage_is_dead(guard));
    kill(run, SIGTERM);
    assert_int_equal(stage_end(stage, run), 128 + SIGTERM);
    assert_true(stage_is_dead(guard));
}

/* ---- --cleanup ------------------------------------------------------------------------------- */

static void the_clean_up_runs_once_under_the_lease(void **state) {
    struct stage *stage = *state;
    const char *log = stage_path(stage, "cleanup");
    /* The lease is still held; its own exit code is nobody's. */
    const char *cleanup =
        stage_text(stage, "%s run x --try -q -- true; echo $LK_EXIT $? $LK_TOKEN >>%s; exit 66",
                   getenv("LK_TEST_LK"), log);

    assert_int_equal(STAGE_RUN(stage, "run", "x", "--cleanup", cleanup, "--", "sh", "-c", "exit 3"),
                     3);
    const char *text = stage_read(stage, log);
    assert_true(strncmp(text, "3 75 ", 5) == 0);
    assert_true(strtoull(text + 5, NULL, 10) > 0);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--try", "--", "true"), 0);
}

static void the_clean_up_is_told_how_it_ended(void **state) {
    struct stage *stage = *state;
    const char *log = stage_path(stage, "cleanup");
    const char *cleanup = stage_text(stage, "echo $LK_EXIT >>%s", log);

    assert_int_equal(
        STAGE_RUN(stage, "run", "x", "--cleanup", cleanup, "--", "sh", "-c", "kill -TERM $$"), 143);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--cleanup", cleanup, "--", "no-such-command"),
                     127);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--cleanup", cleanup, "--max-time", "50ms", "--",
                               stage_actor(), "hold", stage_path(stage, "ready")),
                     124);
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "4s", "--cleanup", cleanup, "--",
                            stage_actor(), "hold", stage_path(stage, "lost"));
    stage_await(stage_path(stage, "lost"));
    assert_int_equal(STAGE_RUN(stage, "break", "x", "--reason", "test", "--now"), 0);
    assert_int_equal(stage_end(stage, run), 78);
    assert_string_equal(stage_read(stage, log), "143\n127\n124\n78\n");
}

static void a_clean_up_once_begun_is_not_begun_again(void **state) {
    struct stage *stage = *state;
    const char *log = stage_path(stage, "cleanup");
    const char *cleanup = stage_text(stage, "echo begun >>%s; exec %s hold %s", log, stage_actor(),
                                     stage_path(stage, "cleaning"));
    pid_t run = STAGE_START(stage, "run", "x", "--cleanup", cleanup, "--", "true");
    pid_t cleaner = (pid_t)stage_await(stage_path(stage, "cleaning"));
    pid_t guard = stage_await_child(run, "lk-guard", 0);

    kill(run, SIGKILL);
    assert_int_equal(stage_end(stage, run), STAGE_DIED + SIGKILL);
    stage_await_dead(guard);
    assert_string_equal(stage_read(stage, log), "begun\n");
    kill(cleaner, SIGKILL);
}

static void a_hanging_clean_up_can_be_ended(void **state) {
    struct stage *stage = *state;
    pid_t run = STAGE_START(
        stage, "run", "x", "--cleanup",
        stage_text(stage, "exec %s hold %s", stage_actor(), stage_path(stage, "cleaning")), "--",
        "sh", "-c", "exit 3");

    stage_await(stage_path(stage, "cleaning"));
    kill(run, SIGTERM);
    assert_int_equal(stage_end(stage, run), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define STORY(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
        STORY(a_command_has_only_so_much_time),
        STORY(out_of_time_and_deaf_means_killed),
        STORY(nobody_has_to_read_what_it_says),
        STORY(what_a_command_leaves_behind_is_left_alone),
        STORY(a_killed_lk_takes_its_command_along),
        STORY(a_killed_guard_is_replaced),
        STORY(killed_with_its_guard_lk_takes_the_command_along),
        STORY(the_guard_leaves_with_lk),
        STORY(the_clean_up_runs_once_under_the_lease),
        STORY(the_clean_up_is_told_how_it_ended),
        STORY(a_clean_up_once_begun_is_not_begun_again),
        STORY(a_hanging_clean_up_can_be_ended),
    };
    return cmocka_run_group_tests_name("run: the end", tests, NULL, NULL);
}
