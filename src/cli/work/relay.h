/* SPDX-License-Identifier: Apache-2.0 */
/* What a command for an item writes to stderr: passed on, and its end kept. */
#ifndef LK_CLI_WORK_RELAY_H
#define LK_CLI_WORK_RELAY_H

#include <stdbool.h>
#include <stddef.h>

/* ---- the end of it --------------------------------------------------------------------------- */

/* The end of what a command has written: the last lines of it, as text. */

enum { LK_POOL_TAIL_MAX = 1024 }; /* as much as is kept with an item */

/* All zero: nothing was written. */
struct lk_pool_tail {
    char bytes[LK_POOL_TAIL_MAX]; /* in the order of writing, but for where it begins */
    size_t begin;                 /* index of the oldest byte, when it is full */
    size_t size;
    bool is_cut; /* more was written before */
};

void lk_pool_tail_add(struct lk_pool_tail *tail, const char *bytes, size_t size);

/*
 * Fills `text`, ended by 0, and returns its size. Valid UTF-8: other bytes, and 0, become '?'.
 * Without the end of the last line; if more was written than is kept, from the beginning of a line,
 * where there is one.
 */
size_t lk_pool_tail_text(const struct lk_pool_tail *tail, char text[LK_POOL_TAIL_MAX + 1]);

/* ---- the relay ------------------------------------------------------------------------------- */

/*
 * The stderr of a command that runs for an item: passed on to lk's own as it comes, and its end
 * kept. A thread does this, so that a reader of lk's stderr that is slow blocks the command alone.
 *
 * What the command leaves running in the background may keep its stderr open. So the end of an item
 * does not wait for the end of the stream: the thread goes on until that comes.
 */

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
