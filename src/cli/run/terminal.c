/* SPDX-License-Identifier: Apache-2.0 */
/* The foreground group is read again each time: a shell moves jobs without notifying them. */
#include "cli/run/terminal.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/descendants.h"
#include "cli/run/descriptors.h"

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
