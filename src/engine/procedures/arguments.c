/* SPDX-License-Identifier: Apache-2.0 */
/* Appends arguments, one after the other, to one block. */
#include "engine/procedures/arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void lk_arguments_init(struct lk_arguments *arguments, enum lk_list_form lists) {
    arguments->lists = lists;
    arguments->block = malloc(LK_ARGUMENTS_BYTES);
    arguments->used = 0;
    arguments->is_broken = arguments->block == NULL;
    arguments->count = 0;
}

void lk_arguments_done(struct lk_arguments *arguments) {
    free(arguments->block);
}

void lk_arguments_clear(struct lk_arguments *arguments) {
    arguments->used = 0;
    arguments->count = 0;
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

static void put_element(struct lk_arguments *arguments, bool is_first, struct lk_slice text) {
    if (arguments->lists == LK_LISTS_WORDS) {
        put(arguments, lk_slice_of(is_first ? "" : " "));
        put(arguments, text);
        return;
    }
    put(arguments, lk_slice_of(is_first ? "\"" : ",\""));
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] == '"' || text.bytes[i] == '\\') {
            put_byte(arguments, '\\');
        }
        put_byte(arguments, text.bytes[i]);
    }
    put_byte(arguments, '"');
}

static void put_number(struct lk_arguments *arguments, bool is_first, int64_t number) {
    const char *between = arguments->lists == LK_LISTS_WORDS ? " " : ",";
    char text[24];
    int size = snprintf(text, sizeof text, "%s%" PRId64, is_first ? "" : between, number);

    put(arguments, (struct lk_slice){text, (size_t)size});
}

static void begin(struct lk_arguments *arguments, enum lk_argument_kind kind) {
    if (arguments->is_broken || arguments->count == LK_ARGUMENTS_MAX) {
        arguments->is_broken = true;
        return;
    }
    arguments->values[arguments->count].bytes = arguments->block + arguments->used;
    arguments->kinds[arguments->count] = kind;
}

static void end(struct lk_arguments *arguments) {
    put_byte(arguments, '\0');
    if (!arguments->is_broken) {
        struct lk_slice *value = &arguments->values[arguments->count++];
        value->size = (size_t)(arguments->block + arguments->used - value->bytes) - 1;
    }
}

static void begin_list(struct lk_arguments *arguments) {
    begin(arguments, LK_ARGUMENT_TEXT);
    put(arguments, lk_slice_of(arguments->lists == LK_LISTS_WORDS ? "" : "{"));
}

static void end_list(struct lk_arguments *arguments) {
    put(arguments, lk_slice_of(arguments->lists == LK_LISTS_WORDS ? "" : "}"));
    end(arguments);
}

/* ---- one by one ------------------------------------------------------------------------------ */

static void add(struct lk_arguments *arguments, enum lk_argument_kind kind, struct lk_slice text) {
    begin(arguments, kind);
    put(arguments, text);
    end(arguments);
}

static void add_borrowed(struct lk_arguments *arguments, enum lk_argument_kind kind,
                         struct lk_slice bytes) {
    begin(arguments, kind);
    if (!arguments->is_broken) {
        arguments->values[arguments->count++] = bytes;
    }
}

void lk_arguments_add_null(struct lk_arguments *arguments) {
    add_borrowed(arguments, LK_ARGUMENT_TEXT, (struct lk_slice){NULL, 0});
}

void lk_arguments_add_text(struct lk_arguments *arguments, struct lk_slice text) {
    add(arguments, LK_ARGUMENT_TEXT, text);
}

void lk_arguments_add_path(struct lk_arguments *arguments, const struct lk_path *path) {
    lk_arguments_add_text(arguments, (struct lk_slice){path->bytes, path->size});
}

void lk_arguments_add_integer(struct lk_arguments *arguments, int64_t number) {
    char text[24];
    int size = snprintf(text, sizeof text, "%" PRId64, number);

    add(arguments, LK_ARGUMENT_NUMBER, (struct lk_slice){text, (size_t)size});
}

void lk_arguments_add_boolean(struct lk_arguments *arguments, bool is_true) {
    add(arguments, LK_ARGUMENT_NUMBER, lk_slice_of(is_true ? "1" : "0"));
}

