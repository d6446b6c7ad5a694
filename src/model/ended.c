/* SPDX-License-Identifier: Apache-2.0 */
/* Ended tokens: a ring searched from its newest entry, since a repeat comes soon or never. */
#include "model/ended.h"

#include <assert.h>

#include "base/hash.h"

enum { CAPACITY_FIRST = 16 };

void lk_ended_init(struct lk_ended *ended, const struct lk_allocator *allocator, uint32_t max) {
    *ended = (struct lk_ended){.allocator = allocator, .max = max};
}

void lk_ended_done(struct lk_ended *ended) {
    ended->allocator->resize(ended->allocator->context, ended->tokens, 0);
    ended->tokens = NULL;
}

bool lk_ended_reserve(struct lk_ended *ended) {
    uint32_t wanted = ended->capacity == 0 ? CAPACITY_FIRST : ended->capacity * 2;
    struct lk_ended_token *tokens;

    if (ended->count < ended->capacity || ended->capacity == ended->max) {
        return true;
    }
    wanted = wanted < ended->max ? wanted : ended->max;
    tokens =
        ended->allocator->resize(ended->allocator->context, ended->tokens, wanted * sizeof *tokens);
    if (tokens == NULL) {
        return false;
    }
    ended->tokens = tokens;
    ended->capacity = wanted;
    ended->next = ended->count; /* it has not wrapped yet: it was never at its maximum */
    return true;
}

/* Of owner and set of paths: the order of the paths does not matter, as in R3. */
static uint64_t key_of(const struct lk_target *target) {
    uint64_t sum = 0;

    for (size_t i = 0; i < target->part_count; i++) {
        const struct lk_path *path = &target->parts[i].path;
        sum += lk_hash_bytes(1, (struct lk_slice){path->bytes, path->size});
    }
    return lk_hash_number(sum, lk_hash_bytes(2, target->owner));
}

void lk_ended_remember(struct lk_ended *ended, const struct lk_target *target, int64_t ended_us) {
    if (ended->next == ended->capacity) {
        ended->next = 0;
    }
    assert(ended->next < ended->capacity); /* it has been reserved */
    ended->tokens[ended->next++] = (struct lk_ended_token){key_of(target), target->token, ended_us};
    if (ended->count < ended->capacity) {
        ended->count++;
    }
    assert(ended->count <= ended->capacity && ended->next <= ended->capacity);
}

bool lk_ended_recalls(const struct lk_ended *ended, const struct lk_target *target,
                      int64_t now_us) {
    uint64_t key = key_of(target);
    uint32_t at = ended->next;

    for (uint32_t i = 0; i < ended->count; i++) {
        const struct lk_ended_token *token;
        at = at == 0 ? ended->count - 1 : at - 1;
        token = &ended->tokens[at];
        if (token->token == target->token && token->key == key) {
            return token->ended_us > now_us - LK_ENDED_MEMORY_US;
        }
    }
    return false;
}
