/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of several items in one decision (R16). */
#include <stdlib.h>

#include "base/error.h"
#include "client/work/claim.h"
#include "engine/reply/reply.h"

bool lk_claim_begin_series(struct lk_claiming *claiming, size_t max) {
    claiming->max = max;
    claiming->commands = calloc(max, sizeof *claiming->commands);
    claiming->series = calloc(1, sizeof *claiming->series);
    if (claiming->series != NULL) {
        claiming->series->answers = calloc(max, sizeof *claiming->series->answers);
    }
    if (claiming->commands == NULL || claiming->series == NULL
        || claiming->series->answers == NULL) {
        lk_claim_end_series(claiming);
        return false;
    }
    return true;
}

void lk_claim_end_series(struct lk_claiming *claiming) {
    if (claiming->series != NULL) {
        lk_series_done(claiming->series);
        free(claiming->series->answers);
    }
    free(claiming->series);
    free(claiming->commands);
    claiming->series = NULL;
    claiming->commands = NULL;
}

/* Only the answer that makes a claim says that the item was stolen, its repetition does not. */
static void keep_stolen(struct lk_series *series, const bool stolen[LK_TAKES_MAX]) {
    for (size_t i = 0; i < series->count; i++) {
        lk_claim_info *claim = series->answers[i].claim;

        if (claim != NULL) {
            claim->is_stolen = claim->is_stolen || stolen[i];
        }
    }
}

lk_outcome lk_claim_take_series(struct lk_claiming *claiming, const struct lk_patience *patience,
                                struct lk_decision *ret_decision) {
    struct lk_engine *engine = claiming->store->engine;
    struct lk_series *series = claiming->series;
    bool stolen[LK_TAKES_MAX] = {false};

    for (size_t i = 0; i < series->count; i++) {
        stolen[i] = series->answers[i].claim != NULL && series->answers[i].claim->is_stolen;
    }
    lk_series_done(series);
    for (size_t i = 0; i < claiming->max; i++) {
        claiming->commands[i] = claiming->command;
        claiming->commands[i].take.ask_number += i;
    }
    lk_decision_begin(ret_decision, &claiming->command);
    if (engine->ops->batches->decide_many(engine, claiming->commands, claiming->max, patience,
                                          series)
        != LK_OK) {
        return lk_decision_fail(ret_decision, series->error.outcome, "%s", series->error.text);
    }
    keep_stolen(series, stolen);
    ret_decision->claim = series->answers[0].claim;
    series->answers[0].claim = NULL;
    ret_decision->cursor = series->cursor;
    ret_decision->cursor.command = &claiming->command;
    return lk_error_set(&ret_decision->error, series->answers[0].outcome, "%s", series->error.text);
}
