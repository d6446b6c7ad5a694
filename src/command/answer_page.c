/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of lists, and those in the order of paths. */
#include "command/answer_page.h"

#include <stdio.h>

#include "command/page.h"
#include "command/visible.h"
#include "engine/reply/reply.h"
#include "form/form.h"

static bool is_resp(const struct lk_form_writer *writer) {
    return writer->kind == LK_FORM_RESP;
}

struct lk_form_mark lk_answer_open_page(struct lk_form_writer *writer, const char *name,
                                        bool has_cursor) {
    struct lk_form_mark mark;

    if (!is_resp(writer)) {
        lk_form_open_map(writer, NULL);
        lk_form_add_text(writer, "status", lk_outcome_name(LK_OK));
    } else if (has_cursor) {
        lk_form_open_array(writer, NULL);
    }
    mark = lk_form_mark_here(writer);
    lk_form_open_array(writer, is_resp(writer) ? NULL : name);
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

lk_outcome lk_answer_write_queues(const struct lk_reply_context *context,
                                  const struct lk_reply *reply, struct lk_form_writer *writer) {
    const struct lk_selection *selection = &context->selection;
    struct lk_form_mark begin = lk_form_mark_here(writer);
    char cursor[LK_PATH_BYTES_MAX + 2] = "0";
    struct lk_form_mark mark;
    lk_queue_list *list;
    bool has_more;

    if (lk_queues_from_model(reply->model, selection->has_path ? &selection->path : NULL,
                             selection->behind_path, selection->count, &list, &has_more)
        != LK_OK) {
        lk_answer_write_failure(writer, LK_INTERNAL, "no memory for the list");
        return LK_INTERNAL;
    }
    mark = lk_answer_open_page(writer, "queues", true);
    for (size_t i = 0; i < list->count; i++) {
        struct lk_form_mark behind = lk_form_mark_here(writer);

        if (lk_visible_path(context->user, LK_RIGHT_READ, list->queues[i].queue)) {
            lk_form_write_queue(writer, &list->queues[i]);
        }
        if (i > 0 && lk_answer_is_over(writer, begin)) {
            lk_form_rewind(writer, behind);
            has_more = true;
            break;
        }
        (void)snprintf(cursor, sizeof cursor, "/%s", list->queues[i].queue);
    }
    lk_answer_close_page(writer, mark, has_more ? cursor : "0");
    lk_queue_list_free(list);
    return LK_OK;
}

struct doubts_writer {
    const struct lk_reply_context *context;
    const struct lk_model *model;
    struct lk_form_writer *writer;
    struct lk_form_mark begin;
    size_t count;
    bool has_more;
    char cursor[LK_PATH_BYTES_MAX + 2];
};

static bool write_doubt(void *context, lk_value_ref value) {
    struct doubts_writer *doubts = context;
    struct lk_form_mark behind = lk_form_mark_here(doubts->writer);
    struct lk_value_record record;

    lk_model_value_record(doubts->model, value, &record);
    doubts->has_more = doubts->count == doubts->context->selection.count;
    if (!doubts->has_more && lk_visible_path(doubts->context->user, LK_RIGHT_READ, record.path)) {
        lk_form_open_map(doubts->writer, NULL);
        lk_form_add_text(doubts->writer, "path", record.path);
        lk_form_add_number(doubts->writer, "size", (int64_t)record.bytes.size);
        lk_form_close(doubts->writer);
        doubts->has_more = doubts->count > 0 && lk_answer_is_over(doubts->writer, doubts->begin);
    }
    if (doubts->has_more) {
        lk_form_rewind(doubts->writer, behind);
        return false;
    }
    doubts->count++;
    (void)snprintf(doubts->cursor, sizeof doubts->cursor, "/%s", record.path);
    return true;
}

lk_outcome lk_answer_write_doubts(const struct lk_reply_context *context,
                                  const struct lk_reply *reply, struct lk_form_writer *writer) {
    const struct lk_selection *selection = &context->selection;
    struct doubts_writer doubts = {.context = context,
                                   .model = reply->model,
                                   .writer = writer,
                                   .begin = lk_form_mark_here(writer)};
    struct lk_form_mark mark = lk_answer_open_page(writer, "values", true);

    lk_model_each_doubt(reply->model, selection->has_path ? &selection->path : NULL,
                        selection->behind_path, write_doubt, &doubts);
    lk_answer_close_page(writer, mark, doubts.has_more ? doubts.cursor : "0");
    return LK_OK;
}
