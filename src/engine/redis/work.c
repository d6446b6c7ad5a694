/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work (R16): one call of the script for one command, or for several of one kind and for one queue.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/text.h"
#include "engine/redis/answer.h"
#include "engine/redis/call.h"
#include "engine/redis/operations.h"
#include "engine/reply/reply.h"
#include "model/command_check.h"

#define WORK_QUERY_MIN_US INT64_C(20000)

/* In a cluster, what the work needs must be in the slot of its queue. */
static lk_outcome check_slots(const struct lk_redis *store, const struct lk_push *push,
                              lk_error *error) {
    for (size_t i = 0; store->topology.is_cluster && i < push->need_count; i++) {
        if (lk_redis_slot_of(lk_path_root(&push->needs[i].path))
            != lk_redis_slot_of(lk_path_root(&push->queue))) {
            return lk_error_set(error, LK_UNSUPPORTED,
                                "R16: what the work needs is in another slot of the cluster");
        }
    }
    return LK_OK;
}

/* ---- commands as words ----------------------------------------------------------------------- */

/* A word is its bytes behind their number, in 32 bits (word() of work.lua). */
static void add_word(struct lk_buffer *words, struct lk_slice word) {
    uint32_t size = htole32((uint32_t)word.size);

    lk_buffer_add(words, &size, sizeof size);
    lk_buffer_add_slice(words, word);
}

static void add_path(struct lk_buffer *words, const struct lk_path *path) {
    add_word(words, (struct lk_slice){path->bytes, path->size});
}

static void add_number(struct lk_buffer *words, int64_t number) {
    char text[LK_NUMBER_BYTES_MAX];

    add_word(words, (struct lk_slice){text, lk_number_write(text, number)});
}

/* ---- push ------------------------------------------------------------------------------------ */

static lk_outcome check_push(const struct lk_redis *store, const struct lk_command *command,
                             lk_error *error) {
    struct lk_item_path item;
    lk_outcome outcome = lk_push_check(&command->push, &item, error);

    return outcome == LK_OK ? check_slots(store, &command->push, error) : outcome;
}

static void add_push(const struct lk_command *command, struct lk_buffer *words) {
    const struct lk_push *push = &command->push;

    add_word(words, push->id);
    add_word(words, push->value);
    add_number(words, push->delay_ms);
    add_number(words, push->priority);
    add_number(words, push->kind);
    add_number(words, push->keep_ms);
    add_number(words, (int64_t)push->need_count);
    for (size_t i = 0; i < push->need_count; i++) {
        add_path(words, &push->needs[i].path);
        add_number(words, push->needs[i].limit);
        add_number(words, lk_part_code(&push->needs[i]));
    }
}

static lk_outcome read_pushed(const struct lk_command *command, const redisReply *reply,
                              struct lk_decision *decision) {
    lk_outcome outcome = lk_redis_outcome_read(reply, &decision->error);
    struct lk_slice was = lk_redis_text_at(reply, 4);

    (void)command;
    decision->pushed.added = outcome == LK_OK && was.size == 0;
    decision->pushed.changed = outcome == LK_OK && lk_redis_integer_at(reply, 3) == 2;
    decision->pushed.was =
        outcome == LK_OK && was.size > 0 ? lk_item_state_name(lk_item_state_of(was)) : NULL;
    return outcome;
}

/* ---- take ------------------------------------------------------------------------------------ */

/* The elements of a granted take, in the order of work.lua. */
enum taken {
    TAKEN_ID = 2,
    TAKEN_VALUE,
    TAKEN_TOKEN,
    TAKEN_ATTEMPT,
    TAKEN_STOLEN,
    TAKEN_TTL,
    TAKEN_DEADLINE
};

static lk_outcome check_take(const struct lk_redis *store, const struct lk_command *command,
                             lk_error *error) {
    (void)store;
    return lk_take_check(&command->take, error);
}

static void add_take(const struct lk_command *command, struct lk_buffer *words) {
    const struct lk_take *take = &command->take;
    char number[24];

    (void)snprintf(number, sizeof number, "%" PRIu64, take->ask_number);
    add_word(words, take->owner);
    add_number(words, take->ttl_ms);
    add_number(words, take->max_attempts);
    add_word(words, lk_slice_of(number));
    add_word(words, take->note_given ? take->note : (struct lk_slice){NULL, 0});
    add_number(words, (int64_t)take->share_token);
}

