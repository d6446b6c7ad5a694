/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions: asks, renewals, releases (R3, R7-R13); and the wait that the service ends. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/reply/reply.h"
#include "engine/service/call.h"
#include "engine/service/service.h"

/* ---- answers --------------------------------------------------------------------------------- */

/* Written by hand (form/form.c), as what is there depends on the outcome. */
static const struct lk_field result_fields[] = {
    {.name = "status", .kind = LK_FIELD_OUTCOME, .at = offsetof(lk_result, outcome)},
    {.name = "ticket", .kind = LK_FIELD_COUNT, .at = offsetof(lk_result, ticket)},
    {.name = "token", .kind = LK_FIELD_COUNT, .at = offsetof(lk_result, token)},
    {.name = "ttl_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(lk_result, ttl_ms)},
    {.name = "expires_in_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(lk_result, expires_in_ms)},
    {.name = "in_use", .kind = LK_FIELD_COUNT, .at = offsetof(lk_result, in_use)},
    {.name = "position", .kind = LK_FIELD_SIZE, .at = offsetof(lk_result, position)},
    {.name = "created", .kind = LK_FIELD_FLAG, .at = offsetof(lk_result, created)},
    {.name = "in_doubt", .kind = LK_FIELD_FLAG, .at = offsetof(lk_result, in_doubt)},
    {.name = "error", .kind = LK_FIELD_TEXT, .at = offsetof(lk_result, error)},
    {.name = "value",
     .kind = LK_FIELD_VALUE,
     .at = offsetof(lk_result, value),
     .count_at = offsetof(lk_result, value_size)},
    {.name = "cycle",
     .kind = LK_FIELD_TEXTS,
     .at = offsetof(lk_result, cycle),
     .count_at = offsetof(lk_result, cycle_count)},
    {.name = "blockers",
     .kind = LK_FIELD_RECORDS,
     .at = offsetof(lk_result, blockers),
     .count_at = offsetof(lk_result, blocker_count),
     .of = &lk_form_of_blocker},
    {.name = NULL},
};
static const struct lk_form result_form = {.fields = result_fields};

/* Moves outcome and sentence, unless it says no more than that, to where a decision has them. */
static lk_outcome settle(struct lk_decision *decision) {
    lk_result *result = &decision->result;
    lk_outcome outcome = result->outcome;
    bool says_more = result->error != NULL && strcmp(result->error, lk_outcome_text(outcome)) != 0;

    (void)lk_error_set(&decision->error, outcome, "%s", says_more ? result->error : "");
    free(result->error);
    result->error = NULL;
    return outcome;
}

/* Takes the answer's map into an empty decision. Without a ttl it has a fixed end. */
static lk_outcome read_result(struct lk_service_answer *answer, struct lk_decision *decision) {
    struct lk_reader *reader = &answer->reader;
    lk_result *result = &decision->result;
    lk_error error;

    if (answer->head.kind == LK_RESP_SIMPLE) {
        return lk_error_clear(&decision->error, LK_OK);
    }
    lk_reader_read_map(reader, &answer->head, &result_form, result);
    if (lk_service_read_end(reader, &error) != LK_OK) {
        return lk_decision_fail(decision, error.outcome, "%s", error.text);
    }
    result->fixed = result->expires_in_ms >= 0 && result->ttl_ms == 0;
    return settle(decision);
}

/* Sends the words, and fills the decision with what comes of it. */
static lk_outcome call_for_result(struct lk_service *service, struct lk_words *words,
                                  enum lk_service_repeat repeat, const struct lk_patience *patience,
                                  struct lk_decision *decision) {
    struct lk_service_answer answer;
    lk_outcome outcome =
        lk_service_call(service, words, repeat, patience, &answer, &decision->error);

    if (outcome == LK_OK) {
        outcome = read_result(&answer, decision);
    }
    lk_service_answer_done(&answer);
    return outcome;
}

/* ---- asks ------------------------------------------------------------------------------------ */

/* META: the answer is a map whatever the outcome, so that a deadlock names its cycle (R13). */
static void add_ask(struct lk_words *words, const struct lk_ask *ask, size_t blockers_max) {
    lk_words_add_text(words, "ACQUIRE");
    lk_words_add_parts(words, ask->parts, ask->part_count);
    lk_words_add_pair(words, "OWNER", ask->owner);
    if (ask->until_us != 0) {
        lk_words_add_number(words, "UNTIL", ask->until_us / 1000);
    } else {
        lk_words_add_number_if_any(words, "TTL", ask->ttl_ms);
    }
    if (ask->note_given) {
        lk_words_add_pair(words, "NOTE", ask->note);
    }
    if (ask->wants_value) {
        lk_words_add_text(words, "VALUE");
    }
    lk_words_add_number(words, "BLOCKERS", (int64_t)blockers_max);
    lk_words_add_text(words, "META");
}

/* The first so many; the position counts them all. */
static void keep_blockers(lk_result *result, size_t max) {
    while (result->blocker_count > max) {
        lk_blocker_info *last = &result->blockers[--result->blocker_count];
        free(last->path);
        free(last->owner);
        free(last->note);
    }
}

/* LK_WAIT asks to be put in line; await() is what blocks. */
static lk_outcome ask_for(struct lk_service *service, const struct lk_ask *ask,
                          const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_words words = {.count = 0};
    lk_outcome outcome;

    add_ask(&words, ask, ask->blockers_max);
    lk_words_add_text(&words, ask->style == LK_TRY ? "TRY" : "QUEUE");
    outcome = call_for_result(service, &words, LK_SERVICE_AGAIN, patience, decision);
    keep_blockers(&decision->result, ask->blockers_max);
    decision->cursor.id = decision->result.ticket;
    decision->cursor.in_the_way = decision->result.position;
    return outcome;
}

/* ---- renewals and releases ------------------------------------------------------------------- */

static void add_target(struct lk_words *words, const char *name, const struct lk_target *target) {
    lk_words_add_text(words, name);
    lk_words_add_paths(words, target->parts, target->part_count);
    lk_words_add_pair(words, "OWNER", target->owner);
    lk_words_add_number_if_any(words, "TOKEN", (int64_t)target->token);
}

static lk_outcome renew(struct lk_service *service, const struct lk_renew *renew,
                        const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_words words = {.count = 0};

    add_target(&words, "RENEW", &renew->target);
    lk_words_add_number_if_any(&words, "TTL", renew->ttl_ms);
    lk_words_add_text(&words, "META");
    return call_for_result(service, &words, LK_SERVICE_AGAIN, patience, decision);
}

/* Its token tells whether a release has been done; without one, nothing is written twice. */
static enum lk_service_repeat repeat_of(const struct lk_release *release) {
    if (release->target.token != 0) {
        return LK_SERVICE_AGAIN;
    }
    return release->puts ? LK_SERVICE_ONCE : LK_SERVICE_AGAIN_UNLESS_LOST;
}

static lk_outcome release(struct lk_service *service, const struct lk_release *release,
                          const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_words words = {.count = 0};

    add_target(&words, "RELEASE", &release->target);
    if (release->puts) {
        lk_words_add_pair(&words, "PUT", release->put);
    }
    return call_for_result(service, &words, repeat_of(release), patience, decision);
}

/* ---- any command ----------------------------------------------------------------------------- */

static lk_outcome decide(struct lk_service *service, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return ask_for(service, &command->ask, patience, decision);
    case LK_COMMAND_RENEW:
        return renew(service, &command->renew, patience, decision);
    case LK_COMMAND_RELEASE:
        return release(service, &command->release, patience, decision);
    case LK_COMMAND_BREAK:
        return lk_service_break(service, &command->broken, patience, decision);
    case LK_COMMAND_PUT:
        return lk_service_put(service, &command->put, patience, decision);
    case LK_COMMAND_PUSH:
        return lk_service_push(service, &command->push, patience, decision);
    case LK_COMMAND_TAKE:
        return lk_service_take(service, &command->take, patience, decision);
    case LK_COMMAND_FINISH:
        return lk_service_finish(service, &command->finish, patience, decision);
    case LK_COMMAND_UNPARK:
        return lk_service_unpark(service, &command->unpark, patience, decision);
    case LK_COMMAND_TICK:
    case LK_COMMAND_LEAVE:
        break;
    }
    return lk_decision_refuse(decision);
}

lk_outcome lk_service_decide(struct lk_engine *engine, const struct lk_command *command,
                             const struct lk_patience *patience, struct lk_decision *ret_decision) {
    lk_decision_begin(ret_decision, command);
    return lk_decision_end(ret_decision,
                           decide(lk_service_of(engine), command, patience, ret_decision));
}

/* ---- waiting --------------------------------------------------------------------------------- */

/*
 * Sends the very command, blocking. An ask is about what stands in line under its ticket only:
 * where that was ended, it begins nothing new; what came of it the next ask tells. What a take gets
 * is found again by its number, by the take that follows; or by the one with which a caller that
 * has given up gives it back (LK_TAKES_IN_AWAIT).
 */
lk_outcome lk_service_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                            int64_t until_us, struct lk_waker *waker) {
    int64_t left_ms = (until_us - lk_clock_now_us()) / 1000;
    const struct lk_patience patience = {.until_us = until_us + LK_SERVICE_GRACE_US,
                                         .waker = waker};
    struct lk_words words = {.count = 0};
    lk_outcome outcome;

    if (left_ms <= 0) {
        return LK_OK;
    }
    if (cursor->command->kind == LK_COMMAND_TAKE) {
        lk_service_add_take(&words, &cursor->command->take);
    } else {
        add_ask(&words, &cursor->command->ask, 0);
        lk_words_add_number(&words, "TICKET", (int64_t)cursor->id);
    }
    lk_words_add_number(&words, "WAIT", left_ms);
    outcome = lk_service_block(lk_service_of(engine), &words, &patience);
    return outcome == LK_CANCELLED || outcome == LK_UNAVAILABLE ? outcome : LK_OK;
}
