/* SPDX-License-Identifier: Apache-2.0 */
/* lk met at a certain moment: a tracer halts its main thread at its system calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Behind sys/ptrace.h, which it does not get on with otherwise. */
#include <linux/ptrace.h>

#include "stage.h"

enum { TRACED_CALL = SIGTRAP | 0x80 };

/* ---- the tracer ------------------------------------------------------------------------------ */

static pid_t start_traced(struct stage *stage, const char *const *words) {
    pid_t run = stage_start_traced(stage, words);
    int status;

    assert_int_equal(waitpid(run, &status, 0), run); /* its exec */
    assert_true(WIFSTOPPED(status));
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, run, NULL, PTRACE_O_TRACESYSGOOD), 0);
    return run;
}

#define START_TRACED(stage, ...) start_traced(stage, (const char *const[]){__VA_ARGS__, NULL})

/* Lets it go on to the next beginning or end of a call. False: it is about to end by itself. */
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

/* To the beginning of the next call. */
static bool next_call(pid_t run, struct ptrace_syscall_info *ret_call) {
    do {
        if (!next_halt(run, ret_call)) {
            return false;
        }
    } while (ret_call->op != PTRACE_SYSCALL_INFO_ENTRY);
    return true;
}

/* It reads its signals from now on: nothing that comes is lost. */
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

/* ---- killed, wherever it is ------------------------------------------------------------------ */

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

/* Kills it before its `number`th call; false: it had ended. Nobody it has started is left then. */
static bool kill_before(struct stage *stage, pid_t run, unsigned number) {
    struct ptrace_syscall_info call;
    bool is_alive = true;

    halt_when_ready(run);
    for (unsigned i = 0; i < number && is_alive; i++) {
        is_alive = next_call(run, &call);
    }
    kill(run, SIGKILL);
    assert_int_equal(stage_end(stage, run), STAGE_DIED + SIGKILL);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    return is_alive;
}

static void killed_anywhere_it_is_cleaned_up_once(void **state) {
    struct stage *stage = *state;
    const char *begun = stage_path(stage, "begun");
    const char *cleaned = stage_path(stage, "cleaned");
    const char *cleanup = stage_text(stage, "echo $LK_EXIT >>%s", cleaned);
    char path[32];
    unsigned number = 0;
    bool is_alive = true;

    prctl(PR_SET_CHILD_SUBREAPER, 1); /* whom lk leaves behind is seen to end */
    for (; is_alive; number += step_by_scale()) {
        (void)snprintf(path, sizeof path, "x%u", number);
        (void)unlink(begun);
        (void)unlink(cleaned);
        pid_t run = START_TRACED(stage, "run", path, "--cleanup", cleanup, "--", "sh", "-c",
                                 "echo begun >>$0", begun);
        is_alive = kill_before(stage, run, number);
        assert_in_range(count_lines(begun), 0, 1);
        assert_in_range(count_lines(cleaned), count_lines(begun), 1);
    }
    assert_int_equal(count_lines(begun), 1);
    assert_true(number > 10);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* ---- stopped, or asked to end, at an awkward moment ------------------------------------------ */

static void stopped_as_its_command_begins_it_leaves_the_deadline_to_the_guard(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    struct ptrace_syscall_info call;
    pid_t run = START_TRACED(stage, "run", "x", "--ttl", "1s", "--", stage_actor(), "hold", ready);

    halt_when_ready(run);
    do { /* the one byte that lets the command begin */
        assert_true(next_call(run, &call));
    } while (call.entry.nr != SYS_write || call.entry.args[2] != 1);
    assert_true(next_halt(run, &call));
    kill(run, SIGSTOP);
    let_go(run);
    pid_t command = (pid_t)stage_await(ready);
    stage_await_dead(command);
    kill(run, SIGCONT);
    assert_int_equal(stage_end(stage, run), 78);
}

static void asked_to_end_before_its_command_begins_it_begins_none(void **state) {
    struct stage *stage = *state;
    const char *cleaned = stage_path(stage, "cleaned");

    assert_int_equal(STAGE_RUN(stage, "acquire", "x", "--owner", "outer"), 0);
    setenv("LK_OWNER", "outer", 1);
    setenv("LK_TOKEN", stage_text(stage, "%ld", stage_await(stage_path(stage, "out"))), 1);
    pid_t run = START_TRACED(stage, "run", "--inherit", "x", "--cleanup",
                             stage_text(stage, "echo cleaned >%s", cleaned), "--", "true");
    unsetenv("LK_OWNER");
    unsetenv("LK_TOKEN");
    halt_when_ready(run);
    kill(run, SIGTERM);
    let_go(run);
    assert_int_equal(stage_end(stage, run), 128 + SIGTERM);
    assert_false(stage_exists(cleaned));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define STORY(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
        STORY(killed_anywhere_it_is_cleaned_up_once),
        STORY(stopped_as_its_command_begins_it_leaves_the_deadline_to_the_guard),
        STORY(asked_to_end_before_its_command_begins_it_begins_none),
    };
    return cmocka_run_group_tests_name("run: moments", tests, NULL, NULL);
}
