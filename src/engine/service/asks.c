/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions: asks, renewals, releases (R3, R7-R13); and blocking waits. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/reply/reply.h"
#include "engine/service/call.h"
#include "engine/service/service.h"

/* ---- answers --------------------------------------------------------------------------------- */

/* The fields of a result that its client does not know already. */
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
    {.name = "values",
     .kind = LK_FIELD_RECORDS,
     .at = offsetof(lk_result, values),
     .count_at = offsetof(lk_result, value_count),
     .of = &lk_form_of_part_value},
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

/* Moves the outcome and its text to the decision; the outcome's default text is dropped. */
static lk_outcome take_outcome(struct lk_decision *decision) {
    lk_result *result = &decision->result;
    lk_outcome outcome = result->outcome;
    bool says_more = result->error != NULL && strcmp(result->error, lk_outcome_text(outcome)) != 0;

    (void)lk_error_set(&decision->error, outcome, "%s", says_more ? result->error : "");
    free(result->error);
    result->error = NULL;
    return outcome;
}

/* Reads the answer's map into an empty decision. A live request without a ttl has a fixed end. */
lk_outcome lk_service_read_result(struct lk_service_answer *answer, struct lk_decision *decision) {
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
    if (result->outcome == LK_GRANTED && (result->token == 0 || result->expires_in_ms < 0)) {
        return lk_decision_fail(decision, LK_INTERNAL, "the service granted without token or time");
    }
    result->fixed = result->expires_in_ms >= 0 && result->ttl_ms == 0;
    return take_outcome(decision);
}

/* Sends the command, and fills the decision from the answer. */
static lk_outcome call_for_result(struct lk_service *service, struct lk_builder *builder,
                                  enum lk_service_repeat repeat, const struct lk_patience *patience,
                                  struct lk_decision *decision) {
    bool is_bound = builder->is_bound;
    struct lk_service_answer answer;
    lk_outcome outcome =
        lk_service_call(service, builder, repeat, patience, &answer, &decision->error);

    if (outcome == LK_OK) {
        outcome = lk_service_read_result(&answer, decision);
        if (outcome == LK_UNAVAILABLE && !is_bound) {
            lk_service_answer_give_up(&answer); /* the caller asks again */
        }
    }
    lk_service_answer_done(&answer);
    return outcome;
}

/* ---- asks ------------------------------------------------------------------------------------ */

/* META: the answer is a map for every outcome, so that a deadlock names its cycle (R13). */
static void add_ask(struct lk_builder *builder, const struct lk_ask *ask, size_t blockers_max) {
    lk_builder_add_text(builder, "ACQUIRE");
    lk_builder_add_parts(builder, ask->parts, ask->part_count);
    lk_builder_add_pair(builder, "OWNER", ask->owner);
    if (ask->until_us != 0) {
        lk_builder_add_number(builder, "UNTIL", ask->until_us / 1000);
    } else {
        lk_builder_add_number_if_any(builder, "TTL", ask->ttl_ms);
    }
    if (ask->note_given) {
        lk_builder_add_pair(builder, "NOTE", ask->note);
    }
    if (ask->wants_value) {
        lk_builder_add_text(builder, "VALUE");
    }
    lk_builder_add_number(builder, "BLOCKERS", (int64_t)blockers_max);
    lk_builder_add_text(builder, "META");
}

/* Keeps the first `max` blockers; the position counts all of them. */
static void trim_blockers(lk_result *result, size_t max) {
    while (result->blocker_count > max) {
        lk_blocker_info *last = &result->blockers[--result->blocker_count];
        free(last->path);
        free(last->owner);
        free(last->user);
        free(last->note);
    }
}

/* LK_WAIT only queues the request; lk_service_await() blocks. */
lk_outcome lk_service_ask(struct lk_service *service, const struct lk_ask *ask,
                          struct lk_service_link **own, const struct lk_patience *patience,
                          struct lk_decision *decision) {
    struct lk_builder builder = {.count = 0};
    lk_outcome outcome;

    add_ask(&builder, ask, ask->blockers_max);
    lk_builder_add_text(&builder, ask->style == LK_TRY ? "TRY" : "QUEUE");
    if (ask->is_bound) { /* a blocking wait for it is not: it uses any connection */
        lk_builder_add_text(&builder, "BOUND");
        builder.is_bound = true;
        builder.own = own;
    }
    outcome = call_for_result(service, &builder, LK_SERVICE_AGAIN, patience, decision);
    trim_blockers(&decision->result, ask->blockers_max);
    decision->cursor.id = decision->result.ticket;
    decision->cursor.in_the_way = decision->result.position;
    return outcome;
}

