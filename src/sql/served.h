/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may change a store's file: while a service keeps it, nobody else.
 *
 * The service holds the lock on FILE-served, then writes its address into the row about the store,
 * and only then loads. Whoever else is about to write sees the address in its own transaction, and
 * looks whether the lock is held: the lock dies with the service, however that ends, and with it
 * the claim. Reading is free to everybody.
 */
#ifndef LK_SQL_SERVED_H
#define LK_SQL_SERVED_H

#include <stdbool.h>

/*
 * Takes the lock for the file at `path`, whatever links lead there. 0 with *ret_descriptor, which
 * holds it until it is closed; EAGAIN: another service has it; else errno's value.
 */
int lk_sql_served_lock(const char *path, int *ret_descriptor);

/*
 * Whether a service holds it; `path` has no links and begins at the root. What cannot be found out
 * counts as held.
 */
bool lk_sql_served_is_held(const char *path);

#endif
