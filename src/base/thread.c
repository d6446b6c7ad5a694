/* SPDX-License-Identifier: Apache-2.0 */
/* A thread inherits its signal mask, so it is set around the start. */
#include "base/thread.h"

#include <signal.h>

bool lk_thread_start(pthread_t *ret_thread, void *(*run)(void *context), void *context) {
    sigset_t all;
    sigset_t former;
    bool is_started;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    is_started = pthread_create(ret_thread, NULL, run, context) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    return is_started;
}