/* ---- renewals and releases ------------------------------------------------------------------- */

static void add_target(struct lk_builder *builder, const char *name,
                       const struct lk_target *target) {
    lk_builder_add_text(builder, name);
    lk_builder_add_paths(builder, target->parts, target->part_count);
    lk_builder_add_pair(builder, "OWNER", target->owner);
    lk_builder_add_number_if_any(builder, "TOKEN", (int64_t)target->token);
}

void lk_service_add_renew(struct lk_builder *builder, const struct lk_renew *renew) {
    add_target(builder, "RENEW", &renew->target);
    lk_builder_add_number_if_any(builder, "TTL", renew->ttl_ms);
    lk_builder_add_text(builder, "META");
}

static lk_outcome renew(struct lk_service *service, const struct lk_renew *renew,
                        const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_builder builder = {.count = 0};

    lk_service_add_renew(&builder, renew);
    return call_for_result(service, &builder, LK_SERVICE_AGAIN, patience, decision);
}

/* With a token a release can be repeated. Without one, a release that puts a value cannot. */
static enum lk_service_repeat repeat_of(const struct lk_release *release) {
    if (release->target.token != 0) {
        return LK_SERVICE_AGAIN;
    }
    return release->put_count > 0 ? LK_SERVICE_ONCE : LK_SERVICE_AGAIN_UNLESS_LOST;
}

/*
 * R15: the n-th PUT is for the n-th path, so the parts that are put to come first. The order of the
 * paths means nothing else.
 */
static const struct lk_part *put_first(const struct lk_release *release,
                                       struct lk_part ret_parts[LK_PARTS_MAX]) {
    size_t first = 0;
    size_t behind = release->put_count;

    for (size_t i = 0; i < release->target.part_count; i++) {
        bool is_put = first < release->put_count && release->puts[first].part == i;

        ret_parts[is_put ? first++ : behind++] = release->target.parts[i];
    }
    return ret_parts;
}

static lk_outcome release(struct lk_service *service, const struct lk_release *release,
                          const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_builder builder = {.count = 0};
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_target target = release->target;

    target.parts = put_first(release, parts);
    add_target(&builder, "RELEASE", &target);
    for (size_t i = 0; i < release->put_count; i++) {
        lk_builder_add_pair(&builder, "PUT", release->puts[i].bytes);
    }
    return call_for_result(service, &builder, repeat_of(release), patience, decision);
}

/* ---- any command ----------------------------------------------------------------------------- */

static lk_outcome decide(struct lk_service *service, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return lk_service_ask(service, &command->ask, NULL, patience, decision);
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
    case LK_COMMAND_DROP:
        return lk_service_drop(service, &command->drop, patience, decision);
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
 * Sends the same command, blocking. An ask names its ticket, so that it refers only to the request
 * that is queued: if that has ended, no new one is made, and the next ask returns the outcome. A
 * claim that is granted here is found again by its number: by the take that follows, or by the take
 * with which a caller that has given up returns the item (LK_TAKES_IN_AWAIT).
 */
lk_outcome lk_service_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                            int64_t until_us, struct lk_waker *waker) {
    int64_t left_ms = (until_us - lk_clock_now_us()) / 1000;
    const struct lk_patience patience = {.until_us = until_us + LK_SERVICE_GRACE_US,
                                         .waker = waker};
    struct lk_service *service = lk_service_of(engine);
    struct lk_builder builder = {.count = 0};
    lk_outcome outcome;

    if (left_ms <= 0) {
        return LK_OK;
    }
    if (cursor->command->kind == LK_COMMAND_TAKE) {
        outcome = lk_service_await_take(service, &cursor->command->take, left_ms, &patience);
    } else {
        add_ask(&builder, &cursor->command->ask, 0);
        lk_builder_add_number(&builder, "TICKET", (int64_t)cursor->id);
        lk_builder_add_number(&builder, "WAIT", left_ms);
        outcome = lk_service_call_blocking(service, &builder, &patience, NULL, NULL);
    }
    return outcome == LK_CANCELLED || outcome == LK_UNAVAILABLE ? outcome : LK_OK;
}
