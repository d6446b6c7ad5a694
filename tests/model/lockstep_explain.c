/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations of many requests (R20), one by one and together: both are the same. */
#include <stdlib.h>

#include "lockstep.h"

struct waiting {
    const struct lk_model *model;
    lk_ref *requests;
    size_t count;
};

static bool add_waiting(void *context, lk_ref request) {
    struct waiting *waiting = context;
    struct lk_record record;
    size_t at = waiting->count;

    lk_model_record(waiting->model, request, &record);
    if (record.state != LK_STATE_WAITING) {
        return true;
    }
    waiting->requests =
        lockstep_grown(waiting->requests, waiting->count, sizeof *waiting->requests);
    while (at > 0
           && lk_model_standing(waiting->model, waiting->requests[at - 1]).ticket > record.ticket) {
        waiting->requests[at] = waiting->requests[at - 1];
        at--;
    }
    waiting->requests[at] = request;
    waiting->count++;
    return true;
}

static bool is_same(const struct lk_model *model, lk_ref request, struct lk_explaining *explaining,
                    size_t max) {
    struct lk_blocker alone[LK_EXPLAINED_MAX];
    struct lk_blocker together[LK_EXPLAINED_MAX];
    size_t total = lk_model_blockers(model, request, alone, max);

    if (lk_model_explain(model, request, explaining, together, max) != total) {
        return false;
    }
    for (size_t i = 0; i < total && i < max; i++) {
        if (alone[i].request != together[i].request || alone[i].part != together[i].part) {
            return false;
        }
    }
    return true;
}

const char *lockstep_explain_compare(const struct lockstep *lockstep) {
    struct waiting waiting = {.model = lockstep->model};
    struct lk_explaining *explaining;
    bool are_same = true;

    lk_model_each(lockstep->model, add_waiting, &waiting);
    if (waiting.count == 0) {
        return NULL;
    }
    explaining = lockstep_grown(NULL, 0, sizeof *explaining);
    memset(explaining, 0, sizeof *explaining);
    for (size_t i = 0; i < waiting.count && are_same; i++) {
        are_same = is_same(lockstep->model, waiting.requests[i], explaining,
                           i % 4 == 3 ? 2 : LK_EXPLAINED_MAX);
    }
    free(waiting.requests);
    free(explaining);
    return are_same ? NULL : "what is in the way, explained together (R20)";
}
