/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/acquire, /v1/renew, /v1/release: asks, renewals, releases, and the wait for a grant. */
#include <stdlib.h>

#include "base/clock.h"
#include "engine/reply.h"
#include "http.h"

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
    result->cycle = http_read_texts(reader, json, "cycle", &result->cycle_count);
    result->blockers = http_read_blockers(reader, json, &result->blocker_count);
    result->error = http_read_text(reader, json, "error");
}

static lk_outcome call_for_result(struct lk_engine *engine, const char *route, json_t *body,
                                  const struct lk_patience *patience, lk_result *result) {
    struct http_call call = {
        .method = "POST", .target = http_target(route, NULL, ""), .body = body};
    struct http_reader reader = {.is_damaged = false};
    struct http_answer answer;
    lk_error error;

    result->outcome = http_exchange(engine, &call, patience, &answer, &error);
    if (answer.json != NULL) {
        read_result(&reader, answer.json, result);
    }
    if (reader.is_damaged || answer.json == NULL || result->outcome == LK_INTERNAL) {
        lk_outcome outcome = reader.is_damaged ? http_read_end(&reader, &error) : error.outcome;
        lk_result_clear(result);
        (void)lk_result_fail(result, outcome, "%s", error.text);
    }
    http_answer_done(&answer);
    return result->outcome;
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

/* LK_WAIT asks to be put in line; await() is what blocks. */
lk_outcome http_ask(struct lk_engine *engine, const struct lk_ask *ask,
                    const struct lk_patience *patience, lk_result *result,
                    struct lk_stand *ret_stand) {
    const char *mode = ask->style == LK_TRY ? "try" : "queue";
    lk_outcome outcome = call_for_result(
        engine, "/v1/acquire", body_of_ask(ask, mode, ask->blockers_max), patience, result);

    if (outcome == LK_WAITING && ret_stand != NULL) {
        *ret_stand =
            (struct lk_stand){.id = result->ticket, .in_the_way = result->position, .ask = ask};
    }
    return outcome;
}

/* A long poll. What it came to is told by the next ask. */
lk_outcome http_await(struct lk_engine *engine, const struct lk_stand *stand, int64_t until_us,
                      struct lk_waker *waker) {
    int64_t left_ms = (until_us - lk_clock_now_us()) / 1000;
    struct http_call call = {.method = "POST"};

    if (left_ms <= 0) {
        return LK_OK;
    }
    call.target = http_target("/v1/acquire", NULL, "");
    call.body = body_of_ask(stand->ask, "wait", 0);
    http_add(call.body, "wait", json_integer(left_ms));
    http_add(call.body, "ticket", json_integer((json_int_t)stand->id));
    return http_block(engine, &call, until_us, waker);
}

static json_t *body_of_target(const struct lk_target *target) {
    json_t *body = json_object();

    http_add(body, "parts", http_paths(target->parts, target->part_count, false));
    http_add(body, "owner", http_text(target->owner));
    http_add_number(body, "token", (int64_t)target->token);
    return body;
}

lk_outcome http_renew(struct lk_engine *engine, const struct lk_renew *renew,
                      const struct lk_patience *patience, lk_result *result) {
    json_t *body = body_of_target(&renew->target);

    http_add_number(body, "ttl", renew->ttl_ms);
    return call_for_result(engine, "/v1/renew", body, patience, result);
}

lk_outcome http_release(struct lk_engine *engine, const struct lk_release *release,
                        const struct lk_patience *patience, lk_result *result) {
    json_t *body = body_of_target(&release->target);

    if (release->puts) {
        http_add_value(body, "put", release->put);
    }
    return call_for_result(engine, "/v1/release", body, patience, result);
}
