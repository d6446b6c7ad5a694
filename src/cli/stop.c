/* SPDX-License-Identifier: Apache-2.0 */
/* SIGTSTP is blocked in every thread; one thread waits for it until the process ends. */
#include "cli/stop.h"

#include <pthread.h>
#include <signal.h>

#include "cli/run/signals.h"

static void *stop_on_signal(void *context) {
    sigset_t stop;
    int signal;

    (void)context;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    while (sigwait(&stop, &signal) == 0) {
        lk_run_signals_stop_here(false);
    }
    return NULL;
}

void lk_stop_outside_transactions(void) {
    sigset_t all;
    sigset_t found;
    pthread_t thread;

    if (lk_run_signal_is_ignored(SIGTSTP)) {
        return;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &found); /* nothing else is for that thread */
    if (sigismember(&found, SIGTSTP) == 0
        && pthread_create(&thread, NULL, stop_on_signal, NULL) == 0) {
        pthread_detach(thread);
        sigaddset(&found, SIGTSTP);
    }
    pthread_sigmask(SIG_SETMASK, &found, NULL);
}
