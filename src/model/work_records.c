/* SPDX-License-Identifier: Apache-2.0 */
/* Records of items and queues, for stores: to read them from the model and to restore them. */
#include "model/heads.h"
#include "model/order.h"
#include "model/sentences.h"
#include "model/steps.h"
#include "model/tree.h"
#include "model/work.h"

static lk_id find_queue(const struct lk_model *model, const struct lk_path *queue) {
    return lk_work_find(model, lk_node_find(model, queue));
}

lk_item_ref lk_model_item(const struct lk_model *model, const struct lk_path *queue,
                          struct lk_slice id) {
    lk_id node = lk_node_find(model, queue);

    return node != 0 ? lk_item_present(model, lk_node_child(model, node, id)) : 0;
}

static struct lk_item_failure last_failure_of(const struct lk_item *item) {
    static const char loss[] = LK_TEXT_CLAIM_LOST;

    if (item->failed_by_loss) {
        return (struct lk_item_failure){.text = {loss, sizeof loss - 1}};
    }
    return (struct lk_item_failure){.has_exit = item->has_last_exit,
                                    .exit_code = item->last_exit,
                                    .text = {item->last_text, item->last_text_size}};
}

void lk_model_item_record(const struct lk_model *model, lk_item_ref ref,
                          struct lk_item_record *ret_record) {
    const struct lk_item *item = lk_item_at(model, ref);
    char *text = ret_record->text;
    size_t size = lk_node_path(model, lk_work_at(model, item->work)->node, text);

    (void)lk_path_parse((struct lk_slice){text, size}, &ret_record->queue, NULL);
    text += size + 1;
    ret_record->id = lk_name_text(&lk_node_at(model, item->node)->name);
    ret_record->sequence = item->sequence;
    ret_record->state = (enum lk_item_state)item->state;
    ret_record->due_us = lk_item_has_due(ret_record->state) ? item->rank : 0;
    if (item->state == LK_ITEM_DELAYED && item->rank <= model->now_us) {
        ret_record->state = LK_ITEM_READY; /* due, but no claim has moved it yet */
    }
    ret_record->ready_unix_us =
        ret_record->state == LK_ITEM_READY ? item->ready_us + model->wall_ahead_us : 0;
    ret_record->attempts = item->attempts;
    ret_record->was_lost = item->was_lost;
    ret_record->is_head = item->is_head;
    ret_record->claim = item->claim;
    ret_record->value = (struct lk_slice){item->value, item->value_size};
    ret_record->priority = item->priority;
    ret_record->keep_ms = item->keep_ms;
    ret_record->progress = (struct lk_slice){item->progress, item->progress_size};
    ret_record->last_failure = last_failure_of(item);
    ret_record->need_count = item->need_count;
    for (size_t i = 0; i < item->need_count; i++) {
        ret_record->needs[i] = item->needs[i];
        memcpy(text, item->needs[i].path.bytes, item->needs[i].path.size);
        ret_record->needs[i].path.bytes = text;
        text += item->needs[i].path.size;
    }
}

static bool is_possible(const struct lk_model *model, const struct lk_item_record *record) {
    return record->sequence != 0 && record->id.size >= 1 && record->id.size <= LK_SEGMENT_BYTES_MAX
           && memchr(record->id.bytes, '/', record->id.size) == NULL
           && record->value.size <= LK_VALUE_BYTES_MAX && record->need_count <= LK_NEEDS_MAX
           && record->priority >= LK_PRIORITY_MIN && record->priority <= LK_PRIORITY_MAX
           && record->last_failure.text.size <= LK_FAILURE_BYTES_MAX && record->state < LK_ITEM_GONE
           && record->progress.size <= LK_FAILURE_BYTES_MAX && record->keep_ms >= 0
           && record->keep_ms <= LK_TTL_MAX_MS && record->state != LK_ITEM_CLAIMED
           && (record->need_count == 0
               || lk_parts_check(record->needs, record->need_count, NULL) == LK_OK)
           && lk_model_item(model, &record->queue, record->id) == 0;
}