static bool fill_claim(const struct lk_take *take, const redisReply *reply, lk_claim_info *claim) {
    struct lk_slice value = lk_redis_text_at(reply, TAKEN_VALUE);
    int64_t left_us = lk_redis_integer_at(reply, TAKEN_DEADLINE) - lk_redis_integer_at(reply, 1);

    claim->queue = lk_text_copy((struct lk_slice){take->queue.bytes, take->queue.size});
    claim->id = lk_text_copy(lk_redis_text_at(reply, TAKEN_ID));
    claim->owner = lk_text_copy(take->owner);
    if (value.size > 0) {
        claim->value = lk_text_copy(value);
        claim->value_size = value.size;
    }
    claim->token = (uint64_t)lk_redis_integer_at(reply, TAKEN_TOKEN);
    claim->attempt = (uint32_t)lk_redis_integer_at(reply, TAKEN_ATTEMPT);
    claim->is_stolen = lk_redis_integer_at(reply, TAKEN_STOLEN) != 0;
    claim->ttl_ms = lk_redis_integer_at(reply, TAKEN_TTL);
    claim->expires_in_ms = left_us > 0 ? left_us / 1000 : 0;
    return claim->queue != NULL && claim->id != NULL && claim->owner != NULL
           && (value.size == 0 || claim->value != NULL);
}

static lk_outcome read_taken(const struct lk_command *command, const redisReply *reply,
                             struct lk_decision *decision) {
    lk_claim_info *claim;

    if (lk_redis_integer_at(reply, 0) != LK_GRANTED) {
        decision->cursor.due_us = lk_clock_now_us() + lk_redis_integer_at(reply, 3)
                                  - lk_redis_integer_at(reply, 1) + 1000;
        return lk_redis_outcome_read(reply, &decision->error);
    }
    claim = calloc(1, sizeof *claim);
    if (claim == NULL || !fill_claim(&command->take, reply, claim)) {
        lk_claim_free(claim);
        return lk_decision_fail(decision, LK_INTERNAL, "no memory for the claim");
    }
    decision->claim = claim;
    return lk_error_clear(&decision->error, LK_GRANTED);
}

int64_t lk_redis_work_query_us(struct lk_redis *store, const struct lk_wait_cursor *cursor) {
    int64_t now_us = lk_clock_now_us();

    lk_redis_subscriber_start(&store->subscriber, lk_path_root(&cursor->command->take.queue));
    return lk_max(cursor->due_us, now_us + WORK_QUERY_MIN_US);
}

/* ---- the end of a claim ---------------------------------------------------------------------- */

static lk_outcome check_finish(const struct lk_redis *store, const struct lk_command *command,
                               lk_error *error) {
    struct lk_item_path item;

    (void)store;
    return lk_finish_check(&command->finish, &item, error);
}

static void add_finish(const struct lk_command *command, struct lk_buffer *words) {
    const struct lk_finish *finish = &command->finish;

    add_word(words, finish->id);
    add_word(words, finish->owner);
    add_number(words, (int64_t)finish->token);
    add_number(words, finish->kind);
    add_number(words, finish->delay_ms);
    add_number(words, finish->failure.has_exit);
    add_number(words, finish->failure.exit_code);
    add_word(words, finish->failure.text);
    add_number(words, finish->is_uncounted);
    add_number(words, finish->parks);
    add_word(words, finish->result);
    add_number(words, finish->keep_ms);
    add_word(words, finish->progress);
}

static lk_outcome read_ended(const struct lk_command *command, const redisReply *reply,
                             struct lk_decision *decision) {
    (void)command;
    return lk_redis_outcome_read(reply, &decision->error);
}

/* ---- without a claim ------------------------------------------------------------------------- */

static lk_outcome check_unpark(const struct lk_redis *store, const struct lk_command *command,
                               lk_error *error) {
    struct lk_item_path item;

    (void)store;
    return lk_item_path_make(&command->unpark.queue, command->unpark.id, &item, error);
}

static void add_unpark(const struct lk_command *command, struct lk_buffer *words) {
    add_word(words, command->unpark.id);
}

static lk_outcome check_drop(const struct lk_redis *store, const struct lk_command *command,
                             lk_error *error) {
    struct lk_item_path item;

    (void)store;
    return lk_item_path_make(&command->drop.queue, command->drop.id, &item, error);
}

static void add_drop(const struct lk_command *command, struct lk_buffer *words) {
    add_word(words, command->drop.id);
    add_number(words, command->drop.only_parked);
}

/* ---- one or several commands ----------------------------------------------------------------- */

struct kind {
    const char *operation;
    lk_outcome (*check)(const struct lk_redis *store, const struct lk_command *command,
                        lk_error *error);
    void (*add)(const struct lk_command *command, struct lk_buffer *words);
    lk_outcome (*read)(const struct lk_command *command, const redisReply *reply,
                       struct lk_decision *decision);
};

