/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database of killed_workers.c: a table "jobs to do", a log of completed rows with the claims
 * that completed them, and a store beside them. Each database has its own implementation.
 *
 * The `done` statement inserts into the view `finish`, whose trigger marks the row and inserts the
 * line of the log. A failure here aborts the program: it is not what is tested.
 */
#ifndef LK_TESTS_TABLE_DATABASE_H
#define LK_TESTS_TABLE_DATABASE_H

#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

struct database;

/* `url`: of the store, from the command line; NULL: none was given. */
struct database *database_make(int rows, const char *url);
void database_remove(struct database *database);

const char *database_url(const struct database *database); /* of the store */

/* The first column of the first row, or 0. Sees the store's tables too. */
int64_t database_number(const struct database *database, const char *query);

typedef void database_visit_line(void *context, int row, uint64_t token, uint32_t attempt);
void database_each_line(const struct database *database, database_visit_line *visit, void *context);

#endif
