/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims that wait for work (R16), in the order of their arrival at each queue. A queue is tried
 * again when one of its items changes, when the head of strict needs goes, when a lock that may
 * have blocked an item ends or becomes weaker, and when its next delayed item is due.
 */
#include "server/core/claim_waiters.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"
#include "server/core/core_internal.h"

static void wake_at_every_end(struct lk_core *core, struct lk_waiting_queue *queue) {
    if (lk_link_is_alone(&queue->in_waking)) {
        lk_link_append(&core->queues.waking, &queue->in_waking);
    }
}

/* NULL: memory is exhausted. */
static struct lk_waiting_queue *make_queue(struct lk_core *core, const struct lk_path *path) {
    struct lk_waiting_queue *queue = lk_waiting_queue_make(&core->queues, path);

    if (queue != NULL && lk_model_queue_has_needs(core->model, path)) {
        wake_at_every_end(core, queue);
    }
    return queue;
}

/*
 * An item that was due and is still delayed is blocked by a lock; the end of that lock marks the
 * queue ready.
 */
static void set_due(struct lk_core *core, struct lk_waiting_queue *queue) {
    int64_t due_us = lk_model_next_due(core->model, &queue->path);

    lk_timer_set(core, &queue->timer, due_us > core->times.now_us ? due_us : LK_NEVER);
}

static char *keep(struct lk_slice *slice, char *at) {
    if (slice->size > 0) {
        memcpy(at, slice->bytes, slice->size);
    }
    slice->bytes = at;
    return at + slice->size;
}

bool lk_claim_waiters_block(struct lk_core *core, struct lk_session *session,
                            const struct lk_call *call) {
    const struct lk_take *take = &call->command.take;
    struct lk_waiting_queue *queue = lk_waiting_queue_find(&core->queues, &take->queue);
    struct lk_blocked *blocked;
    char *at;

    if (queue == NULL) {
        queue = make_queue(core, &take->queue);
    }
    if (queue == NULL) {
        return false;
    }
    blocked = lk_blocked_new(core, session, call);
    blocked->take = *take;
    blocked->claims = call->claims;
    at = keep(&blocked->take.owner, blocked->text);
    (void)keep(&blocked->take.note, at);
    blocked->take.queue = queue->path;
    blocked->queue = queue;
    assert(lk_link_is_alone(&blocked->in_waiters));
    lk_link_append(&queue->blocked, &blocked->in_waiters);
    lk_timer_set(core, &blocked->timer, blocked->until_us);
    set_due(core, queue);
    return true;
}

static void queue_free(struct lk_core *core, struct lk_waiting_queue *queue) {
    assert(lk_link_is_alone(&queue->blocked) && !queue->is_ready);
    lk_timer_set(core, &queue->timer, LK_NEVER);
    lk_waiting_queue_free(&core->queues, queue);
}

void lk_claim_waiters_leave(struct lk_core *core, struct lk_waiting_queue *queue) {
    /* A queue that is ready is freed by lk_claim_waiters_drain(). */
    if (lk_link_is_alone(&queue->blocked) && !queue->is_ready) {
        queue_free(core, queue);
    }
}

/* ---- marking queues ready -------------------------------------------------------------------- */

/* The list of ready queues begins with the one that was marked last. */
static void mark_ready(struct lk_core *core, struct lk_waiting_queue *queue) {
    if (!queue->is_ready) {
        queue->is_ready = true;
        queue->next = core->ready;
        core->ready = queue;
    }
}

/* The newest are marked first, so that the oldest is tried first. */
static void mark_all_ready(struct lk_core *core, struct lk_waiting_queue *found) {
    while (found != NULL) {
        struct lk_waiting_queue *next = found->next;

        mark_ready(core, found);
        found = next;
    }
}

/* A request has ended or become weaker: an item may have been blocked by one of its locks. */
static void on_request_ended(struct lk_core *core, lk_ref request) {
    struct lk_record *record = &core->record;

    lk_model_record(core->model, request, record);
    for (size_t i = 0; i < record->part_count; i++) {
        mark_all_ready(core, lk_waiting_queues_related(&core->queues, &record->parts[i].path));
    }
    mark_all_ready(core, lk_waiting_queues_waking(&core->queues));
}

