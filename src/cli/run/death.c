/* SPDX-License-Identifier: Apache-2.0 */
/* One variable: it is set in the thread that reads signals, and read when that has ended. */
#include "cli/run/death.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

static atomic_int noted;
static atomic_bool noted_spreads;

void lk_death_note(int signal, bool spreads) {
    if (signal == SIGINT || signal == SIGQUIT) {
        noted_spreads = spreads;
        noted = signal;
    }
}

int lk_death_conclude(int exit_code) {
    int signal = noted;
    struct sigaction action;
    sigset_t unblocked;

    if (signal == 0 || sigaction(signal, NULL, &action) != 0 || action.sa_handler == SIG_IGN) {
        return exit_code;
    }
    prctl(PR_SET_DUMPABLE, 0); /* the core file of SIGQUIT is the command's alone */
    kill(noted_spreads ? 0 : getpid(), signal);
    sigemptyset(&unblocked);
    sigaddset(&unblocked, signal);
    pthread_sigmask(SIG_UNBLOCK, &unblocked, NULL);
    return exit_code;
}
