/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is open: where it is, and who listens. No connection keeps anything in its session.
 */
#ifndef LK_ENGINE_POSTGRESQL_STORE_H
#define LK_ENGINE_POSTGRESQL_STORE_H

#include <libpq-fe.h>

#include "engine/postgresql/listener.h"
#include "engine/postgresql/place.h"
#include "engine/procedures/procedures.h"

struct lk_postgresql {
    struct lk_procedures common;
    struct lk_postgresql_place place;
    struct lk_listener listener;
};

static inline struct lk_postgresql *lk_postgresql_of(struct lk_engine *engine) {
    return (struct lk_postgresql *)engine;
}

/* ---- connection.c ---------------------------------------------------------------------------- */

/* Connects, within the patience. LK_OK, LK_DENIED, LK_INVALID, LK_UNSUPPORTED, LK_UNAVAILABLE,
 * LK_CANCELLED. */
lk_outcome lk_postgresql_connect(const char *url, const struct lk_patience *patience,
                                 PGconn **ret_connection, lk_error *error);

/*
 * Waits for what was sent. LK_OK with *ret_result, for PQclear(); LK_CANCELLED and LK_UNAVAILABLE
 * leave the connection unusable.
 */
lk_outcome lk_postgresql_receive(PGconn *connection, const struct lk_patience *patience,
                                 PGresult **ret_result, lk_error *error);

/* Runs SQL without arguments. LK_OK with the last result; else an outcome as explained. */
lk_outcome lk_postgresql_execute(PGconn *connection, const char *sql, const char *schema,
                                 const struct lk_patience *patience, PGresult **ret_result,
                                 lk_error *error);

/* The outcome that a server's error means, with a sentence that says what to do. */
lk_outcome lk_postgresql_explain(const PGresult *result, const char *schema, lk_error *error);

/* Whether it failed for being one of several at once, and may be tried again. */
bool lk_postgresql_is_conflict(const PGresult *result);

/* ---- exchange.c ------------------------------------------------------------------------------ */

extern const struct lk_database lk_postgresql_database;

/* ---- found.c --------------------------------------------------------------------------------- */

/* Makes the schema if it is missing, brings an older one up to date, refuses a newer one. */
lk_outcome lk_postgresql_prepare(struct lk_postgresql *store, const struct lk_patience *patience,
                                 lk_error *error);

/* ---- operations of the table ----------------------------------------------------------------- */

lk_outcome lk_postgresql_await(struct lk_engine *engine, const struct lk_stand *stand,
                               int64_t until_us, struct lk_waker *waker);
lk_outcome lk_postgresql_await_work(struct lk_engine *engine, const struct lk_path *queue,
                                    const struct lk_stand *stand, int64_t until_us,
                                    struct lk_waker *waker);
lk_outcome lk_postgresql_examine(struct lk_engine *engine, const struct lk_patience *patience,
                                 lk_report **ret_report, struct lk_error *error);

#endif
