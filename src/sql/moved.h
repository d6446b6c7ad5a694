/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the files that a connection has open are still those that others find by their names.
 *
 * Locks are on the inodes: whoever makes the file, its log or the log's index anew has a store of
 * its own, and neither side would see what the other grants. While a connection has read once, no
 * user of SQLite takes the two files beside the database away; somebody who tidies up may.
 */
#ifndef LK_SQL_MOVED_H
#define LK_SQL_MOVED_H

#include "sql/database.h"

/*
 * To be asked within a transaction, or after the first: the first time remembers which files the
 * two beside the database are.
 */
bool lk_sql_is_moved(struct lk_sql *sql);

#endif
