/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/acquire, /v1/renew, /v1/release: asks, renewals, releases, and the wait for a grant. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/reply/reply.h"
#include "http.h"

/* R15: a map for each part. */
static void read_values(struct http_reader *reader, const json_t *array, lk_result *result) {
    size_t count = json_array_size(array);

    if (array != NULL && (count == 0 || !lk_result_hold_values(result, count))) {
        reader->is_damaged = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *map = json_array_get(array, i);
        lk_part_value *value = &result->values[i];

        value->value = http_read_value(reader, map, &value->value_size);
        value->in_doubt = http_read_flag(reader, map, "in_doubt");
    }
}

static void read_result(struct http_reader *reader, const json_t *json, lk_result *result) {
    result->ticket = http_read_count(reader, json, "ticket");
    result->token = http_read_count(reader, json, "token");
    result->ttl_ms = http_read_number(reader, json, "ttl_ms", 0);
    result->expires_in_ms = http_read_number(reader, json, "expires_in_ms", -1);
    result->fixed = result->expires_in_ms >= 0 && result->ttl_ms == 0;
    result->in_use = http_read_count(reader, json, "in_use");
    result->position = http_read_count(reader, json, "position");
    result->created = http_read_flag(reader, json, "created");
    result->value = http_read_value(reader, json, &result->value_size);
    result->in_doubt = http_read_flag(reader, json, "in_doubt");
    read_values(reader, json_object_get(json, "values"), result);
    result->cycle = http_read_texts(reader, json, "cycle", &result->cycle_count);
    result->blockers = http_read_blockers(reader, json, &result->blocker_count);
}

/* The sentence is the body's own. */
static lk_outcome read_decision(const json_t *json, lk_outcome outcome,
                                struct lk_decision *decision) {
    struct http_reader reader = {.is_damaged = false};
    char *text = http_read_text(&reader, json, "error");

    read_result(&reader, json, &decision->result);
    (void)lk_error_set(&decision->error, outcome, "%s", text != NULL ? text : "");
    free(text);
    if (reader.is_damaged) {
        lk_error error;

        (void)http_read_end(&reader, &error);
        return lk_decision_fail(decision, error.outcome, "%s", error.text);
    }
    return outcome;
}

static lk_outcome call_for_result(struct lk_engine *engine, const char *route, json_t *body,
                                  const struct lk_patience *patience,
                                  struct lk_decision *decision) {
    struct http_call call = {
        .method = "POST", .target = http_target(route, NULL, ""), .body = body};
    struct http_answer answer;
    lk_outcome outcome = http_exchange(engine, &call, patience, &answer, &decision->error);

    if (answer.json != NULL && outcome != LK_INTERNAL) {
        outcome = read_decision(answer.json, outcome, decision);
    }
    http_answer_done(&answer);
    return outcome;
}

static json_t *body_of_ask(const struct lk_ask *ask, const char *mode, size_t blockers_max) {
    json_t *body = json_object();

    http_add(body, "parts", http_paths(ask->parts, ask->part_count, true));
    http_add(body, "owner", http_text(ask->owner));
    http_add(body, "mode", json_string(mode));
    if (ask->until_us != 0) {
        http_add_number(body, "until", ask->until_us / 1000);
    } else {
        http_add_number(body, "ttl_ms", ask->ttl_ms);
    }
    if (ask->note_given) {
        http_add(body, "note", http_text(ask->note));
    }
    if (ask->wants_value) {
        http_add(body, "value", json_true());
    }
    http_add(body, "blockers", json_integer((json_int_t)blockers_max));
    return body;
}

/* LK_WAIT asks to be queued; await() is what blocks. */
static lk_outcome ask_for(struct lk_engine *engine, const struct lk_ask *ask,
                          const struct lk_patience *patience, struct lk_decision *decision) {
    const char *mode = ask->style == LK_TRY ? "try" : "queue";
    lk_outcome outcome = call_for_result(
        engine, "/v1/acquire", body_of_ask(ask, mode, ask->blockers_max), patience, decision);

    decision->cursor.id = decision->result.ticket;
    decision->cursor.in_the_way = decision->result.position;
    return outcome;
}

