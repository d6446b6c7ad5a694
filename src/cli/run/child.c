/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two pipes, both closed by exec, connect parent and child. The child waits at the gate until the
 * guard has its pid and the terminal is lent; end of file on the gate without a byte means that lk
 * has died. The report carries the errno of a failed exec; end of file on it without a byte means
 * that exec has succeeded.
 */
#include "cli/run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/descendants.h"
#include "cli/run/run.h"
#include "cli/run/status.h"

struct ties {
    int gate[2];
    int report[2];
    char **environment; /* with the guard's mark */
};

static bool open_pipes(struct ties *ties) {
    if (pipe2(ties->gate, O_CLOEXEC) != 0) {
        return false;
    }
    if (pipe2(ties->report, O_CLOEXEC) != 0) {
        int error = errno;
        close(ties->gate[0]);
        close(ties->gate[1]);
        errno = error;
        return false;
    }
    return true;
}

/* False, with errno. */
static bool open_ties(const struct lk_run_start *start, struct ties *ties) {
    ties->environment = lk_run_mark_environment(&start->guard->mark, start->environment);
    if (ties->environment == NULL) {
        errno = ENOMEM;
        return false;
    }
    if (!open_pipes(ties)) {
        int error = errno;
        lk_run_mark_environment_free(ties->environment);
        errno = error;
        return false;
    }
    return true;
}

/* In a fork of a process with threads: only calls that are safe between fork and exec. */
static _Noreturn void become_command(const struct lk_run_start *start, const struct ties *ties,
                                     pid_t keeper) {
    char word;

    close(ties->gate[1]);
    close(ties->report[0]);
    if (!start->terminal->is_shared) {
        setpgid(0, 0);
    }
    /* If lk and its guard are killed together, at least CMD itself is killed too. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper || read(ties->gate[0], &word, 1) != 1) {
        _exit(LK_RUN_EXIT_NOT_EXECUTABLE);
    }
    lk_run_signals_restore(start->signals);
    if (start->input != STDIN_FILENO) {
        dup2(start->input, STDIN_FILENO); /* both are open: it does not fail */
    }
    if (start->errors != 0) {
        dup2(start->errors, STDERR_FILENO);
    }
    execvpe(start->command[0], start->command, ties->environment);
    int error = errno;
    ssize_t written = write(ties->report[1], &error, sizeof error);
    (void)written;
    _exit(LK_RUN_EXIT_NOT_EXECUTABLE);
}

/* Returns the errno of exec, 0 when it has succeeded. */
static int open_gate(const struct lk_run_start *start, const struct ties *ties,
                     struct lk_run_child *child) {
    int error = 0;
    ssize_t size;

    if (!child->shares_group) {
        setpgid(child->pid, child->pid); /* by both sides: neither may go on before it is done */
    }
    if (start->terminal->descriptor >= 0) {
        lk_run_witness_start(&child->witness, child->shares_group ? getpgrp() : child->pid);
    }
    lk_run_guard_command_started(start->guard, child->pid, child->shares_group);
    lk_run_terminal_lend(start->terminal, child->pid);
    do {
        size = write(ties->gate[1], "", 1);
    } while (size < 0 && errno == EINTR);
    do {
        size = read(ties->report[0], &error, sizeof error);
    } while (size < 0 && errno == EINTR);
    return size == (ssize_t)sizeof error ? error : 0;
}

/* A child that never became CMD leaves nothing behind. */
static void undo(const struct lk_run_start *start, struct lk_run_child *child, int error) {
    lk_run_terminal_take_back(start->terminal);
    kill(child->pid, SIGKILL);
    lk_run_guard_command_ended(start->guard, lk_run_child_failure_code(error));
    lk_run_child_done(child);
}

int lk_run_child_start(const struct lk_run_start *start, struct lk_run_child *ret_child) {
    struct ties ties;
    struct lk_run_child child = {.descriptor = -1, .shares_group = start->terminal->is_shared};
    pid_t keeper = getpid();
    int error = 0;

    if (!open_ties(start, &ties)) {
        return -errno;
    }
    child.pid = fork();
    if (child.pid == 0) {
        become_command(start, &ties, keeper);
    }
    if (child.pid < 0) {
        error = -errno;
    }
    close(ties.gate[0]);
    close(ties.report[1]);
    if (child.pid > 0) {
        child.descriptor = pidfd_open(child.pid, 0);
        error = open_gate(start, &ties, &child);
        if (error != 0) {
            undo(start, &child, error);
        }
    }
    close(ties.gate[1]);
    close(ties.report[0]);
    lk_run_mark_environment_free(ties.environment);
    if (error == 0) {
        *ret_child = child;
    }
    return error;
}

