/* SPDX-License-Identifier: Apache-2.0 */
/* Which parts of a request live at which node (R14), and the command for each node. */
#include "client/split.h"

#include <stdlib.h>

unsigned lk_split_node(struct lk_engine *engine, const struct lk_part *part) {
    return engine->ops->node_of(engine, lk_path_root(&part->path));
}

bool lk_split_is_needed(struct lk_engine *engine, const struct lk_part *parts, size_t count) {
    if (engine->ops->node_of == NULL) {
        return false;
    }
    for (size_t i = 1; i < count; i++) {
        if (!lk_slice_equal(lk_path_root(&parts[0].path), lk_path_root(&parts[i].path))
            && lk_split_node(engine, &parts[i]) != lk_split_node(engine, &parts[0])) {
            return true;
        }
    }
    return false;
}

static void add_part(struct lk_split *split, const struct lk_part *part, size_t place,
                     unsigned node) {
    struct lk_split_group *group = split->groups;

    while (group < split->groups + split->count && group->node != node) {
        group++;
    }
    if (group == split->groups + split->count) {
        *group = (struct lk_split_group){.node = node, .root = part->path};
        split->count++;
    }
    if (lk_slice_compare(lk_path_root(&part->path), lk_path_root(&group->root)) < 0) {
        group->root = part->path;
    }
    group->places[group->count] = place;
    group->parts[group->count++] = *part;
}

static int compare_groups(const void *a, const void *b) {
    const struct lk_split_group *left = a;
    const struct lk_split_group *right = b;

    return lk_slice_compare(lk_path_root(&left->root), lk_path_root(&right->root));
}

static int compare_paths(const void *a, const void *b) {
    return lk_path_compare(&((const struct lk_part *)a)->path, &((const struct lk_part *)b)->path);
}

static void name_split(struct lk_split *split, const struct lk_part *parts, size_t count) {
    struct lk_part sorted[LK_PARTS_MAX];

    memcpy(sorted, parts, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_paths);
    for (size_t i = 0; i < count; i++) {
        memcpy(split->name + split->name_size, sorted[i].path.bytes, sorted[i].path.size);
        split->name_size += sorted[i].path.size;
        split->name[split->name_size++] = '\n'; /* is in no path */
    }
}

struct lk_slice lk_split_name(const struct lk_split *split) {
    return (struct lk_slice){split->name, split->name_size};
}

bool lk_split_is_named(struct lk_slice name, const struct lk_part *parts, size_t count) {
    size_t lines = 0;

    while (name.size > 0) {
        const char *end = memchr(name.bytes, '\n', name.size);
        struct lk_slice path = {name.bytes, end != NULL ? (size_t)(end - name.bytes) : name.size};
        bool is_known = false;

        for (size_t i = 0; i < count; i++) {
            const struct lk_path *known = &parts[i].path;

            is_known =
                is_known || lk_slice_equal(path, (struct lk_slice){known->bytes, known->size});
        }
        if (!is_known || end == NULL) {
            return false;
        }
        lines++;
        name = (struct lk_slice){end + 1, name.size - path.size - 1};
    }
    return lines == count; /* R2: a request names no path twice */
}

struct lk_split *lk_split_make(struct lk_engine *engine, const struct lk_part *parts,
                               size_t count) {
    struct lk_split *split = calloc(1, sizeof *split);
    unsigned first = lk_split_node(engine, &parts[0]);

    if (split == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        add_part(split, &parts[i], i, lk_split_node(engine, &parts[i]));
    }
    qsort(split->groups, split->count, sizeof *split->groups, compare_groups);
    while (split->groups[split->first].node != first) {
        split->first++;
    }
    name_split(split, parts, count);
    return split;
}

static void split_target(const struct lk_split *split, size_t at, struct lk_target *target) {
    target->parts = split->groups[at].parts;
    target->part_count = split->groups[at].count;
    if (target->tokens != NULL) {
        target->token = target->tokens[split->groups[at].places[0]];
    } else if (at != split->first) {
        target->token = 0;
    }
    target->tokens = NULL;
    target->batch = lk_split_name(split);
}

/* R15: of the values that a release puts, those of the parts at one node. */
static void split_puts(struct lk_split_group *group, const struct lk_release *whole,
                       struct lk_release *one) {
    one->puts = group->puts;
    one->put_count = 0;
    for (size_t part = 0; part < group->count; part++) {
        for (size_t i = 0; i < whole->put_count; i++) {
            if (whole->puts[i].part == group->places[part]) {
                group->puts[one->put_count++] =
                    (struct lk_release_put){.part = part, .bytes = whole->puts[i].bytes};
            }
        }
    }
}

struct lk_command lk_split_command(struct lk_split *split, size_t at,
                                   const struct lk_command *whole) {
    struct lk_command one = *whole;

    if (one.kind == LK_COMMAND_ASK) {
        one.ask.parts = split->groups[at].parts;
        one.ask.part_count = split->groups[at].count;
        one.ask.batch = lk_split_name(split);
    } else if (one.kind == LK_COMMAND_RENEW) {
        split_target(split, at, &one.renew.target);
    } else {
        split_target(split, at, &one.release.target);
        split_puts(&split->groups[at], &whole->release, &one.release);
    }
    return one;
}
