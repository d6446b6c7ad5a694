/* SPDX-License-Identifier: Apache-2.0 */
/* Values (R15) and work (R16) kept by a service. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/reply.h"
#include "engine/service/pages.h"
#include "engine/service/service.h"

enum { ITEMS_AT_A_TIME = 500 };

/* ---- values ---------------------------------------------------------------------------------- */

static void read_bytes(struct lk_reader *reader, const struct lk_resp_value *value, void *record) {
    lk_value *read = record;

    if (value->kind != LK_RESP_NULL && read->bytes == NULL) {
        read->bytes = lk_reader_copy(reader, value);
        read->size = value->text.size;
    }
}

static const struct lk_field value_fields[] = {
    {.name = "value", .kind = LK_FIELD_OTHER, .read = read_bytes},
    {.name = "in_doubt", .kind = LK_FIELD_FLAG, .at = offsetof(lk_value, in_doubt)},
    {.name = NULL},
};

lk_outcome lk_service_value_get(struct lk_engine *engine, const struct lk_path *path,
                                const struct lk_patience *patience, lk_value **ret_value,
                                lk_error *error) {
    struct lk_words words = {.count = 0};
    struct lk_service_answer answer;
    lk_value *value = calloc(1, sizeof *value);
    lk_outcome outcome;

    if (value == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the value");
    }
    lk_words_add_text(&words, "GET");
    lk_words_add_path(&words, path);
    lk_words_add_text(&words, "META");
    outcome =
        lk_service_call(lk_service_of(engine), &words, LK_SERVICE_AGAIN, patience, &answer, error);
    if (outcome == LK_OK && answer.head.kind != LK_RESP_NULL) {
        lk_reader_read_map(&answer.reader, &answer.head, value_fields, value);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    lk_service_answer_done(&answer);
    lk_words_done(&words);
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

/* Repeated it might undo what somebody else has written meanwhile, but under one's own lease. */
lk_outcome lk_service_value_put(struct lk_engine *engine, const struct lk_put *put,
                                const struct lk_patience *patience, lk_error *error) {
    struct lk_words words = {.count = 0};

    lk_words_add_text(&words, put->deletes ? "DEL" : "PUT");
    lk_words_add_path(&words, &put->path);
    if (!put->deletes) {
        lk_words_add(&words, put->bytes);
    }
    if (put->owner.size > 0) { /* else it is the connection's, which holds nothing */
        lk_words_add_pair(&words, "OWNER", put->owner);
    }
    lk_words_add_number_if_any(&words, "TOKEN", (int64_t)put->token);
    return lk_service_tell(lk_service_of(engine), &words,
                           put->token != 0 ? LK_SERVICE_AGAIN : LK_SERVICE_ONCE, patience, error);
}

/* ---- adding and taking work ------------------------------------------------------------------ */

lk_outcome lk_service_push(struct lk_engine *engine, const struct lk_push *push,
                           const struct lk_patience *patience, bool *ret_added, lk_error *error) {
    struct lk_words words = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    lk_words_add_text(&words, "PUSH");
    lk_words_add_path(&words, &push->queue);
    lk_words_add(&words, push->id);
    if (push->value.bytes != NULL) {
        lk_words_add_pair(&words, "VALUE", push->value);
    }
    lk_words_add_number_if_any(&words, "DELAY", push->delay_ms);
    for (size_t i = 0; i < push->need_count; i++) {
        lk_words_add_text(&words, "NEEDS");
        lk_words_add_part(&words, &push->needs[i]);
    }
    outcome =
        lk_service_call(lk_service_of(engine), &words, LK_SERVICE_ONCE, patience, &answer, error);
    if (outcome == LK_OK) {
        bool is_added = lk_reader_number(&answer.reader, &answer.head) != 0;
        outcome = lk_service_read_end(&answer.reader, error);
        if (outcome == LK_OK && ret_added != NULL) {
            *ret_added = is_added;
        }
    }
    lk_service_answer_done(&answer);
    lk_words_done(&words);
    return outcome;
}

/* What a take comes to. */
struct taken {
    lk_claim_info claim;
    lk_outcome outcome;
    char *text;
};

static void read_outcome(struct lk_reader *reader, const struct lk_resp_value *value,
                         void *record) {
    struct taken *taken = record;

    taken->outcome = lk_reader_outcome(reader, value);
}

static void read_claim_value(struct lk_reader *reader, const struct lk_resp_value *value,
                             void *record) {
    struct taken *taken = record;

    if (value->kind != LK_RESP_NULL && taken->claim.value == NULL) {
        taken->claim.value = lk_reader_copy(reader, value);
        taken->claim.value_size = value->text.size;
    }
}

static const struct lk_field taken_fields[] = {
    {.name = "status", .kind = LK_FIELD_OTHER, .read = read_outcome},
    {.name = "error", .kind = LK_FIELD_TEXT, .at = offsetof(struct taken, text)},
    {.name = "queue", .kind = LK_FIELD_TEXT, .at = offsetof(struct taken, claim.queue)},
    {.name = "id", .kind = LK_FIELD_TEXT, .at = offsetof(struct taken, claim.id)},
    {.name = "owner", .kind = LK_FIELD_TEXT, .at = offsetof(struct taken, claim.owner)},
    {.name = "value", .kind = LK_FIELD_OTHER, .read = read_claim_value},
    {.name = "token", .kind = LK_FIELD_COUNT, .at = offsetof(struct taken, claim.token)},
    {.name = "attempt", .kind = LK_FIELD_SMALL, .at = offsetof(struct taken, claim.attempt)},
    {.name = "stolen", .kind = LK_FIELD_FLAG, .at = offsetof(struct taken, claim.is_stolen)},
    {.name = "ttl_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(struct taken, claim.ttl_ms)},
    {.name = "expires_in_ms",
     .kind = LK_FIELD_NUMBER,
     .at = offsetof(struct taken, claim.expires_in_ms)},
    {.name = NULL},
};

static void taken_done(struct taken *taken) {
    free(taken->claim.queue);
    free(taken->claim.id);
    free(taken->claim.owner);
    free(taken->claim.value);
    free(taken->text);
}

/* LK_GRANTED with *ret_claim, which then holds what was taken. */
static lk_outcome hand_over(struct taken *taken, lk_claim_info **ret_claim, lk_error *error) {
    lk_claim_info *claim;

    if (taken->outcome != LK_GRANTED) {
        return lk_error_set(error, taken->outcome, "%s", taken->text != NULL ? taken->text : "");
    }
    if (taken->claim.queue == NULL || taken->claim.id == NULL || taken->claim.owner == NULL) {
        return lk_error_set(error, LK_INTERNAL, "the service granted a claim on nothing");
    }
    claim = malloc(sizeof *claim);
    if (claim == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the claim");
    }
    *claim = taken->claim;
    taken->claim = (lk_claim_info){.queue = NULL};
    *ret_claim = claim;
    return lk_error_clear(error, LK_GRANTED);
}

static void add_take(struct lk_words *words, const struct lk_take *take) {
    lk_words_add_text(words, "CLAIM");
    lk_words_add_path(words, &take->queue);
    lk_words_add_pair(words, "OWNER", take->owner);
    lk_words_add_number_if_any(words, "TTL", take->ttl_ms);
    lk_words_add_number_if_any(words, "MAXATTEMPTS", take->max_attempts);
    if (take->ask_number != 0) {
        /* Sent as a signed number: any 64 bits that do not repeat will do. */
        lk_words_add_number(words, "ASK", (int64_t)(take->ask_number & INT64_MAX) | 1);
    }
    if (take->note_given) {
        lk_words_add_pair(words, "NOTE", take->note);
    }
}

/* Without its number, a second take is a second item. */
lk_outcome lk_service_take(struct lk_engine *engine, const struct lk_take *take,
                           const struct lk_patience *patience, lk_claim_info **ret_claim,
                           struct lk_stand *ret_stand, lk_error *error) {
    struct taken taken = {.outcome = LK_INTERNAL};
    struct lk_words words = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    add_take(&words, take);
    lk_words_add_text(&words, "TRY");
    outcome = lk_service_call(lk_service_of(engine), &words,
                              take->ask_number != 0 ? LK_SERVICE_AGAIN : LK_SERVICE_ONCE, patience,
                              &answer, error);
    if (outcome == LK_OK) {
        taken.claim.ttl_ms = take->ttl_ms != 0 ? take->ttl_ms : LK_TTL_DEFAULT_MS;
        lk_reader_read_map(&answer.reader, &answer.head, taken_fields, &taken);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    if (outcome == LK_OK) {
        outcome = hand_over(&taken, ret_claim, error);
    }
    if (outcome == LK_BUSY) {
        *ret_stand = (struct lk_stand){.take = take};
    }
    taken_done(&taken);
    lk_service_answer_done(&answer);
    lk_words_done(&words);
    return outcome;
}

/*
 * The very take, blocking: what it gets is found again by its number, by the take that follows; or
 * by the one with which a caller who has given up gives it back (LK_TAKES_IN_AWAIT).
 */
lk_outcome lk_service_await_work(struct lk_engine *engine, const struct lk_path *queue,
                                 const struct lk_stand *stand, int64_t until_us,
                                 struct lk_waker *waker) {
    int64_t left_ms = (until_us - lk_clock_now_us()) / 1000;
    const struct lk_patience patience = {.until_us = until_us + LK_SERVICE_GRACE_US,
                                         .waker = waker};
    struct lk_words words = {.count = 0};

    (void)queue; /* the take's own */
    if (left_ms <= 0) {
        return LK_OK;
    }
    add_take(&words, stand->take);
    lk_words_add_number(&words, "WAIT", left_ms);
    switch (lk_service_block(lk_service_of(engine), &words, &patience)) {
    case LK_CANCELLED:
        return LK_CANCELLED;
    case LK_UNAVAILABLE:
        return LK_UNAVAILABLE;
    default:
        return LK_OK;
    }
}

/* ---- ending claims --------------------------------------------------------------------------- */

lk_outcome lk_service_finish(struct lk_engine *engine, const struct lk_finish *finish,
                             const struct lk_patience *patience, lk_error *error) {
    struct lk_words words = {.count = 0};

    lk_words_add_text(&words, finish->kind == LK_FINISH_DONE ? "DONE" : "RETRY");
    lk_words_add_path(&words, &finish->queue);
    lk_words_add(&words, finish->id);
    lk_words_add_pair(&words, "OWNER", finish->owner);
    lk_words_add_number_if_any(&words, "TOKEN", (int64_t)finish->token);
    lk_words_add_number_if_any(&words, "DELAY", finish->delay_ms);
    return lk_service_tell(lk_service_of(engine), &words,
                           finish->token != 0 ? LK_SERVICE_AGAIN : LK_SERVICE_AGAIN_UNLESS_LOST,
                           patience, error);
}

lk_outcome lk_service_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                             const struct lk_patience *patience, lk_error *error) {
    struct lk_words words = {.count = 0};

    lk_words_add_text(&words, "UNPARK");
    lk_words_add_path(&words, &unpark->queue);
    lk_words_add(&words, unpark->id);
    return lk_service_tell(lk_service_of(engine), &words, LK_SERVICE_ONCE, patience, error);
}

/* ---- looking at work ------------------------------------------------------------------------- */

static void read_item_value(struct lk_reader *reader, const struct lk_resp_value *value,
                            void *record) {
    lk_item_info *item = record;

    if (value->kind != LK_RESP_NULL && item->value == NULL) {
        item->value = lk_reader_copy(reader, value);
        item->value_size = value->text.size;
    }
}

static void read_state(struct lk_reader *reader, const struct lk_resp_value *value, void *record) {
    static const char *const states[] = {"ready", "delayed", "claimed", "parked"};
    lk_item_info *item = record;

    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        if (lk_slice_equal(value->text, lk_slice_of(states[i]))) {
            item->state = states[i];
            return;
        }
    }
    reader->is_damaged = true;
}

static void read_needs(struct lk_reader *reader, const struct lk_resp_value *value, void *record) {
    lk_item_info *item = record;

    lk_reader_read_texts(reader, value, &item->needs, &item->need_count);
}

static const struct lk_field item_fields[] = {
    {.name = "id", .kind = LK_FIELD_TEXT, .at = offsetof(lk_item_info, id)},
    {.name = "owner", .kind = LK_FIELD_TEXT, .at = offsetof(lk_item_info, owner)},
    {.name = "state", .kind = LK_FIELD_OTHER, .read = read_state},
    {.name = "attempts", .kind = LK_FIELD_SMALL, .at = offsetof(lk_item_info, attempts)},
    {.name = "due_in_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(lk_item_info, due_in_ms)},
    {.name = "expires_in_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(lk_item_info, expires_in_ms)},
    {.name = "value", .kind = LK_FIELD_OTHER, .read = read_item_value},
    {.name = "needs", .kind = LK_FIELD_OTHER, .read = read_needs},
    {.name = NULL},
};

static void read_items(struct lk_reader *reader, const struct lk_resp_value *array, void *into) {
    static const lk_item_info blank = {.due_in_ms = -1, .expires_in_ms = -1};
    lk_item_list *list = into;
    struct lk_records records = {.items = list->items, .count = list->count};

    lk_reader_read_maps(reader, array, item_fields, &blank, sizeof blank, &records);
    list->items = records.items;
    list->count = records.count;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].id == NULL || list->items[i].state == NULL) {
            reader->is_damaged = true;
        }
    }
}

lk_outcome lk_service_items(struct lk_engine *engine, const struct lk_path *queue,
                            const struct lk_patience *patience, lk_item_list **ret_list,
                            lk_error *error) {
    static const struct lk_paged paged = {.command = "ITEMS",
                                          .add_path = lk_words_add_path,
                                          .count = ITEMS_AT_A_TIME,
                                          .read = read_items};
    lk_item_list *list = lk_item_list_new();
    lk_outcome outcome;

    if (list == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the items");
    }
    outcome = lk_service_read_pages(lk_service_of(engine), &paged, queue, patience, list, error);
    if (outcome == LK_OK) {
        *ret_list = list;
    } else {
        lk_item_list_free(list);
    }
    return outcome;
}

#define STATS_FIELD(of_name)                                                                       \
    { .name = #of_name, .kind = LK_FIELD_COUNT, .at = offsetof(lk_queue_stats, of_name) }

lk_outcome lk_service_stats(struct lk_engine *engine, const struct lk_path *queue,
                            const struct lk_patience *patience, lk_queue_stats *ret_stats,
                            lk_error *error) {
    static const struct lk_field fields[] = {
        STATS_FIELD(pushed),      STATS_FIELD(duplicates), STATS_FIELD(claims),
        STATS_FIELD(steals),      STATS_FIELD(done),       STATS_FIELD(retried),
        STATS_FIELD(parked),      STATS_FIELD(ready_now),  STATS_FIELD(delayed_now),
        STATS_FIELD(claimed_now), STATS_FIELD(parked_now), {.name = NULL},
    };
    lk_queue_stats stats = {.pushed = 0};
    struct lk_words words = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    lk_words_add_text(&words, "STATS");
    lk_words_add_path(&words, queue);
    outcome =
        lk_service_call(lk_service_of(engine), &words, LK_SERVICE_AGAIN, patience, &answer, error);
    if (outcome == LK_OK) {
        lk_reader_read_map(&answer.reader, &answer.head, fields, &stats);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    lk_service_answer_done(&answer);
    lk_words_done(&words);
    if (outcome == LK_OK) {
        *ret_stats = stats;
    }
    return outcome;
}