static void mark_queue_of(struct lk_core *core, const struct lk_item_record *record) {
    struct lk_waiting_queue *queue = lk_waiting_queue_find(&core->queues, &record->queue);

    if (queue != NULL) {
        if (record->need_count > 0) {
            wake_at_every_end(core, queue);
        }
        mark_ready(core, queue);
    }
}

static void on_item_ready(struct lk_core *core, lk_item_ref item) {
    struct lk_item_record *record = &core->collection.item;

    lk_model_item_record(core->model, item, record);
    mark_queue_of(core, record);
}

/* The item may have been the head of strict needs, behind which others wait. */
static void on_item_dropped(struct lk_core *core, lk_item_ref item) {
    struct lk_item_record *record = &core->collection.item;

    lk_model_item_record(core->model, item, record);
    if (lk_needs_are_strict(record->needs, record->need_count)) {
        mark_queue_of(core, record);
    }
}

void lk_claim_waiters_on_change(struct lk_core *core, const struct lk_change *change) {
    switch (change->kind) {
    case LK_CHANGE_RELEASED:
    case LK_CHANGE_WITHDRAWN:
    case LK_CHANGE_PERISHED:
    case LK_CHANGE_BROKEN:
    case LK_CHANGE_CONVERTED:
        on_request_ended(core, change->request);
        break;
    case LK_CHANGE_ITEM_PUSHED:
    case LK_CHANGE_ITEM_REPLACED:
    case LK_CHANGE_ITEM_RETRIED:
    case LK_CHANGE_ITEM_DONE: /* it may have been pushed again */
    case LK_CHANGE_ITEM_FREED:
    case LK_CHANGE_ITEM_UNPARKED:
        on_item_ready(core, change->item);
        break;
    case LK_CHANGE_ITEM_DROPPED:
        on_item_dropped(core, change->item);
        break;
    default:
        break;
    }
}

void lk_claim_waiters_due(struct lk_core *core, struct lk_waiting_queue *queue) {
    lk_timer_set(core, &queue->timer, LK_NEVER);
    mark_ready(core, queue);
}

/* ---- claiming -------------------------------------------------------------------------------- */

/* The waiter leaves first: further claims of its call may answer others, or lose the model. */
static void answer_first(struct lk_core *core, struct lk_blocked *blocked,
                         const struct lk_answer *answer) {
    char text[LK_IDENTITY_BYTES_MAX + LK_NOTE_BYTES_MAX];
    const struct lk_taker taker = {
        .session = blocked->session,
        .tag = blocked->tag,
        .claims = blocked->claims,
        .is_bound = blocked->is_bound,
    };
    struct lk_take take = blocked->take;

    (void)keep(&take.note, keep(&take.owner, text));
    lk_blocked_free(core, blocked);
    if (answer->outcome == LK_GRANTED) {
        lk_core_answer_take(core, &taker, &take, answer);
    } else {
        lk_core_answer(core, taker.session, taker.tag, answer);
    }
}

/* Tries the claim of the first waiter. Returns whether the next waiter may succeed, too. */
static bool try_first(struct lk_core *core, struct lk_waiting_queue *queue) {
    struct lk_blocked *blocked = LK_LINK_ITEM(queue->blocked.next, struct lk_blocked, in_waiters);
    struct lk_command command = {.kind = LK_COMMAND_TAKE, .take = blocked->take};
    uint64_t generation = core->generation;
    const struct lk_effects *effects;

    assert(!lk_link_is_alone(&queue->blocked) && !queue->is_ready);
    if (blocked->is_bound && !lk_bindings_reserve(core)) {
        return false;
    }
    effects = lk_core_step(core, &command);
    if (effects == NULL || effects->answer.outcome == LK_BUSY) {
        return false;
    }
    /* Marked as ready meanwhile, so that freeing the last waiter does not free the queue. */
    queue->is_ready = true;
    answer_first(core, blocked, &effects->answer);
    queue->is_ready = false;
    if (core->generation != generation) { /* there are no waiters any more */
        queue_free(core, queue);
        return false;
    }
    return true;
}

/* None of its claims succeeds now. */
static void wait_on(struct lk_core *core, struct lk_waiting_queue *queue) {
    set_due(core, queue);
    if (!lk_model_queue_has_needs(core->model, &queue->path)) {
        lk_link_remove(&queue->in_waking); /* until an item with needs comes */
    }
}

