/* SPDX-License-Identifier: Apache-2.0 */
/* Several commands that are sent at once, and answered one by one. */
#ifndef LK_ENGINE_SERVICE_PIPELINE_H
#define LK_ENGINE_SERVICE_PIPELINE_H

#include "engine/service/call.h"

/* Zeroed: empty. Freed by lk_pipeline_done(). */
struct lk_pipeline {
    struct lk_buffer bytes;
    size_t count;
};

void lk_pipeline_done(struct lk_pipeline *pipeline);

/* Adds the command, and frees its builder. Errors are reported by the call. */
void lk_pipeline_add(struct lk_pipeline *pipeline, struct lk_builder *builder);

/*
 * Called for each answer in turn: LK_OK with its head, or the outcome and the text of an error.
 */
typedef void lk_pipeline_answer(void *context, size_t index, const struct lk_resp_value *head,
                                const lk_error *error);

/*
 * LK_OK: every command has been answered. Else LK_UNAVAILABLE, LK_CANCELLED, LK_DENIED or
 * LK_INTERNAL, after any number of answers: commands without an answer may have taken effect. With
 * LK_SERVICE_AGAIN all of them are repeated within the patience, and answered from the first again.
 */
lk_outcome lk_service_call_pipeline(struct lk_service *service, const struct lk_pipeline *pipeline,
                                    enum lk_service_repeat repeat,
                                    const struct lk_patience *patience, lk_pipeline_answer *answer,
                                    void *context, lk_error *error);

#endif
