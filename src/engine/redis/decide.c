/* SPDX-License-Identifier: Apache-2.0 */
/* Asking, renewing, releasing, breaking, and waiting in line: one call of the script each. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/bytes.h"
#include "engine/redis/answer.h"
#include "engine/redis/call.h"
#include "engine/redis/operations.h"
#include "engine/reply.h"

#define DUE_SLACK_US INT64_C(1000)     /* so that a deadline has passed when it is looked at */
#define DUE_PER_PLACE_US INT64_C(5000) /* who is further back leaves it to those in front */
enum { DUE_PLACES_MAX = 20 };

/* Makes an error of the call the result. */
static lk_outcome fail(lk_result *result, const lk_error *error) {
    return lk_result_fail(result, error->outcome, "%s", error->text);
}

static bool is_one_root(const struct lk_part *parts, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (!lk_slice_equal(lk_path_root(&parts[0].path), lk_path_root(&parts[i].path))) {
            return false;
        }
    }
    return true;
}

/* A cluster decides together only what is in one slot. */
static bool is_one_slot(const struct lk_redis *store, const struct lk_part *parts, size_t count) {
    unsigned slot = lk_redis_slot_of(lk_path_root(&parts[0].path));

    if (!store->fleet.is_cluster || is_one_root(parts, count)) {
        return true;
    }
    for (size_t i = 1; i < count; i++) {
        if (lk_redis_slot_of(lk_path_root(&parts[i].path)) != slot) {
            return false;
        }
    }
    return true;
}

static lk_outcome refuse_slots(lk_result *result) {
    return lk_result_fail(result, LK_UNSUPPORTED,
                          "R14: the roots are in different slots of the cluster");
}

/* ---- ask ------------------------------------------------------------------------------------- */

/* What the script has a short form for: one path, and nothing out of the ordinary. */
static bool is_plain(const struct lk_ask *ask) {
    return ask->part_count == 1 && ask->until_us == 0 && !ask->wants_value && ask->batch.size == 0;
}

static bool is_plain_target(const struct lk_target *target) {
    return target->part_count == 1 && target->batch.size == 0;
}

static void say_plain_ask(struct lk_redis *store, struct lk_redis_call *call,
                          const struct lk_ask *ask) {
    lk_redis_call_begin_plain(store, "a", &ask->parts[0].path, ask, call);
    lk_redis_call_say_terms(call, ask);
    lk_redis_call_say_identity(call, ask->owner, &ask->parts[0].path);
    lk_redis_call_say(call, ask->note_given ? ask->note : (struct lk_slice){NULL, 0});
}

static void say_ask(struct lk_redis_call *call, const struct lk_ask *ask) {
    lk_redis_call_say(call, ask->owner);
    lk_redis_call_number(call, ask->style);
    lk_redis_call_number(call, ask->ttl_ms);
    lk_redis_call_number(call, ask->until_us);
    lk_redis_call_number(call, ask->note_given);
    lk_redis_call_say(call, ask->note_given ? ask->note : (struct lk_slice){NULL, 0});
    lk_redis_call_number(call, (int64_t)ask->blockers_max);
    lk_redis_call_number(call, ask->wants_value);
    lk_redis_call_number(call, (int64_t)ask->part_count);
    for (size_t i = 0; i < ask->part_count; i++) {
        const struct lk_path *path = &ask->parts[i].path;

        lk_redis_call_say(call, (struct lk_slice){path->bytes, path->size});
        lk_redis_call_number(call, ask->parts[i].limit);
        lk_redis_call_number(call, ask->parts[i].units);
    }
    lk_redis_call_say(call, ask->batch);
}

/* When, on this machine's clock, something in front may have ended by itself. */
static int64_t due_here(const redisReply *reply, size_t places) {
    int64_t due_us = lk_redis_integer_at(reply, LK_REDIS_DUE);
    int64_t later_us =
        (int64_t)(places < DUE_PLACES_MAX ? places : DUE_PLACES_MAX) * DUE_PER_PLACE_US;

    return lk_clock_now_us() + due_us - lk_redis_integer_at(reply, LK_REDIS_NOW) + later_us
           + DUE_SLACK_US;
}

lk_outcome lk_redis_ask(struct lk_engine *engine, const struct lk_ask *ask,
                        const struct lk_patience *patience, lk_result *result,
                        struct lk_stand *ret_stand) {
    struct lk_redis *store = lk_redis_of(engine);
    bool is_attended = ask->style == LK_WAIT;
    struct lk_redis_call call;
    redisReply *reply;
    uint64_t version = 0;
    lk_error error;
    lk_outcome outcome;

    if (!is_one_slot(store, ask->parts, ask->part_count)) {
        return refuse_slots(result);
    }
    if (is_attended) {
        lk_redis_listener_start(&store->listener, lk_path_root(&ask->parts[0].path));
        version = lk_redis_listener_version(&store->listener);
    }
    if (is_plain(ask)) {
        say_plain_ask(store, &call, ask);
    } else {
        lk_redis_call_begin(store, "ask", &ask->parts[0].path, is_attended, &call);
        say_ask(&call, ask);
    }
    call.is_repeatable = true;
    call.grants = true;
    outcome = lk_redis_call_make(store, &call, patience, &reply, &error);
    if (outcome != LK_OK) {
        return fail(result, &error);
    }
    lk_redis_grant_read(reply, ask, result);
    if (result->outcome == LK_WAITING) {
        ret_stand->id = (uint64_t)lk_redis_integer_at(reply, LK_REDIS_ID);
        ret_stand->version = version;
        ret_stand->in_the_way = result->position;
        ret_stand->due_us = due_here(reply, result->position > 0 ? result->position - 1 : 0);
    }
    freeReplyObject(reply);
    return result->outcome;
}

