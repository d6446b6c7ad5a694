/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of one call, in text form, but for bytes, which go as they are. A list is one text:
 * in the form that the database's procedures
 * read; what stands in lists has neither white space nor control characters (R1).
 *
 * Everything is copied into one block, but for the bytes of values, which are borrowed. What does
 * not fit marks the whole as broken; the block is made for the largest request that there can be.
 */
#ifndef LK_ENGINE_PROCEDURES_ARGUMENTS_H
#define LK_ENGINE_PROCEDURES_ARGUMENTS_H

#include "model/model.h"

enum { LK_ARGUMENTS_MAX = 24, LK_ARGUMENTS_BYTES = 128 * 1024 };

enum lk_list_form {
    LK_LISTS_ARRAYS, /* as PostgreSQL has them, in and out */
    LK_LISTS_WORDS,  /* words with a space between go in, JSON comes out */
};

enum lk_argument_kind { LK_ARGUMENT_TEXT, LK_ARGUMENT_NUMBER, LK_ARGUMENT_BYTES };

struct lk_arguments {
    enum lk_list_form lists;
    char *block; /* for free(); NULL: memory is exhausted */
    size_t used;
    bool is_broken;
    int count;
    enum lk_argument_kind kinds[LK_ARGUMENTS_MAX];
    struct lk_slice values[LK_ARGUMENTS_MAX]; /* 0 behind each but bytes; `bytes` NULL: NULL */
};

void lk_arguments_init(struct lk_arguments *arguments, enum lk_list_form lists);
void lk_arguments_done(struct lk_arguments *arguments);

void lk_arguments_add_null(struct lk_arguments *arguments);
void lk_arguments_add_text(struct lk_arguments *arguments, struct lk_slice text);
void lk_arguments_add_path(struct lk_arguments *arguments, const struct lk_path *path);
void lk_arguments_add_integer(struct lk_arguments *arguments, int64_t number);
void lk_arguments_add_boolean(struct lk_arguments *arguments, bool is_true);
void lk_arguments_add_bytes(struct lk_arguments *arguments, struct lk_slice bytes); /* borrowed */

/* Of parts: three lists, one argument each: paths, limits, units. */
void lk_arguments_add_parts(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count);
/* The paths alone, as a list; and as one text, in byte order, with a space between (R3). */
void lk_arguments_add_paths(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count);
void lk_arguments_add_identity(struct lk_arguments *arguments, const struct lk_part *parts,
                               size_t count);
/* Their roots, each once, in byte order: the order in which they are locked. */
void lk_arguments_add_roots(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count);
/* Texts as a list. */
void lk_arguments_add_texts(struct lk_arguments *arguments, const struct lk_slice *texts,
                            size_t count);
/* The path and all paths that contain it, for procedures that do not find these themselves: those
 * that read arrays. */
void lk_arguments_add_above(struct lk_arguments *arguments, const struct lk_path *path);
void lk_arguments_add_root(struct lk_arguments *arguments, const struct lk_path *path);

#endif
