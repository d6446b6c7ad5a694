/* SPDX-License-Identifier: Apache-2.0 */
/* ^Z for commands that do not handle it themselves. */
#ifndef LK_CLI_STOP_H
#define LK_CLI_STOP_H

/*
 * From here on SIGTSTP stops this process as usual, but never inside a transaction that other
 * processes may wait for (base/thread.h). Must be called before any other thread is started. If
 * no thread can be created, nothing changes.
 */
void lk_stop_outside_transactions(void);

#endif
