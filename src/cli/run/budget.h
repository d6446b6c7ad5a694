/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that --wait asks for is one budget, from the start of the program: what a store takes to
 * open is not waited for again. So each step of a command asks what is left of it.
 */
#ifndef LK_CLI_BUDGET_H
#define LK_CLI_BUDGET_H

#include <stdint.h>

/* At the start of the program. */
void lk_budget_begin(void);

/*
 * What is left of a wait, in milliseconds. A try (0) and LK_FOREVER stay what they are. A wait
 * whose time is over has a millisecond left: it asks once, and is told TIMEOUT and not BUSY.
 */
int64_t lk_budget_left_ms(int64_t wait_ms);

#endif
