/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the claims of items while their CMD goes on, as CMD has reported, or has done itself. */
#ifndef LK_CLI_WORK_SETTLE_H
#define LK_CLI_WORK_SETTLE_H

#include "cli/work/pool.h"
#include "cli/work/report.h"

/*
 * Ends the claim as CMD has reported, and fills in what has become of it. A store that does not
 * answer is asked again until the claim would have perished. `text` is room for that of a
 * failure, which *ret_progress borrows.
 */
void lk_pool_settle(lk_store *store, const struct lk_pool_options *options,
                    const lk_work_item *item, const struct lk_pool_report *report,
                    lk_work_progress *ret_progress, char text[LK_ERROR_TEXT_MAX]);

/* Ends several claims of one owner as done, in one decision. false: that is not known of each. */
bool lk_pool_settle_done(lk_store *store, const lk_work_item *const *items, size_t count);

/* Returns an item at once; the attempt does not count. */
lk_outcome lk_pool_give_back(lk_store *store, const lk_claim_info *claim);

/*
 * Whether a claim that was refused has been ended by its own token: by lk done or lk retry that CMD
 * has run. false also if the store does not say.
 */
bool lk_pool_was_ended(lk_store *store, const lk_claim_info *claim);

/*
 * Whether the item of a claim that a user has revoked is cancelled, and so does not come back to
 * the queue. false also if the store does not say.
 */
bool lk_pool_was_cancelled(lk_store *store, const lk_claim_info *claim);

#endif
