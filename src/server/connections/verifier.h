/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies passwords on a thread of its own: a hash takes long on purpose, and the loop must not
 * wait for it. What waits to be verified is bounded, and origins are served in turn. All functions
 * are the loop's.
 */
#ifndef LK_SERVER_CONNECTIONS_VERIFIER_H
#define LK_SERVER_CONNECTIONS_VERIFIER_H

#include "access/secrets.h"

enum {
    LK_VERIFICATIONS_MAX = 128,
    LK_VERIFICATIONS_OF_ONE_MAX = 32, /* for one origin */
    LK_VERIFICATION_REFUSED = -2,     /* in place of an index: see lk_verifier_submit() */
};

struct lk_verifier;
struct lk_verification;

/* `which`: the index of the hash that is the password's; less than 0: none is. */
typedef void lk_verified(void *context, int which);

/* LK_OK, or LK_INTERNAL: the thread cannot be started. */
lk_outcome lk_verifier_start(struct lk_verifier **ret_verifier, lk_error *error);

/* Waits for the hash that is being made. Verifications that are not done are dropped. Accepts
 * NULL. */
void lk_verifier_stop(struct lk_verifier *verifier);

/* Readable when a verification is done; lk_verifier_fetch() then calls back. */
int lk_verifier_descriptor(const struct lk_verifier *verifier);
void lk_verifier_fetch(struct lk_verifier *verifier);

/*
 * Compares a password with up to LK_USER_SECRETS_MAX hashes; both are copied. `origin` is where it
 * comes from; 0: only the common bound applies. NULL: so many wait already that this one must be
 * refused, or memory is exhausted. Where the common bound is reached, an origin that has less
 * waiting than another one takes the other one's last place: that one is called back with
 * LK_VERIFICATION_REFUSED.
 */
struct lk_verification *lk_verifier_submit(struct lk_verifier *verifier, uint64_t origin,
                                           const char *const *hashes, size_t count,
                                           struct lk_slice password, lk_verified *done,
                                           void *context);

/*
 * Does not call back. The verification is not used any more; one that still waits leaves its place
 * to others.
 */
void lk_verification_cancel(struct lk_verification *verification);

#endif
