/* SPDX-License-Identifier: Apache-2.0 */
/* lk killed, stopped or signalled at chosen system calls: a tracer halts its main thread there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* After sys/ptrace.h, with which it conflicts otherwise. */
#include <linux/ptrace.h>

#include "fixture.h"

enum { TRACED_CALL = SIGTRAP | 0x80 };

/* ---- the tracer ------------------------------------------------------------------------------ */

static pid_t start_traced(struct fixture *fixture, const char *const *words) {
    pid_t run = fixture_start_traced(fixture, words);
    int status;

    assert_int_equal(waitpid(run, &status, 0), run); /* its exec */
    assert_true(WIFSTOPPED(status));
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, run, NULL, PTRACE_O_TRACESYSGOOD), 0);
    return run;
}

#define START_TRACED(fixture, ...) start_traced(fixture, (const char *const[]){__VA_ARGS__, NULL})

/* Continues to the next entry or exit of a system call. False: the process is about to exit. */
static bool next_halt(pid_t run, struct ptrace_syscall_info *ret_call) {
    int status = 0;
    long signal = 0;

    while (WSTOPSIG(status) != TRACED_CALL) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, run, NULL, signal), 0);
        assert_int_equal(waitpid(run, &status, __WALL), run);
        assert_true(WIFSTOPPED(status));
        signal = WSTOPSIG(status);
    }
    assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, run, sizeof *ret_call, ret_call) > 0);
    return ret_call->op != PTRACE_SYSCALL_INFO_ENTRY || ret_call->entry.nr != SYS_exit_group;
}

/* Continues to the next entry of a system call. */
static bool next_call(pid_t run, struct ptrace_syscall_info *ret_call) {
    do {
        if (!next_halt(run, ret_call)) {
            return false;
        }
    } while (ret_call->op != PTRACE_SYSCALL_INFO_ENTRY);
    return true;
}

/* Halts it after signalfd(): from then on no signal is lost. */
static void halt_when_ready(pid_t run) {
    struct ptrace_syscall_info call;

    do {
        assert_true(next_call(run, &call));
    } while (call.entry.nr != SYS_signalfd4);
    assert_true(next_halt(run, &call));
}

static void let_go(pid_t run) {
    assert_int_equal(ptrace(PTRACE_DETACH, run, NULL, NULL), 0);
}

/* ---- killed at any system call --------------------------------------------------------------- */

