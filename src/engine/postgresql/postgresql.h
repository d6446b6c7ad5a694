/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `postgresql://...`: the rules decided by functions inside the database.
 *
 * Each call is one CALL of a procedure (sql/90_calls.sql), one round trip, on a connection that
 * does nothing else in between and keeps no state in its session: any pooler will do. What is here
 * is how to reach the database, what may go wrong with that, and answers out of rows; README.md
 * begins the story of the functions.
 */
#ifndef LK_ENGINE_POSTGRESQL_POSTGRESQL_H
#define LK_ENGINE_POSTGRESQL_POSTGRESQL_H

#include "engine/engine.h"

extern const struct lk_engine_ops lk_engine_postgresql;

#endif
