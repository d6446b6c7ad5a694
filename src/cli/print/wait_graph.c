/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node is a request, by its ticket and owner. The nodes of all requests that are listed as
 * waiting or named as blockers are in one sorted array; edges are the blockers of the listed
 * entry. A search marks what it has seen with its own number, so that no mark is ever cleared.
 */
#include "cli/print/wait_graph.h"

#include <stdlib.h>
#include <string.h>

#include "cli/print/human.h"

struct node {
    uint64_t ticket;
    const char *owner;
    const lk_entry *entry;    /* of a waiting request that is listed; NULL: nothing is below it */
    const char *waits_at;     /* the path at which it is known to wait; NULL: it holds */
    unsigned long queued_by;  /* the last search that goes below it */
    unsigned long further_by; /* the last search that found it below something */
    unsigned long drawn_by;   /* the last chain that has drawn what is below it */
};

struct lk_wait_graph {
    struct node *nodes;
    size_t count;
    const struct node **pending; /* of a search; room for each node once */
    unsigned long search;
};

/* ---- the nodes ------------------------------------------------------------------------------- */

static int compare_nodes(const void *a, const void *b) {
    const struct node *left = a;
    const struct node *right = b;

    if (left->ticket != right->ticket) {
        return left->ticket < right->ticket ? -1 : 1;
    }
    return strcmp(left->owner, right->owner);
}

static size_t count_mentions(const lk_listing *const *listings, size_t count) {
    size_t mentions = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < listings[i]->count; j++) {
            mentions += 1 + listings[i]->entries[j].blocker_count;
        }
    }
    return mentions;
}

static void add_mentions(struct lk_wait_graph *waits, const lk_entry *entry) {
    if (!entry->held) {
        waits->nodes[waits->count++] = (struct node){.ticket = entry->ticket,
                                                     .owner = entry->owner,
                                                     .entry = entry,
                                                     .waits_at = entry->path};
    }
    for (size_t i = 0; i < entry->blocker_count; i++) {
        const lk_blocker_info *blocker = &entry->blockers[i];
        waits->nodes[waits->count++] =
            (struct node){.ticket = blocker->ticket,
                          .owner = blocker->owner,
                          .waits_at = blocker->held ? NULL : blocker->path};
    }
}

/* One node for all mentions of a request. */
static void merge_mentions(struct lk_wait_graph *waits) {
    size_t kept = 0;

    if (waits->count > 1) {
        qsort(waits->nodes, waits->count, sizeof waits->nodes[0], compare_nodes);
    }
    for (size_t i = 0; i < waits->count; i++) {
        struct node *node = &waits->nodes[i];
        struct node *former = kept > 0 ? &waits->nodes[kept - 1] : NULL;
        if (former == NULL || compare_nodes(former, node) != 0) {
            waits->nodes[kept++] = *node;
            continue;
        }
        former->entry = former->entry != NULL ? former->entry : node->entry;
        former->waits_at = former->waits_at != NULL ? former->waits_at : node->waits_at;
    }
    waits->count = kept;
}

struct lk_wait_graph *lk_wait_graph_new(const lk_listing *const *listings, size_t count) {
    struct lk_wait_graph *waits = calloc(1, sizeof *waits);
    size_t mentions = count_mentions(listings, count);

    if (waits == NULL) {
        return NULL;
    }
    waits->nodes = calloc(mentions + 1, sizeof waits->nodes[0]);
    waits->pending = calloc(mentions + 1, sizeof waits->pending[0]);
    if (waits->nodes == NULL || waits->pending == NULL) {
        lk_wait_graph_free(waits);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < listings[i]->count; j++) {
            add_mentions(waits, &listings[i]->entries[j]);
        }
    }
    merge_mentions(waits);
    return waits;
}

void lk_wait_graph_free(struct lk_wait_graph *waits) {
    if (waits != NULL) {
        free(waits->pending);
        free(waits->nodes);
        free(waits);
    }
}

