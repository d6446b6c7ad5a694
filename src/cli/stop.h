/* SPDX-License-Identifier: Apache-2.0 */
/* ^Z for commands that do nothing of their own about it. */
#ifndef LK_CLI_STOP_H
#define LK_CLI_STOP_H

/*
 * From here on SIGTSTP stops this process as ever, but outside of the transactions that others wait
 * for (base/critical.h). To be called before any other thread is started. Where a thread cannot be
 * had, all stays as it was.
 */
void lk_stop_outside_transactions(void);

#endif