/*
 * Since when it is ready. Its sequence is the wall clock's time at which it was pushed (R4), or
 * shortly after it.
 */
static int64_t ready_us(const struct lk_model *model, const struct lk_item_record *record) {
    if (record->ready_unix_us > 0 && record->ready_unix_us < INT64_MAX / 2) {
        return record->ready_unix_us - model->wall_ahead_us;
    }
    return record->sequence < INT64_MAX / 2 ? (int64_t)record->sequence - model->wall_ahead_us : 0;
}

lk_outcome lk_model_restore_item(struct lk_model *model, const struct lk_item_record *record) {
    struct lk_item_path item_path;
    lk_id work;
    lk_id id;

    if (!is_possible(model, record)
        || lk_item_path_make(&record->queue, record->id, &item_path, NULL) != LK_OK) {
        return LK_INVALID;
    }
    lk_forget_effects(model);
    work = lk_queue_make(model, &record->queue);
    id = work == 0 ? 0
                   : lk_item_make(model, work, &item_path.path, record->value, record->needs,
                                  record->need_count);
    if (id == 0) {
        return LK_INTERNAL;
    }
    if (!lk_heads_reserve(model, id) || !lk_item_keep_failure(model, id, &record->last_failure)
        || !lk_item_keep_progress(model, id, record->progress)) {
        lk_item_remove(model, id);
        return LK_INTERNAL;
    }
    lk_item_at(model, id)->sequence = record->sequence;
    lk_item_at(model, id)->priority = (int16_t)record->priority;
    lk_item_at(model, id)->attempts = record->attempts;
    lk_item_at(model, id)->keep_ms = record->keep_ms;
    lk_item_at(model, id)->was_lost = record->was_lost;
    lk_item_enter(model, id, record->state, record->due_us, ready_us(model, record));
    if (record->is_head) {
        lk_heads_begin(model, id);
    }
    return lk_model_restore_draw(model, lk_path_root(&record->queue), record->sequence);
}

bool lk_item_restore_claim(struct lk_model *model, lk_id claim, const struct lk_record *record) {
    lk_id id = lk_claim_item(model, lk_request_at(model, claim));
    struct lk_item *item;

    if (id == 0 || lk_item_at(model, id)->claim != 0) {
        return false;
    }
    item = lk_item_at(model, id);
    item->claim = claim;
    item->max_attempts = record->max_attempts;
    item->ask_number = record->ask_number;
    if (!lk_item_is_claimed(item->state)) {
        lk_item_change_state(model, id, LK_ITEM_CLAIMED, 0);
    }
    lk_claims_add(model, id);
    return true;
}

/* ---- queues ---- */

/* What first_delayed() has found. */
struct due {
    const struct lk_model *model;
    uint64_t count;
    lk_id first_delayed;
};

static bool count_due(void *context, lk_id id) {
    struct due *due = context;

    if (lk_item_at(due->model, id)->rank > due->model->now_us) {
        due->first_delayed = id;
        return false;
    }
    due->count++;
    return true;
}

/*
 * The first item that is still delayed; 0: none. The items before it, *ret_due of them, are due:
 * ready, though no claim has moved them yet.
 */
static lk_id first_delayed(const struct lk_model *model, lk_id work, uint64_t *ret_due) {
    struct due due = {.model = model};
    uint64_t steps = 0;

    (void)lk_order_walk(model, LK_ORDER_RANK, &lk_work_at(model, work)->delayed,
                        (struct lk_order_key){.first = 0}, count_due, &due, &steps);
    *ret_due = due.count;
    return due.first_delayed;
}

static void count_queue(const struct lk_model *model, lk_id work,
                        struct lk_queue_counts *ret_counts) {
    uint64_t due;

    (void)first_delayed(model, work, &due);
    *ret_counts = lk_work_at(model, work)->counts;
    ret_counts->ready += due;
    ret_counts->delayed -= due;
    ret_counts->oldest_ready_us =
        ret_counts->ready > 0 ? lk_work_at(model, work)->ready_us : LK_NEVER;
}

