/* SPDX-License-Identifier: Apache-2.0 */
/* Breaks in sentences: what one has done, and of which one a lease or a blocker was the target. */
#ifndef LK_CLI_PRINT_BROKEN_H
#define LK_CLI_PRINT_BROKEN_H

#include <stdbool.h>
#include <stdio.h>

#include "lockkeeper/lockkeeper.h"

/*
 * Prints what `count` broken requests at the path are now, of `request`: leases that are revoked
 * are listed by the store still, with their deadlines. The same of leases that an earlier break has
 * revoked, if there was nothing else to break. Returns false if there was nothing at all.
 */
bool lk_broken_say(FILE *out, lk_store *store, const lk_break_request *request, size_t count);

/* Says what has become of a cancelled item, and until when its worker may have it. */
void lk_cancelled_say(FILE *out, lk_store *store, const lk_cancel_request *request,
                      bool is_claimed);

/*
 * Who broke the held request, when and why, to be freed: by its token, or if that is 0, the last
 * one of the owner. NULL: none is on record, or the store does not say. One call of the store.
 */
char *lk_broken_by(lk_store *store, const lk_result *request);

/* The same of the claim of an item, which a break or a cancel has revoked or ended. */
char *lk_broken_claim_by(lk_store *store, const lk_claim_info *claim);

/* Whether the blocker is a lease that was broken and is held to its deadline. One call likewise. */
bool lk_broken_is_revoked(lk_store *store, const lk_blocker_info *blocker);

#endif
