/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `postgresql://...`: functions inside the database apply the rules.
 *
 * Each call is one CALL of a procedure (sql/90_calls.sql) and one round trip. Its connection does
 * nothing else in between and keeps no state in its session, so any pooler will do. This directory
 * reaches the database, explains errors, and decodes rows; README.md introduces the functions.
 */
#ifndef LK_ENGINE_POSTGRESQL_POSTGRESQL_H
#define LK_ENGINE_POSTGRESQL_POSTGRESQL_H

#include "engine/engine.h"

extern const struct lk_engine_ops lk_engine_postgresql;

#endif
