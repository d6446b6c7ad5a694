/* SPDX-License-Identifier: Apache-2.0 */
/* A caller's push as a command. */
#ifndef LK_CLIENT_WORK_PUSH_H
#define LK_CLIENT_WORK_PUSH_H

#include "client/checked.h"

/*
 * Reads and checks the request. LK_OK with *ret_command, which borrows the caller's texts and
 * `needs`, room for LK_NEEDS_MAX parts; LK_INVALID or LK_UNSUPPORTED.
 */
lk_outcome lk_push_command(const lk_store *store, const lk_push_request *request,
                           struct lk_part *needs, struct lk_command *ret_command, lk_error *error);

#endif
