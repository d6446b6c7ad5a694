/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions and reads of values, one call of the script each; and waiting. Work is in work.c. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/text.h"
#include "engine/redis/answer.h"
#include "engine/redis/call.h"
#include "engine/redis/operations.h"
#include "engine/reply/reply.h"
#include "model/command_check.h"

#define DUE_SLACK_US INT64_C(1000)     /* so that a deadline has passed when it is checked */
#define UNDO_US INT64_C(2000000)       /* for the release of a lease that must not stay */
#define DUE_PER_PLACE_US INT64_C(5000) /* waiters further back leave it to those in front */
enum { DUE_PLACES_MAX = 20 };

static bool is_one_root(const struct lk_part *parts, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (!lk_slice_equal(lk_path_root(&parts[0].path), lk_path_root(&parts[i].path))) {
            return false;
        }
    }
    return true;
}

/* In a cluster, one decision can only cover paths in one slot. */
static bool is_one_slot(const struct lk_redis *store, const struct lk_part *parts, size_t count) {
    unsigned slot = lk_redis_slot_of(lk_path_root(&parts[0].path));

    if (!store->topology.is_cluster || is_one_root(parts, count)) {
        return true;
    }
    for (size_t i = 1; i < count; i++) {
        if (lk_redis_slot_of(lk_path_root(&parts[i].path)) != slot) {
            return false;
        }
    }
    return true;
}

static lk_outcome refuse_slots(struct lk_decision *decision) {
    return lk_decision_fail(decision, LK_UNSUPPORTED,
                            "R14: the roots are in different slots of the cluster");
}

/* ---- ask ------------------------------------------------------------------------------------- */

/* Whether the script has a short form for the ask: one path, and no unusual options. */
static bool is_plain(const struct lk_ask *ask) {
    return ask->part_count == 1 && ask->until_us == 0 && !ask->wants_value && ask->batch.size == 0;
}

static bool is_plain_target(const struct lk_target *target) {
    return target->part_count == 1 && target->batch.size == 0;
}

static void add_plain_ask(struct lk_redis *store, struct lk_redis_call *call,
                          const struct lk_ask *ask) {
    lk_redis_call_begin_plain(store, "a", &ask->parts[0].path, ask, call);
    lk_redis_call_add_terms(call, ask);
    lk_redis_call_add_identity(call, ask->owner, &ask->parts[0].path);
    lk_redis_call_add(call, ask->note_given ? ask->note : (struct lk_slice){NULL, 0});
}

static void add_ask(struct lk_redis_call *call, const struct lk_ask *ask) {
    lk_redis_call_add(call, ask->owner);
    lk_redis_call_add_number(call, ask->style);
    lk_redis_call_add_number(call, ask->ttl_ms);
    lk_redis_call_add_number(call, ask->until_us);
    lk_redis_call_add_number(call, ask->note_given);
    lk_redis_call_add(call, ask->note_given ? ask->note : (struct lk_slice){NULL, 0});
    lk_redis_call_add_number(call, (int64_t)ask->blockers_max);
    lk_redis_call_add_number(call, ask->wants_value);
    lk_redis_call_add_number(call, (int64_t)ask->part_count);
    for (size_t i = 0; i < ask->part_count; i++) {
        const struct lk_path *path = &ask->parts[i].path;

        lk_redis_call_add(call, (struct lk_slice){path->bytes, path->size});
        lk_redis_call_add_number(call, ask->parts[i].limit);
        lk_redis_call_add_number(call, ask->parts[i].units);
    }
    lk_redis_call_add(call, ask->batch);
}

/* When, on this machine's clock, a request in front may have expired. */
static int64_t due_here(const redisReply *reply, size_t places) {
    int64_t due_us = lk_redis_integer_at(reply, LK_REDIS_DUE);
    int64_t later_us =
        (int64_t)(places < DUE_PLACES_MAX ? places : DUE_PLACES_MAX) * DUE_PER_PLACE_US;

    return lk_clock_now_us() + due_us - lk_redis_integer_at(reply, LK_REDIS_NOW) + later_us
           + DUE_SLACK_US;
}

