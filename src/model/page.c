/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over requests and items: over all of them, and page by page.
 *
 * The requests at and below a path have no order of their own. They are walked in the order of the
 * tree, and the first ones are kept in a heap with the last of them on top, which is replaced by
 * one that precedes it. If that takes too many steps, the requests of the whole model are walked by
 * ticket, and those under other paths are skipped. Which walk is shorter is not known beforehand.
 * So they alternate with a bound that grows; the second one continues where it stopped.
 */
#include "model/page.h"

#include "model/order.h"
#include "model/storage.h"
#include "model/tree.h"
#include "model/work.h"

enum { FREQUENT = 16 }; /* one in so many requests */

/* ---- everything ---- */

void lk_model_each(const struct lk_model *model, lk_visit *visit, void *context) {
    uint64_t steps = 0;

    (void)lk_order_walk(model, LK_ORDER_REQUESTS, &model->requests_by_ticket,
                        (struct lk_order_key){.first = 0}, visit, context, &steps);
}

/* ---- requests at, below and above a path ---- */

struct visiting {
    const struct lk_model *model;
    lk_id below_of; /* wanted: what is at or below this node... */
    lk_id above_of; /* ...or at or above this one; 0: none */
    lk_visit *visit;
    void *context;
    uint64_t steps;
    uint64_t steps_max;
};

static bool is_wanted(const struct visiting *visiting, lk_id node) {
    return (visiting->below_of != 0 && lk_node_contains(visiting->model, visiting->below_of, node))
           || (visiting->above_of != 0
               && lk_node_contains(visiting->model, node, visiting->above_of));
}

/* The first part entry of the request that is wanted; 0: none is. */
static lk_id wanted_entry(const struct visiting *visiting, lk_id request) {
    lk_id at = lk_request_at(visiting->model, request)->first_entry;

    while (at != 0 && !is_wanted(visiting, lk_part_entry_at(visiting->model, at)->node)) {
        at = lk_part_entry_at(visiting->model, at)->next_entry;
    }
    return at;
}

/* Visits the part entry's request, unless another of its part entries has done so. */
static bool visit_once(struct visiting *visiting, lk_id entry) {
    lk_id request = lk_part_entry_at(visiting->model, entry)->request;

    return ++visiting->steps <= visiting->steps_max
           && (wanted_entry(visiting, request) != entry
               || visiting->visit(visiting->context, request));
}

static bool visit_at(struct visiting *visiting, lk_id node_id) {
    const struct lk_model *model = visiting->model;
    const struct lk_node *node = lk_node_at(model, node_id);
    lk_id at = node->holders;

    if (++visiting->steps > visiting->steps_max) {
        return false;
    }
    while (at != 0) {
        if (!visit_once(visiting, at)) {
            return false;
        }
        at = lk_part_entry_at(model, at)->next;
        at = at != node->holders ? at : 0;
    }
    for (int kind = LK_HERE_EXCLUSIVE; node->queue != 0 && kind <= LK_HERE_SHARED; kind++) {
        at = lk_wait_queue_at(model, node->queue)->lists[kind].first;
        for (; at != 0; at = lk_queue_entry_at(model, at)->next) {
            if (!visit_once(visiting, lk_queue_entry_at(model, at)->entry)) {
                return false;
            }
        }
    }
    return true;
}

static bool visit_below(struct visiting *visiting, lk_id top) {
    lk_id at = top;

    while (at != 0) {
        const struct lk_node *node = lk_node_at(visiting->model, at);
        if (!visit_at(visiting, at)) {
            return false;
        }
        /* Paths of items and values lead to no request. */
        at = lk_node_next_in_subtree(visiting->model, top, at,
                                     node->held_below == 0 && node->queue == 0);
    }
    return true;
}

/* Whether the walk came to its end. */
static bool visit_wanted(struct visiting *visiting) {
    lk_id above = visiting->above_of;

    if (visiting->below_of != 0 && !visit_below(visiting, visiting->below_of)) {
        return false;
    }
    if (above != 0 && above == visiting->below_of) {
        above = lk_node_parent(lk_node_at(visiting->model, above));
    }
    for (; above != 0; above = lk_node_parent(lk_node_at(visiting->model, above))) {
        if (!visit_at(visiting, above)) {
            return false;
        }
    }
    return true;
}

