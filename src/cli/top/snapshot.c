/* SPDX-License-Identifier: Apache-2.0 */
/* One listing, and one explanation for each root with a waiting request. */
#include "cli/top/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/path.h"

/* The roots of which explanations are read, each a text of its own. */
struct roots {
    char names[LK_SNAPSHOT_ROOTS_MAX][LK_SEGMENT_BYTES_MAX + 1];
    size_t count;
};

static void add_root(struct roots *roots, const char *path) {
    size_t size = strcspn(path, "/");

    if (roots->count == LK_SNAPSHOT_ROOTS_MAX || size > LK_SEGMENT_BYTES_MAX) {
        return;
    }
    for (size_t i = 0; i < roots->count; i++) {
        if (strncmp(roots->names[i], path, size) == 0 && roots->names[i][size] == '\0') {
            return;
        }
    }
    (void)memcpy(roots->names[roots->count], path, size);
    roots->names[roots->count++][size] = '\0';
}

/* The listing is in the order of the tickets: the longest waits come first. */
static void find_roots(const lk_listing *listing, const char *path, struct roots *roots) {
    if (path != NULL && path[0] != '\0') {
        add_root(roots, path);
    }
    for (size_t i = 0; i < listing->count; i++) {
        if (!listing->entries[i].held) {
            add_root(roots, listing->entries[i].path);
        }
    }
}

static void count_requests(struct lk_snapshot *snapshot) {
    const lk_listing *listing = snapshot->listing;

    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (i > 0 && entry->request_index == listing->entries[i - 1].request_index) {
            continue; /* another part of the same one */
        }
        snapshot->held_count += entry->held ? 1 : 0;
        snapshot->waiting_count += entry->held ? 0 : 1;
        if (!entry->held && entry->age_ms > snapshot->longest_wait_ms) {
            snapshot->longest_wait_ms = entry->age_ms;
        }
    }
}

static lk_outcome explain(lk_store *store, const struct roots *roots, struct lk_snapshot *snapshot,
                          lk_error *error) {
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; outcome == LK_OK && i < roots->count; i++) {
        outcome = lk_show(store, roots->names[i],
                          &snapshot->explanations[snapshot->explanation_count], error);
        snapshot->explanation_count += outcome == LK_OK ? 1 : 0;
    }
    if (outcome == LK_OK) {
        snapshot->waits = lk_wait_graph_new((const lk_listing *const *)snapshot->explanations,
                                            snapshot->explanation_count);
        if (snapshot->waits == NULL) {
            outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
        }
    }
    return outcome;
}

lk_outcome lk_snapshot_read(lk_store *store, const char *prefix, const char *path,
                            struct lk_snapshot **ret_snapshot, lk_error *error) {
    struct lk_snapshot *snapshot = calloc(1, sizeof *snapshot);
    struct roots roots = {.count = 0};

    if (snapshot == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    lk_outcome outcome = lk_list(store, prefix, &snapshot->listing, error);
    if (outcome == LK_OK) {
        count_requests(snapshot);
        find_roots(snapshot->listing, path, &roots);
        outcome = explain(store, &roots, snapshot, error);
    }
    if (outcome != LK_OK) {
        lk_snapshot_free(snapshot);
        return outcome;
    }
    *ret_snapshot = snapshot;
    return LK_OK;
}

void lk_snapshot_free(struct lk_snapshot *snapshot) {
    if (snapshot == NULL) {
        return;
    }
    lk_wait_graph_free(snapshot->waits);
    for (size_t i = 0; i < snapshot->explanation_count; i++) {
        lk_listing_free(snapshot->explanations[i]);
    }
    lk_listing_free(snapshot->listing);
    free(snapshot);
}
