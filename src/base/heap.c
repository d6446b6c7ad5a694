/* SPDX-License-Identifier: Apache-2.0 */
/* A pairing heap. */
#include "base/heap.h"

/* Makes the one with the larger key the first child of the other. Either may be NULL. */
static struct lk_heap_node *merge(struct lk_heap_node *a, struct lk_heap_node *b) {
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    if (b->key < a->key) {
        struct lk_heap_node *smaller = b;

        b = a;
        a = smaller;
    }
    b->back = a;
    b->next = a->child;
    if (b->next != NULL) {
        b->next->back = b;
    }
    a->child = b;
    return a;
}

/* Merges siblings: in pairs from the left, and then all from the right, which bounds the cost. */
static struct lk_heap_node *merge_siblings(struct lk_heap_node *node) {
    struct lk_heap_node *pairs = NULL; /* linked by `next`, the rightmost first */
    struct lk_heap_node *merged = NULL;

    while (node != NULL) {
        struct lk_heap_node *second = node->next;
        struct lk_heap_node *rest = second != NULL ? second->next : NULL;
        struct lk_heap_node *pair = merge(node, second);

        pair->next = pairs;
        pairs = pair;
        node = rest;
    }
    while (pairs != NULL) {
        struct lk_heap_node *rest = pairs->next;

        merged = merge(merged, pairs);
        pairs = rest;
    }
    if (merged != NULL) {
        merged->next = NULL;
        merged->back = NULL;
    }
    return merged;
}

void lk_heap_add(struct lk_heap *heap, struct lk_heap_node *node, int64_t key) {
    *node = (struct lk_heap_node){.key = key};
    heap->first = merge(heap->first, node);
}

void lk_heap_remove(struct lk_heap *heap, struct lk_heap_node *node) {
    struct lk_heap_node *orphans = merge_siblings(node->child);

    if (node == heap->first) {
        heap->first = orphans;
    } else {
        if (node->back->child == node) {
            node->back->child = node->next;
        } else {
            node->back->next = node->next;
        }
        if (node->next != NULL) {
            node->next->back = node->back;
        }
        heap->first = merge(heap->first, orphans);
    }
    *node = (struct lk_heap_node){.key = node->key};
}