void lk_model_queue_counts(const struct lk_model *model, const struct lk_path *queue,
                           struct lk_queue_counts *ret_counts) {
    lk_id work = find_queue(model, queue);

    if (work != 0) {
        count_queue(model, work, ret_counts);
    } else {
        *ret_counts = (struct lk_queue_counts){.oldest_ready_us = LK_NEVER};
    }
}

void lk_model_queue_record(const struct lk_model *model, lk_queue_ref queue,
                           char ret_path[LK_PATH_BYTES_MAX + 1],
                           struct lk_queue_counts *ret_counts) {
    (void)lk_node_path(model, lk_work_at(model, queue)->node, ret_path);
    count_queue(model, queue, ret_counts);
}

lk_outcome lk_model_restore_queue(struct lk_model *model, const struct lk_path *queue,
                                  const struct lk_queue_counts *counts) {
    lk_id id = lk_queue_make(model, queue);
    struct lk_queue_counts *kept;

    if (id == 0) {
        return LK_INTERNAL;
    }
    kept = &lk_work_at(model, id)->counts;
    kept->pushed = counts->pushed;
    kept->duplicates = counts->duplicates;
    kept->claims = counts->claims;
    kept->steals = counts->steals;
    kept->done = counts->done;
    kept->retried = counts->retried;
    kept->parked = counts->parked;
    return LK_OK;
}

/* A walk over the items of a queue that leaves out those that count as forgotten. */
struct present {
    const struct lk_model *model;
    lk_visit_item *visit;
    void *context;
};

static bool visit_present(void *context, lk_id id) {
    const struct present *present = context;
    bool is_there = lk_item_present(present->model, lk_item_at(present->model, id)->node) != 0;

    return !is_there || present->visit(present->context, id);
}

void lk_model_each_item(const struct lk_model *model, const struct lk_path *queue,
                        lk_visit_item *visit, void *context) {
    struct present present = {.model = model, .visit = visit, .context = context};
    lk_id work = find_queue(model, queue);
    uint64_t steps = 0;

    if (work != 0) {
        (void)lk_order_walk(model, LK_ORDER_AGE, &lk_work_at(model, work)->items,
                            (struct lk_order_key){.first = 0}, visit_present, &present, &steps);
    }
}

void lk_model_each_parked(const struct lk_model *model, const struct lk_path *queue,
                          uint64_t behind, lk_visit_item *visit, void *context) {
    lk_id work = find_queue(model, queue);
    uint64_t steps = 0;

    if (work != 0) {
        (void)lk_order_walk(model, LK_ORDER_RANK, &lk_work_at(model, work)->parked,
                            lk_order_key_of_rank(0, behind), visit, context, &steps);
    }
}

void lk_model_each_queue(const struct lk_model *model, const struct lk_path *prefix,
                         struct lk_slice behind, lk_visit_queue *visit, void *context) {
    lk_order_walk_below(model, LK_ORDER_QUEUES, &model->queues_by_path, prefix,
                        prefix != NULL ? find_queue(model, prefix) : 0, behind, visit, context);
}

bool lk_model_queue_has_needs(const struct lk_model *model, const struct lk_path *queue) {
    lk_id work = find_queue(model, queue);

    return work != 0 && lk_work_at(model, work)->needing > 0;
}

bool lk_model_has_queue(const struct lk_model *model, lk_queue_ref queue) {
    return lk_work_find(model, lk_work_at(model, queue)->node) == queue;
}

int64_t lk_model_next_due(const struct lk_model *model, const struct lk_path *queue) {
    lk_id work = find_queue(model, queue);
    uint64_t due;
    lk_id id = work != 0 ? first_delayed(model, work, &due) : 0;

    return id != 0 ? lk_item_at(model, id)->rank : LK_NEVER;
}
