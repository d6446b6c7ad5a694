/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of waiting queues, and a hash table of its nodes by their whole paths. */
#include "server/core/waiting_queues.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"

void lk_waiting_queues_init(struct lk_waiting_queues *queues, uint64_t hash_seed) {
    *queues = (struct lk_waiting_queues){.hash_seed = hash_seed};
    lk_link_init(&queues->waking);
}

void lk_waiting_queues_done(struct lk_waiting_queues *queues) {
    assert(queues->count == 0 && queues->by_path.count == 0);
    lk_hash_table_done(&queues->by_path);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

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

/* ---- waiting queues -------------------------------------------------------------------------- */

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