static lk_outcome release(struct lk_redis *store, const struct lk_release *release,
                          const struct lk_patience *patience, struct lk_decision *decision);

/*
 * ?replicas: too few have the grant. A new lease is released again, so that nothing is held by a
 * client that was told UNAVAILABLE. A lease that was there before, or was granted to a waiting
 * request, stays: asking again confirms it.
 */
static lk_outcome refuse_unconfirmed(struct lk_redis *store, const struct lk_ask *ask,
                                     struct lk_decision *decision) {
    const struct lk_patience patience = {.until_us = lk_clock_now_us() + UNDO_US};
    const struct lk_release undo = {.target = {.owner = ask->owner,
                                               .parts = ask->parts,
                                               .part_count = ask->part_count,
                                               .token = decision->result.token,
                                               .batch = ask->batch}};
    const char *what_became = ask->style == LK_WAIT
                                  ? "a wait that ends without them releases its request"
                                  : "the lease is held until its deadline";
    struct lk_decision undone;

    if (decision->result.created) {
        lk_decision_begin(&undone, NULL);
        if (release(store, &undo, &patience, &undone) == LK_OK) {
            what_became = "the lease was released again";
        }
        lk_decision_done(&undone);
    }
    lk_result_clear(&decision->result);
    return lk_redis_call_refuse(store, what_became, &decision->error);
}

