/* SPDX-License-Identifier: Apache-2.0 */
/* The view's state: snapshots in, rows out; folds and the selection survive both. */
#include "cli/top/view.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "base/text.h"
#include "cli/print/human.h"

enum { ROWS_FIRST = 64, STALE_MS = 3000 };

void lk_view_init(struct lk_view *view, const char *url) {
    *view = (struct lk_view){.url = url, .failure = LK_OK};
}

static void clear_folds(struct lk_view *view) {
    while (view->fold_count > 0) {
        free(view->folds[--view->fold_count]);
    }
}

void lk_view_done(struct lk_view *view) {
    clear_folds(view);
    free(view->rows);
    lk_tree_done(&view->tree);
    lk_snapshot_free(view->snapshot);
    lk_view_init(view, NULL);
}

void lk_view_say(struct lk_view *view, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(view->message, sizeof view->message, format, arguments);
    va_end(arguments);
}

/* ---- folds ----------------------------------------------------------------------------------- */

static size_t find_fold(const struct lk_view *view, const struct lk_tree_node *node) {
    for (size_t i = 0; i < view->fold_count; i++) {
        if (strlen(view->folds[i]) == node->path_size
            && memcmp(view->folds[i], node->path, node->path_size) == 0) {
            return i;
        }
    }
    return LK_VIEW_FOLDS_MAX;
}

