/* SPDX-License-Identifier: Apache-2.0 */
/* Values (R15) and work (R16) kept by a service. */
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/service/call.h"
#include "engine/service/service.h"

enum { PAGE_ITEMS = 500 };

/* ---- values ---------------------------------------------------------------------------------- */

lk_outcome lk_service_value_get(struct lk_engine *engine, const struct lk_path *path,
                                const struct lk_patience *patience, lk_value **ret_value,
                                lk_error *error) {
    struct lk_builder builder = {.count = 0};
    lk_value *value = calloc(1, sizeof *value);
    lk_outcome outcome;

    if (value == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the value");
    }
    lk_builder_add_text(&builder, "GET");
    lk_builder_add_path(&builder, path);
    lk_builder_add_text(&builder, "META");
    outcome = lk_service_call_for_map(lk_service_of(engine), &builder, LK_SERVICE_AGAIN, patience,
                                      &lk_form_of_value, value, error);
    if (outcome == LK_OK && value->bytes == NULL) {
        outcome = lk_error_clear(error, LK_NONE);
    }
    if (outcome == LK_OK) {
        *ret_value = value;
    } else {
        lk_value_free(value);
    }
    return outcome;
}

lk_outcome lk_service_values(struct lk_engine *engine, const struct lk_value_query *query,
                             const struct lk_patience *patience, lk_value_list **ret_list,
                             lk_error *error) {
    const struct lk_paged paged = {.command = "VALUES",
                                   .add_path = lk_builder_add_prefix,
                                   .form = &lk_form_of_value_info,
                                   .count = (int64_t)query->max};
    lk_value_list *list = lk_value_list_new();
    struct lk_records records = {.items = NULL};
    char *cursor = NULL;
    lk_outcome outcome;

    if (list != NULL && query->behind.size > 0) {
        cursor = lk_text_make("/%.*s", (int)query->behind.size, query->behind.bytes);
    }
    if (list == NULL || (query->behind.size > 0 && cursor == NULL)) {
        lk_value_list_free(list);
        return lk_error_set(error, LK_INTERNAL, "no memory for the values");
    }
    outcome = lk_service_read_page(lk_service_of(engine), &paged, query->prefix, patience, &records,
                                   &cursor, error);
    list->values = records.items;
    list->count = records.count;
    if (outcome == LK_OK && cursor[0] == '/') {
        list->reached = lk_text_copy(lk_slice_of(cursor + 1));
        if (list->reached == NULL) {
            outcome = lk_error_set(error, LK_INTERNAL, "no memory for the values");
        }
    }
    free(cursor);
    if (outcome == LK_OK) {
        *ret_list = list;
    } else {
        lk_value_list_free(list);
    }
    return outcome;
}

/* Repeated only under a lease: otherwise it might overwrite a newer value of another owner. */
lk_outcome lk_service_put(struct lk_service *service, const struct lk_put *put,
                          const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_builder builder = {.count = 0};

    lk_builder_add_text(&builder, put->deletes ? "DEL" : "PUT");
    lk_builder_add_path(&builder, &put->path);
    if (!put->deletes) {
        lk_builder_add(&builder, put->bytes);
    }
    if (put->owner.size > 0) { /* else the connection's own owner, which holds no lease */
        lk_builder_add_pair(&builder, "OWNER", put->owner);
    }
    lk_builder_add_number_if_any(&builder, "TOKEN", (int64_t)put->token);
    return lk_service_call_for_outcome(service, &builder,
                                       put->token != 0 ? LK_SERVICE_AGAIN : LK_SERVICE_ONCE,
                                       patience, &decision->error);
}

/* ---- adding and taking work ------------------------------------------------------------------ */

void lk_service_add_push(struct lk_builder *builder, const struct lk_push *push) {
    lk_builder_add_text(builder, "PUSH");
    lk_builder_add_path(builder, &push->queue);
    lk_builder_add(builder, push->id);
    if (push->value.bytes != NULL) {
        lk_builder_add_pair(builder, "VALUE", push->value);
    }
    lk_builder_add_number_if_any(builder, "DELAY", push->delay_ms);
    lk_builder_add_number_if_any(builder, "PRIORITY", push->priority);
    for (size_t i = 0; i < push->need_count; i++) {
        lk_builder_add_text(builder, "NEEDS");
        lk_builder_add_part(builder, &push->needs[i]);
    }
    if (push->kind != LK_PUSH_NEW) {
        lk_builder_add_text(builder, push->kind == LK_PUSH_AGAIN ? "AGAIN" : "REPLACE");
    }
    lk_builder_add_number_if_any(builder, "KEEP", push->keep_ms);
}

lk_outcome lk_service_push(struct lk_service *service, const struct lk_push *push,
                           const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_builder builder = {.count = 0};

    lk_service_add_push(&builder, push);
    lk_builder_add_text(&builder, "META");
    return lk_service_call_for_map(service, &builder, LK_SERVICE_ONCE, patience, &lk_form_of_pushed,
                                   &decision->pushed, &decision->error);
}

