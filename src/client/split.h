/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request whose roots live at several nodes of a store (R14), in groups: one for each node, in
 * the byte order of their first roots. Asks no node: that is batch.h.
 */
#ifndef LK_CLIENT_SPLIT_H
#define LK_CLIENT_SPLIT_H

#include "engine/engine.h"

/* The parts that live at one node, in the order of the ask. */
struct lk_split_group {
    unsigned node;
    struct lk_path root; /* the first in byte order */
    size_t count;
    struct lk_part parts[LK_PARTS_MAX];
    size_t places[LK_PARTS_MAX]; /* of these parts in the whole */
    struct lk_release_put puts[LK_PARTS_MAX];
    uint64_t token;
};

struct lk_split {
    struct lk_split_group groups[LK_PARTS_MAX];
    size_t count;
    size_t first; /* the group with the first part, and so the token */
    size_t name_size;
    char name[LK_PARTS_MAX * (LK_PATH_BYTES_MAX + 1)]; /* all paths, sorted: the batch's identity */
};

/* The node that a part lives at, as the engine knows it now. */
unsigned lk_split_node(struct lk_engine *engine, const struct lk_part *part);

/* Whether the parts live at more than one node. */
bool lk_split_is_needed(struct lk_engine *engine, const struct lk_part *parts, size_t count);

/* Of parts that live at more than one node. To be freed by free(); NULL: memory is exhausted. */
struct lk_split *lk_split_make(struct lk_engine *engine, const struct lk_part *parts, size_t count);

/* The name of the batch, which all of its commands have. Borrows from the split. */
struct lk_slice lk_split_name(const struct lk_split *split);

/* Whether a split request for just these parts has this name. */
bool lk_split_is_named(struct lk_slice name, const struct lk_part *parts, size_t count);

/* Of an ask, a renewal or a release: the command for the node of one group. Borrows from both. */
struct lk_command lk_split_command(struct lk_split *split, size_t at,
                                   const struct lk_command *whole);

#endif