static unsigned count_lines(const char *path) {
    FILE *file = fopen(path, "r");
    unsigned lines = 0;

    for (int byte = 0; file != NULL && byte != EOF; lines += byte == '\n') {
        byte = fgetc(file);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return lines;
}

static unsigned step_by_scale(void) {
    const char *percent = getenv("LK_TEST_SCALE");
    unsigned scale = percent != NULL ? (unsigned)strtoul(percent, NULL, 10) : 100;

    return scale > 0 && scale < 100 ? 100 / scale : 1;
}

/* Kills it before its `number`th system call, and waits for all its descendants. False: it had
 * already exited. */
static bool kill_before(struct fixture *fixture, pid_t run, unsigned number) {
    struct ptrace_syscall_info call;
    bool is_alive = true;

    halt_when_ready(run);
    for (unsigned i = 0; i < number && is_alive; i++) {
        is_alive = next_call(run, &call);
    }
    kill(run, SIGKILL);
    assert_int_equal(fixture_end(fixture, run), FIXTURE_DIED + SIGKILL);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    return is_alive;
}

static void killed_at_any_system_call_it_is_cleaned_up_once(void **state) {
    struct fixture *fixture = *state;
    const char *begun = fixture_path(fixture, "begun");
    const char *cleaned = fixture_path(fixture, "cleaned");
    const char *cleanup = fixture_text(fixture, "echo $LK_EXIT >>%s", cleaned);
    char path[32];
    unsigned number = 0;
    bool is_alive = true;

    prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that this process reaps orphans of lk */
    for (; is_alive; number += step_by_scale()) {
        (void)snprintf(path, sizeof path, "x%u", number);
        (void)unlink(begun);
        (void)unlink(cleaned);
        pid_t run = START_TRACED(fixture, "run", path, "--cleanup", cleanup, "--", "sh", "-c",
                                 "echo begun >>$0", begun);
        is_alive = kill_before(fixture, run, number);
        assert_in_range(count_lines(begun), 0, 1);
        assert_in_range(count_lines(cleaned), count_lines(begun), 1);
    }
    assert_int_equal(count_lines(begun), 1);
    assert_true(number > 10);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* ---- stopped or signalled at one ------------------------------------------------------------- */

/* Waits until the command is ready. False: its guard has not left it the time for that. */
static bool is_ready_within(const char *ready, unsigned ttl_ms) {
    int64_t until_ms = fixture_now_ms() + ttl_ms;

    while (!fixture_exists(ready) && fixture_now_ms() < until_ms) {
        fixture_pause();
    }
    return fixture_exists(ready);
}

/* False: the deadline came before the command was started, or before it was ready. */
static bool is_ended_by_the_guard(struct fixture *fixture, unsigned ttl_ms) {
    const char *ready = fixture_path(fixture, fixture_text(fixture, "ready-%u", ttl_ms));
    const char *ttl = fixture_text(fixture, "%ums", ttl_ms);
    struct ptrace_syscall_info call;
    pid_t run =
        START_TRACED(fixture, "run", "x", "--ttl", ttl, "--", fixture_child(), "hold", ready);

    halt_when_ready(run);
    do { /* the one byte that starts the command */
        if (!next_call(run, &call)) {
            let_go(run);
            assert_int_equal(fixture_end(fixture, run), 78);
            return false;
        }
    } while (call.entry.nr != SYS_write || call.entry.args[2] != 1);
    assert_true(next_halt(run, &call));
    kill(run, SIGSTOP);
    let_go(run);
    bool is_ready = is_ready_within(ready, ttl_ms);
    if (is_ready) {
        fixture_await_dead((pid_t)fixture_await(ready));
    }
    kill(run, SIGCONT);
    assert_int_equal(fixture_end(fixture, run), 78);
    return is_ready;
}

static void if_lk_is_stopped_as_the_command_starts_the_guard_keeps_the_deadline(void **state) {
    unsigned ttl_ms = 1000;

    while (!is_ended_by_the_guard(*state, ttl_ms)) { /* on a busy machine all takes longer */
        ttl_ms *= 2;
        assert_true(ttl_ms < (unsigned)fixture_bound_ms());
    }
}

static void sigterm_before_the_command_starts_prevents_it(void **state) {
    struct fixture *fixture = *state;
    const char *cleaned = fixture_path(fixture, "cleaned");

    assert_int_equal(FIXTURE_RUN(fixture, "acquire", "x", "--owner", "outer"), 0);
    setenv("LK_OWNER", "outer", 1);
    setenv("LK_TOKEN", fixture_text(fixture, "%ld", fixture_await(fixture_path(fixture, "out"))),
           1);
    pid_t run = START_TRACED(fixture, "run", "--inherit", "x", "--cleanup",
                             fixture_text(fixture, "echo cleaned >%s", cleaned), "--", "true");
    unsetenv("LK_OWNER");
    unsetenv("LK_TOKEN");
    halt_when_ready(run);
    kill(run, SIGTERM);
    let_go(run);
    assert_int_equal(fixture_end(fixture, run), 128 + SIGTERM);
    assert_false(fixture_exists(cleaned));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(killed_at_any_system_call_it_is_cleaned_up_once),
        TEST(if_lk_is_stopped_as_the_command_starts_the_guard_keeps_the_deadline),
        TEST(sigterm_before_the_command_starts_prevents_it),
    };
    return cmocka_run_group_tests_name("run: system calls", tests, NULL, NULL);
}
