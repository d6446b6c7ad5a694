/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines `mysql://...` and `mariadb://...`, which are the same: procedures inside the database
 * apply the rules.
 *
 * Each call is one CALL (sql/90_calls.sql) and one round trip, on a connection that does nothing
 * else in between. This directory reaches the database, explains errors, and waits; README.md
 * introduces the procedures.
 */
#ifndef LK_ENGINE_MYSQL_MYSQL_H
#define LK_ENGINE_MYSQL_MYSQL_H

#include "engine/engine.h"

extern const struct lk_engine_ops lk_engine_mysql;

#endif
