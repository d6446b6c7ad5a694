/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store answers beside what the model does: each function returns what differs, in words, or
 * NULL. A lazy store makes its draws later, so that its tickets and tokens are others.
 */
#ifndef LK_TESTS_HISTORIES_COMPARE_H
#define LK_TESTS_HISTORIES_COMPARE_H

#include "engine/event.h"
#include "history.h"

/* ---- answers, one beside the other ----------------------------------------------------------- */

const char *compare_results(bool is_lazy, const lk_result *a, const lk_result *b);
const char *compare_listings(bool is_lazy, const lk_listing *a, const lk_listing *b);

/* NULL: there is none. */
const char *compare_values(const lk_value *a, const lk_value *b);
const char *compare_claims(bool is_lazy, const lk_claim_info *a, const lk_claim_info *b);
const char *compare_items(const lk_item_list *a, const lk_item_list *b);
const char *compare_stats(const lk_queue_stats *a, const lk_queue_stats *b);
const char *compare_errors(const lk_error *a, const lk_error *b);
const char *compare_events(bool is_lazy, const struct lk_event_page *a,
                           const struct lk_event_page *b);

/* ---- the answer to the present move, and to looks at the store ------------------------------- */

/* Of a store, to one event. */
struct answer {
    lk_result result;     /* to an ask, a renewal, a release */
    lk_claim_info *claim; /* to a take */
    lk_error error;       /* to the others, and a take */
    size_t broken;
    lk_push_result pushed;
    bool is_of_series; /* which does not tell how the item was that a push has found */
};

struct answer answer_of(struct lk_engine *engine, const struct lk_command *command);
void answer_clear(struct answer *answer);

/* Beside the effects of history->command. Learns the tokens that were granted. */
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

/* ---- the events of a step (R21) -------------------------------------------------------------- */

/*
 * Asks the engine what has happened since it was asked last: what differs from the effects of
 * history->command, in words, or NULL. Events of one step are in order; but what one break ends has
 * none, and several roots of a lazy store have none among them (R11).
 */
const char *events_differ(struct history *history, struct lk_engine *engine,
                          const struct lk_effects *effects);

/* From here on the store keeps what happens. */
const char *events_begin(struct history *history);

/* ---- a series of commands (R16) -------------------------------------------------------------- */

/*
 * Plays the present move, which is a series: on the store as one decision, and on the model as one
 * step for each command. Both must give the same answers.
 *
 * The claims of a series share a token, unless a root has drawn a greater one (R4). A root that is
 * forgotten may have drawn anything up to the floor: a store that forgets roots at other moments
 * than the model refuses to share where the model shares, or shares where the model refuses. Its
 * refusal ends the series. Where it shares, no known token under these roots may be greater; then
 * the history is over.
 */
const char *series_differ(struct history *history, struct lk_engine *engine);

#endif