static struct node *find_node(const struct lk_wait_graph *waits, uint64_t ticket,
                              const char *owner) {
    struct node wanted = {.ticket = ticket, .owner = owner};

    return waits->count > 0
               ? bsearch(&wanted, waits->nodes, waits->count, sizeof wanted, compare_nodes)
               : NULL;
}

const lk_entry *lk_wait_graph_find(const struct lk_wait_graph *waits, uint64_t ticket,
                                   const char *owner) {
    const struct node *node = find_node(waits, ticket, owner);

    return node != NULL ? node->entry : NULL;
}

const char *lk_wait_graph_unknown(const struct lk_wait_graph *waits, size_t index) {
    for (size_t i = 0; i < waits->count; i++) {
        const struct node *node = &waits->nodes[i];
        if (node->entry == NULL && node->waits_at != NULL && index-- == 0) {
            return node->waits_at;
        }
    }
    return NULL;
}

/* ---- the nearest ----------------------------------------------------------------------------- */

/* The requests below which a search has not been yet. */
struct search {
    struct lk_wait_graph *waits;
    unsigned long mark;
    size_t pending; /* in waits->pending */
};

/* Visits the entry's blockers; `is_further`: the entry is itself a blocker. */
static void visit(struct search *search, const lk_entry *entry, bool is_further) {
    for (size_t i = 0; i < entry->blocker_count; i++) {
        const lk_blocker_info *blocker = &entry->blockers[i];
        struct node *node = find_node(search->waits, blocker->ticket, blocker->owner);
        if (is_further) {
            node->further_by = search->mark;
        }
        if (node->entry != NULL && node->queued_by != search->mark) {
            node->queued_by = search->mark;
            search->waits->pending[search->pending++] = node;
        }
    }
}

/* Marks all blockers of the entry's blockers, and returns the mark. */
static unsigned long mark_further(struct lk_wait_graph *waits, const lk_entry *entry) {
    struct search search = {.waits = waits, .mark = ++waits->search};

    visit(&search, entry, false);
    for (size_t taken = 0; taken < search.pending; taken++) {
        visit(&search, waits->pending[taken]->entry, true);
    }
    return search.mark;
}

static size_t nearest_of(struct lk_wait_graph *waits, const lk_entry *entry, size_t max,
                         const lk_blocker_info **ret_nearest) {
    unsigned long further = mark_further(waits, entry);
    size_t count = 0;

    for (size_t i = 0; i < entry->blocker_count && count < max; i++) {
        const lk_blocker_info *blocker = &entry->blockers[i];
        if (find_node(waits, blocker->ticket, blocker->owner)->further_by != further) {
            ret_nearest[count++] = blocker;
        }
    }
    if (count == 0 && entry->blocker_count > 0 && max > 0) {
        ret_nearest[count++] = &entry->blockers[0]; /* a cycle of contradicting listings */
    }
    return count;
}

static size_t unnamed_of(const lk_entry *entry) {
    return entry->position > entry->blocker_count ? entry->position - entry->blocker_count : 0;
}

