/* SPDX-License-Identifier: Apache-2.0 */
/* Treaps. Recursion is as deep as the tree, which is logarithmic whatever the keys. */
#include "model/order.h"

#include "base/hash.h"
#include "model/tree.h"

static struct lk_order_links *links_of(const struct lk_model *model, enum lk_order order,
                                       lk_id id) {
    switch (order) {
    case LK_ORDER_REQUESTS:
        return &lk_request_at(model, id)->by_ticket;
    case LK_ORDER_AGE:
        return &lk_item_at(model, id)->by_age;
    case LK_ORDER_QUEUES:
        return &lk_work_at(model, id)->by_path;
    case LK_ORDER_VALUES:
        return &lk_kept_value_at(model, id)->by_path;
    case LK_ORDER_DOUBTS:
        return &lk_kept_value_at(model, id)->doubt_by_path;
    case LK_ORDER_READY:
        return &lk_item_at(model, id)->by_ready;
    case LK_ORDER_WAITS:
        return &lk_work_at(model, id)->by_ready;
    case LK_ORDER_ROOTS:
        return &lk_root_at(model, id)->by_ready;
    case LK_ORDER_GROUPS:
        return &lk_group_at(model, id)->by_first;
    default:
        return &lk_item_at(model, id)->by_rank;
    }
}

/*
 * Values do not keep their paths: their nodes have them, and a value that is there already is
 * written without a comparison. The bytes of such a key are in `room`. It is not used otherwise.
 */
struct room {
    char path[LK_PATH_BYTES_MAX + 1];
};

static struct lk_order_key key_of(const struct lk_model *model, enum lk_order order, lk_id id,
                                  struct room *room) {
    switch (order) {
    case LK_ORDER_REQUESTS: {
        const struct lk_model_request *request = lk_request_at(model, id);
        return (struct lk_order_key){.first = request->ticket, .second = request->id};
    }
    case LK_ORDER_AGE:
        return (struct lk_order_key){.first = lk_item_at(model, id)->sequence};
    case LK_ORDER_QUEUES: {
        const struct lk_work *work = lk_work_at(model, id);
        return (struct lk_order_key){.bytes = {work->path, work->path_size}};
    }
    case LK_ORDER_VALUES:
    case LK_ORDER_DOUBTS: {
        size_t size = lk_node_path(model, lk_kept_value_at(model, id)->node, room->path);
        return (struct lk_order_key){.bytes = {room->path, size}};
    }
    case LK_ORDER_READY: {
        const struct lk_item *item = lk_item_at(model, id);
        return lk_order_key_of_rank(item->ready_us, item->sequence);
    }
    case LK_ORDER_DONE: { /* items of different roots may be of the same age */
        const struct lk_item *item = lk_item_at(model, id);
        struct lk_order_key key = lk_order_key_of_rank(item->rank, item->sequence);
        key.bytes = (struct lk_slice){room->path, lk_node_path(model, item->node, room->path)};
        return key;
    }
    case LK_ORDER_WAITS:
        return lk_order_key_of_rank(lk_work_at(model, id)->ready_us, 0);
    case LK_ORDER_ROOTS:
        return lk_order_key_of_rank(lk_root_at(model, id)->ready_us, 0);
    default: {
        const struct lk_item *item =
            lk_item_at(model, order == LK_ORDER_GROUPS ? lk_group_at(model, id)->first : id);
        return lk_order_key_of_rank(item->rank, item->sequence);
    }
    }
}

static bool is_before(struct lk_order_key a, struct lk_order_key b) {
    if (a.first != b.first) {
        return a.first < b.first;
    }
    return a.second != b.second ? a.second < b.second : lk_slice_compare(a.bytes, b.bytes) < 0;
}

/* Damaged stores may have two items with the same key: ids decide between those. */
static bool goes_before(const struct lk_model *model, enum lk_order order, lk_id id,
                        struct lk_order_key key, lk_id other) {
    struct room room;
    struct lk_order_key mine = key_of(model, order, id, &room);

    return is_before(mine, key) || (!is_before(key, mine) && id < other);
}

/* Of two items with the same priority, the one with the greater id is above. */
static bool stands_above(const struct lk_model *model, lk_id id, lk_id other) {
    uint64_t mine = lk_hash_number(model->hash_seed, id);
    uint64_t others = lk_hash_number(model->hash_seed, other);

    return mine != others ? mine > others : id > other;
}

