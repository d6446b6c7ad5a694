/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several items at once (R16). Takes are one command. The others are sent together, one command
 * for each item, since an answer for each is needed; the service decides what arrives together in
 * one batch.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "engine/reply/reply.h"
#include "engine/service/call.h"
#include "engine/service/service.h"

#define BACKOFF_MIN_US INT64_C(10000)
#define BACKOFF_MAX_US INT64_C(250000)

/* ---- pipelines: the answers of a connection have the order of its commands ------------------- */

/* Zeroed: empty. Freed by pipeline_done(). */
struct pipeline {
    struct lk_buffer bytes;
    size_t count;
};

/*
 * Called for each answer in turn: LK_OK with its head, or the outcome and the text of an error.
 */
typedef void pipeline_answer(void *context, size_t index, const struct lk_resp_value *head,
                             const lk_error *error);

static void pipeline_done(struct pipeline *pipeline) {
    lk_buffer_done(&pipeline->bytes);
    *pipeline = (struct pipeline){.count = 0};
}

/* Adds the command, and frees its builder. Errors are reported by the call. */
static void pipeline_add(struct pipeline *pipeline, struct lk_builder *builder) {
    struct lk_slice command;

    if (lk_builder_end(builder, &command)) {
        lk_buffer_add_slice(&pipeline->bytes, command);
    } else {
        pipeline->bytes.failed = true;
    }
    pipeline->count++;
    lk_builder_done(builder);
}

/* Receives one answer after the other, the first of which is there. */
static lk_outcome receive_all(struct lk_service_answer *first, size_t count,
                              const struct lk_patience *patience, pipeline_answer *answer,
                              void *context, lk_error *error) {
    struct lk_service_answer next = *first;
    lk_outcome outcome = LK_OK;
    struct lk_slice reply;
    lk_error cause;

    for (size_t i = 0; i < count && outcome == LK_OK; i++) {
        if (i > 0) {
            outcome = lk_service_link_receive(first->link, patience, &reply);
            next.reader = (struct lk_reader){.cursor = {.reply = reply}};
        }
        if (i > 0 && outcome == LK_OK) {
            (void)lk_resp_cursor_next(&next.reader.cursor, &next.head);
        }
        if (outcome == LK_OK) {
            (void)lk_service_answer_outcome(&next, &cause);
            answer(context, i, &next.head, &cause);
        }
    }
    if (outcome != LK_OK) { /* its position in the stream is unknown */
        lk_service_link_close(first->link);
        first->link = NULL;
        return lk_error_set(error, outcome, "%s", lk_outcome_text(outcome));
    }
    return LK_OK;
}

/* Pauses before the next attempt, while there is time for one. */
static bool may_repeat(enum lk_service_repeat repeat, const struct lk_patience *patience,
                       uint32_t pauses) {
    int64_t left_us = patience->until_us - lk_clock_now_us();
    int64_t pause_us = lk_backoff_delay(BACKOFF_MIN_US, BACKOFF_MAX_US, pauses);

    return repeat == LK_SERVICE_AGAIN && pause_us < left_us
           && !lk_waker_sleep(patience->waker, pause_us);
}

/*
 * LK_OK: every command has been answered. Else LK_UNAVAILABLE, LK_CANCELLED, LK_DENIED or
 * LK_INTERNAL, after any number of answers: commands without an answer may have taken effect. With
 * LK_SERVICE_AGAIN all of them are repeated within the patience, and answered from the first again.
 */
static lk_outcome call_pipeline(struct lk_service *service, const struct pipeline *pipeline,
                                enum lk_service_repeat repeat, const struct lk_patience *patience,
                                pipeline_answer *answer, void *context, lk_error *error) {
    const struct lk_slice request = {pipeline->bytes.bytes, pipeline->bytes.size};
    struct lk_service_answer first;
    lk_outcome outcome;
    uint32_t pauses = 0;

    if (pipeline->bytes.failed) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the commands");
    }
    do {
        first = (struct lk_service_answer){.link = NULL};
        outcome = lk_service_exchange(service, request, repeat, patience, &first, error);
        if (outcome == LK_OK) {
            outcome = receive_all(&first, pipeline->count, patience, answer, context, error);
        }
        lk_service_answer_done(&first);
    } while (outcome == LK_UNAVAILABLE && may_repeat(repeat, patience, pauses++));
    return outcome == LK_OK ? lk_error_clear(error, LK_OK) : outcome;
}

/* ---- takes ----------------------------------------------------------------------------------- */

