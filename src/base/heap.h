/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A priority queue (a pairing heap) whose nodes are members of the caller's structs. Adding needs
 * no memory, and any node can be removed. Adding takes constant time. Removing takes O(log n) on
 * average over many calls, but a single removal may take O(n): the first one after n additions
 * does. server/core/lists.c is for loops that must not be delayed by that. Not thread-safe.
 */
#ifndef LK_BASE_HEAP_H
#define LK_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct lk_heap_node {
    int64_t key; /* read-only while the node is in a heap */
    struct lk_heap_node *child;
    struct lk_heap_node *next; /* the next sibling */
    struct lk_heap_node *back; /* the previous sibling; of a first child: the parent */
};

/* Zeroed: empty. */
struct lk_heap {
    struct lk_heap_node *first; /* one with the smallest key; NULL: the heap is empty */
};

void lk_heap_add(struct lk_heap *heap, struct lk_heap_node *node, int64_t key);
void lk_heap_remove(struct lk_heap *heap, struct lk_heap_node *node);

/* The struct that has this node as its member; NULL for NULL. */
#define LK_HEAP_ITEM(node, type, member)                                                           \
    ((node) != NULL ? (type *)(void *)((char *)(node)-offsetof(type, member)) : NULL)

#endif