static const struct kind kinds[] = {
    [LK_COMMAND_PUSH] = {"push", check_push, add_push, read_pushed},
    [LK_COMMAND_TAKE] = {"take", check_take, add_take, read_taken},
    [LK_COMMAND_FINISH] = {"finish", check_finish, add_finish, read_ended},
    [LK_COMMAND_UNPARK] = {"unpark", check_unpark, add_unpark, read_ended},
    [LK_COMMAND_DROP] = {"drop", check_drop, add_drop, read_ended},
};

static bool is_finish_repeatable(const struct lk_finish *finish) {
    return finish->kind == LK_FINISH_PROGRESS || finish->token != 0;
}

/* Whether the call can be made again after a lost answer (R3). */
static bool is_repeatable(const struct lk_command *commands, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (commands[i].kind == LK_COMMAND_TAKE     ? commands[i].take.ask_number == 0
            : commands[i].kind == LK_COMMAND_FINISH ? !is_finish_repeatable(&commands[i].finish)
                                                    : true) {
            return false;
        }
    }
    return true;
}

/* Commands of one kind and for one queue, in one call; the reply has an answer to each. */
static lk_outcome make(struct lk_redis *store, const struct lk_command *commands, size_t count,
                       const struct lk_patience *patience, redisReply **ret_reply,
                       lk_error *error) {
    const struct kind *kind = &kinds[commands[0].kind];
    const struct lk_path *queue = lk_command_queue(&commands[0]);
    bool is_take = commands[0].kind == LK_COMMAND_TAKE;
    struct lk_buffer words = {.max = 0};
    struct lk_redis_call call;
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; i < count && outcome == LK_OK; i++) {
        outcome = kind->check(store, &commands[i], error);
        if (outcome == LK_OK) {
            kind->add(&commands[i], &words);
        }
    }
    if (outcome == LK_OK && words.failed) {
        outcome = lk_error_set(error, LK_INTERNAL, "no memory for the call");
    }
    if (outcome == LK_OK) {
        lk_redis_call_begin(store, kind->operation, queue, is_take && !commands[0].take.is_try,
                            &call);
        lk_redis_call_add(&call, (struct lk_slice){queue->bytes, queue->size});
        lk_redis_call_add(&call, (struct lk_slice){words.bytes, words.size});
        call.is_repeatable = is_repeatable(commands, count);
        call.grants = is_take;
        outcome = lk_redis_call_make(store, &call, patience, ret_reply, error);
    }
    if (outcome == LK_OK && call.is_unconfirmed) {
        freeReplyObject(*ret_reply);
        outcome = lk_redis_call_refuse(store, "claims are held until their deadlines", error);
    }
    lk_buffer_done(&words);
    return outcome;
}

/* What a take that finds nothing waits for, as of before the call. */
static struct lk_wait_cursor cursor_of(struct lk_redis *store, const struct lk_command *command) {
    const struct lk_path *queue = lk_command_queue(command);

    return (struct lk_wait_cursor){
        .command = command,
        .id = lk_redis_queue_id((struct lk_slice){queue->bytes, queue->size}),
        .version = lk_redis_subscriber_version(&store->subscriber)};
}

lk_outcome lk_redis_work(struct lk_redis *store, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *decision) {
    redisReply *reply;
    lk_outcome outcome;

    decision->cursor = cursor_of(store, command);
    outcome = make(store, command, 1, patience, &reply, &decision->error);
    if (outcome == LK_OK) {
        outcome =
            kinds[command->kind].read(command, lk_redis_array_at(reply, LK_REDIS_HEAD), decision);
        freeReplyObject(reply);
    }
    return outcome;
}

lk_outcome lk_redis_decide_many(struct lk_engine *engine, const struct lk_command *commands,
                                size_t count, const struct lk_patience *patience,
                                struct lk_series *series) {
    struct lk_redis *store = lk_redis_of(engine);
    const struct lk_wait_cursor cursor = cursor_of(store, &commands[0]);
    redisReply *reply;
    lk_outcome outcome;
    lk_error error;

    lk_series_begin(series, commands, count);
    outcome = make(store, commands, count, patience, &reply, &error);
    if (outcome != LK_OK) {
        return lk_series_fail(series, outcome, "%s", error.text);
    }
    for (size_t i = 0; series->error.outcome == LK_OK && i + LK_REDIS_HEAD < reply->elements; i++) {
        struct lk_decision decision;

        lk_decision_begin(&decision, &commands[i]);
        decision.cursor = cursor;
        (void)kinds[commands[i].kind].read(&commands[i],
                                           lk_redis_array_at(reply, i + LK_REDIS_HEAD), &decision);
        lk_series_add(series, &decision);
    }
    freeReplyObject(reply);
    return series->error.outcome;
}
