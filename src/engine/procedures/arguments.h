/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of one call, in text form; bytes are passed unchanged. A list is one text in the
 * form that the database's procedures parse. The elements of lists contain neither white space nor
 * control characters (R1).
 *
 * Everything is copied into one block, except the bytes of values, which are borrowed. The block is
 * sized for the largest possible request; an argument that does not fit marks the whole as broken.
 */
#ifndef LK_ENGINE_PROCEDURES_ARGUMENTS_H
#define LK_ENGINE_PROCEDURES_ARGUMENTS_H

#include "model/model.h"

enum { LK_ARGUMENTS_MAX = 24, LK_ARGUMENTS_BYTES = 128 * 1024 };

enum lk_list_form {
    LK_LISTS_ARRAYS, /* as PostgreSQL has them, in both directions */
    LK_LISTS_WORDS,  /* separated by spaces in arguments, JSON in answers */
};

enum lk_argument_kind { LK_ARGUMENT_TEXT, LK_ARGUMENT_NUMBER, LK_ARGUMENT_BYTES };

struct lk_arguments {
    enum lk_list_form lists;
    char *block; /* for free(); NULL: memory is exhausted */
    size_t used;
    bool is_broken;
    int count;
    enum lk_argument_kind kinds[LK_ARGUMENTS_MAX];
    struct lk_slice values[LK_ARGUMENTS_MAX]; /* each but bytes ends with a 0; `bytes` NULL: NULL */
};

void lk_arguments_init(struct lk_arguments *arguments, enum lk_list_form lists);
void lk_arguments_done(struct lk_arguments *arguments);

/* Removes all arguments, to begin again with the same block. */
void lk_arguments_clear(struct lk_arguments *arguments);

void lk_arguments_add_null(struct lk_arguments *arguments);
void lk_arguments_add_text(struct lk_arguments *arguments, struct lk_slice text);
void lk_arguments_add_path(struct lk_arguments *arguments, const struct lk_path *path);
void lk_arguments_add_integer(struct lk_arguments *arguments, int64_t number);
void lk_arguments_add_boolean(struct lk_arguments *arguments, bool is_true);
void lk_arguments_add_bytes(struct lk_arguments *arguments, struct lk_slice bytes); /* borrowed */

/* Adds parts as three lists, one argument each: paths, limits, units. */
void lk_arguments_add_parts(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count);
/* Adds the paths alone: as a list, or as one text, in byte order and separated by spaces (R3). */
void lk_arguments_add_paths(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count);
void lk_arguments_add_identity(struct lk_arguments *arguments, const struct lk_part *parts,
                               size_t count);
/* Adds their roots, each once, in byte order, which is the order in which they are locked. */
void lk_arguments_add_roots(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count);
/*
 * R15: what a release puts: the paths as a list; and the sizes as a list and all the bytes, one
 * value behind the other, NULL if it puts none. *ret_joined is for free() after the call. false:
 * memory is exhausted.
 */
void lk_arguments_add_put_paths(struct lk_arguments *arguments, const struct lk_release *release);
bool lk_arguments_add_puts(struct lk_arguments *arguments, const struct lk_release *release,
                           char **ret_joined);
/* Adds texts as a list. */
void lk_arguments_add_texts(struct lk_arguments *arguments, const struct lk_slice *texts,
                            size_t count);
/*
 * Adds the path and all paths that contain it. For procedures that do not derive these themselves,
 * which are those that read arrays.
 */
void lk_arguments_add_above(struct lk_arguments *arguments, const struct lk_path *path);
void lk_arguments_add_root(struct lk_arguments *arguments, const struct lk_path *path);

#endif
