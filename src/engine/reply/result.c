/* SPDX-License-Identifier: Apache-2.0 */
/* An lk_result out of a step's answer. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "engine/reply/blockers.h"
#include "engine/reply/reply.h"

void lk_result_clear(lk_result *result) {
    for (size_t i = 0; i < result->path_count; i++) {
        free(result->paths[i]);
    }
    for (size_t i = 0; i < result->cycle_count; i++) {
        free(result->cycle[i]);
    }
    lk_blocker_infos_free(result->blockers, result->blocker_count);
    free(result->paths);
    free(result->cycle);
    free(result->owner);
    free(result->error);
    free(result->value);
    free(result->tokens);
    *result = (lk_result){.outcome = LK_OK, .expires_in_ms = -1};
}

void lk_result_free(lk_result *result) {
    if (result != NULL) {
        lk_result_clear(result);
        free(result);
    }
}

/* What is alive of the request that the answer is about. */
static void fill_state(const struct lk_model *model, lk_ref request, const struct lk_times *times,
                       lk_result *result) {
    struct lk_record record;

    lk_model_record_head(model, request, &record);
    if (record.state == LK_STATE_ENDED) {
        return;
    }
    result->ticket = record.ticket;
    result->token = record.token;
    result->ttl_ms = record.ttl_ms;
    result->fixed = record.fixed;
    result->expires_in_ms = lk_time_left_ms(&record, times);
}

static bool fill_value(const struct lk_model *model, const struct lk_answer *answer,
                       lk_result *result) {
    struct lk_value_record record;

    if (answer->value == 0) {
        return true;
    }
    lk_model_value_record(model, answer->value, &record);
    result->value = lk_text_copy(record.bytes);
    result->value_size = record.bytes.size;
    result->in_doubt = record.in_doubt;
    return result->value != NULL;
}

static bool fill_cycle(const struct lk_answer *answer, lk_result *result) {
    if (answer->cycle_count == 0) {
        return true;
    }
    result->cycle = calloc(answer->cycle_count, sizeof *result->cycle);
    if (result->cycle == NULL) {
        return false;
    }
    for (size_t i = 0; i < answer->cycle_count; i++) {
        result->cycle[i] = lk_text_copy(answer->cycle[i]);
        if (result->cycle[i] == NULL) {
            return false;
        }
        result->cycle_count++;
    }
    return true;
}

bool lk_result_fill(const struct lk_model *model, const struct lk_answer *answer,
                    const struct lk_times *times, lk_result *result) {
    result->created = answer->created;
    result->in_use = answer->in_use;
    result->position = answer->in_the_way;
    result->expires_in_ms = -1;
    if (answer->request != 0) {
        fill_state(model, answer->request, times, result);
    }
    return lk_blocker_infos_make(model, times, answer->blockers, answer->blocker_count,
                                 &result->blockers, &result->blocker_count)
           && fill_cycle(answer, result) && fill_value(model, answer, result);
}

bool lk_result_from_answer(const struct lk_model *model, const struct lk_answer *answer,
                           const struct lk_times *times, lk_result *result) {
    result->outcome = answer->outcome;
    if (answer->text[0] != '\0') {
        result->error = lk_text_copy(lk_slice_of(answer->text));
        if (result->error == NULL) {
            return false;
        }
    }
    return lk_result_fill(model, answer, times, result);
}
