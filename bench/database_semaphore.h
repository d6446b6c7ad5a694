/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peer of a semaphore in MySQL: procedures that do what those of the Java library
 * database-semaphore do (github.com/zimingd/database-semaphore, revision cb693e9), without Java.
 *
 * Each permit of a key is a row, made when the key is first used. An acquire counts the rows of the
 * key, and in a transaction locks the first one that is free or has expired, skipping those that
 * are locked; its token is a UUID. A release finds the row by its token. Leases have whole seconds.
 */
#ifndef LK_BENCH_DATABASE_SEMAPHORE_H
#define LK_BENCH_DATABASE_SEMAPHORE_H

#include "database.h"

extern const char database_semaphore_name[];

/* Makes its table and procedures. */
void database_semaphore_prepare(void);

/* A client's pairs, as in database.h. */
void database_semaphore_pairs(struct database_client *client);

#endif