lk_outcome lk_redis_await(struct lk_engine *engine, const struct lk_stand *stand, int64_t until_us,
                          struct lk_waker *waker) {
    struct lk_redis *store = lk_redis_of(engine);

    until_us = stand->due_us < until_us ? stand->due_us : until_us;
    return lk_redis_listener_sleep(&store->listener, stand->id, stand->version, until_us, waker);
}

/* ---- renew and release ----------------------------------------------------------------------- */

static void say_paths(struct lk_redis_call *call, const struct lk_target *target) {
    lk_redis_call_number(call, (int64_t)target->part_count);
    for (size_t i = 0; i < target->part_count; i++) {
        const struct lk_path *path = &target->parts[i].path;

        lk_redis_call_say(call, (struct lk_slice){path->bytes, path->size});
    }
    lk_redis_call_say(call, target->batch);
}

static lk_outcome answer(struct lk_redis *store, struct lk_redis_call *call,
                         const struct lk_patience *patience, lk_result *result) {
    redisReply *reply;
    lk_error error;

    if (lk_redis_call_make(store, call, patience, &reply, &error) != LK_OK) {
        return fail(result, &error);
    }
    lk_redis_answer_read(reply, result);
    freeReplyObject(reply);
    return result->outcome;
}

lk_outcome lk_redis_renew(struct lk_engine *engine, const struct lk_renew *renew,
                          const struct lk_patience *patience, lk_result *result) {
    struct lk_redis *store = lk_redis_of(engine);
    const struct lk_target *target = &renew->target;
    struct lk_redis_call call;

    if (!is_one_slot(store, target->parts, target->part_count)) {
        return refuse_slots(result);
    }
    if (is_plain_target(target)) {
        lk_redis_call_begin_plain(store, "n", &target->parts[0].path, NULL, &call);
        lk_redis_call_number(&call, (int64_t)target->token);
        lk_redis_call_say_identity(&call, target->owner, &target->parts[0].path);
        lk_redis_call_number(&call, renew->ttl_ms);
    } else {
        lk_redis_call_begin(store, "renew", &target->parts[0].path, false, &call);
        lk_redis_call_say(&call, target->owner);
        lk_redis_call_number(&call, (int64_t)target->token);
        lk_redis_call_number(&call, renew->ttl_ms);
        say_paths(&call, target);
    }
    call.is_repeatable = true;
    return answer(store, &call, patience, result);
}

lk_outcome lk_redis_release(struct lk_engine *engine, const struct lk_release *release,
                            const struct lk_patience *patience, lk_result *result) {
    struct lk_redis *store = lk_redis_of(engine);
    const struct lk_target *target = &release->target;
    struct lk_redis_call call;

    if (!is_one_slot(store, target->parts, target->part_count)) {
        return refuse_slots(result);
    }
    if (is_plain_target(target) && !release->puts) {
        lk_redis_call_begin_plain(store, "r", &target->parts[0].path, NULL, &call);
        lk_redis_call_number(&call, (int64_t)target->token);
        lk_redis_call_say_identity(&call, target->owner, &target->parts[0].path);
    } else {
        lk_redis_call_begin(store, "release", &target->parts[0].path, false, &call);
        lk_redis_call_say(&call, target->owner);
        lk_redis_call_number(&call, (int64_t)target->token);
        lk_redis_call_number(&call, release->puts);
        lk_redis_call_say(&call, release->puts ? release->put : (struct lk_slice){NULL, 0});
        say_paths(&call, target);
    }
    call.is_repeatable = target->token != 0; /* else a second one is LOST */
    return answer(store, &call, patience, result);
}

/* ---- break ----------------------------------------------------------------------------------- */

lk_outcome lk_redis_break(struct lk_engine *engine, const struct lk_break *broken,
                          struct lk_slice by, struct lk_slice reason,
                          const struct lk_patience *patience, size_t *ret_count, lk_error *error) {
    struct lk_redis *store = lk_redis_of(engine);
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome;

    lk_redis_call_begin(store, "break", &broken->path, false, &call);
    lk_redis_call_say(&call, (struct lk_slice){broken->path.bytes, broken->path.size});
    lk_redis_call_say(&call, broken->owner);
    lk_redis_call_number(&call, broken->at_once);
    lk_redis_call_say(&call, by);
    lk_redis_call_say(&call, reason);
    outcome = lk_redis_call_make(store, &call, patience, &reply, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    *ret_count = (size_t)lk_redis_integer_at(reply, 2);
    freeReplyObject(reply);
    return lk_error_clear(error, LK_OK);
}