/* The requests at or below the path, or related to it. */
static struct visiting visiting_of(const struct lk_model *model, const struct lk_path *path,
                                   enum lk_page_kind kind, lk_visit *visit, void *context) {
    unsigned depth;
    lk_id node = lk_node_descend(model, path, &depth);

    return (struct visiting){.model = model,
                             .below_of = depth == path->depth ? node : 0,
                             .above_of = kind == LK_PAGE_RELATED ? node : 0,
                             .visit = visit,
                             .context = context,
                             .steps_max = UINT64_MAX};
}

void lk_model_each_below(const struct lk_model *model, const struct lk_path *prefix,
                         lk_visit *visit, void *context) {
    struct visiting visiting = visiting_of(model, prefix, LK_PAGE_BELOW, visit, context);

    (void)visit_wanted(&visiting);
}

void lk_model_each_related(const struct lk_model *model, const struct lk_path *path,
                           lk_visit *visit, void *context) {
    struct visiting visiting = visiting_of(model, path, LK_PAGE_RELATED, visit, context);

    (void)visit_wanted(&visiting);
}

/* ---- pages of what has no order: a heap ---- */

static bool is_before(struct lk_standing a, struct lk_standing b) {
    return a.ticket != b.ticket ? a.ticket < b.ticket : a.id < b.id;
}

static void swap(struct lk_page_row *a, struct lk_page_row *b) {
    struct lk_page_row kept = *a;

    *a = *b;
    *b = kept;
}

static void sift_up(struct lk_page_row *rows, size_t at) {
    while (at > 0 && is_before(rows[(at - 1) / 2].standing, rows[at].standing)) {
        swap(&rows[(at - 1) / 2], &rows[at]);
        at = (at - 1) / 2;
    }
}

static void sift_down(struct lk_page_row *rows, size_t count) {
    size_t at = 0;

    for (;;) {
        size_t child = at * 2 + 1;
        if (child + 1 < count && is_before(rows[child].standing, rows[child + 1].standing)) {
            child++;
        }
        if (child >= count || !is_before(rows[at].standing, rows[child].standing)) {
            return;
        }
        swap(&rows[at], &rows[child]);
        at = child;
    }
}

/* The heap becomes a list in order. */
static void sort(struct lk_page_row *rows, size_t count) {
    for (; count > 1; count--) {
        swap(&rows[0], &rows[count - 1]);
        sift_down(rows, count - 1);
    }
}

/* One search for a page. */
struct search {
    const struct lk_model *model;
    struct lk_page *page;
    bool is_whole;
    const struct visiting *visiting; /* which requests are wanted; NULL: all */
    uint64_t steps_max;              /* of the page */
    struct lk_standing passed;       /* by ticket, nothing up to here is wanted */
};

static void begin(struct lk_page *page) {
    page->count = 0;
    page->has_more = false;
    page->reached = page->behind;
}

static bool consider(void *context, lk_ref request) {
    struct search *search = context;
    struct lk_page *page = search->page;
    struct lk_page_row row = {lk_model_standing(search->model, request), request};

    if (!is_before(page->behind, row.standing)) {
        return true;
    }
    if (page->count < page->max) {
        page->rows[page->count] = row;
        sift_up(page->rows, page->count++);
        return true;
    }
    page->has_more = true;
    if (is_before(row.standing, page->rows[0].standing)) {
        page->rows[0] = row;
        sift_down(page->rows, page->count);
    }
    return !search->is_whole;
}

