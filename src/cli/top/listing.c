/* SPDX-License-Identifier: Apache-2.0 */
/* One listing, and one explanation for each root with a waiting request. */
#include "cli/top/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/path.h"

/* ---- a snapshot ------------------------------------------------------------------------------ */

/* The roots of which explanations are read, each a text of its own. */
struct roots {
    char names[LK_SNAPSHOT_ROOTS_MAX][LK_SEGMENT_BYTES_MAX + 1];
    size_t count;
};

static void add_root(struct roots *roots, const char *path) {
    size_t size = strcspn(path, "/");

    if (roots->count == LK_SNAPSHOT_ROOTS_MAX || size > LK_SEGMENT_BYTES_MAX) {
        return;
    }
    for (size_t i = 0; i < roots->count; i++) {
        if (strncmp(roots->names[i], path, size) == 0 && roots->names[i][size] == '\0') {
            return;
        }
    }
    (void)memcpy(roots->names[roots->count], path, size);
    roots->names[roots->count++][size] = '\0';
}

/* The listing is in the order of the tickets: the longest waits come first. */
static void find_roots(const lk_listing *listing, const char *path, struct roots *roots) {
    if (path != NULL && path[0] != '\0') {
        add_root(roots, path);
    }
    for (size_t i = 0; i < listing->count; i++) {
        if (!listing->entries[i].held) {
            add_root(roots, listing->entries[i].path);
        }
    }
}

static void count_requests(struct lk_snapshot *snapshot) {
    const lk_listing *listing = snapshot->listing;

    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (i > 0 && entry->request_index == listing->entries[i - 1].request_index) {
            continue; /* another part of the same one */
        }
        snapshot->held_count += entry->held ? 1 : 0;
        snapshot->waiting_count += entry->held ? 0 : 1;
        if (!entry->held && entry->age_ms > snapshot->longest_wait_ms) {
            snapshot->longest_wait_ms = entry->age_ms;
        }
    }
}

static lk_outcome explain(lk_store *store, const struct roots *roots, struct lk_snapshot *snapshot,
                          lk_error *error) {
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; outcome == LK_OK && i < roots->count; i++) {
        outcome = lk_show(store, roots->names[i],
                          &snapshot->explanations[snapshot->explanation_count], error);
        snapshot->explanation_count += outcome == LK_OK ? 1 : 0;
    }
    if (outcome == LK_OK) {
        snapshot->waits = lk_wait_graph_new((const lk_listing *const *)snapshot->explanations,
                                            snapshot->explanation_count);
        if (snapshot->waits == NULL) {
            outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
        }
    }
    return outcome;
}

static bool has_items(const lk_queue_stats *counts) {
    return counts->ready_now + counts->delayed_now + counts->claimed_now + counts->parked_now > 0;
}

/* A store that keeps no queues, or cannot list them, has none to show. */
lk_outcome lk_snapshot_read_queues(lk_store *store, const char *prefix,
                                   struct lk_snapshot *snapshot, lk_error *error) {
    lk_outcome outcome = lk_queues(store, prefix, &snapshot->queues, error);

    snapshot->has_read_queues = true;
    if (outcome == LK_UNSUPPORTED) {
        return LK_OK;
    }
    for (size_t i = 0; outcome == LK_OK && i < snapshot->queues->count; i++) {
        int64_t age_ms = snapshot->queues->queues[i].counts.oldest_ready_ms;
        if (age_ms > snapshot->oldest_ready_ms) {
            snapshot->oldest_ready_ms = age_ms;
        }
    }
    return outcome;
}

