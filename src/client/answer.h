/* SPDX-License-Identifier: Apache-2.0 */
/* Results for callers: what was requested, the outcome, and its text. */
#ifndef LK_CLIENT_ANSWER_H
#define LK_CLIENT_ANSWER_H

#include "client/checked.h"

/*
 * A result that names owner and paths. It is made before the store is asked, so that no answer is
 * lost for want of memory. NULL when memory is exhausted.
 */
lk_result *lk_answer_new(const struct lk_checked *checked);

/*
 * Moves what *decision holds into `named`, which is handed to the caller in *ret_result, or freed
 * when that is NULL. Outcome and text also go into *error. Returns the outcome.
 */
lk_outcome lk_answer_give(lk_result *named, struct lk_decision *decision, lk_result **ret_result,
                          lk_error *error);

/* Ends a decision of which only outcome and text are wanted. Returns the outcome. */
lk_outcome lk_answer_end(struct lk_decision *decision, lk_error *error);

/* The result of a call that failed before the store was asked, for the reason in *cause. */
lk_outcome lk_answer_refuse(const lk_error *cause, lk_result **ret_result, lk_error *error);

#endif