void lk_arguments_add_bytes(struct lk_arguments *arguments, struct lk_slice bytes) {
    add_borrowed(arguments, LK_ARGUMENT_BYTES, bytes.size > 0 ? bytes : (struct lk_slice){"", 0});
}

/* ---- parts ----------------------------------------------------------------------------------- */

static struct lk_slice path_of(const struct lk_part *part) {
    return (struct lk_slice){part->path.bytes, part->path.size};
}

void lk_arguments_add_texts(struct lk_arguments *arguments, const struct lk_slice *texts,
                            size_t count) {
    begin_list(arguments);
    for (size_t i = 0; i < count; i++) {
        put_element(arguments, i == 0, texts[i]);
    }
    end_list(arguments);
}

void lk_arguments_add_paths(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count) {
    begin_list(arguments);
    for (size_t i = 0; i < count; i++) {
        put_element(arguments, i == 0, path_of(&parts[i]));
    }
    end_list(arguments);
}

void lk_arguments_add_parts(struct lk_arguments *arguments, const struct lk_part *parts,
                            size_t count) {
    lk_arguments_add_paths(arguments, parts, count);
    begin_list(arguments);
    for (size_t i = 0; i < count; i++) {
        put_number(arguments, i == 0, parts[i].limit);
    }
    end_list(arguments);
    begin_list(arguments);
    for (size_t i = 0; i < count; i++) {
        put_number(arguments, i == 0, lk_part_code(&parts[i]));
    }
    end_list(arguments);
}

void lk_arguments_add_put_paths(struct lk_arguments *arguments, const struct lk_release *release) {
    begin_list(arguments);
    for (size_t i = 0; i < release->put_count; i++) {
        put_element(arguments, i == 0, path_of(&release->target.parts[release->puts[i].part]));
    }
    end_list(arguments);
}

static char *join_puts(const struct lk_release *release, size_t *ret_size) {
    size_t size = 0;
    char *joined;

    for (size_t i = 0; i < release->put_count; i++) {
        size += release->puts[i].bytes.size;
    }
    joined = malloc(size + 1);
    *ret_size = 0;
    for (size_t i = 0; joined != NULL && i < release->put_count; i++) {
        const struct lk_slice *bytes = &release->puts[i].bytes;

        if (bytes->size > 0) {
            memcpy(joined + *ret_size, bytes->bytes, bytes->size);
            *ret_size += bytes->size;
        }
    }
    return joined;
}

bool lk_arguments_add_puts(struct lk_arguments *arguments, const struct lk_release *release,
                           char **ret_joined) {
    struct lk_slice bytes = {NULL, 0};

    *ret_joined = NULL;
    if (release->put_count == 1) {
        bytes = release->puts[0].bytes;
    } else if (release->put_count > 1) {
        *ret_joined = join_puts(release, &bytes.size);
        bytes.bytes = *ret_joined;
        if (bytes.bytes == NULL) {
            return false;
        }
    }
    begin_list(arguments);
    for (size_t i = 0; i < release->put_count; i++) {
        put_number(arguments, i == 0, (uint32_t)release->puts[i].bytes.size);
    }
    end_list(arguments);
    if (release->put_count > 0) {
        lk_arguments_add_bytes(arguments, bytes);
    } else {
        lk_arguments_add_null(arguments);
    }
    return true;
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
    begin(arguments, LK_ARGUMENT_TEXT);
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
    begin_list(arguments);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !lk_slice_equal(roots[i], roots[i - 1])) {
            put_element(arguments, i == 0, roots[i]);
        }
    }
    end_list(arguments);
}

void lk_arguments_add_above(struct lk_arguments *arguments, const struct lk_path *path) {
    if (arguments->lists == LK_LISTS_WORDS) {
        return;
    }
    begin_list(arguments);
    for (unsigned depth = path->depth; depth > 0; depth--) {
        put_element(arguments, depth == path->depth,
                    (struct lk_slice){path->bytes, path->ends[depth - 1]});
    }
    end_list(arguments);
}

void lk_arguments_add_root(struct lk_arguments *arguments, const struct lk_path *path) {
    lk_arguments_add_text(arguments, lk_path_root(path));
}
