/* SPDX-License-Identifier: Apache-2.0 */
/* The view's state: snapshots in, rows and pages out; folds and the selection survive both. */
#include "cli/top/view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "base/slice.h"
#include "base/text.h"
#include "cli/print/human.h"
#include "cli/print/say.h"

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
    if (node->queue != NULL && !add_row(view, row)) {
        return false;
    }
    for (size_t i = 0; i < node->entry_count; i++) {
        row.entry = node->entries[i];
        row.is_label = i == 0 && node->queue == NULL;
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

/* The line of a path stands for a request that is folded away, unless that has its own line. */
static void find_selected(struct lk_view *view) {
    size_t found = view->row_count;

    for (size_t i = 0; i < view->row_count; i++) {
        const struct lk_view_row *row = &view->rows[i];
        if (is_identity(view, row) && (found == view->row_count || row->entry != NULL)) {
            found = i;
        }
    }
    lk_view_select(view, found < view->row_count ? found : view->selected);
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
    if (!lk_tree_make(view->snapshot, filter, view->order, &tree)) {
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
    lk_snapshot_inherit(snapshot, view->snapshot);
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
        lk_view_say(view, "broken: %zu request%s; %s audit has it on record", count,
                    count == 1 ? "" : "s", lk_program());
    }
}

/* ---- pages of text --------------------------------------------------------------------------- */

/* The page of details of one request, with all its blockers (R20), and the page of help. */

const char *lk_view_help_text(void) {
    return "\n"
           "  up, down, k, j    one line          page up, page down    one screen\n"
           "  home, g           the first line    end, G                the last line\n"
           "  left, right       fold, unfold; left again: to the path above\n"
           "  space             folds or unfolds a path\n"
           "  enter             all about a request: its parts, its blockers down to the\n"
           "                    holders, and its waiters; on a path: folds it\n"
           "  s                 sort by path, age, time left, waiters\n"
           "  /                 show only what has a text in path, owner or note; esc: all\n"
           "  b                 break: asks for a reason and a confirmation. A lease ends at\n"
           "                    the deadline its holder was last promised, a waiting request\n"
           "                    is withdrawn\n"
           "  B                 break at once: unsafe unless the holder is known to be dead\n"
           "  r                 read the store now (it is read every second)\n"
           "  q                 quit\n"
           "\n"
           "  At a path, holders come first and then waiters, in queue order. A path without a\n"
           "  request is drawn for those below it. A queue of work has a line of its own, whose\n"
           "  age is that of its oldest ready item. A lock on a path covers all below.\n";
}

static bool is_it(const struct lk_view *view, uint64_t ticket, const char *owner) {
    return ticket == view->identity.ticket && strcmp(owner, view->identity.owner) == 0;
}

static bool has_it(const struct lk_view *view, const lk_listing *listing) {
    for (size_t i = 0; i < listing->count; i++) {
        if (is_it(view, listing->entries[i].ticket, listing->entries[i].owner)) {
            return true;
        }
    }
    return false;
}

/* The listing that has most to say of the request: an explanation has all its parts. */
static const lk_listing *listing_of(const struct lk_view *view) {
    for (size_t i = 0; i < view->snapshot->explanation_count; i++) {
        if (has_it(view, view->snapshot->explanations[i])) {
            return view->snapshot->explanations[i];
        }
    }
    return has_it(view, view->snapshot->listing) ? view->snapshot->listing : NULL;
}

/* Takes over the text, which may be NULL: memory is exhausted. */
static void write_visible(FILE *out, char *visible) {
    (void)fputs(visible != NULL ? visible : "?", out);
    free(visible);
}

static void write_times(FILE *out, const lk_entry *entry) {
    char age[LK_HUMAN_DURATION_SIZE];
    char left[LK_HUMAN_DURATION_SIZE];
    char ttl[LK_HUMAN_DURATION_SIZE];

    lk_human_duration(entry->age_ms, age);
    lk_human_duration(entry->expires_in_ms, left);
    lk_human_duration(entry->ttl_ms, ttl);
    (void)fprintf(out, "  asked   %s ago\n  left    %s%s%s\n", age, left,
                  entry->ttl_ms > 0 ? " of " : "", entry->ttl_ms > 0 ? ttl : "");
}

static void write_request(FILE *out, const struct lk_view *view, const lk_listing *listing) {
    const lk_entry *first = NULL;

    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        char mode[LK_ENTRY_MODE_SIZE];
        if (is_it(view, entry->ticket, entry->owner)) {
            lk_entry_mode_text(entry, mode);
            (void)fprintf(out, "  %s%s %s\n", first == NULL ? "parts   " : "        ", entry->path,
                          mode);
            first = first != NULL ? first : entry;
        }
    }
    (void)fprintf(out, "  state   %s%s\n", lk_entry_state_text(first),
                  first->revoked ? ": it was broken, and passes on at its deadline" : "");
    write_times(out, first);
    if (first->held) {
        (void)fprintf(out, "  token   %" PRIu64 "\n", first->token);
    }
    (void)fprintf(out, "  ticket  %" PRIu64 "\n", first->ticket);
    if (first->note != NULL && first->note[0] != '\0') {
        (void)fputs("  note    ", out);
        write_visible(out, lk_human_visible(first->note));
        (void)fputc('\n', out);
    }
}

