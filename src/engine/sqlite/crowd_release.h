/* SPDX-License-Identifier: Apache-2.0 */
/* The closure of a release in a crowd: crowd.h, which calls this. */
#ifndef LK_ENGINE_SQLITE_CROWD_RELEASE_H
#define LK_ENGINE_SQLITE_CROWD_RELEASE_H

#include "engine/sqlite/closure_fetch.h"

/* Loads as much of the crowd as decides. Returns SQLite's code. */
int lk_crowd_load_release(struct lk_closure *closure, const struct lk_target *target);

#endif
