/* SPDX-License-Identifier: Apache-2.0 */
/* The treap of items. Recursion is as deep as the tree, which is logarithmic whatever the keys. */
#include "model/order.h"

/* Whether a goes before b: by when it is due, where that orders the tree, then by age. */
static bool goes_before(const struct lk_item *a, const struct lk_item *b) {
    if (a->order_us != b->order_us) {
        return a->order_us < b->order_us;
    }
    return a->sequence < b->sequence;
}

/* Splits a tree into what goes before `item` and what goes behind it. */
static void split(struct lk_model *model, lk_id root, const struct lk_item *item, lk_id *ret_before,
                  lk_id *ret_behind) {
    struct lk_item *top;

    if (root == 0) {
        *ret_before = *ret_behind = 0;
        return;
    }
    top = lk_item_at(model, root);
    if (goes_before(top, item)) {
        split(model, top->right, item, &top->right, ret_behind);
        *ret_before = root;
    } else {
        split(model, top->left, item, ret_before, &top->left);
        *ret_behind = root;
    }
}

/* Joins two trees, all of `left` going before all of `right`. */
static lk_id join(struct lk_model *model, lk_id left, lk_id right) {
    struct lk_item *left_top;
    struct lk_item *right_top;

    if (left == 0 || right == 0) {
        return left != 0 ? left : right;
    }
    left_top = lk_item_at(model, left);
    right_top = lk_item_at(model, right);
    if (left_top->priority > right_top->priority) {
        left_top->right = join(model, left_top->right, right);
        return left;
    }
    right_top->left = join(model, left, right_top->left);
    return right;
}

void lk_order_add(struct lk_model *model, lk_id *root, lk_id id) {
    struct lk_item *item = lk_item_at(model, id);

    while (*root != 0 && lk_item_at(model, *root)->priority >= item->priority) {
        struct lk_item *top = lk_item_at(model, *root);
        root = goes_before(top, item) ? &top->right : &top->left;
    }
    split(model, *root, item, &item->left, &item->right);
    *root = id;
}

void lk_order_remove(struct lk_model *model, lk_id *root, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);

    while (*root != id) {
        struct lk_item *top;
        assert(*root != 0);
        top = lk_item_at(model, *root);
        root = goes_before(top, item) ? &top->right : &top->left;
    }
    *root = join(model, item->left, item->right);
}

lk_id lk_order_first(const struct lk_model *model, lk_id root) {
    while (root != 0 && lk_item_at(model, root)->left != 0) {
        root = lk_item_at(model, root)->left;
    }
    return root;
}

lk_id lk_order_after(const struct lk_model *model, lk_id root, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);
    lk_id behind = 0;

    while (root != 0) {
        const struct lk_item *top = lk_item_at(model, root);
        if (goes_before(item, top)) {
            behind = root;
            root = top->left;
        } else {
            root = top->right;
        }
    }
    return behind;
}
