/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection that one bound request ends with (R18), kept out of the pools. Its asks connect
 * where they have to. From the grant on only renewals go over it, and none of them connects: a new
 * connection would prove that the lease is held, but nothing of the connection that it ends with.
 *
 * A renewal that is not answered in time leaves its answer behind. Closing the connection for that
 * would end the lease of a service that is merely slow, so the next renewal receives it first.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "base/error.h"
#include "engine/reply/reply.h"
#include "engine/service/call.h"
#include "engine/service/service.h"

struct lk_tie {
    struct lk_service_link *link; /* NULL: none so far */
    size_t unanswered;            /* renewals that were sent */
    bool is_over;                 /* nothing more can be sent or received */
};

static struct lk_tie *open_tie(void) {
    return calloc(1, sizeof(struct lk_tie));
}

/* A connection that has failed: *error is LOST if it has ended, else the answer may still come. */
static lk_outcome fail(struct lk_tie *tie, lk_outcome outcome, lk_error *error) {
    tie->is_over = tie->is_over || outcome == LK_INTERNAL || lk_service_link_is_over(tie->link);
    if (tie->is_over) {
        (void)shutdown(tie->link->descriptor, SHUT_RDWR);
        return lk_error_set(error, LK_LOST,
                            "R18: the connection to the service has ended, and the lease is bound "
                            "to it");
    }
    return lk_error_set(error, outcome, "%s",
                        outcome == LK_UNAVAILABLE ? "the service did not answer" : "");
}

/* LK_OK with the answer to these bytes, or the outcome that it names. */
static lk_outcome exchange(struct lk_tie *tie, struct lk_slice request,
                           const struct lk_patience *patience, struct lk_service_answer *answer,
                           lk_error *error) {
    struct lk_slice reply;
    lk_outcome outcome = tie->is_over ? LK_UNAVAILABLE : LK_OK;

    for (; outcome == LK_OK && tie->unanswered > 0; tie->unanswered -= outcome == LK_OK) {
        outcome = lk_service_link_receive(tie->link, patience, &reply);
    }
    if (outcome == LK_OK) {
        outcome = lk_service_link_send(tie->link, request, patience);
        tie->is_over = outcome != LK_OK; /* a part of it may have been sent */
        tie->unanswered++;
    }
    if (outcome == LK_OK) {
        outcome = lk_service_link_receive(tie->link, patience, &reply);
    }
    if (outcome != LK_OK) {
        return fail(tie, outcome, error);
    }
    tie->unanswered--;
    answer->reader.cursor.reply = reply;
    (void)lk_resp_cursor_next(&answer->reader.cursor, &answer->head);
    return lk_service_answer_outcome(answer, error);
}

static lk_outcome renew(struct lk_tie *tie, const struct lk_renew *renew,
                        const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_service_answer answer = {.link = NULL};
    struct lk_builder builder = {.count = 0};
    struct lk_slice request;
    lk_outcome outcome = LK_INTERNAL;

    if (tie->link == NULL) {
        return lk_decision_fail(decision, LK_LOST, "R18: the request has no connection");
    }
    lk_service_add_renew(&builder, renew);
    if (lk_builder_end(&builder, &request)) {
        outcome = exchange(tie, request, patience, &answer, &decision->error);
    } else {
        (void)lk_error_set(&decision->error, outcome, "no memory for a command");
    }
    if (outcome == LK_OK) {
        outcome = lk_service_read_result(&answer, decision);
    }
    lk_builder_done(&builder);
    return outcome;
}

static lk_outcome decide(struct lk_tie *tie, struct lk_engine *engine,
                         const struct lk_command *command, const struct lk_patience *patience,
                         struct lk_decision *ret_decision) {
    lk_outcome outcome;

    lk_decision_begin(ret_decision, command);
    switch (command->kind) {
    case LK_COMMAND_ASK:
        outcome = lk_service_ask(lk_service_of(engine), &command->ask, &tie->link, patience,
                                 ret_decision);
        break;
    case LK_COMMAND_RENEW:
        outcome = renew(tie, &command->renew, patience, ret_decision);
        break;
    default:
        outcome = lk_decision_refuse(ret_decision);
        break;
    }
    return lk_decision_end(ret_decision, outcome);
}

static int descriptor_of(const struct lk_tie *tie) {
    return tie->link != NULL ? tie->link->descriptor : -1;
}

static void cut(const struct lk_tie *tie) {
    if (tie->link != NULL) {
        (void)shutdown(tie->link->descriptor, SHUT_RDWR);
    }
}

static void close_tie(struct lk_tie *tie) {
    lk_service_link_close(tie->link);
    free(tie);
}

const struct lk_tie_ops lk_service_tie_ops = {
    .open = open_tie,
    .decide = decide,
    .descriptor = descriptor_of,
    .cut = cut,
    .close = close_tie,
};