/* Whether the walk ended within so many steps, or found more than there is room for. */
static bool search_tree(struct search *search, struct visiting *visiting, uint64_t steps_max) {
    struct lk_page *page = search->page;
    bool is_found;

    begin(page);
    visiting->steps = 0;
    visiting->steps_max = search->is_whole ? UINT64_MAX : steps_max;
    if (visiting->below_of != 0
        && lk_node_at(search->model, visiting->below_of)->held_below > visiting->steps_max) {
        return false;
    }
    is_found = visit_wanted(visiting) || (search->is_whole && page->has_more);
    page->steps += visiting->steps;
    if (is_found) {
        sort(page->rows, page->count);
        page->reached = page->count > 0 ? page->rows[page->count - 1].standing : page->behind;
    }
    return is_found;
}

/* ---- pages of what is in order ---- */

/* Whether there was room. */
static bool append(struct lk_page *page, struct lk_standing standing, uint32_t ref) {
    if (page->count == page->max) {
        page->has_more = true;
        return false;
    }
    page->rows[page->count++] = (struct lk_page_row){standing, ref};
    page->reached = standing;
    return true;
}

static bool append_request(void *context, lk_id request) {
    struct search *search = context;
    struct lk_page *page = search->page;
    struct lk_standing standing = lk_model_standing(search->model, request);

    if (search->visiting == NULL || wanted_entry(search->visiting, request) != 0) {
        return append(page, standing, request);
    }
    page->reached = standing;
    page->has_more = page->steps >= search->steps_max;
    return !page->has_more;
}

static bool append_item(void *context, lk_id item) {
    struct search *search = context;

    if (lk_item_present(search->model, lk_item_at(search->model, item)->node) == 0) {
        return true;
    }
    return append(search->page,
                  (struct lk_standing){.ticket = lk_item_at(search->model, item)->sequence}, item);
}

/* Whether the walk found requests for the page, or none exist; false: it took too many steps. */
static bool search_tickets(struct search *search, uint64_t steps_max) {
    struct lk_page *page = search->page;

    begin(page);
    search->steps_max = page->steps + steps_max;
    (void)lk_order_walk(
        search->model, LK_ORDER_REQUESTS, &search->model->requests_by_ticket,
        (struct lk_order_key){.first = search->passed.ticket, .second = search->passed.id},
        append_request, search, &page->steps);
    search->passed = page->reached;
    return page->count > 0 || !page->has_more;
}

/* Whether so many requests are wanted that a page is likely to be full soon. */
static bool is_frequent(const struct visiting *visiting) {
    return visiting->below_of != 0
           && lk_node_at(visiting->model, visiting->below_of)->held_below
                  > visiting->model->live / FREQUENT;
}

void lk_model_page(const struct lk_model *model, struct lk_page *page) {
    struct search search = {.model = model, .page = page, .passed = page->behind};

    page->steps = 0;
    (void)search_tickets(&search, UINT64_MAX / 2);
}

void lk_model_page_at(const struct lk_model *model, const struct lk_path *path,
                      enum lk_page_kind kind, bool is_whole, struct lk_page *page) {
    struct search search = {
        .model = model, .page = page, .is_whole = is_whole, .passed = page->behind};
    struct visiting visiting = visiting_of(model, path, kind, consider, &search);
    uint64_t steps_max = page->walk_steps != 0 ? page->walk_steps : LK_PAGE_WALK_STEPS;

    page->steps = 0;
    search.visiting = &visiting;
    if (!is_whole && is_frequent(&visiting) && search_tickets(&search, steps_max)) {
        return;
    }
    /* A step in the tree costs less than one by ticket, which looks up the nodes of the request. */
    while (!search_tree(&search, &visiting, steps_max * 4) && !search_tickets(&search, steps_max)) {
        steps_max *= 4;
    }
}

void lk_model_page_items(const struct lk_model *model, const struct lk_path *queue,
                         struct lk_page *page) {
    struct search search = {.model = model, .page = page};
    lk_id work = lk_work_find(model, lk_node_find(model, queue));

    begin(page);
    page->steps = 0;
    if (work != 0) {
        (void)lk_order_walk(model, LK_ORDER_AGE, &lk_work_at(model, work)->items,
                            (struct lk_order_key){.first = page->behind.ticket}, append_item,
                            &search, &page->steps);
    }
}
