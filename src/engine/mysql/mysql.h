/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines `mysql://...` and `mariadb://...`, which are one: the rules decided by procedures
 * inside the database.
 *
 * Each call is one CALL (sql/90_calls.sql), one round trip, on a connection that does nothing else
 * in between. What is here is how to reach the database, what may go wrong with that, and waiting;
 * README.md begins the story of the procedures.
 */
#ifndef LK_ENGINE_MYSQL_MYSQL_H
#define LK_ENGINE_MYSQL_MYSQL_H

#include "engine/engine.h"

extern const struct lk_engine_ops lk_engine_mysql;

#endif