/* Moves a claim into the series as the answer to its next command. false: the series has ended. */
static bool add_claim(struct lk_service *service, struct lk_series *series, lk_claim_info *claim) {
    struct lk_command command;
    struct lk_decision decision;

    if (!lk_series_next(series, &command)) {
        return false;
    }
    lk_decision_begin(&decision, &command);
    decision.claim = malloc(sizeof *claim);
    if (decision.claim == NULL || claim->queue == NULL || claim->id == NULL
        || claim->owner == NULL) {
        (void)lk_decision_fail(&decision, LK_INTERNAL, "no memory for the claim");
    } else {
        *decision.claim = *claim;
        *claim = (lk_claim_info){.queue = NULL};
        decision.claim->ttl_ms = command.take.ttl_ms;
        lk_service_recall_steal(service, &command.take, decision.claim);
        (void)lk_error_clear(&decision.error, LK_GRANTED);
    }
    lk_series_add(series, &decision);
    return true;
}

static void claim_done(lk_claim_info *claim) {
    free(claim->queue);
    free(claim->id);
    free(claim->owner);
    free(claim->value);
}

/* Fewer claims than commands: why the next take was refused. */
static void add_refusal(struct lk_series *series, lk_outcome outcome, const char *text) {
    struct lk_command command;
    struct lk_decision decision;

    if (lk_series_next(series, &command)) {
        lk_decision_begin(&decision, &command);
        (void)lk_error_set(&decision.error, outcome, "%s", text != NULL ? text : "");
        lk_series_add(series, &decision);
    }
}

/* The answer: claims, and why there are not more. */
struct taken_many {
    lk_outcome outcome;
    lk_outcome refusal; /* LK_OK: as many as asked */
    char *text;
    lk_claim_info *claims;
    size_t count;
};

static const struct lk_field taken_fields[] = {
    {.name = "status", .kind = LK_FIELD_OUTCOME, .at = offsetof(struct taken_many, outcome)},
    {.name = "ended_by", .kind = LK_FIELD_OUTCOME, .at = offsetof(struct taken_many, refusal)},
    {.name = "error", .kind = LK_FIELD_TEXT, .at = offsetof(struct taken_many, text)},
    {.name = "items",
     .kind = LK_FIELD_RECORDS,
     .at = offsetof(struct taken_many, claims),
     .count_at = offsetof(struct taken_many, count),
     .of = &lk_form_of_claim},
    {.name = NULL},
};
static const struct lk_form taken_form = {.fields = taken_fields};

static lk_outcome take_many(struct lk_service *service, const struct lk_patience *patience,
                            struct lk_series *series) {
    const struct lk_take *take = &series->commands[0].take;
    struct taken_many taken = {.outcome = LK_INTERNAL};
    struct lk_builder builder = {.count = 0};
    lk_outcome outcome;
    lk_error error;

    lk_service_add_take(&builder, take);
    lk_builder_add_text(&builder, "TRY");
    lk_builder_add_number(&builder, "COUNT", (int64_t)series->command_count);
    lk_builder_add_text(&builder, "META");
    outcome = lk_service_call_for_map(service, &builder,
                                      take->ask_number != 0 ? LK_SERVICE_AGAIN : LK_SERVICE_ONCE,
                                      patience, &taken_form, &taken, &error);
    for (size_t i = 0; i < taken.count; i++) {
        (void)(outcome == LK_OK && add_claim(service, series, &taken.claims[i]));
        claim_done(&taken.claims[i]);
    }
    if (outcome == LK_FULL) { /* R22: an error in RESP, and here the answer to the first take */
        add_refusal(series, outcome, error.text);
        outcome = LK_OK;
    } else if (outcome == LK_OK && taken.outcome != LK_GRANTED) {
        add_refusal(series, taken.outcome, taken.text);
    } else if (outcome == LK_OK) {
        add_refusal(series, taken.refusal != LK_OK ? taken.refusal : LK_BUSY, taken.text);
    }
    free(taken.claims);
    free(taken.text);
    return outcome == LK_OK ? series->error.outcome
                            : lk_series_fail(series, outcome, "%s", error.text);
}

/* ---- other commands -------------------------------------------------------------------------- */

static void add_command(struct lk_builder *builder, const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_PUSH:
        lk_service_add_push(builder, &command->push);
        break;
    case LK_COMMAND_FINISH:
        lk_service_add_finish(builder, &command->finish);
        break;
    case LK_COMMAND_UNPARK:
        lk_service_add_unpark(builder, &command->unpark);
        break;
    default:
        lk_service_add_drop(builder, &command->drop);
        break;
    }
}

