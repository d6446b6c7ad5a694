/* SPDX-License-Identifier: Apache-2.0 */
/* What the table of options has to know of lk bench. */
#ifndef LK_CLI_BENCH_BENCH_H
#define LK_CLI_BENCH_BENCH_H

enum { LK_BENCH_CLIENTS_MAX = 1000 };

/* How keys are spread over clients; ended by NULL. */
extern const char *const lk_bench_patterns[];

#endif
