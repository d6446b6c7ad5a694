/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel lists pending signals in /proc; a used witness is replaced by a fresh one. */
#include "cli/run/witness.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/descriptors.h"
#include "cli/run/proc.h"

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