void lk_claim_waiters_clear(struct lk_core *core) {
    while (core->ready != NULL) {
        struct lk_waiting_queue *queue = core->ready;
        core->ready = queue->next;
        queue_free(core, queue);
    }
}

void lk_claim_waiters_drain(struct lk_core *core) {
    while (core->ready != NULL) {
        struct lk_waiting_queue *queue = core->ready;
        uint64_t generation = core->generation;

        assert(queue->is_ready);
        core->ready = queue->next;
        queue->is_ready = false;
        while (!lk_link_is_alone(&queue->blocked)) {
            if (!try_first(core, queue)) {
                break;
            }
        }
        if (core->generation != generation) {
            return; /* the model was given up, and with it every blocked call */
        }
        if (!lk_link_is_alone(&queue->blocked)) {
            wait_on(core, queue);
        } else if (!queue->is_ready) {
            queue_free(core, queue);
        }
    }
}

/* ---- the tree of waiting queues -------------------------------------------------------------- */

/* And a hash table of its nodes by their whole paths. */

void lk_waiting_queues_init(struct lk_waiting_queues *queues, uint64_t hash_seed) {
    *queues = (struct lk_waiting_queues){.hash_seed = hash_seed};
    lk_link_init(&queues->waking);
}

void lk_waiting_queues_done(struct lk_waiting_queues *queues) {
    assert(queues->count == 0 && queues->by_path.count == 0);
    lk_hash_table_done(&queues->by_path);
}

/* ---- the tree: nodes ------------------------------------------------------------------------- */

/* The first `depth` segments of the path. */
static struct lk_slice prefix_of(const struct lk_path *path, unsigned depth) {
    return (struct lk_slice){path->bytes, path->ends[depth - 1]};
}

static uint64_t hash_of(const struct lk_waiting_queues *queues, struct lk_slice path) {
    return lk_hash_bytes(queues->hash_seed, path);
}

static struct lk_waiting_queue *node_of(struct lk_hash_entry *entry) {
    return LK_LINK_ITEM(entry, struct lk_waiting_queue, by_path);
}

static struct lk_waiting_queue *find_node(struct lk_waiting_queues *queues, struct lk_slice path) {
    struct lk_hash_entry *entry = lk_hash_table_first(&queues->by_path, hash_of(queues, path));

    for (; entry != NULL; entry = lk_hash_entry_next(entry)) {
        struct lk_waiting_queue *node = node_of(entry);

        queues->visited++;
        if (lk_slice_equal((struct lk_slice){node->path.bytes, node->path.size}, path)) {
            return node;
        }
    }
    return NULL;
}

/* The node of the first `depth` segments of the path. NULL: memory is exhausted. */
static struct lk_waiting_queue *make_node(struct lk_waiting_queues *queues,
                                          const struct lk_path *path, unsigned depth,
                                          struct lk_waiting_queue *parent) {
    struct lk_slice prefix = prefix_of(path, depth);
    struct lk_waiting_queue *node = calloc(1, sizeof *node + prefix.size);

    if (node == NULL) {
        return NULL;
    }
    node->timer = (struct lk_timer){.due_us = LK_NEVER, .is_queue = true};
    node->path = *path;
    node->path.depth = (uint16_t)depth;
    node->path.size = (uint16_t)prefix.size;
    node->path.bytes = node->text;
    memcpy(node->text, prefix.bytes, prefix.size);
    lk_link_init(&node->children);
    lk_link_init(&node->in_parent);
    lk_link_init(&node->blocked);
    lk_link_init(&node->in_waking);
    node->parent = parent;
    if (parent != NULL) {
        lk_link_append(&parent->children, &node->in_parent);
    }
    lk_hash_table_add(&queues->by_path, &node->by_path, hash_of(queues, prefix));
    return node;
}

/* Removes the node and its ancestors as far as no waiting queue is at or below them. */
static void prune(struct lk_waiting_queues *queues, struct lk_waiting_queue *node) {
    while (node != NULL && node->number == 0 && lk_link_is_alone(&node->children)) {
        struct lk_waiting_queue *parent = node->parent;

        lk_link_remove(&node->in_parent);
        lk_hash_table_remove(&queues->by_path, &node->by_path);
        free(node);
        node = parent;
    }
}

