/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of paths (R5): its nodes, the parts held at them, and the draws of its roots (R4). */
#ifndef LK_MODEL_TREE_H
#define LK_MODEL_TREE_H

#include "model/state.h"

/* The deepest node that exists on the way along `path`; *ret_depth segments lead to it. */
lk_id lk_node_descend(const struct lk_model *model, const struct lk_path *path,
                      unsigned *ret_depth);

/* The child of this name, 0 if there is none. */
lk_id lk_node_child(const struct lk_model *model, lk_id parent, struct lk_slice name);

/* The node of exactly this path, 0 if there is none. */
lk_id lk_node_find(const struct lk_model *model, const struct lk_path *path);

/*
 * The node of this path, created with all missing parents. `from` is a node that `depth` segments
 * lead to, as returned by lk_node_descend(), so that no segment is looked up twice. 0: memory is
 * exhausted, and nothing was made. The caller must prune a node that has nothing at or below it.
 */
lk_id lk_node_make(struct lk_model *model, const struct lk_path *path, lk_id from, unsigned depth);

/* Removes the node and its parents as far as nothing is at or below them. */
void lk_node_prune(struct lk_model *model, lk_id node);

/* Whether `inner` is `outer` or lies below it. */
bool lk_node_contains(const struct lk_model *model, lk_id outer, lk_id inner);

/* The node after `at` in the subtree of `top`, parents first; 0: that was the last. */
lk_id lk_node_next_in_subtree(const struct lk_model *model, lk_id top, lk_id at, bool skip_below);

/* Writes the node's path into `bytes` (LK_PATH_BYTES_MAX + 1, terminated); returns its size. */
size_t lk_node_path(const struct lk_model *model, lk_id node, char *bytes);

lk_id lk_node_root(const struct lk_model *model, lk_id node);
struct lk_root *lk_root_of(const struct lk_model *model, lk_id node);

/* A root's record, made if missing. NULL: memory is exhausted. */
struct lk_root *lk_root_make(struct lk_model *model, struct lk_slice name);

/* Puts a held part entry into the ring of its node and into the counts up to the root; and back. */
void lk_part_entry_hold(struct lk_model *model, lk_id entry);
void lk_part_entry_unhold(struct lk_model *model, lk_id entry);

#endif
