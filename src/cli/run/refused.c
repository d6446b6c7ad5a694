/* SPDX-License-Identifier: Apache-2.0 */
/* Each call is tried again: the one that has failed need not be known where that is explained. */
#include "cli/run/refused.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

static bool is_refused(int descriptor) {
    if (descriptor >= 0) {
        (void)close(descriptor);
        return false;
    }
    return errno == ENOSYS || errno == EPERM;
}

/* NULL: none is. */
static const char *refused_call(void) {
    sigset_t none;

    (void)sigemptyset(&none);
    return is_refused(signalfd(-1, &none, SFD_CLOEXEC))              ? "signalfd"
           : is_refused(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC)) ? "timerfd_create"
           : is_refused(eventfd(0, EFD_CLOEXEC))                     ? "eventfd"
                                                                     : NULL;
}

lk_outcome lk_run_explain_lack(const char *text, lk_error *error) {
    int problem = errno;
    const char *refused = refused_call();

    return refused != NULL
               ? lk_error_set(error, LK_UNSUPPORTED,
                              "this kernel or container refuses %s(), by which lk notices signals, "
                              "deadlines and the loss of leases",
                              refused)
               : lk_error_set(error, LK_INTERNAL, "%s: %s", text, strerror(problem));
}
