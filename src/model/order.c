/* SPDX-License-Identifier: Apache-2.0 */
/* Treaps. Recursion is as deep as the tree, which is logarithmic whatever the keys. */
#include "model/order.h"

#include "base/hash.h"

static struct lk_order_links *links_of(const struct lk_model *model, enum lk_order order,
                                       lk_id id) {
    switch (order) {
    case LK_ORDER_REQUESTS:
        return &lk_request_at(model, id)->by_ticket;
    case LK_ORDER_AGE:
        return &lk_item_at(model, id)->by_age;
    default:
        return &lk_item_at(model, id)->by_due;
    }
}

static struct lk_order_key key_of(const struct lk_model *model, enum lk_order order, lk_id id) {
    if (order == LK_ORDER_REQUESTS) {
        const struct lk_model_request *request = lk_request_at(model, id);

        return (struct lk_order_key){request->ticket, request->id};
    } else {
        const struct lk_item *item = lk_item_at(model, id);

        return order == LK_ORDER_AGE
                   ? (struct lk_order_key){item->sequence, 0}
                   : (struct lk_order_key){(uint64_t)item->order_us ^ UINT64_C(1) << 63,
                                           item->sequence};
    }
}

static bool is_before(struct lk_order_key a, struct lk_order_key b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
}

/* Damaged stores may have two items with the same key: ids decide between those. */
static bool goes_before(const struct lk_model *model, enum lk_order order, lk_id id,
                        struct lk_order_key key, lk_id other) {
    struct lk_order_key mine = key_of(model, order, id);

    return is_before(mine, key) || (!is_before(key, mine) && id < other);
}

/* Of two items with the same priority, the one with the greater id is above. */
static bool stands_above(const struct lk_model *model, lk_id id, lk_id other) {
    uint64_t mine = lk_hash_number(model->hash_seed, id);
    uint64_t others = lk_hash_number(model->hash_seed, other);

    return mine != others ? mine > others : id > other;
}

void lk_order_add(struct lk_model *model, enum lk_order order, lk_id *root, lk_id id) {
    struct lk_order_key key = key_of(model, order, id);
    struct lk_order_links *links = links_of(model, order, id);
    lk_id *before = &links->left; /* where the rest of each half goes */
    lk_id *behind = &links->right;
    lk_id at;

    while (*root != 0 && stands_above(model, *root, id)) {
        struct lk_order_links *top = links_of(model, order, *root);
        root = goes_before(model, order, *root, key, id) ? &top->right : &top->left;
    }
    at = *root;
    *root = id;
    while (at != 0) {
        struct lk_order_links *top = links_of(model, order, at);
        if (goes_before(model, order, at, key, id)) {
            *before = at;
            before = &top->right;
            at = top->right;
        } else {
            *behind = at;
            behind = &top->left;
            at = top->left;
        }
    }
    *before = *behind = 0;
}

void lk_order_remove(struct lk_model *model, enum lk_order order, lk_id *root, lk_id id) {
    struct lk_order_key key = key_of(model, order, id);
    lk_id left = links_of(model, order, id)->left;
    lk_id right = links_of(model, order, id)->right;

    while (*root != id) {
        struct lk_order_links *top;
        assert(*root != 0);
        top = links_of(model, order, *root);
        root = goes_before(model, order, *root, key, id) ? &top->right : &top->left;
    }
    while (left != 0 && right != 0) {
        if (stands_above(model, left, right)) {
            *root = left;
            root = &links_of(model, order, left)->right;
            left = *root;
        } else {
            *root = right;
            root = &links_of(model, order, right)->left;
            right = *root;
        }
    }
    *root = left != 0 ? left : right;
}

lk_id lk_order_first(const struct lk_model *model, enum lk_order order, lk_id root) {
    while (root != 0 && links_of(model, order, root)->left != 0) {
        root = links_of(model, order, root)->left;
    }
    return root;
}

lk_id lk_order_after(const struct lk_model *model, enum lk_order order, lk_id root, lk_id id) {
    struct lk_order_key key = key_of(model, order, id);
    lk_id behind = 0;

    while (root != 0) {
        if (root != id && !goes_before(model, order, root, key, id)) {
            behind = root;
            root = links_of(model, order, root)->left;
        } else {
            root = links_of(model, order, root)->right;
        }
    }
    return behind;
}

bool lk_order_walk(const struct lk_model *model, enum lk_order order, lk_id root,
                   struct lk_order_key behind, lk_order_visit *visit, void *context,
                   uint64_t *steps) {
    for (; root != 0; root = links_of(model, order, root)->right) {
        ++*steps;
        if (is_before(behind, key_of(model, order, root))
            && (!lk_order_walk(model, order, links_of(model, order, root)->left, behind, visit,
                               context, steps)
                || !visit(context, root))) {
            return false;
        }
    }
    return true;
}

/* In order, *last being the item in front; UINT32_MAX: something is wrong. */
static uint32_t check_below(const struct lk_model *model, enum lk_order order, lk_id root,
                            lk_id *last) {
    const struct lk_order_links *links;
    uint32_t before;
    uint32_t behind;

    if (root == 0) {
        return 0;
    }
    links = links_of(model, order, root);
    before = check_below(model, order, links->left, last);
    if (before == UINT32_MAX
        || (*last != 0 && !goes_before(model, order, *last, key_of(model, order, root), root))
        || (links->left != 0 && !stands_above(model, root, links->left))
        || (links->right != 0 && !stands_above(model, root, links->right))) {
        return UINT32_MAX;
    }
    *last = root;
    behind = check_below(model, order, links->right, last);
    return behind == UINT32_MAX ? UINT32_MAX : before + 1 + behind;
}

uint32_t lk_order_check(const struct lk_model *model, enum lk_order order, lk_id root) {
    lk_id last = 0;

    return check_below(model, order, root, &last);
}
