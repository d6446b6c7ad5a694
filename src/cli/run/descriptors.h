/* SPDX-License-Identifier: Apache-2.0 */
/* Closes descriptors of a process that was forked and goes on without exec. */
#ifndef LK_CLI_RUN_DESCRIPTORS_H
#define LK_CLI_RUN_DESCRIPTORS_H

/*
 * Closes all descriptors from `first` to `last`, also where the kernel or a sandbox refuses
 * close_range(). Safe between fork and exec.
 */
void lk_run_descriptors_close(unsigned first, unsigned last);

#endif