static json_t *body_of_target(const struct lk_target *target) {
    json_t *body = json_object();

    http_add(body, "parts", http_paths(target->parts, target->part_count, false));
    http_add(body, "owner", http_text(target->owner));
    http_add_number(body, "token", (int64_t)target->token);
    return body;
}

static lk_outcome renew(struct lk_engine *engine, const struct lk_renew *renew,
                        const struct lk_patience *patience, struct lk_decision *decision) {
    json_t *body = body_of_target(&renew->target);

    http_add_number(body, "ttl", renew->ttl_ms);
    return call_for_result(engine, "/v1/renew", body, patience, decision);
}

/* R15: the n-th value is for the n-th path. */
static const struct lk_part *put_first(const struct lk_release *release, struct lk_part *parts) {
    size_t first = 0;
    size_t behind = release->put_count;

    for (size_t i = 0; i < release->target.part_count; i++) {
        bool is_put = first < release->put_count && release->puts[first].part == i;

        parts[is_put ? first++ : behind++] = release->target.parts[i];
    }
    return parts;
}

static lk_outcome release(struct lk_engine *engine, const struct lk_release *release,
                          const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_target target = release->target;
    json_t *body;

    target.parts = put_first(release, parts);
    body = body_of_target(&target);
    if (release->put_count == 1) {
        http_add_value(body, "put", release->puts[0].bytes);
    } else if (release->put_count > 1) {
        http_add_values(body, "puts", release->puts, release->put_count);
    }
    return call_for_result(engine, "/v1/release", body, patience, decision);
}

lk_outcome http_decide(struct lk_engine *engine, const struct lk_command *command,
                       const struct lk_patience *patience, struct lk_decision *ret_decision) {
    lk_decision_begin(ret_decision, command);
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return ask_for(engine, &command->ask, patience, ret_decision);
    case LK_COMMAND_RENEW:
        return renew(engine, &command->renew, patience, ret_decision);
    case LK_COMMAND_RELEASE:
        return release(engine, &command->release, patience, ret_decision);
    case LK_COMMAND_BREAK:
        return http_break(engine, &command->broken, patience, ret_decision);
    case LK_COMMAND_PUT:
        return http_put(engine, &command->put, patience, ret_decision);
    case LK_COMMAND_PUSH:
        return http_push(engine, &command->push, patience, ret_decision);
    case LK_COMMAND_TAKE:
        return http_take(engine, &command->take, patience, ret_decision);
    case LK_COMMAND_FINISH:
        return http_finish(engine, &command->finish, patience, ret_decision);
    case LK_COMMAND_UNPARK:
        return http_unpark(engine, &command->unpark, patience, ret_decision);
    case LK_COMMAND_DROP:
    case LK_COMMAND_TICK:
    case LK_COMMAND_LEAVE:
        break;
    }
    return lk_decision_refuse(ret_decision);
}

/* A long poll. The next ask says what came of it; a take's item is found by its number. */
lk_outcome http_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                      int64_t until_us, struct lk_waker *waker) {
    bool is_take = cursor->command->kind == LK_COMMAND_TAKE;
    int64_t left_ms = (until_us - lk_clock_now_us()) / 1000;
    struct http_call call = {.method = "POST"};

    if (left_ms <= 0) {
        return LK_OK;
    }
    call.target = http_target(is_take ? "/v1/claim" : "/v1/acquire", NULL, "");
    call.body = is_take ? http_body_of_take(&cursor->command->take)
                        : body_of_ask(&cursor->command->ask, "wait", 0);
    http_add(call.body, "wait", json_integer(left_ms));
    if (!is_take) {
        http_add(call.body, "ticket", json_integer((json_int_t)cursor->id));
    }
    return http_block(engine, &call, until_us, waker);
}
