/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments as PostgreSQL reads them. */
#include "engine/postgresql/arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void lk_arguments_init(struct lk_arguments *arguments) {
    arguments->block = malloc(LK_ARGUMENTS_BYTES);
    arguments->used = 0;
    arguments->is_broken = arguments->block == NULL;
    arguments->count = 0;
}

void lk_arguments_done(struct lk_arguments *arguments) {
    free(arguments->block);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put(struct lk_arguments *arguments, struct lk_slice piece) {
    if (arguments->is_broken || piece.size > LK_ARGUMENTS_BYTES - arguments->used) {
        arguments->is_broken = true;
        return;
    }
    if (piece.size > 0) {
        memcpy(arguments->block + arguments->used, piece.bytes, piece.size);
        arguments->used += piece.size;
    }
}

static void put_byte(struct lk_arguments *arguments, char byte) {
    put(arguments, (struct lk_slice){&byte, 1});
}

/* One element of an array, in quotes. */
static void put_element(struct lk_arguments *arguments, bool is_first, struct lk_slice text) {
    if (!is_first) {
        put_byte(arguments, ',');
    }
    put_byte(arguments, '"');
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] == '"' || text.bytes[i] == '\\') {
            put_byte(arguments, '\\');
        }
        put_byte(arguments, text.bytes[i]);
    }
    put_byte(arguments, '"');
}

static void put_number(struct lk_arguments *arguments, bool is_first, uint32_t number) {
    char text[16];
    int size = snprintf(text, sizeof text, "%s%" PRIu32, is_first ? "" : ",", number);

    put(arguments, (struct lk_slice){text, (size_t)size});
}

static void begin(struct lk_arguments *arguments) {
    if (arguments->is_broken || arguments->count == LK_ARGUMENTS_MAX) {
        arguments->is_broken = true;
        return;
    }
    arguments->values[arguments->count] = arguments->block + arguments->used;
    arguments->lengths[arguments->count] = 0;
    arguments->formats[arguments->count] = 0;
}

static void end(struct lk_arguments *arguments) {
    put_byte(arguments, '\0');
    arguments->count += arguments->is_broken ? 0 : 1;
}

static void end_array(struct lk_arguments *arguments) {
    put_byte(arguments, '}');
    end(arguments);
}

static void begin_array(struct lk_arguments *arguments) {
    begin(arguments);
    put_byte(arguments, '{');
}

/* ---- one by one ------------------------------------------------------------------------------ */

void lk_arguments_add_null(struct lk_arguments *arguments) {
    begin(arguments);
    if (!arguments->is_broken) {
        arguments->values[arguments->count++] = NULL;
    }
}

void lk_arguments_add_text(struct lk_arguments *arguments, struct lk_slice text) {
    begin(arguments);
    put(arguments, text);
    end(arguments);
}

void lk_arguments_add_path(struct lk_arguments *arguments, const struct lk_path *path) {
    lk_arguments_add_text(arguments, (struct lk_slice){path->bytes, path->size});
}

void lk_arguments_add_integer(struct lk_arguments *arguments, int64_t number) {
    char text[24];
    int size = snprintf(text, sizeof text, "%" PRId64, number);

    lk_arguments_add_text(arguments, (struct lk_slice){text, (size_t)size});
}

void lk_arguments_add_boolean(struct lk_arguments *arguments, bool is_true) {
    lk_arguments_add_text(arguments, lk_slice_of(is_true ? "t" : "f"));
}

void lk_arguments_add_bytes(struct lk_arguments *arguments, struct lk_slice bytes) {
    static const char none[1] = "";

    begin(arguments);
    if (!arguments->is_broken) {
        arguments->values[arguments->count] = bytes.size > 0 ? bytes.bytes : none;
        arguments->lengths[arguments->count] = (int)bytes.size;
        arguments->formats[arguments->count] = 1;
        arguments->count++;
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

static struct lk_slice path_of(const struct lk_part *part) {
    return (struct lk_slice){part->path.bytes, part->path.size};
}

void lk_arguments_add_texts(struct lk_arguments *arguments, const struct lk_slice *texts,
                            size_t count) {
    begin_array(arguments);
    for (size_t i = 0; i < count; i++) {
        put_element(arguments, i == 0, texts[i]);
    }
    end_array(arguments);
}

void lk_arguments_add_paths(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count) {
    begin_array(arguments);
    for (size_t i = 0; i < count; i++) {
        put_element(arguments, i == 0, path_of(&parts[i]));
    }
    end_array(arguments);
}

void lk_arguments_add_parts(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count) {
    lk_arguments_add_paths(arguments, parts, count);
    begin_array(arguments);
    for (size_t i = 0; i < count; i++) {
        put_number(arguments, i == 0, parts[i].limit);
    }
    end_array(arguments);
    begin_array(arguments);
    for (size_t i = 0; i < count; i++) {
        put_number(arguments, i == 0, parts[i].units);
    }
    end_array(arguments);
}

static int compare_bytes(const void *a, const void *b) {
    const struct lk_slice *left = a;
    const struct lk_slice *right = b;
    size_t size = left->size < right->size ? left->size : right->size;
    int order = size > 0 ? memcmp(left->bytes, right->bytes, size) : 0;

    return order != 0 ? order : (left->size > right->size) - (left->size < right->size);
}

void lk_arguments_add_identity(struct lk_arguments *arguments, const struct lk_part *parts,
                               size_t count) {
    struct lk_slice paths[LK_PARTS_MAX];

    for (size_t i = 0; i < count; i++) {
        paths[i] = path_of(&parts[i]);
    }
    qsort(paths, count, sizeof paths[0], compare_bytes);
    begin(arguments);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            put_byte(arguments, ' ');
        }
        put(arguments, paths[i]);
    }
    end(arguments);
}

void lk_arguments_add_roots(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count) {
    struct lk_slice roots[LK_PARTS_MAX];

    for (size_t i = 0; i < count; i++) {
        roots[i] = lk_path_root(&parts[i].path);
    }
    if (count > 0) {
        qsort(roots, count, sizeof roots[0], compare_bytes);
    }
    begin_array(arguments);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !lk_slice_equal(roots[i], roots[i - 1])) {
            put_element(arguments, i == 0, roots[i]);
        }
    }
    end_array(arguments);
}

void lk_arguments_add_above(struct lk_arguments *arguments, const struct lk_path *path) {
    begin_array(arguments);
    for (unsigned depth = path->depth; depth > 0; depth--) {
        put_element(arguments, depth == path->depth,
                    (struct lk_slice){path->bytes, path->ends[depth - 1]});
    }
    end_array(arguments);
}

void lk_arguments_add_root(struct lk_arguments *arguments, const struct lk_path *path) {
    lk_arguments_add_text(arguments, lk_path_root(path));
}
