/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: the model finds those of requests and items, this file those of the audit. */
#include "command/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/answer.h"
#include "command/rights.h"
#include "engine/reply/reply.h"
#include "form/form.h"

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

struct item_search {
    const struct lk_model *model;
    struct lk_page *page;
};

static bool add_item(void *context, lk_item_ref item) {
    struct item_search *search = context;
    struct lk_page *page = search->page;
    struct lk_standing standing = {.ticket = lk_model_item_sequence(search->model, item)};

    page->has_more = page->count == page->max;
    if (!page->has_more) {
        page->rows[page->count++] = (struct lk_page_row){standing, item};
        page->reached = standing;
    }
    return !page->has_more;
}

static void add_only(const struct lk_reply_context *context, const struct lk_reply *reply,
                     struct lk_page *page) {
    struct item_search search = {.model = reply->model, .page = page};
    lk_item_ref item =
        lk_model_item(reply->model, &context->selection.path, context->selection.only_id);

    if (item != 0) {
        (void)add_item(&search, item);
    }
}

static void find_items(const struct lk_reply_context *context, const struct lk_reply *reply,
                       struct lk_page *page) {
    struct item_search search = {.model = reply->model, .page = page};

    if (context->selection.is_parked) {
        lk_model_each_parked(reply->model, &context->selection.path, page->behind.ticket, add_item,
                             &search);
    } else if (context->selection.only_id.size > 0) {
        add_only(context, reply, page);
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

/* ---- writing them ---------------------------------------------------------------------------- */

static bool is_resp(const struct lk_form_writer *writer) {
    return writer->kind == LK_FORM_RESP;
}

struct lk_form_mark lk_answer_open_page(struct lk_form_writer *writer, enum lk_shape shape,
                                        bool has_cursor) {
    struct lk_form_mark mark;

    if (!is_resp(writer)) {
        lk_form_open_map(writer, NULL);
        lk_form_add_text(writer, "status", lk_outcome_name(LK_OK));
    } else if (has_cursor) {
        lk_form_open_array(writer, NULL);
    }
    mark = lk_form_mark_here(writer);
    lk_form_open_array(writer, is_resp(writer) ? NULL : lk_answer_forms[shape].list);
    return mark;
}

void lk_answer_close_page(struct lk_form_writer *writer, struct lk_form_mark mark,
                          const char *cursor) {
    lk_form_close(writer);
    if (cursor != NULL) {
        lk_form_add_text_at(writer, mark, is_resp(writer) ? NULL : "cursor", cursor);
    }
    if (!is_resp(writer) || cursor != NULL) {
        lk_form_close(writer);
    }
}

bool lk_answer_is_over(const struct lk_form_writer *writer, struct lk_form_mark mark) {
    return writer->out->size - mark.at > LK_PAGE_BYTES_MAX;
}

/* ---- in the order of paths ------------------------------------------------------------------- */

/* A page that is being written, of records by path. */
struct path_page {
    const struct lk_reply_context *context;
    const struct lk_model *model;
    const struct lk_times *times;
    struct lk_form_writer *writer;
    struct lk_form_mark begin;
    size_t count;
    bool has_more;
    bool is_hidden; /* the walk has ended at a path that is not shown: behind which it goes on */
    char behind[LK_RULES_BEHIND_MAX];
    size_t behind_size;
    char cursor[LK_PATH_BYTES_MAX + 2];
};

/* Whether the record at the path is written. If not, the walk ends here. */
static bool belongs(struct path_page *page, const char *path) {
    const struct lk_user *user = page->context->user;

    page->is_hidden = !lk_visible_path(user, LK_RIGHT_READ, path);
    if (page->is_hidden) {
        page->behind_size = lk_visible_next(user, LK_RIGHT_READ, path, page->behind);
    } else {
        page->has_more = page->count == page->context->selection.count;
    }
    return !page->is_hidden && !page->has_more;
}

/* Whether the record that was written since `before` stays on the page. If not, the walk ends. */
static bool stays(struct path_page *page, const char *path, struct lk_form_mark before) {
    page->has_more = page->count > 0 && lk_answer_is_over(page->writer, page->begin);
    if (page->has_more) {
        lk_form_rewind(page->writer, before);
        return false;
    }
    page->count++;
    (void)snprintf(page->cursor, sizeof page->cursor, "/%s", path);
    return true;
}

static bool write_queue(void *context, lk_queue_ref queue) {
    struct path_page *page = context;
    struct lk_form_mark before = lk_form_mark_here(page->writer);
    char path[LK_PATH_BYTES_MAX + 1];
    lk_queue_info info = {.queue = path};
    struct lk_queue_counts counts;

    lk_model_queue_record(page->model, queue, path, &counts);
    if (!belongs(page, path)) {
        return false;
    }
    lk_stats_from_counts(&counts, page->times->now_us, &info.counts);
    lk_form_write_queue(page->writer, &info);
    return stays(page, path, before);
}

static bool write_value(void *context, lk_value_ref value) {
    struct path_page *page = context;
    struct lk_form_mark before = lk_form_mark_here(page->writer);
    struct lk_value_record record;
    lk_value_info info;

    lk_model_value_record(page->model, value, &record);
    if (!belongs(page, record.path)) {
        return false;
    }
    info = (lk_value_info){
        .path = record.path, .size = record.bytes.size, .in_doubt = record.in_doubt};
    if (page->context->command->shape == LK_SHAPE_VALUES) {
        lk_form_write_value_info(page->writer, &info);
    } else { /* all are in doubt, so that it need not be said of each */
        const struct lk_doubt doubt = {.path = info.path, .size = info.size};

        lk_form_open_map(page->writer, NULL);
        lk_form_add_fields(page->writer, &lk_form_of_doubt, &doubt);
        lk_form_close(page->writer);
    }
    return stays(page, record.path, before);
}

static void walk(struct path_page *page, struct lk_slice behind) {
    const struct lk_selection *selection = &page->context->selection;
    const struct lk_path *prefix = selection->has_path ? &selection->path : NULL;

    switch (page->context->command->shape) {
    case LK_SHAPE_QUEUES:
        lk_model_each_queue(page->model, prefix, behind, write_queue, page);
        break;
    case LK_SHAPE_VALUES:
        lk_model_each_value(page->model, prefix, behind, write_value, page);
        break;
    default:
        lk_model_each_doubt(page->model, prefix, behind, write_value, page);
        break;
    }
}

/*
 * What is not shown is passed over, by one step for all that is between two rules. So it neither
 * takes a place on the page nor becomes its cursor, which would name it.
 */
lk_outcome lk_answer_write_by_path(const struct lk_reply_context *context,
                                   const struct lk_reply *reply, struct lk_form_writer *writer) {
    struct path_page page = {.context = context,
                             .model = reply->model,
                             .times = reply->times,
                             .writer = writer,
                             .begin = lk_form_mark_here(writer)};
    struct lk_form_mark mark = lk_answer_open_page(writer, context->command->shape, true);
    struct lk_slice behind = context->selection.behind_path;

    do {
        page.is_hidden = false;
        walk(&page, behind);
        behind = (struct lk_slice){page.behind, page.behind_size};
    } while (page.is_hidden && page.behind_size > 0);
    lk_answer_close_page(writer, mark, page.has_more ? page.cursor : "0");
    return LK_OK;
}
