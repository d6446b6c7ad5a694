/* SPDX-License-Identifier: Apache-2.0 */
/* The store of the fixture, used by another connection. */
#ifndef LK_TESTS_RUN_STORE_H
#define LK_TESTS_RUN_STORE_H

#include <sqlite3.h>

#include "fixture.h"

/* Takes the write lock: no process can write until store_unlock(). */
sqlite3 *store_lock(struct fixture *fixture);
void store_unlock(sqlite3 *database);

/* Waits until the file holds `count` requests. */
void store_await_requests(struct fixture *fixture, int count);

/* Whether the write lock can be taken within `patience_ms`. */
bool store_is_unlocked(struct fixture *fixture, int patience_ms);

/* Stops the process (SIGSTOP) at a moment at which it does not hold the write lock. */
void store_stop_unlocked(struct fixture *fixture, pid_t process);

#endif
