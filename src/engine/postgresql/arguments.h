/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of one CALL, in PostgreSQL's text form, but for bytes, which go as they are.
 *
 * Everything is copied into one block, but for the bytes of values, which are borrowed. What does
 * not fit marks the whole as broken; the block is made for the largest request that there can be.
 */
#ifndef LK_ENGINE_POSTGRESQL_ARGUMENTS_H
#define LK_ENGINE_POSTGRESQL_ARGUMENTS_H

#include "model/model.h"

enum { LK_ARGUMENTS_MAX = 13, LK_ARGUMENTS_BYTES = 128 * 1024 };

struct lk_arguments {
    char *block; /* for free(); NULL: memory is exhausted */
    size_t used;
    bool is_broken;
    int count;
    const char *values[LK_ARGUMENTS_MAX];
    int lengths[LK_ARGUMENTS_MAX];
    int formats[LK_ARGUMENTS_MAX]; /* 1: bytes */
};

void lk_arguments_init(struct lk_arguments *arguments);
void lk_arguments_done(struct lk_arguments *arguments);

void lk_arguments_add_null(struct lk_arguments *arguments);
void lk_arguments_add_text(struct lk_arguments *arguments, struct lk_slice text);
void lk_arguments_add_path(struct lk_arguments *arguments, const struct lk_path *path);
void lk_arguments_add_integer(struct lk_arguments *arguments, int64_t number);
void lk_arguments_add_boolean(struct lk_arguments *arguments, bool is_true);
void lk_arguments_add_bytes(struct lk_arguments *arguments, struct lk_slice bytes); /* borrowed */

/* Of parts: three arrays, one argument each: paths, limits, units. */
void lk_arguments_add_parts(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count);
/* The paths alone, as an array; and as one text, in byte order, with a space between (R3). */
void lk_arguments_add_paths(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count);
void lk_arguments_add_identity(struct lk_arguments *arguments, const struct lk_part *parts,
                               size_t count);
/* Their roots, each once, in byte order: the order in which they are locked. */
void lk_arguments_add_roots(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count);
/* Texts as an array. */
void lk_arguments_add_texts(struct lk_arguments *arguments, const struct lk_slice *texts,
                            size_t count);
/* The path and all paths that contain it. */
void lk_arguments_add_above(struct lk_arguments *arguments, const struct lk_path *path);
void lk_arguments_add_root(struct lk_arguments *arguments, const struct lk_path *path);

#endif
