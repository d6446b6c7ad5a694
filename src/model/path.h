/* SPDX-License-Identifier: Apache-2.0 */
/* Paths (R1, R5): the names of resources, as text and as the segments they are made of. */
#ifndef LK_MODEL_PATH_H
#define LK_MODEL_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "lockkeeper/terms.h"

enum {
    LK_PATH_BYTES_MAX = 512,
    LK_PATH_DEPTH_MAX = 32,
    LK_SEGMENT_BYTES_MAX = 255,
};

/* A parsed path. Borrows its bytes from the text it was parsed from. */
struct lk_path {
    const char *bytes; /* without the one leading and trailing slash that R1 drops */
    uint16_t size;
    uint16_t depth;                   /* segments, 1..LK_PATH_DEPTH_MAX */
    uint16_t ends[LK_PATH_DEPTH_MAX]; /* ends[i]: offset just behind segment i */
};

/*
 * Parses `text` as a path (R1). On success fills *ret_path, which borrows `text`, and returns
 * LK_OK. Otherwise returns LK_INVALID, leaves *ret_path alone, and *error names the rule that is
 * broken and the byte.
 */
lk_outcome lk_path_parse(struct lk_slice text, struct lk_path *ret_path, struct lk_error *error);

/* The path of an item (R16): QUEUE/ID. It borrows from itself: not to be copied. */
struct lk_item_path {
    struct lk_path path;
    char bytes[LK_PATH_BYTES_MAX + LK_SEGMENT_BYTES_MAX + 2];
};

/* LK_OK with *ret_path; or LK_INVALID, with what is wrong with the id or the path in *error. */
lk_outcome lk_item_path_make(const struct lk_path *queue, struct lk_slice id,
                             struct lk_item_path *ret_path, struct lk_error *error);

/* The queue and the id of an item's path, which has two segments or more. Both borrow from it. */
void lk_path_split(const struct lk_path *item, struct lk_path *ret_queue, struct lk_slice *ret_id);

/* Segment `index` of the path, borrowed from it. */
struct lk_slice lk_path_segment(const struct lk_path *path, unsigned index);

/* The first segment. */
struct lk_slice lk_path_root(const struct lk_path *path);

bool lk_path_equal(const struct lk_path *a, const struct lk_path *b);

/* Whether `outer` equals `inner` or contains it: every segment of `outer` begins `inner`. */
bool lk_path_contains(const struct lk_path *outer, const struct lk_path *inner);

/* R5: equal, or one contains the other. */
bool lk_path_related(const struct lk_path *a, const struct lk_path *b);

/* Byte order, a prefix first: the order in which roots and batches are taken. */
int lk_path_compare(const struct lk_path *a, const struct lk_path *b);

#endif
