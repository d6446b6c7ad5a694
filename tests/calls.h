/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands in short, for tests of engines: each as a call of its own. The outcome and sentence of
 * an ask's, a renewal's or a release's answer are put into its result, as the client library does.
 */
#ifndef LK_TESTS_CALLS_H
#define LK_TESTS_CALLS_H

#include "base/error.h"
#include "base/text.h"
#include "engine/engine.h"

/* A call that waits in the queue: its wait cursor and its command. May be copied. */
struct pending_call {
    struct lk_command command;
    struct lk_wait_cursor cursor;
};

static inline lk_outcome call_decide(struct lk_engine *engine, const struct lk_command *command,
                                     const struct lk_patience *patience,
                                     struct lk_decision *ret_decision) {
    return engine->ops->decide(engine, command, patience, ret_decision);
}

/* As the client library makes it: no default is left open. */
static inline struct lk_command command_of_ask(const struct lk_ask *ask) {
    struct lk_command command = {.kind = LK_COMMAND_ASK, .ask = *ask};

    command.ask.ttl_ms = ask->ttl_ms != 0 ? ask->ttl_ms : LK_TTL_DEFAULT_MS;
    return command;
}

/* *result is overwritten. */
static inline lk_outcome call_for_result(struct lk_engine *engine, const struct lk_command *command,
                                         const struct lk_patience *patience, lk_result *result,
                                         struct lk_wait_cursor *ret_cursor) {
    struct lk_decision decision;
    lk_outcome outcome = call_decide(engine, command, patience, &decision);

    *result = decision.result;
    result->outcome = outcome;
    if (decision.error.text[0] != '\0') {
        result->error = lk_text_copy(lk_slice_of(decision.error.text));
    }
    if (ret_cursor != NULL) {
        *ret_cursor = decision.cursor;
    }
    return outcome;
}

/* For commands that are answered with an outcome and a sentence. `error` may be NULL. */
static inline lk_outcome call_for_outcome(struct lk_engine *engine,
                                          const struct lk_command *command,
                                          const struct lk_patience *patience, lk_error *error) {
    struct lk_decision decision;
    lk_outcome outcome = call_decide(engine, command, patience, &decision);

    (void)lk_error_set(error, outcome, "%s", decision.error.text);
    lk_decision_done(&decision);
    return outcome;
}

static inline lk_outcome call_ask(struct lk_engine *engine, const struct lk_ask *ask,
                                  const struct lk_patience *patience, lk_result *result) {
    const struct lk_command command = command_of_ask(ask);

    return call_for_result(engine, &command, patience, result, NULL);
}

/* The ask's parts need not stay for call_await(), where the engine asks nothing then. */
static inline lk_outcome call_ask_pending(struct lk_engine *engine, const struct lk_ask *ask,
                                          const struct lk_patience *patience, lk_result *result,
                                          struct pending_call *ret_pending) {
    ret_pending->command = command_of_ask(ask);
    return call_for_result(engine, &ret_pending->command, patience, result, &ret_pending->cursor);
}

static inline lk_outcome call_renew(struct lk_engine *engine, const struct lk_renew *renew,
                                    const struct lk_patience *patience, lk_result *result) {
    const struct lk_command command = {.kind = LK_COMMAND_RENEW, .renew = *renew};

    return call_for_result(engine, &command, patience, result, NULL);
}

static inline lk_outcome call_release(struct lk_engine *engine, const struct lk_release *release,
                                      const struct lk_patience *patience, lk_result *result) {
    const struct lk_command command = {.kind = LK_COMMAND_RELEASE, .release = *release};

    return call_for_result(engine, &command, patience, result, NULL);
}

static inline lk_outcome call_break(struct lk_engine *engine, const struct lk_break *broken,
                                    const char *by, const char *reason,
                                    const struct lk_patience *patience, size_t *ret_count,
                                    lk_error *error) {
    struct lk_command command = {.kind = LK_COMMAND_BREAK, .broken = *broken};
    struct lk_decision decision;
    lk_outcome outcome;

    command.broken.by = lk_slice_of(by);
    command.broken.reason = lk_slice_of(reason);
    outcome = call_decide(engine, &command, patience, &decision);
    *ret_count = decision.broken;
    (void)lk_error_set(error, outcome, "%s", decision.error.text);
    lk_decision_done(&decision);
    return outcome;
}

static inline lk_outcome call_put(struct lk_engine *engine, const struct lk_put *put,
                                  const struct lk_patience *patience, lk_error *error) {
    const struct lk_command command = {.kind = LK_COMMAND_PUT, .put = *put};

    return call_for_outcome(engine, &command, patience, error);
}

static inline lk_outcome call_push(struct lk_engine *engine, const struct lk_push *push,
                                   const struct lk_patience *patience, bool *ret_added,
                                   lk_error *error) {
    const struct lk_command command = {.kind = LK_COMMAND_PUSH, .push = *push};
    struct lk_decision decision;
    lk_outcome outcome = call_decide(engine, &command, patience, &decision);

    *ret_added = decision.pushed.added;
    (void)lk_error_set(error, outcome, "%s", decision.error.text);
    lk_decision_done(&decision);
    return outcome;
}

/* *ret_claim is overwritten. ret_pending may be NULL. */
static inline lk_outcome call_take(struct lk_engine *engine, const struct lk_take *take,
                                   const struct lk_patience *patience, lk_claim_info **ret_claim,
                                   struct pending_call *ret_pending, lk_error *error) {
    struct pending_call ignored;
    struct pending_call *pending = ret_pending != NULL ? ret_pending : &ignored;
    struct lk_decision decision;
    lk_outcome outcome;

    pending->command = (struct lk_command){.kind = LK_COMMAND_TAKE, .take = *take};
    pending->command.take.ttl_ms = take->ttl_ms != 0 ? take->ttl_ms : LK_TTL_DEFAULT_MS;
    outcome = call_decide(engine, &pending->command, patience, &decision);
    pending->cursor = decision.cursor;
    *ret_claim = decision.claim;
    (void)lk_error_set(error, outcome, "%s", decision.error.text);
    return outcome;
}

static inline lk_outcome call_finish(struct lk_engine *engine, const struct lk_finish *finish,
                                     const struct lk_patience *patience, lk_error *error) {
    const struct lk_command command = {.kind = LK_COMMAND_FINISH, .finish = *finish};

    return call_for_outcome(engine, &command, patience, error);
}

static inline lk_outcome call_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                                     const struct lk_patience *patience, lk_error *error) {
    const struct lk_command command = {.kind = LK_COMMAND_UNPARK, .unpark = *unpark};

    return call_for_outcome(engine, &command, patience, error);
}

static inline lk_outcome call_await(struct lk_engine *engine, const struct pending_call *pending,
                                    int64_t until_us, struct lk_waker *waker) {
    struct lk_wait_cursor cursor = pending->cursor;

    cursor.command = &pending->command;
    return engine->ops->await(engine, &cursor, until_us, waker);
}

#endif