static lk_outcome ask_for(struct lk_redis *store, const struct lk_ask *ask,
                          const struct lk_patience *patience, struct lk_decision *decision) {
    bool is_attended = ask->style == LK_WAIT;
    struct lk_wait_cursor *cursor = &decision->cursor;
    struct lk_redis_call call;
    redisReply *reply;
    uint64_t version = 0;
    lk_outcome outcome;

    if (!is_one_slot(store, ask->parts, ask->part_count)) {
        return refuse_slots(decision);
    }
    if (is_attended) {
        lk_redis_subscriber_start(&store->subscriber, lk_path_root(&ask->parts[0].path));
        version = lk_redis_subscriber_version(&store->subscriber);
    }
    if (is_plain(ask)) {
        add_plain_ask(store, &call, ask);
    } else {
        lk_redis_call_begin(store, "ask", &ask->parts[0].path, is_attended, &call);
        add_ask(&call, ask);
    }
    call.is_repeatable = true;
    call.grants = true;
    outcome = lk_redis_call_make(store, &call, patience, &reply, &decision->error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = lk_redis_grant_read(reply, ask, decision);
    if (outcome == LK_GRANTED && call.is_unconfirmed) {
        outcome = refuse_unconfirmed(store, ask, decision);
    } else if (outcome == LK_WAITING) {
        size_t position = decision->result.position;

        cursor->id = (uint64_t)lk_redis_integer_at(reply, LK_REDIS_ID);
        cursor->version = version;
        cursor->in_the_way = position;
        cursor->due_us = due_here(reply, position > 0 ? position - 1 : 0);
    }
    freeReplyObject(reply);
    return outcome;
}

bool lk_redis_may_have_forgotten(struct lk_engine *engine, uint64_t ticket,
                                 const struct lk_part *parts, size_t part_count,
                                 const struct lk_patience *patience) {
    struct lk_redis *store = lk_redis_of(engine);
    struct lk_redis_call call;
    redisReply *reply;
    bool is_forgotten;
    lk_error error;

    lk_redis_call_begin(store, "forgotten", &parts[0].path, false, &call);
    lk_redis_call_add_number(&call, (int64_t)ticket);
    lk_redis_call_add_number(&call, (int64_t)part_count);
    for (size_t i = 0; i < part_count; i++) {
        lk_redis_call_add(&call, (struct lk_slice){parts[i].path.bytes, parts[i].path.size});
    }
    call.is_repeatable = true;
    if (lk_redis_call_make(store, &call, patience, &reply, &error) != LK_OK) {
        return true;
    }
    is_forgotten = lk_redis_integer_at(reply, 2) != 0;
    freeReplyObject(reply);
    return is_forgotten;
}

/* ---- renew and release ----------------------------------------------------------------------- */

static void add_paths(struct lk_redis_call *call, const struct lk_target *target) {
    lk_redis_call_add_number(call, (int64_t)target->part_count);
    for (size_t i = 0; i < target->part_count; i++) {
        const struct lk_path *path = &target->parts[i].path;

        lk_redis_call_add(call, (struct lk_slice){path->bytes, path->size});
    }
    lk_redis_call_add(call, target->batch);
}

static lk_outcome answer(struct lk_redis *store, struct lk_redis_call *call,
                         const struct lk_patience *patience, struct lk_decision *decision) {
    redisReply *reply;
    lk_outcome outcome = lk_redis_call_make(store, call, patience, &reply, &decision->error);

    if (outcome == LK_OK) {
        outcome = lk_redis_answer_read(reply, decision);
        freeReplyObject(reply);
    }
    return outcome;
}

static lk_outcome renew(struct lk_redis *store, const struct lk_renew *renew,
                        const struct lk_patience *patience, struct lk_decision *decision) {
    const struct lk_target *target = &renew->target;
    struct lk_redis_call call;

    if (!is_one_slot(store, target->parts, target->part_count)) {
        return refuse_slots(decision);
    }
    if (is_plain_target(target)) {
        lk_redis_call_begin_plain(store, "n", &target->parts[0].path, NULL, &call);
        lk_redis_call_add_number(&call, (int64_t)target->token);
        lk_redis_call_add_identity(&call, target->owner, &target->parts[0].path);
        lk_redis_call_add_number(&call, renew->ttl_ms);
    } else {
        lk_redis_call_begin(store, "renew", &target->parts[0].path, false, &call);
        lk_redis_call_add(&call, target->owner);
        lk_redis_call_add_number(&call, (int64_t)target->token);
        lk_redis_call_add_number(&call, renew->ttl_ms);
        add_paths(&call, target);
    }
    call.is_repeatable = true;
    return answer(store, &call, patience, decision);
}

static lk_outcome release(struct lk_redis *store, const struct lk_release *release,
                          const struct lk_patience *patience, struct lk_decision *decision) {
    const struct lk_target *target = &release->target;
    struct lk_redis_call call;

    if (!is_one_slot(store, target->parts, target->part_count)) {
        return refuse_slots(decision);
    }
    if (is_plain_target(target) && release->put_count == 0) {
        lk_redis_call_begin_plain(store, "r", &target->parts[0].path, NULL, &call);
        lk_redis_call_add_number(&call, (int64_t)target->token);
        lk_redis_call_add_identity(&call, target->owner, &target->parts[0].path);
    } else {
        lk_redis_call_begin(store, "release", &target->parts[0].path, false, &call);
        lk_redis_call_add(&call, target->owner);
        lk_redis_call_add_number(&call, (int64_t)target->token);
        lk_redis_call_add_number(&call, (int64_t)release->put_count);
        add_paths(&call, target);
        for (size_t i = 0; i < release->put_count; i++) {
            lk_redis_call_add_number(&call, (int64_t)release->puts[i].part);
            lk_redis_call_add(&call, release->puts[i].bytes);
        }
    }
    call.is_repeatable = target->token != 0; /* without a token, a second release answers LOST */
    return answer(store, &call, patience, decision);
}

/* ---- break ----------------------------------------------------------------------------------- */

static lk_outcome break_all(struct lk_redis *store, const struct lk_break *broken,
                            const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome;

    lk_redis_call_begin(store, "break", &broken->path, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){broken->path.bytes, broken->path.size});
    lk_redis_call_add(&call, broken->owner);
    lk_redis_call_add_number(&call, broken->at_once);
    lk_redis_call_add(&call, broken->by);
    lk_redis_call_add(&call, broken->reason);
    lk_redis_call_add_number(&call, broken->cancels);
    outcome = lk_redis_call_make(store, &call, patience, &reply, &decision->error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = lk_redis_outcome_read(reply, &decision->error);
    if (outcome == LK_OK) {
        decision->broken = (size_t)lk_redis_integer_at(reply, 2);
    }
    freeReplyObject(reply);
    return outcome;
}

/* ---- any command ----------------------------------------------------------------------------- */

static lk_outcome decide(struct lk_redis *store, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return ask_for(store, &command->ask, patience, decision);
    case LK_COMMAND_RENEW:
        return renew(store, &command->renew, patience, decision);
    case LK_COMMAND_RELEASE:
        return release(store, &command->release, patience, decision);
    case LK_COMMAND_BREAK:
        return break_all(store, &command->broken, patience, decision);
    case LK_COMMAND_PUT:
        return lk_redis_put(store, &command->put, patience, decision);
    case LK_COMMAND_PUSH:
    case LK_COMMAND_TAKE:
    case LK_COMMAND_FINISH:
    case LK_COMMAND_UNPARK:
    case LK_COMMAND_DROP:
        return lk_redis_work(store, command, patience, decision);
    case LK_COMMAND_TICK:
    case LK_COMMAND_LEAVE:
        break;
    }
    return lk_decision_refuse(decision);
}