/* Behind all others: it takes the place of the lower end of the right edge. */
static uint32_t append(struct lk_model *model, enum lk_order order, struct lk_order_tree *tree,
                       lk_id id) {
    struct lk_order_links *links = links_of(model, order, id);
    lk_id above = tree->last;
    lk_id below = 0;
    uint32_t steps = 0;

    for (; above != 0 && !stands_above(model, above, id); steps++) {
        below = above;
        above = links_of(model, order, above)->parent;
    }
    *links = (struct lk_order_links){.left = below, .parent = above};
    if (below != 0) {
        links_of(model, order, below)->parent = id;
    }
    if (above != 0) {
        links_of(model, order, above)->right = id;
    } else {
        tree->root = id;
    }
    tree->last = id;
    return steps + 1;
}

/* Not behind all others. */
static uint32_t insert(struct lk_model *model, enum lk_order order, struct lk_order_tree *tree,
                       lk_id id, struct lk_order_key key) {
    struct lk_order_links *links = links_of(model, order, id);
    lk_id *root = &tree->root;
    lk_id *before = &links->left; /* where the rest of each half goes */
    lk_id *behind = &links->right;
    lk_id before_parent = id;
    lk_id behind_parent = id;
    uint32_t steps = 0;
    lk_id at;

    links->parent = 0;
    for (; *root != 0 && stands_above(model, *root, id); steps++) {
        struct lk_order_links *top = links_of(model, order, *root);
        links->parent = *root;
        root = goes_before(model, order, *root, key, id) ? &top->right : &top->left;
    }
    at = *root;
    *root = id;
    for (; at != 0; steps++) {
        struct lk_order_links *top = links_of(model, order, at);
        if (goes_before(model, order, at, key, id)) {
            *before = at;
            top->parent = before_parent;
            before_parent = at;
            before = &top->right;
            at = top->right;
        } else {
            *behind = at;
            top->parent = behind_parent;
            behind_parent = at;
            behind = &top->left;
            at = top->left;
        }
    }
    *before = *behind = 0;
    return steps;
}

uint32_t lk_order_add(struct lk_model *model, enum lk_order order, struct lk_order_tree *tree,
                      lk_id id) {
    struct room room;
    struct lk_order_key key = key_of(model, order, id, &room);

    return tree->last == 0 || goes_before(model, order, tree->last, key, id)
               ? append(model, order, tree, id)
               : insert(model, order, tree, id, key);
}

/* The item before the last one. */
static lk_id before_last(const struct lk_model *model, enum lk_order order,
                         const struct lk_order_tree *tree) {
    const struct lk_order_links *links = links_of(model, order, tree->last);
    lk_id at = links->left;

    if (at == 0) {
        return links->parent;
    }
    while (links_of(model, order, at)->right != 0) {
        at = links_of(model, order, at)->right;
    }
    return at;
}

uint32_t lk_order_remove(struct lk_model *model, enum lk_order order, struct lk_order_tree *tree,
                         lk_id id) {
    lk_id left = links_of(model, order, id)->left;
    lk_id right = links_of(model, order, id)->right;
    lk_id parent = links_of(model, order, id)->parent;
    lk_id *root = &tree->root;
    uint32_t steps = 1;
    lk_id rest;

    if (parent != 0) {
        struct lk_order_links *top = links_of(model, order, parent);
        root = top->left == id ? &top->left : &top->right;
    }
    assert(*root == id);
    if (tree->last == id) {
        tree->last = before_last(model, order, tree);
    }
    for (; left != 0 && right != 0; steps++) {
        struct lk_order_links *top;
        bool is_left = stands_above(model, left, right);
        *root = is_left ? left : right;
        top = links_of(model, order, *root);
        top->parent = parent;
        parent = *root;
        root = is_left ? &top->right : &top->left;
        *(is_left ? &left : &right) = *root;
    }
    rest = left != 0 ? left : right;
    *root = rest;
    if (rest != 0) {
        links_of(model, order, rest)->parent = parent;
    }
    return steps;
}

lk_id lk_order_first(const struct lk_model *model, enum lk_order order,
                     const struct lk_order_tree *tree) {
    lk_id at = tree->root;

    while (at != 0 && links_of(model, order, at)->left != 0) {
        at = links_of(model, order, at)->left;
    }
    return at;
}

