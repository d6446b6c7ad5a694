/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: the model finds those of requests and items, this file those of the audit. */
#include "command/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/visible.h"
#include "engine/reply/reply.h"

/* ---- the audit ------------------------------------------------------------------------------- */

/* Compared as text, because there may be many entries; an audit entry has the path as parsed. */
static bool is_below(const struct lk_reply_context *context, const char *text) {
    return !context->selection.has_path
           || (strncmp(text, context->selection.path.bytes, context->selection.path.size) == 0
               && (text[context->selection.path.size] == '\0'
                   || text[context->selection.path.size] == '/'));
}

/* Entries are numbered from reply->audit_first on. */
static void search_audit(const struct lk_reply_context *context, const struct lk_reply *reply,
                         struct lk_page *page) {
    const lk_audit *audit = reply->audit;
    uint64_t behind = page->behind.ticket;
    size_t at = behind >= reply->audit_first ? (size_t)(behind - reply->audit_first) + 1 : 0;

    for (; at < audit->count; at++) {
        struct lk_standing standing = {.ticket = reply->audit_first + at};

        if (!is_below(context, audit->entries[at].path)
            || !lk_visible_path(context->user, LK_RIGHT_READ, audit->entries[at].path)) {
            continue;
        }
        if (page->count == page->max) {
            page->has_more = true;
            return;
        }
        page->rows[page->count++] = (struct lk_page_row){standing, (uint32_t)at};
        page->reached = standing;
    }
}

/* ---- items ----------------------------------------------------------------------------------- */

struct parked_search {
    const struct lk_model *model;
    struct lk_page *page;
};

static bool add_parked(void *context, lk_item_ref item) {
    struct parked_search *search = context;
    struct lk_page *page = search->page;
    struct lk_standing standing = {.ticket = lk_model_item_sequence(search->model, item)};

    page->has_more = page->count == page->max;
    if (!page->has_more) {
        page->rows[page->count++] = (struct lk_page_row){standing, item};
        page->reached = standing;
    }
    return !page->has_more;
}

static void find_items(const struct lk_reply_context *context, const struct lk_reply *reply,
                       struct lk_page *page) {
    struct parked_search search = {.model = reply->model, .page = page};

    if (context->selection.is_parked) {
        lk_model_each_parked(reply->model, &context->selection.path, page->behind.ticket,
                             add_parked, &search);
    } else {
        lk_model_page_items(reply->model, &context->selection.path, page);
    }
}

/* ---- pages ----------------------------------------------------------------------------------- */

bool lk_page_find(const struct lk_reply_context *context, const struct lk_reply *reply,
                  bool is_whole, struct lk_page *ret_page) {
    enum lk_shape shape = context->command->shape;
    struct lk_page page = {.max = is_whole ? LK_PAGE_MAX : (size_t)context->selection.count,
                           .behind = context->selection.behind};

    page.rows = malloc(page.max * sizeof *page.rows);
    if (page.rows == NULL) {
        return false;
    }
    if (shape == LK_SHAPE_AUDIT) {
        search_audit(context, reply, &page);
    } else if (shape == LK_SHAPE_ITEMS) {
        find_items(context, reply, &page);
    } else if (context->selection.has_path) {
        lk_model_page_at(reply->model, &context->selection.path,
                         shape == LK_SHAPE_SHOW ? LK_PAGE_RELATED : LK_PAGE_BELOW, is_whole, &page);
    } else {
        lk_model_page(reply->model, &page);
    }
    *ret_page = page;
    return true;
}

void lk_page_cursor(const struct lk_page *page, size_t written,
                    char ret_cursor[LK_CURSOR_BYTES_MAX]) {
    if (written == page->count && !page->has_more) {
        (void)snprintf(ret_cursor, LK_CURSOR_BYTES_MAX, "0");
    } else {
        struct lk_standing last =
            written == page->count ? page->reached : page->rows[written - 1].standing;

        int size = snprintf(ret_cursor, LK_CURSOR_BYTES_MAX, "%" PRIu64, last.ticket);

        if (last.id != 0) {
            (void)snprintf(ret_cursor + size, LK_CURSOR_BYTES_MAX - (size_t)size, ".%" PRIu64,
                           last.id);
        }
    }
}