lk_outcome lk_redis_decide(struct lk_engine *engine, const struct lk_command *command,
                           const struct lk_patience *patience, struct lk_decision *ret_decision) {
    lk_decision_begin(ret_decision, command);
    return lk_decision_end(ret_decision,
                           decide(lk_redis_of(engine), command, patience, ret_decision));
}

lk_outcome lk_redis_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                          int64_t until_us, struct lk_waker *waker) {
    struct lk_redis *store = lk_redis_of(engine);

    until_us = cursor->command->kind == LK_COMMAND_TAKE
                   ? lk_min(until_us, lk_redis_work_query_us(store, cursor))
                   : lk_min(until_us, cursor->due_us);
    return lk_redis_subscriber_sleep(&store->subscriber, cursor->id, cursor->version, until_us,
                                     waker);
}

/* ---- values (R15) ---------------------------------------------------------------------------- */

enum { VALUE = 3, DOUBT = 4 };

lk_outcome lk_redis_value_get(struct lk_engine *engine, const struct lk_path *path,
                              const struct lk_patience *patience, lk_value **ret_value,
                              lk_error *error) {
    struct lk_redis *store = lk_redis_of(engine);
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome;

    lk_redis_call_begin(store, "get", path, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){path->bytes, path->size});
    call.is_repeatable = true;
    outcome = lk_redis_call_make(store, &call, patience, &reply, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = lk_redis_outcome_read(reply, error);
    if (outcome == LK_OK) {
        struct lk_slice bytes = lk_redis_text_at(reply, VALUE);
        lk_value *value = calloc(1, sizeof *value);

        if (value != NULL) {
            value->bytes = lk_text_copy(bytes);
            value->size = bytes.size;
            value->in_doubt = lk_redis_integer_at(reply, DOUBT) != 0;
        }
        if (value == NULL || value->bytes == NULL) {
            lk_value_free(value);
            outcome = lk_error_set(error, LK_INTERNAL, "no memory for the value");
        } else {
            *ret_value = value;
        }
    }
    freeReplyObject(reply);
    return outcome;
}

lk_outcome lk_redis_put(struct lk_redis *store, const struct lk_put *put,
                        const struct lk_patience *patience, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome = lk_put_check(put, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_redis_call_begin(store, "put", &put->path, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){put->path.bytes, put->path.size});
    lk_redis_call_add(&call, put->owner);
    lk_redis_call_add_number(&call, (int64_t)put->token);
    lk_redis_call_add_number(&call, put->deletes);
    lk_redis_call_add(&call, put->deletes ? (struct lk_slice){NULL, 0} : put->bytes);
    outcome = lk_redis_call_make(store, &call, patience, &reply, error);
    if (outcome == LK_OK) {
        outcome = lk_redis_outcome_read(reply, error);
        freeReplyObject(reply);
    }
    return outcome;
}
