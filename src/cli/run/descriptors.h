/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: those of time, why the system has none, and closing them all in a fork. */
#ifndef LK_CLI_RUN_DESCRIPTORS_H
#define LK_CLI_RUN_DESCRIPTORS_H

#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

/* ---- closing --------------------------------------------------------------------------------- */

/* Closes descriptors of a process that was forked and goes on without exec. */

/*
 * Closes all descriptors from `first` to `last`, also where the kernel or a sandbox refuses
 * close_range(). Safe between fork and exec.
 */
void lk_run_descriptors_close(unsigned first, unsigned last);

/* ---- timers ---------------------------------------------------------------------------------- */

/* A descriptor that becomes readable at an instant of lk_clock_now_us(), also when the machine was
 * suspended meanwhile. */

/* -1 with errno when the system has no descriptor left. Close it with close(). */
int lk_run_timer_open(void);

/* Sets the instant; LK_RUN_NEVER_US disarms it. Safe in a forked child. */
void lk_run_timer_set(int timer, int64_t instant_us);

/* ---- calls that are refused ------------------------------------------------------------------ */

/* System calls that lk needs, where an old kernel or the filter of a container refuses them. */

/*
 * Why a descriptor for signals, time or events could not be had, with errno: LK_UNSUPPORTED with
 * the name of the system call that is refused, else LK_INTERNAL with the text and the errno.
 */
lk_outcome lk_run_explain_lack(const char *text, lk_error *error);

#endif
