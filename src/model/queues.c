/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues (R16): their items by state and order; and the idle queues, which have no item. Only a
 * bounded number of idle queues is kept, so that names used once do not fill the memory. Those that
 * have been idle longest are forgotten together with their counters.
 */
#include "model/groups.h"
#include "model/heads.h"
#include "model/order.h"
#include "model/requests.h"
#include "model/tree.h"
#include "model/work.h"

/* Queues in one step, which makes no more than one idle; and items that are done. */
enum { FORGOTTEN_MAX = 64 };

/* ---- idle ---- */

static void idle(struct lk_model *model, lk_id id) {
    struct lk_work *work = lk_work_at(model, id);

    assert((model->last_idle == 0) == (model->idle == 0));
    work->previous_idle = model->last_idle;
    work->next_idle = 0;
    if (model->last_idle != 0) {
        lk_work_at(model, model->last_idle)->next_idle = id;
    } else {
        model->first_idle = id;
    }
    model->last_idle = id;
    model->idle++;
}

static void wake(struct lk_model *model, lk_id id) {
    const struct lk_work *work = lk_work_at(model, id);

    assert(model->idle > 0);
    if (work->previous_idle != 0) {
        lk_work_at(model, work->previous_idle)->next_idle = work->next_idle;
    } else {
        assert(model->first_idle == id);
        model->first_idle = work->next_idle;
    }
    if (work->next_idle != 0) {
        lk_work_at(model, work->next_idle)->previous_idle = work->previous_idle;
    } else {
        assert(model->last_idle == id);
        model->last_idle = work->previous_idle;
    }
    model->idle--;
}

lk_id lk_queue_make(struct lk_model *model, const struct lk_path *path) {
    uint32_t known = model->work_index.count;
    lk_id id = lk_work_make(model, path);

    if (model->work_index.count != known) {
        (void)lk_order_add(model, LK_ORDER_QUEUES, &model->queues_by_path, id);
        idle(model, id);
    }
    return id;
}

/* The queue stays readable until the next step. */
void lk_queue_unmake(struct lk_model *model, lk_id id) {
    assert(lk_work_at(model, id)->items.root == 0);
    wake(model, id);
    (void)lk_order_remove(model, LK_ORDER_QUEUES, &model->queues_by_path, id);
    lk_work_unlist(model, id);
}

static void forget(struct lk_model *model, lk_id id) {
    lk_queue_unmake(model, id);
    lk_change_add(model, LK_CHANGE_QUEUE_FORGOTTEN, 0);
    model->changes[model->effects.change_count - 1].queue = id;
}

size_t lk_queues_to_forget(const struct lk_model *model) {
    uint32_t excess = model->idle > model->idle_max ? model->idle - model->idle_max : 0;

    return excess < FORGOTTEN_MAX ? excess : FORGOTTEN_MAX;
}

void lk_step_forget_queues(struct lk_model *model) {
    for (size_t left = lk_queues_to_forget(model); left > 0; left--) {
        forget(model, model->first_idle);
    }
}

/* ---- items ---- */

/* The queue's tree that has the items of this one's state by rank; NULL: none has. */
static struct lk_order_tree *tree_of(struct lk_model *model, const struct lk_item *item) {
    struct lk_work *work = lk_work_at(model, item->work);

    switch ((enum lk_item_state)item->state) {
    case LK_ITEM_READY:
        return &work->ready;
    case LK_ITEM_DELAYED:
        return &work->delayed;
    case LK_ITEM_PARKED:
        return &work->parked;
    case LK_ITEM_DONE:
        return &model->done_items;
    default:
        return NULL;
    }
}

static uint64_t *count_of(struct lk_model *model, const struct lk_item *item) {
    struct lk_queue_counts *counts = &lk_work_at(model, item->work)->counts;

    switch ((enum lk_item_state)item->state) {
    case LK_ITEM_READY:
        return &counts->ready;
    case LK_ITEM_DELAYED:
        return &counts->delayed;
    case LK_ITEM_CLAIMED:
    case LK_ITEM_CANCELLED:
    case LK_ITEM_AGAIN:
        return &counts->claimed;
    case LK_ITEM_DONE:
        return &counts->done_now;
    default:
        return &counts->parked_now;
    }
}