lk_outcome lk_snapshot_read(lk_store *store, const char *prefix, const char *path,
                            struct lk_snapshot **ret_snapshot, lk_error *error) {
    struct lk_snapshot *snapshot = calloc(1, sizeof *snapshot);
    struct roots roots = {.count = 0};

    if (snapshot == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    snapshot->oldest_ready_ms = -1;
    lk_outcome outcome = lk_list(store, prefix, &snapshot->listing, error);
    if (outcome == LK_OK) {
        count_requests(snapshot);
        find_roots(snapshot->listing, path, &roots);
        outcome = explain(store, &roots, snapshot, error);
    }
    if (outcome != LK_OK) {
        lk_snapshot_free(snapshot);
        return outcome;
    }
    *ret_snapshot = snapshot;
    return LK_OK;
}

void lk_snapshot_inherit(struct lk_snapshot *snapshot, struct lk_snapshot *earlier) {
    if (snapshot->has_read_queues || earlier == NULL) {
        return;
    }
    snapshot->queues = earlier->queues;
    snapshot->has_read_queues = earlier->has_read_queues;
    snapshot->oldest_ready_ms = earlier->oldest_ready_ms;
    earlier->queues = NULL;
}

void lk_snapshot_free(struct lk_snapshot *snapshot) {
    if (snapshot == NULL) {
        return;
    }
    lk_wait_graph_free(snapshot->waits);
    lk_queue_list_free(snapshot->queues);
    for (size_t i = 0; i < snapshot->explanation_count; i++) {
        lk_listing_free(snapshot->explanations[i]);
    }
    lk_listing_free(snapshot->listing);
    free(snapshot);
}

/* ---- the tree of paths ----------------------------------------------------------------------- */

/*
 * The entries and the queues are sorted by path with `/` before every other byte, so that all below
 * a path follows directly after it: one walk over both, with the present node, makes the tree.
 */

enum { NODES_FIRST = 64 };

/* ---- order ----------------------------------------------------------------------------------- */

/* Paths have neither NUL nor control characters (R1). */
static int path_byte(char byte) {
    return byte == '/' ? 1 : (int)(unsigned char)byte;
}

static int compare_paths(const char *a, size_t a_size, const char *b, size_t b_size) {
    size_t size = a_size < b_size ? a_size : b_size;

    for (size_t i = 0; i < size; i++) {
        if (a[i] != b[i]) {
            return path_byte(a[i]) - path_byte(b[i]);
        }
    }
    return a_size < b_size ? -1 : a_size > b_size;
}

static int compare_entries(const void *a, const void *b) {
    const lk_entry *left = *(const lk_entry *const *)a;
    const lk_entry *right = *(const lk_entry *const *)b;
    int by_path = compare_paths(left->path, strlen(left->path), right->path, strlen(right->path));

    if (by_path != 0) {
        return by_path;
    }
    if (left->held != right->held) {
        return left->held ? -1 : 1;
    }
    return left->ticket < right->ticket ? -1 : left->ticket > right->ticket;
}

static int compare_queues(const void *a, const void *b) {
    const char *left = (*(const lk_queue_info *const *)a)->queue;
    const char *right = (*(const lk_queue_info *const *)b)->queue;

    return compare_paths(left, strlen(left), right, strlen(right));
}

static int compare_numbers(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

static int by_path(const void *a, const void *b) {
    const struct lk_tree_node *left = a;
    const struct lk_tree_node *right = b;
    return compare_paths(left->path, left->path_size, right->path, right->path_size);
}

static int by_age(const void *a, const void *b) {
    const struct lk_tree_node *left = a;
    const struct lk_tree_node *right = b;
    int order = compare_numbers(right->age_ms, left->age_ms);
    return order != 0 ? order : by_path(a, b);
}

static int by_left(const void *a, const void *b) {
    const struct lk_tree_node *left = a;
    const struct lk_tree_node *right = b;
    int order = compare_numbers(left->left_ms, right->left_ms);
    return order != 0 ? order : by_path(a, b);
}

static int by_waiters(const void *a, const void *b) {
    const struct lk_tree_node *left = a;
    const struct lk_tree_node *right = b;
    int order = compare_numbers((int64_t)right->waiting_count, (int64_t)left->waiting_count);
    return order != 0 ? order : by_path(a, b);
}

static const struct {
    const char *name;
    int (*compare)(const void *a, const void *b);
} orders[LK_ORDER_COUNT] = {
    [LK_ORDER_PATH] = {"path", by_path},
    [LK_ORDER_AGE] = {"age", by_age},
    [LK_ORDER_LEFT] = {"time left", by_left},
    [LK_ORDER_WAITERS] = {"waiters", by_waiters},
};

const char *lk_tree_order_name(enum lk_tree_order order) {
    return orders[order].name;
}

/* ---- filter ---------------------------------------------------------------------------------- */

static bool contains(const char *text, const char *filter) {
    return text != NULL && strcasestr(text, filter) != NULL;
}

static bool is_wanted(const lk_entry *entry, const char *filter) {
    return filter == NULL || filter[0] == '\0' || contains(entry->path, filter)
           || contains(entry->owner, filter) || contains(entry->note, filter);
}

/* The counts of queues without items are kept for long (R16), and there may be many of them. */
static bool is_queue_wanted(const lk_queue_info *queue, const char *filter) {
    return has_items(&queue->counts)
           && (filter == NULL || filter[0] == '\0' || contains(queue->queue, filter));
}

static bool gather(struct lk_tree *tree, const struct lk_snapshot *snapshot, const char *filter) {
    const lk_listing *listing = snapshot->listing;
    const lk_queue_list *queues = snapshot->queues;
    size_t queue_count = queues != NULL ? queues->count : 0;

    tree->entries = calloc(listing->count + 1, sizeof tree->entries[0]);
    tree->queues = calloc(queue_count + 1, sizeof tree->queues[0]);
    if (tree->entries == NULL || tree->queues == NULL) {
        return false;
    }
    for (size_t i = 0; i < queue_count; i++) {
        if (is_queue_wanted(&queues->queues[i], filter)) {
            tree->queues[tree->queue_count++] = &queues->queues[i];
        }
    }
    qsort(tree->queues, tree->queue_count, sizeof tree->queues[0], compare_queues);
    for (size_t i = 0; i < listing->count; i++) {
        if (is_wanted(&listing->entries[i], filter)) {
            tree->entries[tree->entry_count++] = &listing->entries[i];
        }
    }
    qsort(tree->entries, tree->entry_count, sizeof tree->entries[0], compare_entries);
    return true;
}

/* ---- growing --------------------------------------------------------------------------------- */

static size_t add_node(struct lk_tree *tree, size_t parent, const char *path, size_t path_size) {
    if (tree->count == tree->capacity) {
        size_t capacity = tree->capacity > 0 ? tree->capacity * 2 : NODES_FIRST;
        struct lk_tree_node *nodes = reallocarray(tree->nodes, capacity, sizeof nodes[0]);
        if (nodes == NULL) {
            return LK_TREE_NONE;
        }
        tree->nodes = nodes;
        tree->capacity = capacity;
    }
    size_t parent_size = parent != LK_TREE_NONE ? tree->nodes[parent].path_size : 0;
    tree->nodes[tree->count] = (struct lk_tree_node){
        .path = path,
        .path_size = path_size,
        .name_at = parent_size > 0 ? parent_size + 1 : 0,
        .parent = parent,
        .first_child = LK_TREE_NONE,
        .next = LK_TREE_NONE,
        .left_ms = INT64_MAX,
    };
    if (parent != LK_TREE_NONE) {
        tree->nodes[tree->count].next = tree->nodes[parent].first_child;
        tree->nodes[parent].first_child = tree->count;
    }
    return tree->count++;
}

static bool is_at_or_below(const struct lk_tree_node *node, const char *path) {
    return node->path_size == 0
           || (strncmp(node->path, path, node->path_size) == 0
               && (path[node->path_size] == '\0' || path[node->path_size] == '/'));
}

static void count_entry(struct lk_tree *tree, size_t node, const lk_entry *entry) {
    for (; node != LK_TREE_NONE; node = tree->nodes[node].parent) {
        struct lk_tree_node *counted = &tree->nodes[node];
        counted->held_count += entry->held ? 1 : 0;
        counted->waiting_count += entry->held ? 0 : 1;
        counted->age_ms = entry->age_ms > counted->age_ms ? entry->age_ms : counted->age_ms;
        if (entry->expires_in_ms < counted->left_ms) {
            counted->left_ms = entry->expires_in_ms;
        }
    }
}

/* From the present node to that of the path; LK_TREE_NONE when memory is exhausted. */
static size_t go_to(struct lk_tree *tree, size_t at, const char *path) {
    while (!is_at_or_below(&tree->nodes[at], path)) {
        at = tree->nodes[at].parent;
    }
    size_t size = tree->nodes[at].path_size;
    while (at != LK_TREE_NONE && path[size] != '\0') {
        size += size > 0 ? 1 : 0;
        size += strcspn(path + size, "/");
        at = add_node(tree, at, path, size);
    }
    return at;
}

static void set_entry(struct lk_tree *tree, size_t at, const lk_entry **entry) {
    struct lk_tree_node *node = &tree->nodes[at];

    node->entries = node->entry_count == 0 ? entry : node->entries;
    node->entry_count++;
    count_entry(tree, at, *entry);
}

static void set_queue(struct lk_tree *tree, size_t at, const lk_queue_info *queue) {
    tree->nodes[at].queue = queue;
    for (; at != LK_TREE_NONE; at = tree->nodes[at].parent) {
        struct lk_tree_node *node = &tree->nodes[at];
        int64_t age_ms = queue->counts.oldest_ready_ms;
        node->age_ms = age_ms > node->age_ms ? age_ms : node->age_ms;
    }
}

/* Whether the next path is that of the queue: a queue comes before the requests at its path. */
static bool is_queue_next(const struct lk_tree *tree, size_t queue, size_t entry) {
    if (queue == tree->queue_count || entry == tree->entry_count) {
        return queue < tree->queue_count;
    }
    const char *of_queue = tree->queues[queue]->queue;
    const char *of_entry = tree->entries[entry]->path;
    return compare_paths(of_queue, strlen(of_queue), of_entry, strlen(of_entry)) <= 0;
}

static bool grow(struct lk_tree *tree) {
    size_t at = add_node(tree, LK_TREE_NONE, "", 0);
    size_t queue = 0;
    size_t entry = 0;

    while (at != LK_TREE_NONE && (queue < tree->queue_count || entry < tree->entry_count)) {
        bool is_queue = is_queue_next(tree, queue, entry);
        at = go_to(tree, at, is_queue ? tree->queues[queue]->queue : tree->entries[entry]->path);
        if (at != LK_TREE_NONE && is_queue) {
            set_queue(tree, at, tree->queues[queue++]);
        } else if (at != LK_TREE_NONE) {
            set_entry(tree, at, &tree->entries[entry++]);
        }
    }
    return at != LK_TREE_NONE;
}

/* ---- shape ----------------------------------------------------------------------------------- */

/* Draws segments with nothing of their own together with the only one below them. */
static void join(struct lk_tree *tree, size_t parent) {
    for (size_t *link = &tree->nodes[parent].first_child; *link != LK_TREE_NONE;
         link = &tree->nodes[*link].next) {
        struct lk_tree_node *node = &tree->nodes[*link];
        size_t only = node->first_child;
        while (node->entry_count == 0 && node->queue == NULL
               && tree->nodes[only].next == LK_TREE_NONE) {
            tree->nodes[only].name_at = node->name_at;
            tree->nodes[only].parent = parent;
            tree->nodes[only].next = node->next;
            node->first_child = LK_TREE_NONE; /* it is in no list any more */
            *link = only;
            node = &tree->nodes[only];
            only = node->first_child;
        }
    }
}

/* Copies of a node's children in the wanted order. */
struct sorted_child {
    struct lk_tree_node node; /* first, so that it is what is compared */
    size_t index;
};

static void sort_children(struct lk_tree *tree, size_t parent, enum lk_tree_order order,
                          struct sorted_child *room) {
    size_t count = 0;

    for (size_t i = tree->nodes[parent].first_child; i != LK_TREE_NONE; i = tree->nodes[i].next) {
        room[count++] = (struct sorted_child){.node = tree->nodes[i], .index = i};
    }
    if (count > 1) {
        qsort(room, count, sizeof room[0], orders[order].compare);
    }
    size_t *link = &tree->nodes[parent].first_child;
    for (size_t i = 0; i < count; i++) {
        *link = room[i].index;
        link = &tree->nodes[room[i].index].next;
    }
    *link = LK_TREE_NONE;
}

bool lk_tree_make(const struct lk_snapshot *snapshot, const char *filter, enum lk_tree_order order,
                  struct lk_tree *ret_tree) {
    struct lk_tree tree = {.count = 0};
    struct sorted_child *room = NULL;
    bool made = gather(&tree, snapshot, filter) && grow(&tree);

    if (made) {
        room = calloc(tree.count, sizeof room[0]);
        made = room != NULL;
    }
    for (size_t i = 0; made && i < tree.count; i++) {
        join(&tree, i);
    }
    for (size_t i = 0; made && i < tree.count; i++) {
        sort_children(&tree, i, order, room);
    }
    free(room);
    if (!made) {
        lk_tree_done(&tree);
        return false;
    }
    *ret_tree = tree;
    return true;
}

void lk_tree_done(struct lk_tree *tree) {
    free(tree->entries);
    free(tree->queues);
    free(tree->nodes);
    *tree = (struct lk_tree){.count = 0};
}
