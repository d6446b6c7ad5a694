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

struct values_writer {
    const struct lk_reply_context *context;
    const struct lk_model *model;
    struct lk_form_writer *writer;
    struct lk_form_mark begin;
    bool are_doubts; /* all of them, so that it need not be said of each */
    size_t count;
    bool has_more;
    char cursor[LK_PATH_BYTES_MAX + 2];
};

static void write_value(const struct values_writer *values, struct lk_value_record *record) {
    const lk_value_info info = {
        .path = record->path, .size = record->bytes.size, .in_doubt = record->in_doubt};

    if (!values->are_doubts) {
        lk_form_write_value_info(values->writer, &info);
        return;
    }
    lk_form_open_map(values->writer, NULL);
    lk_form_add_text(values->writer, "path", info.path);
    lk_form_add_number(values->writer, "size", (int64_t)info.size);
    lk_form_close(values->writer);
}

static bool visit_value(void *context, lk_value_ref value) {
    struct values_writer *values = context;
    struct lk_form_mark behind = lk_form_mark_here(values->writer);
    struct lk_value_record record;

    lk_model_value_record(values->model, value, &record);
    values->has_more = values->count == values->context->selection.count;
    if (!values->has_more && lk_visible_path(values->context->user, LK_RIGHT_READ, record.path)) {
        write_value(values, &record);
        values->has_more = values->count > 0 && lk_answer_is_over(values->writer, values->begin);
    }
    if (values->has_more) {
        lk_form_rewind(values->writer, behind);
        return false;
    }
    values->count++;
    (void)snprintf(values->cursor, sizeof values->cursor, "/%s", record.path);
    return true;
}

lk_outcome lk_answer_write_values(const struct lk_reply_context *context,
                                  const struct lk_reply *reply, struct lk_form_writer *writer) {
    const struct lk_selection *selection = &context->selection;
    struct values_writer values = {.context = context,
                                   .model = reply->model,
                                   .writer = writer,
                                   .begin = lk_form_mark_here(writer),
                                   .are_doubts = context->command->shape == LK_SHAPE_DOUBTS};
    struct lk_form_mark mark = lk_answer_open_page(writer, "values", true);

    (values.are_doubts ? lk_model_each_doubt : lk_model_each_value)(
        reply->model, selection->has_path ? &selection->path : NULL, selection->behind_path,
        visit_value, &values);
    lk_answer_close_page(writer, mark, values.has_more ? values.cursor : "0");
    return LK_OK;
}