static int64_t rank_of(const struct lk_item *item, int64_t due_us) {
    switch ((enum lk_item_state)item->state) {
    case LK_ITEM_READY:
        return -item->priority;
    case LK_ITEM_DELAYED:
    case LK_ITEM_AGAIN:
    case LK_ITEM_DONE:
        return due_us;
    default:
        return 0;
    }
}

static bool is_unclaimed(const struct lk_item *item) {
    return item->state == LK_ITEM_READY || item->state == LK_ITEM_DELAYED;
}

static enum lk_order order_of(const struct lk_item *item) {
    return item->state == LK_ITEM_DONE ? LK_ORDER_DONE : LK_ORDER_RANK;
}

/* Ready items with needs are in their group's tree. */
static bool is_in_group(const struct lk_item *item) {
    return item->state == LK_ITEM_READY && item->group != 0;
}

/* The first of the root's unclaimed items may be another one. */
static void place_root(struct lk_model *model, lk_id node) {
    struct lk_root *root = lk_root_at(model, node);
    lk_id first = lk_order_first(model, LK_ORDER_WAITS, &root->unclaimed);
    int64_t ready_us = first != 0 ? lk_work_at(model, first)->ready_us : LK_NEVER;

    if (ready_us == root->ready_us) {
        return;
    }
    if (root->ready_us != LK_NEVER) {
        lk_order_remove(model, LK_ORDER_ROOTS, &model->roots_by_ready, node);
    }
    root->ready_us = ready_us;
    if (ready_us != LK_NEVER) {
        lk_order_add(model, LK_ORDER_ROOTS, &model->roots_by_ready, node);
    }
}

/* The same of the queue. */
static void place_queue(struct lk_model *model, lk_id id) {
    struct lk_work *work = lk_work_at(model, id);
    lk_id node = lk_node_root(model, work->node);
    lk_id first = lk_order_first(model, LK_ORDER_READY, &work->unclaimed);
    int64_t ready_us = first != 0 ? lk_item_at(model, first)->ready_us : LK_NEVER;

    if (ready_us == work->ready_us) {
        return;
    }
    if (work->ready_us != LK_NEVER) {
        lk_order_remove(model, LK_ORDER_WAITS, &lk_root_at(model, node)->unclaimed, id);
    }
    work->ready_us = ready_us;
    if (ready_us != LK_NEVER) {
        lk_order_add(model, LK_ORDER_WAITS, &lk_root_at(model, node)->unclaimed, id);
    }
    place_root(model, node);
}

static void enter_unclaimed(struct lk_model *model, lk_id id, int64_t ready_us) {
    lk_id work = lk_item_at(model, id)->work;

    lk_item_at(model, id)->ready_us = ready_us;
    lk_order_add(model, LK_ORDER_READY, &lk_work_at(model, work)->unclaimed, id);
    place_queue(model, work);
}

static void leave_unclaimed(struct lk_model *model, lk_id id) {
    lk_id work = lk_item_at(model, id)->work;

    lk_order_remove(model, LK_ORDER_READY, &lk_work_at(model, work)->unclaimed, id);
    place_queue(model, work);
}

static void enter_state(struct lk_model *model, lk_id id, enum lk_item_state state,
                        int64_t due_us) {
    struct lk_item *item = lk_item_at(model, id);
    struct lk_order_tree *tree;

    item->state = (uint8_t)state;
    item->rank = rank_of(item, due_us);
    tree = tree_of(model, item);
    if (is_in_group(item)) {
        lk_group_add(model, id);
    } else if (tree != NULL) {
        lk_order_add(model, order_of(item), tree, id);
    }
    ++*count_of(model, item);
}

static void leave_state(struct lk_model *model, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);
    struct lk_order_tree *tree = tree_of(model, item);

    assert(*count_of(model, item) > 0);
    --*count_of(model, item);
    if (is_in_group(item)) {
        lk_group_remove(model, id);
    } else if (tree != NULL) {
        lk_order_remove(model, order_of(item), tree, id);
    }
}

