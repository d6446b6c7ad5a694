/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues (R16): their items by state and order; and the idle queues, which have no item. Only a
 * bounded number of idle queues is kept, so that names used once do not fill the memory. Those that
 * have been idle longest are forgotten together with their counters.
 */
#include "model/order.h"
#include "model/requests.h"
#include "model/work.h"

enum { FORGOTTEN_MAX = 64 }; /* queues in one step; no step makes more than one idle */

/* ---- idle ---- */

static void idle(struct lk_model *model, lk_id id) {
    struct lk_work *work = lk_work_at(model, id);

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

    if (work->previous_idle != 0) {
        lk_work_at(model, work->previous_idle)->next_idle = work->next_idle;
    } else {
        model->first_idle = work->next_idle;
    }
    if (work->next_idle != 0) {
        lk_work_at(model, work->next_idle)->previous_idle = work->previous_idle;
    } else {
        model->last_idle = work->previous_idle;
    }
    model->idle--;
}

lk_id lk_queue_make(struct lk_model *model, const struct lk_path *path) {
    uint32_t known = model->work_index.count;
    lk_id id = lk_work_make(model, path);

    if (model->work_index.count != known) {
        idle(model, id);
    }
    return id;
}

/* The queue stays readable until the next step. */
void lk_queue_unmake(struct lk_model *model, lk_id id) {
    assert(lk_work_at(model, id)->items.root == 0);
    wake(model, id);
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

/* The tree that has the items of this one's state by when they are due; NULL: none has. */
static struct lk_order_tree *tree_of(struct lk_model *model, const struct lk_item *item) {
    struct lk_work *work = lk_work_at(model, item->work);

    switch ((enum lk_item_state)item->state) {
    case LK_ITEM_READY:
        return &work->ready;
    case LK_ITEM_DELAYED:
        return &work->delayed;
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
        return &counts->claimed;
    default:
        return &counts->parked_now;
    }
}

static void enter_state(struct lk_model *model, lk_id id, enum lk_item_state state,
                        int64_t due_us) {
    struct lk_item *item = lk_item_at(model, id);
    struct lk_order_tree *tree;

    item->state = (uint8_t)state;
    item->order_us = state == LK_ITEM_DELAYED ? due_us : 0;
    tree = tree_of(model, item);
    if (tree != NULL) {
        lk_order_add(model, LK_ORDER_DUE, tree, id);
    }
    ++*count_of(model, item);
}

static void leave_state(struct lk_model *model, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);
    struct lk_order_tree *tree = tree_of(model, item);

    --*count_of(model, item);
    if (tree != NULL) {
        lk_order_remove(model, LK_ORDER_DUE, tree, id);
    }
}

void lk_item_change_state(struct lk_model *model, lk_id id, enum lk_item_state state,
                          int64_t due_us) {
    leave_state(model, id);
    enter_state(model, id, state, due_us);
}

void lk_item_enter(struct lk_model *model, lk_id id, enum lk_item_state state, int64_t due_us) {
    const struct lk_item *item = lk_item_at(model, id);
    struct lk_work *work = lk_work_at(model, item->work);

    if (work->items.root == 0) {
        wake(model, item->work);
    }
    work->needing += item->need_count > 0;
    lk_order_add(model, LK_ORDER_AGE, &work->items, id);
    enter_state(model, id, state, due_us);
}

void lk_item_leave(struct lk_model *model, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);
    struct lk_work *work = lk_work_at(model, item->work);

    leave_state(model, id);
    lk_order_remove(model, LK_ORDER_AGE, &work->items, id);
    work->needing -= item->need_count > 0;
    if (work->items.root == 0) {
        idle(model, item->work);
    }
}
