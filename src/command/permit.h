/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a user may make a call: decided by its rules, the right that the command declares, and
 * every path that the call names. Pure.
 */
#ifndef LK_COMMAND_PERMIT_H
#define LK_COMMAND_PERMIT_H

#include "command/call.h"

/*
 * Of a service with users: LK_OK, or LK_DENIED with what is not allowed. A call without a user is
 * only allowed if its command is open.
 */
lk_outcome lk_call_permit(const struct lk_call *call, lk_error *error);

/*
 * The owner in whose name the call changes something; empty: there is none. An owner that a break
 * or a listing names only selects.
 */
struct lk_slice lk_call_owner(const struct lk_call *call);

/* Where it stands in the call; NULL: the call has none. */
struct lk_slice *lk_call_owner_at(struct lk_call *call);

#endif