size_t lk_wait_graph_nearest(struct lk_wait_graph *waits, uint64_t ticket, const char *owner,
                             size_t max, const lk_blocker_info **ret_nearest, size_t *ret_unnamed) {
    const lk_entry *entry = lk_wait_graph_find(waits, ticket, owner);

    *ret_unnamed = entry != NULL ? unnamed_of(entry) : 0;
    return entry != NULL ? nearest_of(waits, entry, max, ret_nearest) : 0;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* The last line is the number of those that did not fit. */
static bool add_link(struct lk_chain *chain, struct lk_chain_link link) {
    if (chain->count == LK_CHAIN_LINKS_MAX) {
        struct lk_chain_link *last = &chain->links[LK_CHAIN_LINKS_MAX - 1];
        last->unnamed = last->blocker != NULL ? 1 : last->unnamed;
        last->blocker = NULL;
        last->is_last = true;
        last->depth = link.depth < last->depth ? link.depth : last->depth;
        last->unnamed += link.blocker != NULL ? 1 : link.unnamed;
        return false;
    }
    chain->links[chain->count++] = link;
    return true;
}

/* Goes at most LK_CHAIN_DEPTH_MAX deep. `drawing` is the mark of this chain. */
static void add_below(struct lk_wait_graph *waits, const lk_entry *entry, unsigned depth,
                      unsigned long drawing, struct lk_chain *chain) {
    const lk_blocker_info *nearest[LK_WAIT_GRAPH_NEAREST_MAX];
    size_t unnamed = unnamed_of(entry);
    size_t count = nearest_of(waits, entry, LK_WAIT_GRAPH_NEAREST_MAX, nearest);

    if (depth == LK_CHAIN_DEPTH_MAX) {
        (void)add_link(chain, (struct lk_chain_link){.unnamed = entry->blocker_count + unnamed,
                                                     .depth = depth,
                                                     .is_last = true});
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct node *node = find_node(waits, nearest[i]->ticket, nearest[i]->owner);
        bool has_more = node->entry != NULL;
        bool is_again = has_more && node->drawn_by == drawing;
        if (!add_link(chain, (struct lk_chain_link){.blocker = nearest[i],
                                                    .depth = depth,
                                                    .is_last = i + 1 == count && unnamed == 0,
                                                    .is_again = is_again})) {
            continue;
        }
        node->drawn_by = drawing;
        if (has_more && !is_again) {
            add_below(waits, node->entry, depth + 1, drawing, chain);
        }
    }
    if (unnamed > 0) {
        (void)add_link(chain,
                       (struct lk_chain_link){.unnamed = unnamed, .depth = depth, .is_last = true});
    }
}

void lk_chain_make(struct lk_wait_graph *waits, uint64_t ticket, const char *owner,
                   struct lk_chain *ret_chain) {
    struct node *node = find_node(waits, ticket, owner);

    ret_chain->count = 0;
    if (node != NULL && node->entry != NULL) {
        unsigned long drawing = ++waits->search;
        node->drawn_by = drawing;
        add_below(waits, node->entry, 0, drawing, ret_chain);
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The branch of a line, and what passes by the lines below it. */
struct strokes {
    const char *branch, *last_branch, *pass, *blank;
};

static const struct strokes plain = {"|- ", "`- ", "|  ", "   "};
static const struct strokes drawn_ones = {"\u251C\u2500 ", "\u2514\u2500 ", "\u2502  ", "   "};

/* Whether the ancestor of line `index` at that depth has a later sibling. */
static bool passes_by(const struct lk_chain *chain, size_t index, unsigned depth) {
    while (index > 0 && chain->links[index].depth > depth) {
        index--;
    }
    return !chain->links[index].is_last;
}

/* Takes over the text, which may be NULL: memory is exhausted. */
static void write_visible(FILE *out, char *visible) {
    (void)fputs(visible != NULL ? visible : "?", out);
    free(visible);
}

void lk_chain_write(FILE *out, const struct lk_chain *chain, size_t index, bool drawn) {
    const struct lk_chain_link *link = &chain->links[index];
    const struct strokes *strokes = drawn ? &drawn_ones : &plain;
    char left[LK_HUMAN_DURATION_SIZE];

    for (unsigned depth = 0; depth < link->depth; depth++) {
        (void)fputs(passes_by(chain, index, depth) ? strokes->pass : strokes->blank, out);
    }
    (void)fputs(link->is_last ? strokes->last_branch : strokes->branch, out);
    if (link->blocker == NULL) {
        (void)fprintf(out, "and %zu more", link->unnamed);
        return;
    }
    lk_human_duration(link->blocker->expires_in_ms, left);
    write_visible(out, lk_human_owner_of(link->blocker->owner, link->blocker->user));
    (void)fprintf(out, " %s %s, %s left", link->blocker->held ? "holds" : "waits ahead for",
                  link->blocker->path, left);
    if (link->blocker->note != NULL && link->blocker->note[0] != '\0') {
        (void)fputs(" (", out);
        write_visible(out, lk_human_visible(link->blocker->note));
        (void)fputc(')', out);
    }
    (void)fputs(link->is_again ? "; its blockers are above" : "", out);
}
