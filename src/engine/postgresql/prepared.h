/* SPDX-License-Identifier: Apache-2.0 */
/* Calls as prepared statements. */
#ifndef LK_ENGINE_POSTGRESQL_PREPARED_H
#define LK_ENGINE_POSTGRESQL_PREPARED_H

#include "engine/postgresql/store.h"

/*
 * Returns the name under which this connection has prepared the call, whose SQL is `sql`; prepares
 * it first where that is worthwhile. "": the SQL must be sent whole. LK_CANCELLED and
 * LK_UNAVAILABLE leave the connection unusable, and nothing of the call has been sent.
 */
lk_outcome lk_postgresql_name(struct lk_postgresql *store, PGconn *connection,
                              const struct lk_procedure_call *call, const char *sql,
                              const struct lk_patience *patience,
                              char ret_name[LK_POSTGRESQL_NAME_MAX + 1], lk_error *error);

/*
 * Whether a call was refused for what the store has become since the connection's first answer: an
 * upgrade replaces functions. If so, nothing has been done, and a new connection will see them; a
 * call that is refused as the first one of its connection is not.
 */
bool lk_postgresql_is_outdated(PGconn *connection, const PGresult *result);

/* Whether the owners of the store were checked on this connection. */
bool lk_postgresql_is_checked(PGconn *connection);
void lk_postgresql_set_checked(PGconn *connection);

/* Whether a call was refused because its name is not prepared; if so, nothing has been done. */
bool lk_postgresql_is_nameless(struct lk_postgresql *store, const PGresult *result);

#endif