/* The node after `at` below `top`, parents first. NULL: that was the last. */
static struct lk_waiting_queue *next_below(const struct lk_waiting_queue *top,
                                           const struct lk_waiting_queue *at) {
    if (!lk_link_is_alone(&at->children)) {
        return LK_LINK_ITEM(at->children.next, struct lk_waiting_queue, in_parent);
    }
    while (at != top) {
        if (at->in_parent.next != &at->parent->children) {
            return LK_LINK_ITEM(at->in_parent.next, struct lk_waiting_queue, in_parent);
        }
        at = at->parent;
    }
    return NULL;
}

/* ---- the tree: waiting queues ---------------------------------------------------------------- */

struct lk_waiting_queue *lk_waiting_queue_find(struct lk_waiting_queues *queues,
                                               const struct lk_path *path) {
    struct lk_waiting_queue *node = find_node(queues, prefix_of(path, path->depth));

    return node != NULL && node->number != 0 ? node : NULL;
}

struct lk_waiting_queue *lk_waiting_queue_make(struct lk_waiting_queues *queues,
                                               const struct lk_path *path) {
    struct lk_waiting_queue *node = NULL;

    for (unsigned depth = 1; depth <= path->depth; depth++) {
        struct lk_waiting_queue *parent = node;

        node = find_node(queues, prefix_of(path, depth));
        if (node == NULL) {
            node = make_node(queues, path, depth, parent);
        }
        if (node == NULL) {
            prune(queues, parent);
            return NULL;
        }
    }
    assert(node != NULL && node->number == 0);
    node->number = ++queues->last_number;
    queues->count++;
    return node;
}

void lk_waiting_queue_free(struct lk_waiting_queues *queues, struct lk_waiting_queue *queue) {
    assert(queue->number != 0 && lk_link_is_alone(&queue->blocked) && queue->timer.at == 0);
    lk_link_remove(&queue->in_waking);
    queue->number = 0;
    queue->is_ready = false;
    queues->count--;
    prune(queues, queue);
}

/* ---- those that are to be tried again -------------------------------------------------------- */

static void collect(struct lk_waiting_queue **list, struct lk_waiting_queue *node) {
    if (node->number != 0 && !node->is_ready) {
        node->next = *list;
        *list = node;
    }
}

/* One list of two that are sorted. */
static struct lk_waiting_queue *merge(struct lk_waiting_queue *a, struct lk_waiting_queue *b) {
    struct lk_waiting_queue *first = NULL;
    struct lk_waiting_queue **end = &first;

    while (a != NULL && b != NULL) {
        struct lk_waiting_queue **newer = a->number > b->number ? &a : &b;

        *end = *newer;
        end = &(*newer)->next;
        *newer = *end;
    }
    *end = a != NULL ? a : b;
    return first;
}

/* Sorts the list, the newest first. */
static struct lk_waiting_queue *sort(struct lk_waiting_queue *list) {
    struct lk_waiting_queue *middle = list;
    struct lk_waiting_queue *second;

    if (list == NULL || list->next == NULL) {
        return list;
    }
    for (const struct lk_waiting_queue *at = list->next; at != NULL && at->next != NULL;
         at = at->next->next) {
        middle = middle->next;
    }
    second = middle->next;
    middle->next = NULL;
    return merge(sort(list), sort(second));
}

struct lk_waiting_queue *lk_waiting_queues_related(struct lk_waiting_queues *queues,
                                                   const struct lk_path *path) {
    struct lk_waiting_queue *found = NULL;
    struct lk_waiting_queue *node = NULL;

    for (unsigned depth = 1; depth <= path->depth; depth++) {
        node = find_node(queues, prefix_of(path, depth));
        if (node == NULL) {
            break; /* nor is there anything below */
        }
        collect(&found, node);
    }
    for (struct lk_waiting_queue *at = node != NULL ? next_below(node, node) : NULL; at != NULL;
         at = next_below(node, at)) {
        queues->visited++;
        collect(&found, at);
    }
    return sort(found);
}

struct lk_waiting_queue *lk_waiting_queues_waking(struct lk_waiting_queues *queues) {
    struct lk_waiting_queue *found = NULL;

    for (struct lk_link *at = queues->waking.next; at != &queues->waking; at = at->next) {
        queues->visited++;
        collect(&found, LK_LINK_ITEM(at, struct lk_waiting_queue, in_waking));
    }
    return sort(found);
}
