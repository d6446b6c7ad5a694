/* SPDX-License-Identifier: Apache-2.0 */
/* Lockkeeper's side of the benchmarks of work in a table (R17), whatever the store. */
#ifndef LK_BENCH_TABLE_LIBRARY_H
#define LK_BENCH_TABLE_LIBRARY_H

#include <stdbool.h>

/*
 * lk_work() by one worker on the table `work`, with columns `id` and `done`, until all rows are
 * done; as the finder, it announces them, too.
 */
void table_library_work(const char *url, bool is_finder);

#endif