void lk_view_fold(struct lk_view *view, const struct lk_view_row *row, bool folded) {
    const struct lk_tree_node *node = &view->tree.nodes[row->node];
    size_t at = find_fold(view, node);

    if (folded && at == LK_VIEW_FOLDS_MAX) {
        char *path = lk_text_copy((struct lk_slice){.bytes = node->path, .size = node->path_size});
        if (path == NULL || view->fold_count == LK_VIEW_FOLDS_MAX) {
            free(path);
            lk_view_say(view, "no more than %d paths can be folded", LK_VIEW_FOLDS_MAX);
            return;
        }
        view->folds[view->fold_count++] = path;
    } else if (!folded && at != LK_VIEW_FOLDS_MAX) {
        free(view->folds[at]);
        view->folds[at] = view->folds[--view->fold_count];
    }
    lk_view_rebuild(view);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool add_row(struct lk_view *view, struct lk_view_row row) {
    if (view->row_count == view->row_capacity) {
        size_t capacity = view->row_capacity > 0 ? view->row_capacity * 2 : ROWS_FIRST;
        struct lk_view_row *rows = reallocarray(view->rows, capacity, sizeof rows[0]);
        if (rows == NULL) {
            return false;
        }
        view->rows = rows;
        view->row_capacity = capacity;
    }
    view->rows[view->row_count++] = row;
    return true;
}

/* The rows of one node, without those below it. */
static bool add_node(struct lk_view *view, size_t index, unsigned depth, uint32_t passes) {
    const struct lk_tree_node *node = &view->tree.nodes[index];
    struct lk_view_row row = {
        .node = index,
        .depth = depth,
        .passes = passes,
        .is_last = node->next == LK_TREE_NONE,
        .is_label = true,
        .is_folded = find_fold(view, node) != LK_VIEW_FOLDS_MAX,
    };

    if (row.is_folded || node->entry_count == 0) {
        return add_row(view, row);
    }
    for (size_t i = 0; i < node->entry_count; i++) {
        row.entry = node->entries[i];
        row.is_label = i == 0;
        if (!add_row(view, row)) {
            return false;
        }
    }
    return true;
}

/* Walks the tree from the root's first child on; a path is at most 32 segments deep. */
static bool add_rows(struct lk_view *view) {
    size_t at = view->tree.nodes[0].first_child;
    unsigned depth = 0;
    uint32_t passes = 0;

    while (at != LK_TREE_NONE) {
        const struct lk_tree_node *node = &view->tree.nodes[at];
        if (!add_node(view, at, depth, passes)) {
            return false;
        }
        if (node->first_child != LK_TREE_NONE && !view->rows[view->row_count - 1].is_folded) {
            passes |= node->next != LK_TREE_NONE ? UINT32_C(1) << depth : 0;
            depth++;
            at = node->first_child;
            continue;
        }
        while (node->next == LK_TREE_NONE && depth > 0) {
            depth--;
            passes &= ~(UINT32_C(1) << depth);
            node = &view->tree.nodes[node->parent];
        }
        at = node->next;
    }
    return true;
}

/* ---- selection ------------------------------------------------------------------------------- */

static bool is_identity(const struct lk_view *view, const struct lk_view_row *row) {
    const struct lk_tree_node *node = &view->tree.nodes[row->node];
    const struct lk_view_identity *identity = &view->identity;

    if (strlen(identity->path) != node->path_size
        || memcmp(identity->path, node->path, node->path_size) != 0) {
        return false;
    }
    if (row->entry == NULL || identity->owner[0] == '\0') {
        return row->is_label;
    }
    return row->entry->ticket == identity->ticket
           && strcmp(row->entry->owner, identity->owner) == 0;
}

static void find_selected(struct lk_view *view) {
    for (size_t i = 0; i < view->row_count; i++) {
        if (is_identity(view, &view->rows[i])) {
            lk_view_select(view, i);
            return;
        }
    }
    lk_view_select(view, view->selected);
}

const struct lk_view_row *lk_view_selected(const struct lk_view *view) {
    return view->selected < view->row_count ? &view->rows[view->selected] : NULL;
}

void lk_view_select(struct lk_view *view, size_t row) {
    if (view->row_count == 0) {
        view->selected = 0;
        view->identity = (struct lk_view_identity){.ticket = 0};
        return;
    }
    view->selected = row < view->row_count ? row : view->row_count - 1;
    const struct lk_view_row *selected = &view->rows[view->selected];
    const struct lk_tree_node *node = &view->tree.nodes[selected->node];
    (void)snprintf(view->identity.path, sizeof view->identity.path, "%.*s", (int)node->path_size,
                   node->path);
    (void)snprintf(view->identity.owner, sizeof view->identity.owner, "%s",
                   selected->entry != NULL ? selected->entry->owner : "");
    (void)snprintf(view->identity.user, sizeof view->identity.user, "%s",
                   selected->entry != NULL && selected->entry->user != NULL ? selected->entry->user
                                                                            : "");
    view->identity.ticket = selected->entry != NULL ? selected->entry->ticket : 0;
}

void lk_view_rebuild(struct lk_view *view) {
    struct lk_tree tree;

    view->row_count = 0;
    lk_tree_done(&view->tree);
    if (view->snapshot == NULL) {
        return;
    }
    const char *filter = view->page == LK_PAGE_FILTER ? view->input : view->filter;
    if (!lk_tree_make(view->snapshot->listing, filter, view->order, &tree)) {
        lk_view_say(view, "memory is exhausted");
        return;
    }
    view->tree = tree;
    if (!add_rows(view)) {
        lk_view_say(view, "memory is exhausted");
    }
    /* In the page of details the selection does not move away from what is shown. */
    if (view->page != LK_PAGE_DETAILS) {
        find_selected(view);
    }
}

/* ---- what comes from the store --------------------------------------------------------------- */

void lk_view_take(struct lk_view *view, struct lk_snapshot *snapshot) {
    lk_snapshot_free(view->snapshot);
    view->snapshot = snapshot;
    view->failure = LK_OK;
    lk_view_rebuild(view);
}

void lk_view_fail(struct lk_view *view, const lk_error *error, int64_t stale_ms) {
    view->failure = error->outcome;
    view->stale_ms = stale_ms;
    char *sentence = error->text[0] != '\0' ? lk_human_sentence(error->text) : NULL;
    (void)snprintf(view->failure_text, sizeof view->failure_text, "%s",
                   sentence != NULL ? sentence : lk_outcome_text(error->outcome));
    free(sentence);
}

void lk_view_age(struct lk_view *view, int64_t stale_ms) {
    if (stale_ms < STALE_MS) {
        return;
    }
    if (view->failure == LK_OK) {
        lk_error silence = {.outcome = LK_UNAVAILABLE, .text = "the store has not answered yet"};
        lk_view_fail(view, &silence, stale_ms);
    }
    view->stale_ms = stale_ms;
}

void lk_view_broken(struct lk_view *view, lk_outcome outcome, size_t count, const char *text) {
    if (outcome != LK_OK) {
        char *sentence = lk_human_sentence(text);
        lk_view_say(view, "not broken: %s: %s", lk_outcome_name(outcome),
                    sentence != NULL ? sentence : "");
        free(sentence);
    } else if (count == 0) {
        lk_view_say(view, "there was nothing to break any more");
    } else {
        lk_view_say(view, "broken: %zu request%s; lk audit has it on record", count,
                    count == 1 ? "" : "s");
    }
}
