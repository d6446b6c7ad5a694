/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks of work in a table share (R17): Lockkeeper's side, whatever the store; and,
 * of a database server, the rows done by lk_work() and by a loop by hand, in turns, by one process
 * or several. Each has a table `work`, with columns `id` and `done`.
 */
#ifndef LK_BENCH_TABLE_SHARE_H
#define LK_BENCH_TABLE_SHARE_H

#include <stdbool.h>

/*
 * lk_work() by one worker on the table `work`, with columns `id` and `done`, until all rows are
 * done; as the finder, it announces them, too.
 */
void table_library_work(const char *url, bool is_finder);

struct table_database {
    const char *url;
    void (*fill)(int rows); /* empties the table, and puts rows 1 to `rows` there, to be done */
    void (*work)(unsigned number); /* by hand, until all is done */
    int (*left)(void);             /* rows that are not done */
};

/* One worker, four, and sixteen. */
void table_database_compare(const struct table_database *database);

#endif
