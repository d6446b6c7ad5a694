/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper. Its log is an actor's, with more calls and one line for each use of a resource:
 *
 *     call NUMBER MICROSECONDS OWNER release TOKEN TTL_MS PATH     puts TOKEN as the value
 *     call NUMBER MICROSECONDS OWNER push|done|retry TOKEN TTL_MS QUEUE/ID
 *     call NUMBER MICROSECONDS OWNER claim - TTL_MS QUEUE
 *     touch BEGUN ENDED OWNER PATH TOKEN BEFORE
 *     drained MICROSECONDS QUEUE
 *
 * The value of a path is the token of the lease under which it was put, and comes with each grant.
 * An item's value is its id, and comes with the claim. The resource of a path remembers the
 * greatest token that it was shown, and refuses smaller ones: BEFORE is what it remembered.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"

enum {
    WAIT_MAX_MS = 120,
    TTL_MIN_MS = 150,
    TTL_SPREAD_MS = 400,
    TOUCHES_MAX = 4,
    POLLS_MAX = 6,
    TEXT_MAX = 64,
    DRAIN_WAIT_MS = 100,
    DRAIN_TTL_MS = 2000,
};

static const char *const paths[RESOURCES] = {"v/a", "v/b"};
static const char queue[] = "work";

static int64_t draw_ttl_ms(struct actor *actor) {
    return TTL_MIN_MS + (int64_t)actor_draw(actor, TTL_SPREAD_MS);
}

static lk_request make_request(struct actor *actor, const char *const *part) {
    lk_request request = lk_request_init(part, 1);
    request.owner = actor->owner;
    request.ttl_ms = draw_ttl_ms(actor);
    request.value = true;
    return request;
}

/* ---- values, and a resource ------------------------------------------------------------------ */

/* Returns what the ask was answered, and the token of a grant. */
static lk_outcome ask(struct actor *actor, const lk_request *request, uint64_t *ret_token) {
    static const char *const styles[] = {"try", "queue", "wait"};
    char given[TEXT_MAX] = "";
    lk_result *result = NULL;
    actor_log_call(actor, "ask", styles[request->style], request);
    lk_outcome outcome = lk_ask(actor->store, request, &result, NULL);
    if (outcome == LK_GRANTED) {
        *ret_token = result->token;
        snprintf(given, sizeof given, "%.*s", result->value == NULL ? 1 : (int)result->value_size,
                 result->value == NULL ? "0" : (const char *)result->value);
    }
    actor_log_given(actor, outcome, result, given);
    lk_result_free(result);
    return outcome;
}

/* Shows the token to the resource, which has no clock and asks no store. */
static void touch(struct actor *actor, size_t number, uint64_t token) {
    char line[TEXT_MAX * 3];
    _Atomic uint64_t *resource = &actor->shared->resources[number];
    int64_t begun_us = actor_now_us();
    uint64_t before = atomic_load(resource);
    while (before < token && !atomic_compare_exchange_weak(resource, &before, token)) {
    }
    snprintf(line, sizeof line, "touch %" PRId64 " %" PRId64 " %s %s %" PRIu64 " %" PRIu64 "\n",
             begun_us, actor_now_us(), actor->owner, paths[number], token, before);
    actor_log_line(actor, line);
}

/* With the token as the path's value, or with none. */
static lk_outcome give_back(struct actor *actor, const lk_request *request, uint64_t token,
                            bool put) {
    char text[TEXT_MAX];
    lk_result *result = NULL;
    lk_outcome outcome;
    snprintf(text, sizeof text, "%" PRIu64, token);
    actor_log_call(actor, "release", put ? text : "-", request);
    if (put) {
        outcome = lk_release_put(actor->store, request, token, text, strlen(text), &result, NULL);
    } else {
        outcome = lk_release(actor->store, request, token, &result, NULL);
    }
    actor_log_given(actor, outcome, result, "");
    lk_result_free(result);
    return outcome;
}

static void keep_value(struct actor *actor) {
    size_t number = actor_draw(actor, RESOURCES);
    lk_request request = make_request(actor, &paths[number]);
    uint64_t token = 0;
    request.style = (lk_style)actor_draw(actor, 3);
    request.wait_ms = (int64_t)actor_draw(actor, WAIT_MAX_MS);
    lk_outcome outcome = ask(actor, &request, &token);
    for (int polls = 0; outcome == LK_WAITING && polls < POLLS_MAX; polls++) {
        actor_hold(actor);
        outcome = ask(actor, &request, &token);
    }
    if (outcome == LK_WAITING) {
        (void)give_back(actor, &request, 0, false);
    }
    if (outcome != LK_GRANTED) {
        return;
    }
    for (uint64_t touches = actor_draw(actor, TOUCHES_MAX) + 1; touches > 0; touches--) {
        touch(actor, number, token);
        actor_hold(actor);
    }
    uint64_t dice = actor_draw(actor, 100);
    if (dice >= 93) {
        return; /* forgotten: it perishes */
    }
    outcome = give_back(actor, &request, token, dice < 85);
    if (outcome == LK_UNAVAILABLE && actor_draw(actor, 2) == 0) {
        (void)give_back(actor, &request, token, dice < 85); /* R3: it is written once */
    }
}

