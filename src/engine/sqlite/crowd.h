/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closure of an ask or a release where a crowd is related to its paths: as much of the crowd as
 * decides. crowd.c argues that it is enough.
 */
#ifndef LK_ENGINE_SQLITE_CROWD_H
#define LK_ENGINE_SQLITE_CROWD_H

#include "engine/sqlite/closure_fetch.h"

/*
 * Whether the command is an ask or a release, and more rows than store->options.crowd_max are
 * related to its paths.
 */
int lk_crowd_is_met(struct lk_closure *closure, const struct lk_command *command, bool *ret_is_met);

/*
 * Loads the closure of such a command. *ret_is_enough false: this is a case in which all that is
 * related has to be loaded, into an empty closure.
 */
int lk_crowd_load(struct lk_closure *closure, const struct lk_command *command,
                  bool *ret_is_enough);

/* Counts the units in use at the path that the closure of such a command has not loaded. */
int lk_crowd_count_units(struct lk_closure *closure, const struct lk_path *path);

#endif
