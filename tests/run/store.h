/* SPDX-License-Identifier: Apache-2.0 */
/* The stage's store as another program sees it. */
#ifndef LK_TESTS_RUN_STORE_H
#define LK_TESTS_RUN_STORE_H

#include <sqlite3.h>

#include "stage.h"

/* Nobody can write to the store until it is given back. */
sqlite3 *store_take_away(struct stage *stage);
void store_give_back(sqlite3 *database);

/* Whether somebody could write to it now. */
bool store_is_free(struct stage *stage);

/* SIGSTOP, at a moment at which the process keeps nobody from the store. */
void store_stop_outside(struct stage *stage, pid_t process);

#endif
