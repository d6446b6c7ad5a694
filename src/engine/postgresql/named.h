/* SPDX-License-Identifier: Apache-2.0 */
/* Calls by name, where the server knows them. */
#ifndef LK_ENGINE_POSTGRESQL_NAMED_H
#define LK_ENGINE_POSTGRESQL_NAMED_H

#include "engine/postgresql/store.h"

/*
 * The name under which this connection knows the call, whose SQL is `sql`, after teaching it where
 * that is worth while; "": it is to be sent whole. LK_CANCELLED and LK_UNAVAILABLE leave the
 * connection unusable, and nothing of the call has been sent.
 */
lk_outcome lk_postgresql_name(struct lk_postgresql *store, PGconn *connection,
                              const struct lk_call *call, const char *sql,
                              const struct lk_patience *patience,
                              char ret_name[LK_POSTGRESQL_NAME_MAX + 1], lk_error *error);

/* Whether a call by name was refused because there is none: nothing has been done. */
bool lk_postgresql_is_nameless(struct lk_postgresql *store, const PGresult *result);

#endif
