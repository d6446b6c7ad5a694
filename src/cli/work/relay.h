/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stderr of a command that runs for an item: passed on to lk's own as it comes, and its end
 * kept. A thread does this, so that a reader of lk's stderr that is slow blocks the command alone.
 *
 * What the command leaves running in the background may keep its stderr open. So the end of an item
 * does not wait for the end of the stream: the thread goes on until that comes.
 */
#ifndef LK_CLI_WORK_RELAY_H
#define LK_CLI_WORK_RELAY_H

#include "cli/work/tail.h"

struct lk_pool_relay;

/*
 * Starts a relay; *ret_output is the command's stderr, to be closed once the command has it. NULL:
 * no descriptors, threads or memory are left. To be ended with lk_pool_relay_end().
 */
struct lk_pool_relay *lk_pool_relay_start(int *ret_output);

/*
 * To be called when the command has ended: waits until all that it wrote is passed on, but not for
 * longer than a second. Fills in the end of it. Frees the relay, now or when the stream ends.
 */
void lk_pool_relay_end(struct lk_pool_relay *relay, struct lk_pool_tail *ret_tail);

#endif
