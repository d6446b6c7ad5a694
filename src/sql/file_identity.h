/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the files that a connection has open are still the ones with their names.
 *
 * Locks are on inodes. A process that finds a replaced database, log or log index uses another
 * store, and neither side sees what the other grants. Once a connection has read, no user of SQLite
 * removes the two files beside the database; a clean-up job may.
 */
#ifndef LK_SQL_FILE_IDENTITY_H
#define LK_SQL_FILE_IDENTITY_H

#include "sql/database.h"

/*
 * To be called inside a transaction, or after the first one: the first call records the identities
 * of the two files beside the database.
 */
bool lk_sql_has_moved(struct lk_sql *sql);

#endif