/* A delayed item that becomes ready keeps its place: it has been ready since it was due. */
void lk_item_change_state(struct lk_model *model, lk_id id, enum lk_item_state state,
                          int64_t due_us) {
    bool was_unclaimed = is_unclaimed(lk_item_at(model, id));
    bool is_now;

    assert(state != LK_ITEM_GONE && lk_item_at(model, id)->state != LK_ITEM_GONE);
    leave_state(model, id);
    enter_state(model, id, state, due_us);
    is_now = is_unclaimed(lk_item_at(model, id));
    if (was_unclaimed && !is_now) {
        leave_unclaimed(model, id);
    } else if (!was_unclaimed && is_now) {
        enter_unclaimed(model, id, due_us);
    }
}

void lk_item_enter(struct lk_model *model, lk_id id, enum lk_item_state state, int64_t due_us,
                   int64_t ready_us) {
    const struct lk_item *item = lk_item_at(model, id);
    struct lk_work *work = lk_work_at(model, item->work);

    if (work->items.root == 0) {
        wake(model, item->work);
    }
    work->needing += item->need_count > 0;
    lk_order_add(model, LK_ORDER_AGE, &work->items, id);
    enter_state(model, id, state, due_us);
    if (is_unclaimed(item)) {
        enter_unclaimed(model, id, state == LK_ITEM_DELAYED ? due_us : ready_us);
    }
}

void lk_item_leave(struct lk_model *model, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);
    struct lk_work *work = lk_work_at(model, item->work);

    lk_heads_end(model, id);
    leave_state(model, id);
    if (is_unclaimed(item)) {
        leave_unclaimed(model, id);
    }
    lk_order_remove(model, LK_ORDER_AGE, &work->items, id);
    assert(work->needing >= (item->need_count > 0));
    work->needing -= item->need_count > 0;
    if (work->items.root == 0) {
        idle(model, item->work);
    }
}

/* ---- done, and kept for a time ---- */

static bool is_over(const struct lk_item *item, int64_t now_us) {
    return item->state == LK_ITEM_DONE && item->rank <= now_us;
}

struct over {
    const struct lk_model *model;
    int64_t now_us;
    size_t count;
};

static bool count_over(void *context, lk_id id) {
    struct over *over = context;

    if (over->count == FORGOTTEN_MAX || !is_over(lk_item_at(over->model, id), over->now_us)) {
        return false;
    }
    over->count++;
    return true;
}

size_t lk_items_to_forget(const struct lk_model *model, int64_t now_us) {
    struct over over = {.model = model, .now_us = now_us};
    uint64_t steps = 0;

    if (model->done_items.root != 0) {
        (void)lk_order_walk(model, LK_ORDER_DONE, &model->done_items, (struct lk_order_key){0},
                            count_over, &over, &steps);
    }
    return over.count;
}

void lk_step_forget_items(struct lk_model *model) {
    model->forgotten_us = model->now_us;
    for (size_t left = lk_items_to_forget(model, model->now_us); left > 0; left--) {
        lk_id id = lk_order_first(model, LK_ORDER_DONE, &model->done_items);

        lk_item_leave(model, id);
        lk_item_remove(model, id);
        lk_change_add(model, LK_CHANGE_ITEM_FORGOTTEN, 0);
        model->changes[model->effects.change_count - 1].item = id;
    }
}

lk_id lk_item_present(const struct lk_model *model, lk_id node) {
    lk_id id = lk_item_find(model, node);

    return id != 0 && !is_over(lk_item_at(model, id), model->forgotten_us) ? id : 0;
}

/* ---- how long they have been ready ---- */

struct oldest {
    const struct lk_model *model;
    int64_t now_us;
    struct lk_ready_root *roots;
    size_t count;
    size_t max;
};

static bool add_root(void *context, lk_id node) {
    struct oldest *oldest = context;
    int64_t since_us = lk_root_at(oldest->model, node)->ready_us;

    if (oldest->count == oldest->max || since_us > oldest->now_us) {
        return false;
    }
    oldest->roots[oldest->count++] = (struct lk_ready_root){.root = node, .since_us = since_us};
    return true;
}

size_t lk_model_oldest_ready(const struct lk_model *model, int64_t now_us,
                             struct lk_ready_root *ret_roots, size_t max) {
    struct oldest oldest = {.model = model, .now_us = now_us, .roots = ret_roots, .max = max};
    uint64_t steps = 0;

    (void)lk_order_walk(model, LK_ORDER_ROOTS, &model->roots_by_ready, (struct lk_order_key){0},
                        add_root, &oldest, &steps);
    return oldest.count;
}
