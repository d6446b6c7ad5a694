/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two paths, separated by a line end: what is accepted is sound and says the same when it is read
 * again (R1); how the two are related (R5) and ordered is as comparing segment by segment has it.
 */
#include <string.h>

#include "model/path.h"
#include "target.h"

static void check_segments(const struct lk_path *path) {
    size_t size = 0;

    for (unsigned i = 0; i < path->depth; i++) {
        struct lk_slice segment = lk_path_segment(path, i);
        FUZZ_DEMAND(segment.size >= 1 && segment.size <= LK_SEGMENT_BYTES_MAX);
        FUZZ_DEMAND(memchr(segment.bytes, '/', segment.size) == NULL);
        FUZZ_DEMAND(segment.bytes == path->bytes + size);
        size += segment.size + 1;
    }
    FUZZ_DEMAND(size == (size_t)path->size + 1);
    FUZZ_DEMAND(lk_slice_equal(lk_path_root(path), lk_path_segment(path, 0)));
}

static void read_again(const struct lk_path *path) {
    char text[LK_PATH_BYTES_MAX + 2];
    struct lk_path again;

    text[0] = '/';
    memcpy(text + 1, path->bytes, path->size);
    text[path->size + 1] = '/';
    /* As it is, and with the slashes that R1 drops. */
    for (size_t before = 0; before < 2; before++) {
        for (size_t behind = 0; behind < 2; behind++) {
            struct lk_slice slice = {text + 1 - before, path->size + before + behind};
            FUZZ_DEMAND(lk_path_parse(slice, &again, NULL) == LK_OK);
            FUZZ_DEMAND(lk_path_equal(path, &again));
            FUZZ_DEMAND(memcmp(path->ends, again.ends, path->depth * sizeof path->ends[0]) == 0);
        }
    }
}

static bool parse(struct lk_slice text, struct lk_path *ret_path) {
    struct lk_path untouched;
    lk_error error;

    memset(&untouched, 0x5a, sizeof untouched);
    *ret_path = untouched;
    if (lk_path_parse(text, ret_path, &error) != LK_OK) {
        FUZZ_DEMAND(error.outcome == LK_INVALID && strncmp(error.text, "R1: ", 4) == 0);
        FUZZ_DEMAND(memcmp(ret_path, &untouched, sizeof untouched) == 0);
        return false;
    }
    FUZZ_DEMAND(ret_path->size >= 1 && ret_path->size <= LK_PATH_BYTES_MAX);
    FUZZ_DEMAND(ret_path->depth >= 1 && ret_path->depth <= LK_PATH_DEPTH_MAX);
    check_segments(ret_path);
    read_again(ret_path);
    return true;
}

/* How many segments the two have in common from the root on. */
static unsigned common(const struct lk_path *a, const struct lk_path *b) {
    unsigned count = 0;

    while (count < a->depth && count < b->depth
           && lk_slice_equal(lk_path_segment(a, count), lk_path_segment(b, count))) {
        count++;
    }
    return count;
}

static void check_relation(const struct lk_path *a, const struct lk_path *b) {
    unsigned shared = common(a, b);
    int order = lk_path_compare(a, b);

    FUZZ_DEMAND(lk_path_equal(a, b) == (shared == a->depth && shared == b->depth));
    FUZZ_DEMAND(lk_path_contains(a, b) == (shared == a->depth));
    FUZZ_DEMAND(lk_path_related(a, b) == (shared == a->depth || shared == b->depth));
    FUZZ_DEMAND((order == 0) == lk_path_equal(a, b));
    if (shared == a->depth && shared < b->depth) {
        FUZZ_DEMAND(order < 0); /* a prefix first */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    const char *stop = size > 0 ? memchr(text, '\n', size) : NULL;
    size_t first = stop != NULL ? (size_t)(stop - text) : size;
    struct lk_slice second = {text + first + 1, stop != NULL ? size - first - 1 : 0};
    struct lk_path a;
    struct lk_path b;
    bool has_a = parse((struct lk_slice){text, first}, &a);
    bool has_b = stop != NULL && parse(second, &b);

    if (has_a) {
        check_relation(&a, &a);
    }
    if (has_a && has_b) {
        check_relation(&a, &b);
        check_relation(&b, &a);
        FUZZ_DEMAND((lk_path_compare(&a, &b) < 0) == (lk_path_compare(&b, &a) > 0));
    }
    return 0;
}
