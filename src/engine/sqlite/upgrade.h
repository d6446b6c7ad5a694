/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of an open store's tables (sql/format.h): which ones are refused, and bringing older
 * ones up to date.
 *
 * A call that only reads never upgrades. One that may write does, before anything else, in a
 * transaction of its own, and only where nothing is held, claimed or waiting: a program of the
 * former format that holds something could not give it back any more.
 */
#ifndef LK_ENGINE_SQLITE_UPGRADE_H
#define LK_ENGINE_SQLITE_UPGRADE_H

#include "engine/sqlite/store.h"

/* LK_OK, or LK_UNSUPPORTED: the tables are of a format that this program must not touch. */
lk_outcome lk_sqlite_check_format(const struct lk_sqlite *store, int64_t format,
                                  int64_t writable_from, lk_error *error);

/*
 * Once the tables are of the program's format: LK_OK, or LK_INVALID, which names a trigger or view
 * of a stranger. With the mutex held. *ret_code is SQLite's where the outcome is LK_UNAVAILABLE,
 * and else SQLITE_OK.
 */
lk_outcome lk_sqlite_check_foreign(struct lk_sqlite *store, int *ret_code, lk_error *error);

/*
 * Before a transaction with that access on a store that is behind: LK_OK, the tables are of the
 * program's format now; LK_UNSUPPORTED: the call only reads, or something is in use; LK_DENIED: a
 * service keeps the file; LK_INVALID: a step fails. Where it is not LK_OK, nothing was changed.
 * With the mutex held; *ret_code as above.
 */
lk_outcome lk_sqlite_upgrade(struct lk_sqlite *store, enum lk_sqlite_access access, int *ret_code,
                             lk_error *error);

/* The same for a program that will write without a call of this engine. Without the mutex. */
lk_outcome lk_sqlite_bring_up_to_date(struct lk_engine *engine, const struct lk_patience *patience,
                                      lk_error *error);

#endif
