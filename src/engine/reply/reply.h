/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What engines answer with: lk_result, lk_listing and lk_audit, built from the model's effects and
 * records. Shared by every engine that decides with the model in this process.
 *
 * Left to the client library: a result's `owner` and `paths`, which it knows from the ask.
 * Everything built here is plain memory of the C library, which the public lk_..._free() end; they
 * are defined here too. Durations are rounded down, so that no caller counts on more than there is.
 */
#ifndef LK_ENGINE_REPLY_H
#define LK_ENGINE_REPLY_H

#include "base/text.h"
#include "lockkeeper/lockkeeper.h"
#include "model/model.h"

/* ---- blockers (R20) -------------------------------------------------------------------------- */

/* As results and listings name them. */

enum {
    LK_BLOCKERS_PER_ENTRY_MAX = 16, /* named per entry of lk_show(); `position` counts them all */
};

/* Milliseconds until the record's deadline, rounded down; 0 when it has passed. */
int64_t lk_time_left_ms(const struct lk_record *record, const struct lk_times *times);

/*
 * Makes *ret_infos of `count` blockers (NULL of none); lk_blocker_infos_free() ends it. Returns
 * false when memory is exhausted, with nothing made.
 */
bool lk_blocker_infos_make(const struct lk_model *model, const struct lk_times *times,
                           const struct lk_blocker *blockers, size_t count,
                           lk_blocker_info **ret_infos, size_t *ret_count);
void lk_blocker_infos_free(lk_blocker_info *infos, size_t count); /* accepts NULL with 0 */

/* ---- results --------------------------------------------------------------------------------- */

/* Frees what the result holds and makes it empty: outcome LK_OK, nothing alive. */
void lk_result_clear(lk_result *result);

/*
 * Fills *result (cleared before) with a step's answer. To be called before the next step, and
 * before what the step changed is made durable, for it can fail: returns false when memory is
 * exhausted, with the result still to be cleared.
 */
bool lk_result_from_answer(const struct lk_model *model, const struct lk_answer *answer,
                           const struct lk_times *times, lk_result *result);

/* The same without the outcome and its sentence, which a decision has by itself. */
bool lk_result_fill(const struct lk_model *model, const struct lk_answer *answer,
                    const struct lk_times *times, lk_result *result);

/*
 * R15: a place for the value of each part (the result has none yet), the value of one part (of the
 * first also as the result's own `value`), and none again. false: memory is exhausted, and the
 * result is still to be cleared.
 */
bool lk_result_hold_values(lk_result *result, size_t count);
bool lk_result_set_value(lk_result *result, size_t part, struct lk_slice bytes, bool in_doubt);
void lk_result_drop_values(lk_result *result);

/* ---- decisions ------------------------------------------------------------------------------- */

struct lk_decision; /* engine/engine.h */

/* Makes it empty, whatever is there, for this command (NULL: none): how every decide() begins. */
void lk_decision_begin(struct lk_decision *decision, const struct lk_command *command);

/* How every decide() ends: the decision's outcome is the one that is returned. */
lk_outcome lk_decision_end(struct lk_decision *decision, lk_outcome outcome);

/* Ends what the decision holds, leaves the outcome and a sentence, and returns the outcome. */
lk_outcome lk_decision_fail(struct lk_decision *decision, lk_outcome outcome, const char *format,
                            ...) __attribute__((format(printf, 3, 4)));

/* Not a tick, which is no question, nor a leave, which a service says to itself. */
bool lk_command_is_for_engines(const struct lk_command *command);

/* LK_UNSUPPORTED, for the kinds of commands that are not for this engine. */
lk_outcome lk_decision_refuse(struct lk_decision *decision);

/*
 * Fills an empty decision, except its wait cursor, with the result of a step of `command`. To be
 * called before the next step, and before the changes of the step are made durable: returns false
 * when memory is exhausted, the decision an LK_INTERNAL then.
 */
bool lk_decision_from_effects(const struct lk_model *model, const struct lk_effects *effects,
                              const struct lk_command *command, struct lk_decision *decision);

/* ---- series of commands ---------------------------------------------------------------------- */

struct lk_series; /* engine/engine.h */

/* The queue of a command that a series may have. It belongs to the command. */
const struct lk_path *lk_command_queue(const struct lk_command *command);

/* Makes it empty, whatever is there but the room for answers: how every decide_many() begins. */
void lk_series_begin(struct lk_series *series, const struct lk_command *commands, size_t count);

/*
 * The next command to decide, with the token that it shares. false: the series is complete, ended
 * by a take, or has failed.
 */
bool lk_series_next(const struct lk_series *series, struct lk_command *ret_command);

/*
 * Adds the decision of that command, and leaves it empty. An outcome that is not one command's own
 * becomes the outcome of all.
 */
void lk_series_add(struct lk_series *series, struct lk_decision *decision);