/* The answer to the command at `index`; an answer of an earlier attempt is void. */
static void on_answer(void *context, size_t index, const struct lk_resp_value *head,
                      const lk_error *error) {
    struct lk_series *series = context;
    struct lk_command command;
    struct lk_decision decision;

    if (index == 0) {
        lk_series_begin(series, series->commands, series->command_count);
    }
    if (lk_series_next(series, &command)) {
        lk_decision_begin(&decision, &command);
        decision.error = *error;
        decision.pushed.added = head->kind == LK_RESP_NUMBER && head->number == 1;
        decision.pushed.changed = head->kind == LK_RESP_NUMBER && head->number == 2;
        lk_series_add(series, &decision);
    }
}

/* A push may not be repeated: it would be taken for a duplicate. An end with a token may. */
static enum lk_service_repeat repeat_of(const struct lk_command *command) {
    bool may_repeat = command->kind == LK_COMMAND_FINISH && command->finish.token != 0;

    return may_repeat ? LK_SERVICE_AGAIN : LK_SERVICE_ONCE;
}

static lk_outcome send_many(struct lk_service *service, const struct lk_patience *patience,
                            struct lk_series *series) {
    struct pipeline pipeline = {.count = 0};
    lk_outcome outcome;
    lk_error error;

    for (size_t i = 0; i < series->command_count; i++) {
        struct lk_builder builder = {.count = 0};

        add_command(&builder, &series->commands[i]);
        pipeline_add(&pipeline, &builder);
    }
    outcome = call_pipeline(service, &pipeline, repeat_of(&series->commands[0]), patience,
                            on_answer, series, &error);
    pipeline_done(&pipeline);
    return outcome == LK_OK ? series->error.outcome
                            : lk_series_fail(series, outcome, "%s", error.text);
}

static lk_outcome decide_many(struct lk_engine *engine, const struct lk_command *commands,
                              size_t count, const struct lk_patience *patience,
                              struct lk_series *series) {
    lk_series_begin(series, commands, count);
    return commands[0].kind == LK_COMMAND_TAKE ? take_many(lk_service_of(engine), patience, series)
                                               : send_many(lk_service_of(engine), patience, series);
}

/* ---- queries --------------------------------------------------------------------------------- */

static lk_outcome parked(struct lk_engine *engine, const struct lk_parked_query *query,
                         const struct lk_patience *patience, lk_item_list **ret_list,
                         uint64_t *ret_reached, lk_error *error) {
    const struct lk_paged paged = {.command = "ITEMS",
                                   .add_path = lk_builder_add_path,
                                   .keyword = "PARKED",
                                   .form = &lk_form_of_item,
                                   .count = (int64_t)query->max};
    lk_item_list *list = lk_item_list_new();
    struct lk_records records = {.items = NULL};
    char *cursor = lk_text_make("%" PRIu64, query->behind);
    lk_outcome outcome;

    if (list == NULL || cursor == NULL) {
        lk_item_list_free(list);
        free(cursor);
        return lk_error_set(error, LK_INTERNAL, "no memory for the items");
    }
    outcome = lk_service_read_page(lk_service_of(engine), &paged, query->queue, patience, &records,
                                   &cursor, error);
    list->items = records.items;
    list->count = records.count;
    if (outcome == LK_OK) {
        *ret_list = list;
        *ret_reached = strtoull(cursor, NULL, 10);
    } else {
        lk_item_list_free(list);
    }
    free(cursor);
    return outcome;
}

static lk_outcome queues(struct lk_engine *engine, const struct lk_queue_query *query,
                         const struct lk_patience *patience, lk_queue_list **ret_list,
                         bool *ret_has_more, lk_error *error) {
    const struct lk_paged paged = {.command = "QUEUES",
                                   .add_path = lk_builder_add_prefix,
                                   .form = &lk_form_of_queue,
                                   .count = (int64_t)query->max};
    lk_queue_list *list = lk_queue_list_new();
    struct lk_records records = {.items = NULL};
    char *cursor = NULL;
    lk_outcome outcome = LK_OK;

    if (query->behind.size > 0) {
        cursor = lk_text_make("/%.*s", (int)query->behind.size, query->behind.bytes);
    }
    if (list == NULL || (query->behind.size > 0 && cursor == NULL)) {
        lk_queue_list_free(list);
        free(cursor);
        return lk_error_set(error, LK_INTERNAL, "no memory for the queues");
    }
    outcome = lk_service_read_page(lk_service_of(engine), &paged, query->prefix, patience, &records,
                                   &cursor, error);
    list->queues = records.items;
    list->count = records.count;
    if (outcome == LK_OK) {
        *ret_list = list;
        *ret_has_more = strcmp(cursor, "0") != 0;
    } else {
        lk_queue_list_free(list);
    }
    free(cursor);
    return outcome;
}

const struct lk_batch_ops lk_service_batch_ops = {
    .decide_many = decide_many, .parked = parked, .queues = queues};
