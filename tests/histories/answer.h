/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store answers to the present move of a history, and to looks at it, beside what the model
 * does: functions return what differs, in words, or NULL.
 */
#ifndef LK_TESTS_HISTORIES_ANSWER_H
#define LK_TESTS_HISTORIES_ANSWER_H

#include "history.h"

/* Of a store, to one event. */
struct answer {
    lk_result result;     /* to an ask, a renewal, a release */
    lk_claim_info *claim; /* to a take */
    lk_error error;       /* to the others, and a take */
    size_t broken;
    bool added;
};

struct answer answer_of(struct lk_engine *engine, const struct lk_command *command);
void answer_clear(struct answer *answer);

/* Beside the effects of history->event. Learns the tokens that were granted. */
const char *answer_differs(struct history *history, const struct lk_effects *effects,
                           const struct answer *answer);

/* Everything; and all tokens there are. What is related to a path, and its value; a queue. */
const char *look_at_all(struct history *history, struct lk_engine *engine);
const char *look_at_path(struct history *history, struct lk_engine *engine, const char *path);
const char *look_at_queue(struct history *history, struct lk_engine *engine, const char *queue);

/* All values page by page, those at or below the path, and of its root. Of an engine that lists
 * them. */
const char *look_at_values(struct history *history, struct lk_engine *engine, const char *path);

/* Its parked items, and all queues, page by page. Of an engine with `batches`. */
const char *look_at_pages(struct history *history, struct lk_engine *engine, const char *queue);

#endif
