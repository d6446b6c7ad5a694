/* SPDX-License-Identifier: Apache-2.0 */
/* Timers on the clock that counts suspended time, refused calls, and close_range(). */
#include "cli/run/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system_call.h"
#include "cli/run/deadline.h"

/* ---- closing --------------------------------------------------------------------------------- */

/* Where close_range() is refused, /proc/self/fd names what is open. */

/* False: the name is no number. */
static bool read_number(const char *text, unsigned *ret_number) {
    unsigned number = 0;

    for (; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (unsigned)(*text - '0');
    }
    *ret_number = number;
    return *text == '\0';
}

static void close_listed(int list, const char *entries, size_t size, unsigned first,
                         unsigned last) {
    for (size_t at = 0; at < size;) {
        const struct dirent64 *entry = (const void *)(entries + at);
        unsigned descriptor;

        if (read_number(entry->d_name, &descriptor) && descriptor >= first && descriptor <= last
            && descriptor != (unsigned)list) {
            close((int)descriptor);
        }
        at += entry->d_reclen;
    }
}

void lk_run_descriptors_close(unsigned first, unsigned last) {
    _Alignas(struct dirent64) char entries[2048];
    ssize_t size;

    if (lk_close_range(first, last) == 0) {
        return;
    }
    int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (list >= 0 && (size = lk_getdents(list, entries, sizeof entries)) > 0) {
        close_listed(list, entries, (size_t)size, first, last);
    }
    if (list >= 0) {
        close(list);
    }
}

/* ---- timers ---------------------------------------------------------------------------------- */

int lk_run_timer_open(void) {
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

void lk_run_timer_set(int timer, int64_t instant_us) {
    struct itimerspec setting = {0};

    if (instant_us != LK_RUN_NEVER_US) {
        /* An instant of zero would disarm it; whatever has passed fires at once. */
        int64_t armed_us = instant_us > 0 ? instant_us : 1;
        setting.it_value.tv_sec = (time_t)(armed_us / 1000000);
        setting.it_value.tv_nsec = (long)(armed_us % 1000000) * 1000;
    }
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL);
}

/* ---- calls that are refused ------------------------------------------------------------------ */

/* Each call is tried again: the one that has failed need not be known where that is explained. */

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