int lk_run_child_say_failure(const char *command, int error) {
    if (error < 0) {
        lk_run_status("INTERNAL", "the system has no process for the command: %s",
                      strerror(-error));
    } else {
        lk_run_status(error == ENOENT ? "NOT FOUND" : "NOT EXECUTABLE", "%s: %s", command,
                      strerror(error));
    }
    return lk_run_child_failure_code(error);
}

int lk_run_child_failure_code(int error) {
    if (error < 0) {
        return lk_outcome_exit_code(LK_INTERNAL);
    }
    return error == ENOENT ? LK_RUN_EXIT_NOT_FOUND : LK_RUN_EXIT_NOT_EXECUTABLE;
}

/* False while it has not ended. It stays unreaped. */
static bool look_at_end(const struct lk_run_child *child, siginfo_t *ret_end) {
    *ret_end = (siginfo_t){0};
    return waitid(P_PID, (id_t)child->pid, ret_end, WEXITED | WNOHANG | WNOWAIT) == 0
           && ret_end->si_pid != 0;
}

int lk_run_child_exit_code(const struct lk_run_child *child) {
    siginfo_t end;

    if (!look_at_end(child, &end)) {
        return -1;
    }
    return end.si_code == CLD_EXITED ? end.si_status : LK_RUN_EXIT_SIGNAL + end.si_status;
}

int lk_run_child_signal(const struct lk_run_child *child) {
    siginfo_t end;

    return look_at_end(child, &end) && end.si_code != CLD_EXITED ? end.si_status : 0;
}

void lk_run_child_done(struct lk_run_child *child) {
    lk_run_witness_end(&child->witness);
    waitpid(child->pid, NULL, 0);
    if (child->descriptor >= 0) {
        close(child->descriptor);
        child->descriptor = -1;
    }
}

/* ---- its process group ----------------------------------------------------------------------- */

/* A group of CMD's own is signalled by one call, CMD's part of a shared one member by member. */

/* Everything below lk but its own helpers. */
static struct lk_run_scope everything(const struct lk_run_child *child,
                                      const struct lk_run_guard *guard) {
    return (struct lk_run_scope){
        .root = getpid(), .spared = guard->pid, .spared_too = child->witness.pid};
}

void lk_run_group_signal(const struct lk_run_child *child, const struct lk_run_guard *guard,
                         int signal) {
    struct lk_run_scope scope = everything(child, guard);

    if (!child->shares_group) {
        kill(-child->pid, signal);
        return;
    }
    scope.within = getpgrp();
    if (lk_run_descendants_signal(&scope, signal) == 0) {
        kill(child->pid, signal); /* /proc is not readable */
    }
}

void lk_run_group_signal_all(const struct lk_run_child *child, const struct lk_run_guard *guard,
                             int signal) {
    struct lk_run_scope scope = everything(child, guard);

    if (child->shares_group) {
        kill(child->pid, signal);
    } else {
        scope.group = child->pid;
        kill(-child->pid, signal);
    }
    lk_run_descendants_signal(&scope, signal);
}

bool lk_run_group_is_left(const struct lk_run_child *child, const struct lk_run_guard *guard) {
    const struct lk_run_scope scope = everything(child, guard);

    return lk_run_descendants_signal(&scope, 0) > 0;
}

void lk_run_group_pass(const struct lk_run_child *child, const struct lk_run_guard *guard,
                       int signal) {
    switch (lk_run_signal_target(signal)) {
    case LK_RUN_TO_GROUP:
        if (child->shares_group) {
            lk_run_group_signal(child, guard, signal);
        } else if (kill(-child->pid, signal) != 0) {
            kill(child->pid, signal); /* CMD has moved to another group */
        }
        break;
    case LK_RUN_TO_COMMAND:
        kill(child->pid, signal);
        break;
    case LK_RUN_TO_NOBODY:
        break;
    }
}

bool lk_run_group_has_had(struct lk_run_child *child, int signal, bool is_from_kernel) {
    /* The witness is younger than CMD: what it lacks may have come before there was a CMD. */
    return child->shares_group
           && (child->witness.pid != 0 ? lk_run_witness_has(&child->witness, signal)
                                       : is_from_kernel);
}
