/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded memory of ended tokens (R3): a release that is repeated after a lost reply is
 * answered as the first time.
 */
#ifndef LK_MODEL_ENDED_H
#define LK_MODEL_ENDED_H

#include "model/model.h"

struct lk_ended_token {
    uint64_t key; /* of owner and paths */
    uint64_t token;
    int64_t ended_us;
};

/* A ring, oldest overwritten first; grows up to `max`. */
struct lk_ended {
    const struct lk_allocator *allocator;
    struct lk_ended_token *tokens;
    uint32_t capacity;
    uint32_t max;
    uint32_t next; /* where the next one goes */
    uint32_t count;
};

void lk_ended_init(struct lk_ended *ended, const struct lk_allocator *allocator, uint32_t max);
void lk_ended_done(struct lk_ended *ended);

/* Makes sure that one can be remembered. false: memory is exhausted. */
bool lk_ended_reserve(struct lk_ended *ended);
void lk_ended_remember(struct lk_ended *ended, const struct lk_target *target, int64_t ended_us);

/* Whether this very target and token ended within LK_ENDED_MEMORY_US before now. */
bool lk_ended_recalls(const struct lk_ended *ended, const struct lk_target *target, int64_t now_us);

#endif