static void write_chain(FILE *out, const struct lk_view *view, bool drawn) {
    struct lk_chain chain;

    lk_chain_make(view->snapshot->waits, view->identity.ticket, view->identity.owner, &chain);
    if (chain.count > 0) {
        (void)fputs("\nIt waits for\n", out);
    }
    for (size_t i = 0; i < chain.count; i++) {
        (void)fputs("  ", out);
        lk_chain_write(out, &chain, i, drawn);
        (void)fputc('\n', out);
    }
}

/* Whether it is among the nearest in the entry's way. */
static bool is_waited_for(const struct lk_view *view, const lk_entry *entry) {
    const lk_blocker_info *nearest[LK_WAIT_GRAPH_NEAREST_MAX];
    size_t unnamed;
    size_t count = lk_wait_graph_nearest(view->snapshot->waits, entry->ticket, entry->owner,
                                         LK_WAIT_GRAPH_NEAREST_MAX, nearest, &unnamed);

    for (size_t i = 0; i < count; i++) {
        if (is_it(view, nearest[i]->ticket, nearest[i]->owner)) {
            return true;
        }
    }
    return false;
}

static void write_waiters(FILE *out, const struct lk_view *view, const lk_listing *listing) {
    size_t found = 0;

    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        bool is_another_part = i > 0 && entry->request_index == entry[-1].request_index;
        char age[LK_HUMAN_DURATION_SIZE];
        if (entry->held || is_another_part || !is_waited_for(view, entry)) {
            continue;
        }
        lk_human_duration(entry->age_ms, age);
        (void)fputs(found++ == 0 ? "\nNext in the queue behind it\n  " : "  ", out);
        write_visible(out, lk_human_owner_of(entry->owner, entry->user));
        (void)fprintf(out, " waits for %s, for %s\n", entry->path, age);
    }
}

char *lk_view_details_text(const struct lk_view *view, bool drawn) {
    const lk_listing *listing = view->snapshot != NULL ? listing_of(view) : NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *user = view->identity.user;

    if (out == NULL) {
        return NULL;
    }
    (void)fputs("\nRequest of ", out);
    write_visible(out, lk_human_owner_of(view->identity.owner, user[0] != '\0' ? user : NULL));
    (void)fputs("\n\n", out);
    if (listing != NULL) {
        write_request(out, view, listing);
        write_chain(out, view, drawn);
        write_waiters(out, view, listing);
    } else {
        (void)fputs("  It is not there any more: released, withdrawn, broken or past its "
                    "deadline.\n",
                    out);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
