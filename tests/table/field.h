/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database that the labour is about, each kind in a file of its own: a table "jobs to do" with
 * its rows, a log of what was completed by whom, and a store beside them.
 *
 * The statement for what is done writes into the view `finish`; a trigger of the owner's marks the
 * row and writes the line. What goes wrong here ends the program: it is not what is tested.
 */
#ifndef LK_TESTS_TABLE_FIELD_H
#define LK_TESTS_TABLE_FIELD_H

#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

struct field;

/* `url`: of the store, as the program is given it; NULL: it is given none. */
struct field *field_make(int rows, const char *url);
void field_remove(struct field *field);

const char *field_url(const struct field *field); /* of the store */

/* The first column of the first row, or 0. The tables of both are seen. */
int64_t field_number(const struct field *field, const char *query);

typedef void field_visit_line(void *context, int row, uint64_t token, uint32_t attempt);
void field_each_line(const struct field *field, field_visit_line *visit, void *context);

#endif