/* ---- work ------------------------------------------------------------------------------------ */

static void log_work(struct actor *actor, const char *verb, uint64_t token, int64_t ttl_ms,
                     const char *path) {
    char text[TEXT_MAX];
    lk_request request = lk_request_init(&path, 1);
    request.ttl_ms = ttl_ms;
    snprintf(text, sizeof text, "%" PRIu64, token);
    actor_log_call(actor, verb, text, &request);
}

static void push(struct actor *actor) {
    char id[TEXT_MAX];
    char path[2 * TEXT_MAX];
    snprintf(id, sizeof id, "%s-%lu", actor->owner, actor->calls);
    snprintf(path, sizeof path, "%s/%s", queue, id);
    lk_push_request request = {
        .size = sizeof request, .queue = queue, .id = id, .value = id, .value_size = strlen(id)};
    log_work(actor, "push", 0, 0, path);
    actor_log_given(actor, lk_push(actor->store, &request, NULL, NULL), NULL, "");
}

/* Returns the claim, to be freed; NULL: none. */
static lk_claim_info *claim(struct actor *actor, int64_t wait_ms, int64_t ttl_ms) {
    lk_claim_request request = {.size = sizeof request,
                                .queue = queue,
                                .owner = actor->owner,
                                .wait_ms = wait_ms,
                                .ttl_ms = ttl_ms};
    lk_claim_info *taken = NULL;
    log_work(actor, "claim", 0, ttl_ms, queue);
    lk_outcome outcome = lk_claim_next(actor->store, &request, &taken, NULL);
    if (outcome != LK_GRANTED) {
        actor_log_given(actor, outcome, NULL, "");
        return NULL;
    }
    lk_result result = {.token = taken->token};
    bool is_whole = taken->value != NULL && strcmp(taken->value, taken->id) == 0;
    actor_log_given(actor, outcome, &result, is_whole ? taken->id : "other-value");
    return taken;
}

static void finish(struct actor *actor, const lk_claim_info *taken, bool done) {
    char path[2 * TEXT_MAX];
    snprintf(path, sizeof path, "%s/%.*s", queue, TEXT_MAX, taken->id);
    log_work(actor, done ? "done" : "retry", taken->token, 0, path);
    lk_outcome outcome =
        done ? lk_done(actor->store, queue, taken->id, actor->owner, taken->token, NULL)
             : lk_retry(actor->store, queue, taken->id, actor->owner, taken->token, 0, NULL);
    actor_log_given(actor, outcome, NULL, "");
}

static void work(struct actor *actor) {
    int64_t wait_ms = (int64_t)actor_draw(actor, WAIT_MAX_MS);
    lk_claim_info *taken =
        claim(actor, actor_draw(actor, 2) == 0 ? 0 : wait_ms, draw_ttl_ms(actor));
    if (taken == NULL) {
        return;
    }
    actor_hold(actor);
    uint64_t dice = actor_draw(actor, 100);
    if (dice < 90) { /* else it is forgotten, and perishes */
        finish(actor, taken, dice < 80);
    }
    lk_claim_free(taken);
}

void keeper_play(struct actor *actor) {
    while (actor_goes_on(actor)) {
        uint64_t dice = actor_draw(actor, 100);
        if (dice < 50) {
            keep_value(actor);
        } else if (dice < 70) {
            push(actor);
        } else {
            work(actor);
        }
        actor_hold(actor);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool drain(struct actor *actor, int64_t until_us) {
    char line[TEXT_MAX];
    while (actor_now_us() < until_us) {
        lk_queue_stats stats = {0};
        lk_claim_info *taken = claim(actor, DRAIN_WAIT_MS, DRAIN_TTL_MS);
        if (taken != NULL) {
            finish(actor, taken, true);
            lk_claim_free(taken);
        } else if (lk_stats(actor->store, queue, &stats, NULL) == LK_OK
                   && stats.ready_now + stats.delayed_now + stats.claimed_now + stats.parked_now
                          == 0) {
            snprintf(line, sizeof line, "drained %" PRId64 " %s\n", actor_now_us(), queue);
            actor_log_line(actor, line);
            return true;
        }
    }
    return false;
}

bool keeper_close(struct actor *actor, int64_t wait_ms) {
    bool good = drain(actor, actor_now_us() + wait_ms * 1000);
    for (size_t i = 0; good && i < RESOURCES; i++) {
        uint64_t token = 0;
        lk_request request = make_request(actor, &paths[i]);
        request.wait_ms = wait_ms;
        good = ask(actor, &request, &token) == LK_GRANTED;
        if (good) {
            (void)give_back(actor, &request, token, false);
        }
    }
    return good;
}
