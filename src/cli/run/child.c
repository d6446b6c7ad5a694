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
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system_call.h"
#include "cli/run/descendants.h"
#include "cli/run/descriptors.h"
#include "cli/run/run.h"
#include "cli/run/status.h"

/* ---- the terminal ---------------------------------------------------------------------------- */

/* The foreground group is read again each time: a shell moves jobs without notifying them. */

/* At its other end is a process that may be of this job, and not started yet. */
static bool is_pipe(int descriptor) {
    struct stat status;

    return fstat(descriptor, &status) == 0
           && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

/* tcgetpgrp() fails if the descriptor is not the controlling terminal. */
static bool has_it_alone(void) {
    return tcgetpgrp(STDIN_FILENO) >= 0 && !is_pipe(STDOUT_FILENO) && !is_pipe(STDERR_FILENO)
           && lk_run_descendants_is_alone();
}

void lk_run_terminal_open(struct lk_run_terminal *terminal) {
    terminal->descriptor = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    terminal->lent_to = 0;
    terminal->is_shared = terminal->descriptor >= 0 && !has_it_alone();
}

void lk_run_terminal_close(struct lk_run_terminal *terminal) {
    if (terminal->descriptor >= 0) {
        close(terminal->descriptor);
        terminal->descriptor = -1;
    }
}

bool lk_run_terminal_lend(struct lk_run_terminal *terminal, pid_t group) {
    if (terminal->descriptor < 0 || terminal->is_shared
        || tcgetpgrp(terminal->descriptor) != getpgrp()
        || tcsetpgrp(terminal->descriptor, group) != 0) {
        return false;
    }
    terminal->lent_to = group;
    return true;
}

void lk_run_terminal_take_back(struct lk_run_terminal *terminal) {
    if (terminal->lent_to != 0) {
        pid_t front = tcgetpgrp(terminal->descriptor);
        if (front == terminal->lent_to || lk_run_descendants_own_group(front)) {
            tcsetpgrp(terminal->descriptor, getpgrp());
        }
        terminal->lent_to = 0;
    }
}

/* ---- the witness ----------------------------------------------------------------------------- */

/* The kernel lists pending signals in /proc; a used witness is replaced by a fresh one. */

/* In a fork of a process with threads: only calls that are safe there. */
static _Noreturn void be_witness(pid_t group, pid_t lk) {
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "lk-witness");
    setpgid(0, group);
    /* No pipe may stay open for whose end another process waits: the standard ones neither. */
    lk_run_descriptors_close(STDIN_FILENO, UINT_MAX);
    while (getppid() == lk) {
        pause();
    }
    _exit(0);
}

void lk_run_witness_start(struct lk_run_witness *witness, pid_t group) {
    pid_t lk = getpid();
    pid_t pid = fork();

    if (pid == 0) {
        be_witness(group, lk);
    }
    if (pid > 0) {
        setpgid(pid, group); /* by both sides: no signal comes in between */
    }
    *witness = (struct lk_run_witness){.pid = pid > 0 ? pid : 0, .group = group};
}

static uint64_t mask_of(int signal) {
    return UINT64_C(1) << (unsigned)(signal - 1);
}

static uint64_t pending_for(pid_t pid) {
    static const char name[] = "\nShdPnd:";
    char text[4096];
    const char *mask =
        lk_run_proc_read(pid, "status", text, sizeof text) ? strstr(text, name) : NULL;

    return mask != NULL ? strtoull(mask + sizeof name - 1, NULL, 16) : 0;
}

/* The present one gives up what is pending for it, which would count again later. Stops and
 * continuations are not kept: the kernel drops one for the other. */
static void replace(struct lk_run_witness *witness, uint64_t pending) {
    const uint64_t jobs = mask_of(SIGTSTP) | mask_of(SIGTTIN) | mask_of(SIGTTOU) | mask_of(SIGCONT);
    uint64_t seen = witness->seen | (pending & ~jobs);

    lk_run_witness_end(witness);
    lk_run_witness_start(witness, witness->group);
    witness->seen = seen;
}

bool lk_run_witness_has(struct lk_run_witness *witness, int signal) {
    uint64_t pending = witness->pid != 0 ? pending_for(witness->pid) : 0;
    bool has_it = ((pending | witness->seen) & mask_of(signal)) != 0;

    if ((pending & mask_of(signal)) != 0) {
        replace(witness, pending);
    }
    witness->seen &= ~mask_of(signal);
    return has_it;
}

bool lk_run_witness_is_gone(struct lk_run_witness *witness, pid_t pid) {
    bool is_it = pid == witness->pid;

    if (is_it) {
        witness->pid = 0;
    }
    return is_it;
}

void lk_run_witness_end(struct lk_run_witness *witness) {
    if (witness->pid > 0) {
        kill(witness->pid, SIGKILL);
        waitpid(witness->pid, NULL, 0);
        witness->pid = 0;
    }
}

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

/*
 * Gives CMD the descriptor by which it reports. Returns that by which a failure of exec is told,
 * which makes room for it.
 */
static int report_end(const struct lk_run_start *start, const struct ties *ties) {
    int failure = ties->report[1];

    if (start->report == 0) {
        return failure;
    }
    if (failure == start->report_number) {
        failure = fcntl(failure, F_DUPFD_CLOEXEC, start->report_number + 1);
    }
    if (start->report == start->report_number) {
        (void)fcntl(start->report, F_SETFD, 0);
    } else {
        (void)dup2(start->report, start->report_number);
    }
    return failure;
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
    int failure = report_end(start, ties);
    execvpe(start->command[0], start->command, ties->environment);
    int error = errno;
    ssize_t written = write(failure, &error, sizeof error);
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
        child.descriptor = lk_pidfd_open(child.pid);
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
