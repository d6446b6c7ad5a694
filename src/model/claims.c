/* SPDX-License-Identifier: Apache-2.0 */
/* The index of claimed items. A claim without an ask number is never repeated, and not in it. */
#include "model/claims.h"

#include "base/hash.h"

static uint32_t hash_of(const struct lk_model *model, lk_id owner, uint64_t ask_number) {
    return (uint32_t)lk_hash_number(lk_hash_number(model->hash_seed, owner), ask_number);
}

static lk_id owner_of(const struct lk_model *model, const struct lk_item *item) {
    return lk_request_at(model, item->claim)->owner;
}

lk_id lk_claims_find(const struct lk_model *model, lk_id work, lk_id owner, uint64_t ask_number) {
    uint32_t hash = hash_of(model, owner, ask_number);
    uint32_t at = lk_index_start(&model->claim_index, hash);
    lk_id id;

    if (ask_number == 0 || owner == 0) {
        return 0;
    }
    while ((id = lk_index_next(&model->claim_index, hash, &at)) != 0) {
        const struct lk_item *item = lk_item_at(model, id);

        if (item->work == work && item->ask_number == ask_number
            && owner_of(model, item) == owner) {
            break;
        }
    }
    return id;
}

bool lk_claims_reserve(struct lk_model *model) {
    return lk_index_reserve(&model->claim_index, 1);
}

void lk_claims_add(struct lk_model *model, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);

    if (item->ask_number != 0) {
        lk_index_add(&model->claim_index, id,
                     hash_of(model, owner_of(model, item), item->ask_number));
    }
}

void lk_claims_remove(struct lk_model *model, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);

    if (item->ask_number != 0) {
        lk_index_remove(&model->claim_index, id,
                        hash_of(model, owner_of(model, item), item->ask_number));
    }
}