/* The answer to a take. */
struct taken {
    lk_claim_info claim;
    lk_outcome outcome;
    char *text;
};

static const struct lk_field taken_fields[] = {
    {.name = "status", .kind = LK_FIELD_OUTCOME, .at = offsetof(struct taken, outcome)},
    {.name = "error", .kind = LK_FIELD_TEXT, .at = offsetof(struct taken, text)},
    {.name = "",
     .kind = LK_FIELD_INLINE,
     .at = offsetof(struct taken, claim),
     .of = &lk_form_of_claim},
    {.name = NULL},
};
static const struct lk_form taken_form = {.fields = taken_fields};

static void taken_done(struct taken *taken) {
    free(taken->claim.queue);
    free(taken->claim.id);
    free(taken->claim.owner);
    free(taken->claim.value);
    free(taken->text);
}

/* LK_GRANTED: moves the claim to the decision. */
static lk_outcome take_claim(struct taken *taken, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    lk_claim_info *claim;

    if (taken->outcome != LK_GRANTED) {
        return lk_error_set(error, taken->outcome, "%s", taken->text != NULL ? taken->text : "");
    }
    if (taken->claim.queue == NULL || taken->claim.id == NULL || taken->claim.owner == NULL) {
        return lk_error_set(error, LK_INTERNAL, "the service granted a claim without an item");
    }
    claim = malloc(sizeof *claim);
    if (claim == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the claim");
    }
    *claim = taken->claim;
    taken->claim = (lk_claim_info){.queue = NULL};
    decision->claim = claim;
    return lk_error_clear(error, LK_GRANTED);
}

void lk_service_add_take(struct lk_builder *builder, const struct lk_take *take) {
    lk_builder_add_text(builder, "CLAIM");
    lk_builder_add_path(builder, &take->queue);
    lk_builder_add_pair(builder, "OWNER", take->owner);
    lk_builder_add_number_if_any(builder, "TTL", take->ttl_ms);
    lk_builder_add_number_if_any(builder, "MAXATTEMPTS", take->max_attempts);
    /* The service numbers the takes of an ask as the library does: lk_take_number(). */
    lk_builder_add_number_if_any(builder, "ASK", (int64_t)(take->ask_number / LK_TAKES_MAX));
    if (take->note_given) {
        lk_builder_add_pair(builder, "NOTE", take->note);
    }
}

/* Without a number, a repeated take would claim a second item. */
lk_outcome lk_service_take(struct lk_service *service, const struct lk_take *take,
                           const struct lk_patience *patience, struct lk_decision *decision) {
    struct taken taken = {.outcome = LK_INTERNAL, .claim.ttl_ms = take->ttl_ms};
    struct lk_builder builder = {.count = 0};
    lk_outcome outcome;

    lk_service_add_take(&builder, take);
    lk_builder_add_text(&builder, "TRY");
    outcome = lk_service_call_for_map(service, &builder,
                                      take->ask_number != 0 ? LK_SERVICE_AGAIN : LK_SERVICE_ONCE,
                                      patience, &taken_form, &taken, &decision->error);
    if (outcome == LK_OK) {
        outcome = take_claim(&taken, decision);
    }
    if (outcome == LK_GRANTED) {
        lk_service_recall_steal(service, take, decision->claim);
    }
    taken_done(&taken);
    return outcome;
}

lk_outcome lk_service_await_take(struct lk_service *service, const struct lk_take *take,
                                 int64_t left_ms, const struct lk_patience *patience) {
    struct taken taken = {.outcome = LK_INTERNAL};
    struct lk_builder builder = {.count = 0};
    lk_outcome outcome;

    lk_service_add_take(&builder, take);
    lk_builder_add_number(&builder, "WAIT", left_ms);
    builder.hangs_up = true; /* so that the take that looks for its item does not overtake it */
    outcome = lk_service_call_blocking(service, &builder, patience, &taken_form, &taken);
    if (taken.outcome == LK_GRANTED && taken.claim.is_stolen) {
        pthread_mutex_lock(&service->mutex);
        lk_service_steals_note(&service->steals, take->ask_number);
        pthread_mutex_unlock(&service->mutex);
    }
    taken_done(&taken);
    return outcome;
}

void lk_service_recall_steal(struct lk_service *service, const struct lk_take *take,
                             lk_claim_info *claim) {
    pthread_mutex_lock(&service->mutex);
    claim->is_stolen =
        lk_service_steals_take(&service->steals, take->ask_number) || claim->is_stolen;
    pthread_mutex_unlock(&service->mutex);
}

/* ---- ending claims --------------------------------------------------------------------------- */

static const char *finish_name(enum lk_finish_kind kind) {
    switch (kind) {
    case LK_FINISH_DONE:
        return "DONE";
    case LK_FINISH_RETRY:
        return "RETRY";
    case LK_FINISH_PROGRESS:
    default:
        return "PROGRESS";
    }
}

