/* SPDX-License-Identifier: Apache-2.0 */
/* One ask, or a wait in the queue until the answer is final (R10). */
#ifndef LK_CLIENT_WAIT_H
#define LK_CLIENT_WAIT_H

#include "client/checked.h"

/*
 * Asks once, or waits, as the request's style says. Blocks until the answer is final, the request's
 * cancellation is thrown, or the store has been away for the request's patience. Fills
 * *ret_decision as the engine's decide() does; the caller ends it. *ret_sent_us is when the ask
 * that brought the answer was sent: a grant lives at least until then + result.expires_in_ms.
 *
 * A bound request (R18) ends with the connection of the tie; NULL: with one of the store's.
 */
lk_outcome lk_wait_ask(lk_store *store, const struct lk_checked *checked, struct lk_tie *tie,
                       struct lk_decision *ret_decision, int64_t *ret_sent_us);

/* now + duration on lk_clock_now_us(); LK_NEVER for LK_FOREVER, and where the sum overflows. */
int64_t lk_wait_instant_after(int64_t duration_ms);

/* The instant until which the store itself is waited for: patience_ms from now, 0: the default. */
int64_t lk_wait_patience_until(int64_t patience_ms);

#endif
