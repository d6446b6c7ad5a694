/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines: the answers of a connection have the order of its commands. */
#include "engine/service/pipeline.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"

#define BACKOFF_MIN_US INT64_C(10000)
#define BACKOFF_MAX_US INT64_C(250000)

void lk_pipeline_done(struct lk_pipeline *pipeline) {
    lk_buffer_done(&pipeline->bytes);
    *pipeline = (struct lk_pipeline){.count = 0};
}

void lk_pipeline_add(struct lk_pipeline *pipeline, struct lk_builder *builder) {
    struct lk_slice command;

    if (lk_builder_end(builder, &command)) {
        lk_buffer_add_slice(&pipeline->bytes, command);
    } else {
        pipeline->bytes.failed = true;
    }
    pipeline->count++;
    lk_builder_done(builder);
}

/* Receives one answer after the other, the first of which is there. */
static lk_outcome receive_all(struct lk_service_answer *first, size_t count,
                              const struct lk_patience *patience, lk_pipeline_answer *answer,
                              void *context, lk_error *error) {
    struct lk_service_answer next = *first;
    lk_outcome outcome = LK_OK;
    struct lk_slice reply;
    lk_error cause;

    for (size_t i = 0; i < count && outcome == LK_OK; i++) {
        if (i > 0) {
            outcome = lk_service_link_receive(first->link, patience, &reply);
            next.reader = (struct lk_reader){.cursor = {.reply = reply}};
        }
        if (i > 0 && outcome == LK_OK) {
            (void)lk_resp_cursor_next(&next.reader.cursor, &next.head);
        }
        if (outcome == LK_OK) {
            (void)lk_service_answer_outcome(&next, &cause);
            answer(context, i, &next.head, &cause);
        }
    }
    if (outcome != LK_OK) { /* its position in the stream is unknown */
        lk_service_link_close(first->link);
        first->link = NULL;
        return lk_error_set(error, outcome, "%s", lk_outcome_text(outcome));
    }
    return LK_OK;
}

/* Pauses before the next attempt, while there is time for one. */
static bool may_repeat(enum lk_service_repeat repeat, const struct lk_patience *patience,
                       uint32_t pauses) {
    int64_t left_us = patience->until_us - lk_clock_now_us();
    int64_t pause_us = lk_backoff_delay(BACKOFF_MIN_US, BACKOFF_MAX_US, pauses);

    return repeat == LK_SERVICE_AGAIN && pause_us < left_us
           && !lk_waker_sleep(patience->waker, pause_us);
}

lk_outcome lk_service_call_pipeline(struct lk_service *service, const struct lk_pipeline *pipeline,
                                    enum lk_service_repeat repeat,
                                    const struct lk_patience *patience, lk_pipeline_answer *answer,
                                    void *context, lk_error *error) {
    const struct lk_slice request = {pipeline->bytes.bytes, pipeline->bytes.size};
    struct lk_service_answer first;
    lk_outcome outcome;
    uint32_t pauses = 0;

    if (pipeline->bytes.failed) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the commands");
    }
    do {
        first = (struct lk_service_answer){.link = NULL};
        outcome = lk_service_exchange(service, request, repeat, patience, &first, error);
        if (outcome == LK_OK) {
            outcome = receive_all(&first, pipeline->count, patience, answer, context, error);
        }
        lk_service_answer_done(&first);
    } while (outcome == LK_UNAVAILABLE && may_repeat(repeat, patience, pauses++));
    return outcome == LK_OK ? lk_error_clear(error, LK_OK) : outcome;
}
