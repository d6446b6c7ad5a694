/* SPDX-License-Identifier: Apache-2.0 */
/* The stage's store as another program sees it. */
#ifndef LK_TESTS_RUN_STORE_H
#define LK_TESTS_RUN_STORE_H

#include <sqlite3.h>

#include "stage.h"

/* Nobody can write to the store until it is given back. */
sqlite3 *store_take_away(struct stage *stage);
void store_give_back(sqlite3 *database);

/* Waits until there are so many requests, as they stand in the file. */
void store_await_requests(struct stage *stage, int count);

/* Whether somebody can write to it within so long. */
bool store_is_free(struct stage *stage, int patience_ms);

/* SIGSTOP, at a moment at which the process keeps nobody from the store. */
void store_stop_outside(struct stage *stage, pid_t process);

#endif
