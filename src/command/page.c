/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages: the first so many of a set that is walked in no order. They are kept in a heap with the
 * last of them on top, which gives way to whatever stands before it.
 */
#include "command/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/reply.h"

/* One of the page; `ref` is a request or an item. */
struct row {
    struct lk_standing standing;
    uint32_t ref;
};

struct page {
    const struct lk_model *model;
    struct lk_standing behind;
    struct row *rows;
    size_t count;
    size_t max;
    bool has_more; /* something had to give way */
};

static bool is_before(struct lk_standing a, struct lk_standing b) {
    return a.ticket != b.ticket ? a.ticket < b.ticket : a.id < b.id;
}

static void swap(struct row *a, struct row *b) {
    struct row kept = *a;

    *a = *b;
    *b = kept;
}

static void sift_up(struct row *rows, size_t at) {
    while (at > 0 && is_before(rows[(at - 1) / 2].standing, rows[at].standing)) {
        swap(&rows[(at - 1) / 2], &rows[at]);
        at = (at - 1) / 2;
    }
}

static void sift_down(struct row *rows, size_t count) {
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

static void consider(struct page *page, struct lk_standing standing, uint32_t ref) {
    if (!is_before(page->behind, standing)) {
        return;
    }
    if (page->count < page->max) {
        page->rows[page->count] = (struct row){standing, ref};
        sift_up(page->rows, page->count++);
        return;
    }
    page->has_more = true;
    if (is_before(standing, page->rows[0].standing)) {
        page->rows[0] = (struct row){standing, ref};
        sift_down(page->rows, page->count);
    }
}

static bool consider_request(void *context, lk_ref request) {
    struct page *page = context;

    consider(page, lk_model_standing(page->model, request), request);
    return true;
}

static bool consider_item(void *context, lk_item_ref item) {
    struct page *page = context;

    consider(page, (struct lk_standing){.ticket = lk_model_item_sequence(page->model, item)}, item);
    return true;
}

static int compare_rows(const void *a, const void *b) {
    const struct row *left = a;
    const struct row *right = b;

    return is_before(right->standing, left->standing) - is_before(left->standing, right->standing);
}

/* Puts the rows in order and tells where the next page begins. */
static void end_page(struct page *page, char ret_cursor[LK_CURSOR_BYTES_MAX]) {
    struct lk_standing last = {.ticket = 0};

    if (page->count > 0) {
        qsort(page->rows, page->count, sizeof *page->rows, compare_rows);
        last = page->rows[page->count - 1].standing;
    }
    if (!page->has_more) {
        (void)snprintf(ret_cursor, LK_CURSOR_BYTES_MAX, "0");
    } else if (last.id == 0) {
        (void)snprintf(ret_cursor, LK_CURSOR_BYTES_MAX, "%" PRIu64, last.ticket);
    } else {
        (void)snprintf(ret_cursor, LK_CURSOR_BYTES_MAX, "%" PRIu64 ".%" PRIu64, last.ticket,
                       last.id);
    }
}

static bool begin_page(const struct lk_echo *echo, const struct lk_reply *reply,
                       struct page *page) {
    *page = (struct page){.model = reply->model,
                          .behind = echo->behind,
                          .max = (size_t)echo->count,
                          .rows = malloc((size_t)echo->count * sizeof *page->rows)};
    return page->rows != NULL;
}

lk_outcome lk_page_of_requests(const struct lk_echo *echo, const struct lk_reply *reply,
                               lk_listing **ret_listing, char ret_cursor[LK_CURSOR_BYTES_MAX]) {
    const struct lk_path *prefix = echo->has_path ? &echo->path : NULL;
    lk_listing *listing = lk_listing_new();
    struct page page = {.rows = NULL};
    bool is_complete = listing != NULL && begin_page(echo, reply, &page);

    if (is_complete) {
        if (prefix != NULL) {
            lk_model_each_below(reply->model, prefix, consider_request, &page);
        } else {
            lk_model_each(reply->model, consider_request, &page);
        }
        end_page(&page, ret_cursor);
    }
    for (size_t i = 0; is_complete && i < page.count; i++) {
        struct lk_record record;
        lk_model_record(reply->model, page.rows[i].ref, &record);
        is_complete = lk_listing_add(listing, &record, reply->times, prefix);
    }
    free(page.rows);
    if (!is_complete) {
        lk_listing_free(listing);
        return LK_INTERNAL;
    }
    *ret_listing = listing;
    return LK_OK;
}

lk_outcome lk_page_of_items(const struct lk_echo *echo, const struct lk_reply *reply,
                            lk_item_list **ret_list, char ret_cursor[LK_CURSOR_BYTES_MAX]) {
    lk_item_list *list = lk_item_list_new();
    struct page page = {.rows = NULL};
    bool is_complete = list != NULL && begin_page(echo, reply, &page);

    if (is_complete) {
        lk_model_each_item(reply->model, &echo->path, consider_item, &page);
        end_page(&page, ret_cursor);
    }
    for (size_t i = 0; is_complete && i < page.count; i++) {
        struct lk_item_record item;
        struct lk_record claim;
        lk_model_item_record(reply->model, page.rows[i].ref, &item);
        if (item.claim != 0) {
            lk_model_record(reply->model, item.claim, &claim);
        }
        is_complete = lk_item_list_add(list, &item, item.claim != 0 ? &claim : NULL, reply->times);
    }
    free(page.rows);
    if (!is_complete) {
        lk_item_list_free(list);
        return LK_INTERNAL;
    }
    *ret_list = list;
    return LK_OK;
}
