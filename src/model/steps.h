/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the model, one for each kind of event, and what they share. */
#ifndef LK_MODEL_STEPS_H
#define LK_MODEL_STEPS_H

#include "model/requests.h"

void lk_step_ask(struct lk_model *model, struct lk_times times, const struct lk_ask *ask);
void lk_step_renew(struct lk_model *model, struct lk_times times, const struct lk_renew *renew);
void lk_step_release(struct lk_model *model, struct lk_times times, const struct lk_target *target);
void lk_step_break(struct lk_model *model, struct lk_times times, const struct lk_break *broken);

/* Ends what is overdue, in the order of the deadlines (R11). false: memory is exhausted. */
bool lk_step_perish(struct lk_model *model, struct lk_times times);

/* Sets the answer's outcome and request. */
void lk_answer(struct lk_model *model, lk_outcome outcome, lk_id request);

/* The answer when memory is exhausted. */
void lk_answer_exhausted(struct lk_model *model);

/* Checks owner and parts of an event; false: the answer says what is wrong. */
bool lk_check_names(struct lk_model *model, struct lk_slice owner, const struct lk_part *parts,
                    size_t count);

/* Checks a ttl that was named; 0, unnamed, is fine. false: the answer says what is wrong. */
bool lk_check_ttl(struct lk_model *model, int64_t ttl_ms);

#endif
