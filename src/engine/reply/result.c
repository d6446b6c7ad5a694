/* SPDX-License-Identifier: Apache-2.0 */
/* An lk_result out of a step's answer, and the blockers that results and listings name. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "engine/reply/reply.h"

/* ---- blockers (R20) -------------------------------------------------------------------------- */

int64_t lk_time_left_ms(const struct lk_record *record, const struct lk_times *times) {
    int64_t left_us = record->deadline_us - times->now_us;

    return left_us > 0 ? left_us / 1000 : 0;
}

void lk_blocker_infos_free(lk_blocker_info *infos, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(infos[i].path);
        free(infos[i].owner);
        free(infos[i].user);
        free(infos[i].note);
    }
    free(infos);
}

/* On failure *info may be partly filled. */
static bool fill(const struct lk_model *model, const struct lk_times *times,
                 const struct lk_blocker *blocker, lk_blocker_info *info) {
    struct lk_record record;
    const struct lk_path *path;

    lk_model_record(model, blocker->request, &record);
    path = &record.parts[blocker->part].path;
    info->path = lk_text_copy((struct lk_slice){.bytes = path->bytes, .size = path->size});
    info->owner = lk_text_copy(record.owner);
    info->note = record.note.size > 0 ? lk_text_copy(record.note) : NULL;
    info->ticket = record.ticket;
    info->held = record.state == LK_STATE_HELD;
    info->expires_in_ms = lk_time_left_ms(&record, times);
    return info->path != NULL && info->owner != NULL
           && (info->note != NULL || record.note.size == 0);
}

bool lk_blocker_infos_make(const struct lk_model *model, const struct lk_times *times,
                           const struct lk_blocker *blockers, size_t count,
                           lk_blocker_info **ret_infos, size_t *ret_count) {
    lk_blocker_info *infos;

    if (count == 0) {
        *ret_infos = NULL;
        *ret_count = 0;
        return true;
    }
    infos = calloc(count, sizeof *infos);
    if (infos == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!fill(model, times, &blockers[i], &infos[i])) {
            lk_blocker_infos_free(infos, count);
            return false;
        }
    }
    *ret_infos = infos;
    *ret_count = count;
    return true;
}

/* ---- results --------------------------------------------------------------------------------- */

bool lk_result_hold_values(lk_result *result, size_t count) {
    result->values = calloc(count, sizeof *result->values);
    result->value_count = result->values != NULL ? count : 0;
    return result->values != NULL;
}

bool lk_result_set_value(lk_result *result, size_t part, struct lk_slice bytes, bool in_doubt) {
    lk_part_value *value = &result->values[part];

    *value = (lk_part_value){
        .value = lk_text_copy(bytes), .value_size = bytes.size, .in_doubt = in_doubt};
    if (part == 0) {
        result->value = lk_text_copy(bytes);
        result->value_size = bytes.size;
        result->in_doubt = in_doubt;
    }
    return value->value != NULL && (part > 0 || result->value != NULL);
}

void lk_result_drop_values(lk_result *result) {
    for (size_t i = 0; i < result->value_count; i++) {
        free(result->values[i].value);
    }
    free(result->values);
    free(result->value);
    result->values = NULL;
    result->value_count = 0;
    result->value = NULL;
    result->value_size = 0;
    result->in_doubt = false;
}

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
    lk_result_drop_values(result);
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

static bool fill_values(const struct lk_model *model, const struct lk_answer *answer,
                        lk_result *result) {
    bool is_whole = answer->value_count == 0 || lk_result_hold_values(result, answer->value_count);

    for (size_t i = 0; i < answer->value_count && is_whole; i++) {
        if (answer->values[i] != 0) {
            struct lk_value_record record;

            lk_model_value_record(model, answer->values[i], &record);
            is_whole = lk_result_set_value(result, i, record.bytes, record.in_doubt);
        }
    }
    return is_whole;
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
           && fill_cycle(answer, result) && fill_values(model, answer, result);
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