void lk_service_add_finish(struct lk_builder *builder, const struct lk_finish *finish) {
    lk_builder_add_text(builder, finish_name(finish->kind));
    lk_builder_add_path(builder, &finish->queue);
    lk_builder_add(builder, finish->id);
    lk_builder_add_pair(builder, "OWNER", finish->owner);
    lk_builder_add_number_if_any(builder, "TOKEN", (int64_t)finish->token);
    lk_builder_add_number_if_any(builder, "DELAY", finish->delay_ms);
    if (finish->failure.has_exit) {
        lk_builder_add_number(builder, "EXIT", finish->failure.exit_code);
    }
    if (finish->failure.text.size > 0) {
        lk_builder_add_pair(builder, "ERROR", finish->failure.text);
    }
    if (finish->is_uncounted) {
        lk_builder_add_text(builder, "UNCOUNTED");
    }
    if (finish->parks) {
        lk_builder_add_text(builder, "PARK");
    }
    if (finish->result.size > 0) {
        lk_builder_add_pair(builder, "RESULT", finish->result);
    }
    lk_builder_add_number_if_any(builder, "KEEP", finish->keep_ms);
    if (finish->progress.size > 0) {
        lk_builder_add_pair(builder, "TEXT", finish->progress);
    }
}

lk_outcome lk_service_finish(struct lk_service *service, const struct lk_finish *finish,
                             const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_builder builder = {.count = 0};

    lk_service_add_finish(&builder, finish);
    return lk_service_call_for_outcome(service, &builder,
                                       finish->token != 0 || finish->kind == LK_FINISH_PROGRESS
                                           ? LK_SERVICE_AGAIN
                                           : LK_SERVICE_AGAIN_UNLESS_LOST,
                                       patience, &decision->error);
}

void lk_service_add_unpark(struct lk_builder *builder, const struct lk_unpark *unpark) {
    lk_builder_add_text(builder, "UNPARK");
    lk_builder_add_path(builder, &unpark->queue);
    lk_builder_add(builder, unpark->id);
}

void lk_service_add_drop(struct lk_builder *builder, const struct lk_drop *drop) {
    lk_builder_add_text(builder, "DROP");
    lk_builder_add_path(builder, &drop->queue);
    lk_builder_add(builder, drop->id);
    if (drop->only_parked) {
        lk_builder_add_text(builder, "PARKED");
    }
}

lk_outcome lk_service_drop(struct lk_service *service, const struct lk_drop *drop,
                           const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_builder builder = {.count = 0};
    int64_t count;

    lk_service_add_drop(&builder, drop);
    return lk_service_call_for_number(service, &builder, patience, &count, &decision->error);
}

lk_outcome lk_service_unpark(struct lk_service *service, const struct lk_unpark *unpark,
                             const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_builder builder = {.count = 0};

    lk_service_add_unpark(&builder, unpark);
    return lk_service_call_for_outcome(service, &builder, LK_SERVICE_ONCE, patience,
                                       &decision->error);
}

/* ---- looking at work ------------------------------------------------------------------------- */

lk_outcome lk_service_items(struct lk_engine *engine, const struct lk_item_query *query,
                            const struct lk_patience *patience, lk_item_list **ret_list,
                            lk_error *error) {
    const struct lk_paged paged = {.command = "ITEMS",
                                   .add_path = lk_builder_add_path,
                                   .form = &lk_form_of_item,
                                   .count = PAGE_ITEMS,
                                   .keyword = query->id.size > 0 ? "ID" : NULL,
                                   .word = query->id};
    lk_item_list *list = lk_item_list_new();
    struct lk_records records = {.items = NULL};
    lk_outcome outcome;

    if (list == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the items");
    }
    outcome = lk_service_read_pages(lk_service_of(engine), &paged, query->queue, patience, &records,
                                    error);
    list->items = records.items;
    list->count = records.count;
    if (outcome == LK_OK) {
        *ret_list = list;
    } else {
        lk_item_list_free(list);
    }
    return outcome;
}

lk_outcome lk_service_stats(struct lk_engine *engine, const struct lk_path *queue,
                            enum lk_stats_depth depth, const struct lk_patience *patience,
                            lk_queue_stats *ret_stats, lk_error *error) {
    lk_queue_stats stats = {.oldest_ready_ms = -1};
    struct lk_builder builder = {.count = 0};
    lk_outcome outcome;

    (void)depth; /* the service returns all counts */
    lk_builder_add_text(&builder, "STATS");
    lk_builder_add_path(&builder, queue);
    outcome = lk_service_call_for_map(lk_service_of(engine), &builder, LK_SERVICE_AGAIN, patience,
                                      &lk_form_of_stats, &stats, error);
    if (outcome == LK_OK) {
        *ret_stats = stats;
    }
    return outcome;
}