lk_id lk_order_after(const struct lk_model *model, enum lk_order order,
                     const struct lk_order_tree *tree, lk_id id) {
    struct room room;
    struct lk_order_key key = key_of(model, order, id, &room);
    lk_id at = tree->root;
    lk_id behind = 0;

    while (at != 0) {
        if (at != id && !goes_before(model, order, at, key, id)) {
            behind = at;
            at = links_of(model, order, at)->left;
        } else {
            at = links_of(model, order, at)->right;
        }
    }
    return behind;
}

static bool is_behind(const struct lk_model *model, enum lk_order order, lk_id id,
                      struct lk_order_key behind) {
    struct room room;

    return is_before(behind, key_of(model, order, id, &room));
}

static bool walk_below(const struct lk_model *model, enum lk_order order, lk_id root,
                       struct lk_order_key behind, lk_order_visit *visit, void *context,
                       uint64_t *steps) {
    for (; root != 0; root = links_of(model, order, root)->right) {
        ++*steps;
        if (is_behind(model, order, root, behind)
            && (!walk_below(model, order, links_of(model, order, root)->left, behind, visit,
                            context, steps)
                || !visit(context, root))) {
            return false;
        }
    }
    return true;
}

bool lk_order_walk(const struct lk_model *model, enum lk_order order,
                   const struct lk_order_tree *tree, struct lk_order_key behind,
                   lk_order_visit *visit, void *context, uint64_t *steps) {
    return walk_below(model, order, tree->root, behind, visit, context, steps);
}

/* A walk that ends behind the last item below `above`, a path with a slash behind it. */
struct below {
    const struct lk_model *model;
    enum lk_order order;
    struct lk_slice above;
    lk_order_visit *visit;
    void *context;
};

static bool visit_below(void *context, lk_id id) {
    const struct below *below = context;
    struct room room;
    struct lk_slice path = key_of(below->model, below->order, id, &room).bytes;

    return path.size > below->above.size
           && memcmp(path.bytes, below->above.bytes, below->above.size) == 0
           && below->visit(below->context, id);
}

void lk_order_walk_below(const struct lk_model *model, enum lk_order order,
                         const struct lk_order_tree *tree, const struct lk_path *prefix,
                         lk_id exact, struct lk_slice behind, lk_order_visit *visit,
                         void *context) {
    char text[LK_PATH_BYTES_MAX + 1];
    struct below below = {model, order, {text, 0}, visit, context};
    uint64_t steps = 0;

    if (prefix == NULL) {
        (void)walk_below(model, order, tree->root, (struct lk_order_key){.bytes = behind}, visit,
                         context, &steps);
        return;
    }
    memcpy(text, prefix->bytes, prefix->size);
    text[prefix->size] = '/';
    below.above.size = prefix->size + (size_t)1;
    if (exact != 0 && lk_slice_compare(behind, (struct lk_slice){text, prefix->size}) < 0
        && !visit(context, exact)) {
        return;
    }
    if (lk_slice_compare(behind, below.above) < 0) {
        behind = below.above;
    }
    (void)walk_below(model, order, tree->root, (struct lk_order_key){.bytes = behind}, visit_below,
                     &below, &steps);
}

static bool is_child(const struct lk_model *model, enum lk_order order, lk_id parent, lk_id id) {
    return id == 0
           || (stands_above(model, parent, id) && links_of(model, order, id)->parent == parent);
}

/* In order, *last being the item in front; UINT32_MAX: something is wrong. */
static uint32_t check_below(const struct lk_model *model, enum lk_order order, lk_id root,
                            lk_id *last) {
    struct room room;
    const struct lk_order_links *links;
    uint32_t before;
    uint32_t behind;

    if (root == 0) {
        return 0;
    }
    links = links_of(model, order, root);
    before = check_below(model, order, links->left, last);
    if (before == UINT32_MAX
        || (*last != 0
            && !goes_before(model, order, *last, key_of(model, order, root, &room), root))
        || !is_child(model, order, root, links->left)
        || !is_child(model, order, root, links->right)) {
        return UINT32_MAX;
    }
    *last = root;
    behind = check_below(model, order, links->right, last);
    return behind == UINT32_MAX ? UINT32_MAX : before + 1 + behind;
}

uint32_t lk_order_check(const struct lk_model *model, enum lk_order order,
                        const struct lk_order_tree *tree) {
    lk_id last = 0;
    uint32_t count = check_below(model, order, tree->root, &last);
    bool is_rooted = tree->root == 0 || links_of(model, order, tree->root)->parent == 0;

    return is_rooted && last == tree->last ? count : UINT32_MAX;
}
