/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks of work in a table of a database server share (R17): the rows done by
 * lk_work() and by a loop by hand, in turns, by one process or several. Each of them has a table
 * `work`, with columns `id` and `done`.
 */
#ifndef LK_BENCH_TABLE_DATABASE_H
#define LK_BENCH_TABLE_DATABASE_H

struct table_database {
    const char *url;
    void (*fill)(int rows); /* empties the table, and puts rows 1 to `rows` there, to be done */
    void (*work)(unsigned number); /* by hand, until all is done */
    int (*left)(void);             /* rows that are not done */
};

/* One worker, four, and sixteen. */
void table_database_compare(const struct table_database *database);

#endif
