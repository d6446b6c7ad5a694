/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transaction of another caller that began before a decision, at a level and in a way that are
 * drawn: what it decides afterwards is what a new transaction decides, or it is refused.
 */
#ifndef LK_TESTS_MYSQL_PEOPLE_STALE_H
#define LK_TESTS_MYSQL_PEOPLE_STALE_H

#include "people_engine.h"

/* Before a decision: begins one, now and then. */
void people_stale_begin(struct people *people);
/* After it: lets it decide something, compares, and rolls back, now and then. */
void people_stale_play(struct people *people, const struct lk_path *path);

#endif