/* Frees the answers, leaves the outcome and a sentence, and returns the outcome. */
lk_outcome lk_series_fail(struct lk_series *series, lk_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- listings -------------------------------------------------------------------------------- */

/*
 * Every live request with a part at or below `prefix` (NULL: everywhere), by ticket; one entry for
 * each such part. LK_OK with *ret_listing, or LK_INTERNAL when memory is exhausted.
 * What is overdue must have been expired by a step before.
 */
lk_outcome lk_listing_from_model(const struct lk_model *model, const struct lk_times *times,
                                 const struct lk_path *prefix, lk_listing **ret_listing);

/* All parts of every live request with a part related to `path`, with what is in their way. */
lk_outcome lk_listing_from_model_with_blockers(const struct lk_model *model,
                                               const struct lk_times *times,
                                               const struct lk_path *path,
                                               lk_listing **ret_listing);

/*
 * The same by hand, for an engine that reads its rows itself, in the order of their tickets:
 * appends the record's parts at or below `prefix` (NULL: all of them) as one request more.
 * Returns false when memory is exhausted, the listing unchanged or with some of the parts.
 */
lk_listing *lk_listing_new(void); /* NULL when memory is exhausted */
bool lk_listing_add(lk_listing *listing, const struct lk_record *record,
                    const struct lk_times *times, const struct lk_path *prefix);

/* One request out of a model, with what is in its way: see lk_model_explain(). */
bool lk_listing_add_explained(lk_listing *listing, const struct lk_model *model, lk_ref request,
                              const struct lk_times *times, struct lk_explaining *explaining);

/* ---- values and work (R15, R16) -------------------------------------------------------------- */

/* The value at a path. LK_OK with *ret_value, LK_NONE, or LK_INTERNAL when memory is exhausted. */
lk_outcome lk_value_from_model(const struct lk_model *model, const struct lk_path *path,
                               lk_value **ret_value);

/* A page of up to `max` values. */
lk_outcome lk_values_from_model(const struct lk_model *model, const struct lk_path *prefix,
                                struct lk_slice behind, size_t max, lk_value_list **ret_list);

/* The same by hand: appends one value. Returns false when memory is exhausted. */
lk_value_list *lk_value_list_new(void); /* NULL when memory is exhausted */
bool lk_value_list_add(lk_value_list *list, struct lk_slice path, size_t size, bool in_doubt);

/* Marks that there are more behind the last one. Returns false when memory is exhausted. */
bool lk_value_list_cut(lk_value_list *list);

/*
 * The result of a take: LK_GRANTED with *ret_claim, else its outcome and sentence in *error. To be
 * called before what the step changed is made durable, as it can fail for memory (LK_INTERNAL).
 */
lk_outcome lk_claim_from_answer(const struct lk_model *model, const struct lk_answer *answer,
                                const struct lk_times *times, lk_claim_info **ret_claim,
                                lk_error *error);

/* The name of a state, as in lk_item_info; static. */
const char *lk_item_state_name(enum lk_item_state state);

/* The state of this name; any other name: LK_ITEM_READY. */
enum lk_item_state lk_item_state_of(struct lk_slice name);

/* The result of a push. */
lk_push_result lk_pushed_of(const struct lk_answer *answer);

struct lk_item_query; /* engine/engine.h */

/* The items of a query, oldest first. LK_OK, or LK_INTERNAL when memory is exhausted. */
lk_outcome lk_items_from_model(const struct lk_model *model, const struct lk_times *times,
                               const struct lk_item_query *query, lk_item_list **ret_list);

/*
 * The same by hand, for an engine that reads its rows itself: appends one item; `claim` is the
 * record of its claim, or NULL. Returns false when memory is exhausted, the list unchanged.
 */
lk_item_list *lk_item_list_new(void); /* NULL when memory is exhausted */
bool lk_item_list_add(lk_item_list *list, const struct lk_item_record *item,
                      const struct lk_record *claim, const struct lk_times *times);

/* Up to `max` parked items. *ret_reached: the last one's sequence; 0: there are no more. */
lk_outcome lk_parked_from_model(const struct lk_model *model, const struct lk_times *times,
                                const struct lk_path *queue, uint64_t behind, size_t max,
                                lk_item_list **ret_list, uint64_t *ret_reached);

/* Up to `max` queues. */
lk_outcome lk_queues_from_model(const struct lk_model *model, const struct lk_path *prefix,
                                int64_t now_us, struct lk_slice behind, size_t max,
                                lk_queue_list **ret_list, bool *ret_has_more);

/* The same by hand: appends one queue. Returns false when memory is exhausted. */
lk_queue_list *lk_queue_list_new(void); /* NULL when memory is exhausted */
bool lk_queue_list_add(lk_queue_list *list, struct lk_slice path, const lk_queue_stats *counts);

void lk_stats_from_counts(const struct lk_queue_counts *counts, int64_t now_us,
                          lk_queue_stats *ret_stats);

/* ---- bounds (R22) ---------------------------------------------------------------------------- */

/* All but the size of *ret_limits. */
void lk_limits_from_quotas(const struct lk_quotas *quotas, uint64_t events, lk_limits *ret_limits);

/* As lines of a report: the bounds, and whether events are kept. */
void lk_limits_report(struct lk_text *text, const struct lk_quotas *quotas, uint64_t events_max,
                      bool is_watched);

/* Does not change the bounds that are LK_LIMIT_AS_IS. */
void lk_limits_into_quotas(const lk_limits *limits, struct lk_quotas *quotas);

/* ---- reports --------------------------------------------------------------------------------- */

/* Copies the texts; the numbers are 0. NULL when memory is exhausted. */
lk_report *lk_report_make(const char *text, const char *warnings);

/* ---- audits ---------------------------------------------------------------------------------- */

lk_audit *lk_audit_new(void); /* NULL when memory is exhausted */

/* Appends a copy; oldest first. Returns false when memory is exhausted, the audit unchanged. */
bool lk_audit_add(lk_audit *audit, const struct lk_audit_row *row);

/*
 * Forgets the first `count` entries; there must be so many. For a bounded record in memory: to move
 * the rest costs as much as there is, so many go at a time.
 */
void lk_audit_drop_oldest(lk_audit *audit, size_t count);

#endif
