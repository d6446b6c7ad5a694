/* SPDX-License-Identifier: Apache-2.0 */
/* Results for callers. */
#include "client/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"

lk_result *lk_answer_new(const struct lk_checked *checked) {
    lk_result *result = calloc(1, sizeof *result);

    if (result == NULL) {
        return NULL;
    }
    result->owner = lk_text_copy(lk_slice_of(checked->owner));
    result->paths = calloc(checked->part_count, sizeof *result->paths);
    if (result->owner == NULL || result->paths == NULL) {
        lk_result_free(result);
        return NULL;
    }
    for (size_t i = 0; i < checked->part_count; i++) {
        const struct lk_path *path = &checked->parts[i].path;

        result->paths[i] = lk_text_copy((struct lk_slice){path->bytes, path->size});
        if (result->paths[i] == NULL) {
            lk_result_free(result);
            return NULL;
        }
        result->path_count++;
    }
    return result;
}

/* Which request is in the way. The result has no such text: its caller has the blockers. */
static void say_blocker(const lk_result *result, lk_error *error) {
    const lk_blocker_info *first = &result->blockers[0];
    const char *note = first->note != NULL ? first->note : "";
    char left[32] = "", others[48] = "";

    if (first->held && first->expires_in_ms >= 0) {
        (void)snprintf(left, sizeof left, ", %" PRId64 " s left", first->expires_in_ms / 1000);
    }
    if (result->blocker_count > 1) {
        (void)snprintf(others, sizeof others, "; %zu more in the way", result->blocker_count - 1);
    }
    lk_error_set(error, result->outcome, "%s: %s %s %s%s%s%s%s%s", lk_outcome_text(result->outcome),
                 first->path, first->held ? "is held by" : "is waited for by", first->owner,
                 note[0] != '\0' ? " (" : "", note, note[0] != '\0' ? ")" : "", left, others);
}

static lk_outcome hand_over(lk_result *result, lk_result **ret_result, lk_error *error) {
    lk_outcome outcome = result->outcome;

    lk_error_set(error, outcome, "%s", result->error != NULL ? result->error : "");
    if ((outcome == LK_BUSY || outcome == LK_TIMEOUT) && result->error == NULL
        && result->blocker_count > 0) {
        say_blocker(result, error);
    }
    if (ret_result != NULL) {
        *ret_result = result;
    } else {
        lk_result_free(result);
    }
    return outcome;
}

/* Sets outcome and text; without memory for the text, the outcome alone. */
static void set_outcome(lk_result *result, const lk_error *cause) {
    result->outcome = cause->outcome;
    result->error = cause->text[0] != '\0' ? lk_text_copy(lk_slice_of(cause->text)) : NULL;
}

lk_outcome lk_answer_give(lk_result *named, struct lk_decision *decision, lk_result **ret_result,
                          lk_error *error) {
    lk_result *result = &decision->result;

    result->owner = named->owner;
    result->paths = named->paths;
    result->path_count = named->path_count;
    *named = *result;
    set_outcome(named, &decision->error);
    lk_decision_begin(decision, NULL);
    return hand_over(named, ret_result, error);
}

lk_outcome lk_answer_end(struct lk_decision *decision, lk_error *error) {
    lk_outcome outcome = lk_error_set(error, decision->error.outcome, "%s", decision->error.text);

    lk_decision_done(decision);
    return outcome;
}

lk_outcome lk_answer_refuse(const lk_error *cause, lk_result **ret_result, lk_error *error) {
    lk_result *result = calloc(1, sizeof *result);

    if (result != NULL) {
        result->expires_in_ms = -1;
        set_outcome(result, cause);
        return hand_over(result, ret_result, error);
    }
    if (ret_result != NULL) {
        *ret_result = NULL;
    }
    return lk_error_set(error, cause->outcome, "%s", cause->text);
}
