/* SPDX-License-Identifier: Apache-2.0 */
/* The table of answers, and what they repeat of commands. */
#include <stdlib.h>

#include "command/answer.h"

const struct lk_answer_form lk_answer_forms[] = {
    [LK_SHAPE_RESULT] = {.name = "Result", .fields = &lk_form_of_result},
    [LK_SHAPE_DONE] = {.name = "Result", .fields = &lk_form_of_result},
    [LK_SHAPE_OK] = {.name = "Ok"},
    [LK_SHAPE_DELETED] = {.name = "Ok"},
    [LK_SHAPE_BROKEN] = {.name = "Broken", .fields = &lk_form_of_broken},
    [LK_SHAPE_PUSHED] = {.name = "Pushed", .fields = &lk_form_of_pushed},
    [LK_SHAPE_ENDED] = {.name = "Ended", .fields = &lk_form_of_done, .is_optional = true},
    [LK_SHAPE_DROPPED] = {.name = "Dropped", .fields = &lk_form_of_dropped},
    [LK_SHAPE_CLAIM] = {.name = "Claimed",
                        .fields = &lk_form_of_claim,
                        .list = "items",
                        .each = &lk_form_of_claim,
                        .at_end = &lk_form_of_series_end},
    [LK_SHAPE_VALUE] = {.about = "path", .fields = &lk_form_of_value},
    [LK_SHAPE_LIST] = {.name = "Requests",
                       .list = "requests",
                       .each = &lk_form_of_entry,
                       .is_paged = true},
    [LK_SHAPE_SHOW] = {.name = "ExplainedRequests",
                       .list = "requests",
                       .each = &lk_form_of_explained_entry},
    [LK_SHAPE_ITEMS] = {.name = "Items",
                        .list = "items",
                        .each = &lk_form_of_item,
                        .each_about = "queue",
                        .is_paged = true},
    [LK_SHAPE_STATS] = {.name = "Stats", .about = "queue", .fields = &lk_form_of_stats},
    [LK_SHAPE_QUEUES] = {.name = "Queues",
                         .list = "queues",
                         .each = &lk_form_of_queue,
                         .is_paged = true},
    [LK_SHAPE_VALUES] = {.name = "ValueList",
                         .list = "values",
                         .each = &lk_form_of_value_info,
                         .is_paged = true},
    [LK_SHAPE_DOUBTS] = {.name = "Doubts",
                         .list = "values",
                         .each = &lk_form_of_doubt,
                         .is_paged = true},
    [LK_SHAPE_AUDIT] = {.name = "Audit", .list = "audit", .each = &lk_form_of_audit_entry},
    [LK_SHAPE_EVENTS] = {.list = "events", .each = &lk_form_of_event, .is_paged = true},
    [LK_SHAPE_REVOKED] = {.name = NULL}, /* only in RESP */
    [LK_SHAPE_LIMITS] = {.name = "Limits", .fields = &lk_form_of_limits},
};

/* ---- what answers repeat --------------------------------------------------------------------- */

/* Appends a terminated copy to the text, which has room for all texts of a command. */
static char *add(struct lk_reply_context *context, struct lk_slice piece) {
    char *copy = context->text + context->size;

    memcpy(copy, piece.bytes, piece.size);
    copy[piece.size] = '\0';
    context->size += piece.size + 1;
    return copy;
}

static void fill_parts(struct lk_reply_context *context, const struct lk_draft *draft) {
    for (size_t i = 0; i < draft->part_count; i++) {
        const struct lk_path *path = &draft->parts[i].path;
        context->paths[i] = add(context, (struct lk_slice){path->bytes, path->size});
    }
    context->path_count = draft->part_count;
    if (draft->owner.size > 0 && draft->owner.size <= LK_OWNER_BYTES_MAX) {
        context->owner = add(context, draft->owner);
    }
}

static void fill_selection(struct lk_reply_context *context, const struct lk_selection *selection) {
    struct lk_path *path = &context->selection.path;

    context->selection = *selection;
    if (selection->has_path) {
        path->bytes = add(context, (struct lk_slice){path->bytes, path->size});
    }
}

void lk_reply_context_fill(struct lk_reply_context *context, const struct lk_draft *draft,
                           const struct lk_call *call) {
    context->command = draft->command;
    context->user = call->user;
    context->is_meta = draft->is_meta;
    context->is_by_token = call->is_by_token;
    context->is_of_several = call->id_count > 0;
    context->selection = (struct lk_selection){.has_path = false};
    context->owner = NULL;
    context->path_count = 0;
    context->size = 0;
    if (draft->command->operands == LK_OPERANDS_PARTS) {
        fill_parts(context, draft);
    } else if (call->kind != LK_CALL_COMMAND && call->kind != LK_CALL_LIMITS) {
        fill_selection(context, &call->selection);
    }
}

struct lk_reply_context *lk_reply_context_copy(const struct lk_reply_context *context) {
    size_t size = offsetof(struct lk_reply_context, text) + context->size;
    struct lk_reply_context *copy = malloc(size);

    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, context, size);
    if (copy->owner != NULL) {
        copy->owner = copy->text + (context->owner - context->text);
    }
    for (size_t i = 0; i < copy->path_count; i++) {
        copy->paths[i] = copy->text + (context->paths[i] - context->text);
    }
    if (copy->selection.has_path) {
        copy->selection.path.bytes = copy->text + (context->selection.path.bytes - context->text);
    }
    return copy;
}
