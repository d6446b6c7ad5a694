/* SPDX-License-Identifier: Apache-2.0 */
/* The owner of a lease of which a caller knows the token (R12). */
#ifndef LK_CLIENT_HOLDER_H
#define LK_CLIENT_HOLDER_H

#include "client/checked.h"

/*
 * Looks up the lease that has this token at the first part's path, and makes its owner that of
 * `checked`. Reads only what lives at or below that path. The lease may end before the call that is
 * made for that owner: the call names the token, too. LK_OK; LK_LOST: there is no such lease;
 * LK_INVALID: token is 0; or an outcome of the engine's list().
 */
lk_outcome lk_holder_find(const lk_store *store, uint64_t token, const struct lk_patience *patience,
                          struct lk_checked *checked, lk_error *error);

#endif
