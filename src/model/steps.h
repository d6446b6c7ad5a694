/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the model, one for each kind of command, and what they share. */
#ifndef LK_MODEL_STEPS_H
#define LK_MODEL_STEPS_H

#include "model/command_check.h"
#include "model/probe.h"
#include "model/requests.h"
#include "model/storage.h"

void lk_step_ask(struct lk_model *model, struct lk_times times, const struct lk_ask *ask);
void lk_step_renew(struct lk_model *model, struct lk_times times, const struct lk_renew *renew);
void lk_step_release(struct lk_model *model, struct lk_times times,
                     const struct lk_release *release);
void lk_step_break(struct lk_model *model, struct lk_times times, const struct lk_break *broken);
void lk_step_leave(struct lk_model *model, struct lk_times times, const struct lk_leave *leave);

void lk_step_put(struct lk_model *model, const struct lk_put *put);
void lk_step_push(struct lk_model *model, struct lk_times times, const struct lk_push *push);
void lk_step_take(struct lk_model *model, struct lk_times times, const struct lk_take *take);
void lk_step_finish(struct lk_model *model, struct lk_times times, const struct lk_finish *finish);
void lk_step_unpark(struct lk_model *model, const struct lk_unpark *unpark);
void lk_step_drop(struct lk_model *model, const struct lk_drop *drop);

/* Ends overdue requests, in the order of the deadlines (R11). false: memory is exhausted. */
bool lk_step_perish(struct lk_model *model, struct lk_times times);

/* Sets the answer's outcome and request. */
void lk_answer(struct lk_model *model, lk_outcome outcome, lk_id request);

/* The answer when memory is exhausted. */
void lk_answer_exhausted(struct lk_model *model);

/* The answer to a command that a check of command_check.h refuses. */
void lk_answer_invalid(struct lk_model *model, const lk_error *error);

/* Checks owner and parts of a command; false: the answer says what is wrong. */
bool lk_check_names(struct lk_model *model, struct lk_slice owner, const struct lk_part *parts,
                    size_t count);

/* Checks what a release puts (R15). false: the answer says what is wrong. */
bool lk_check_puts(struct lk_model *model, const struct lk_release *release);

/* R22: the bound that one more request of this probe would pass; NULL: there is room. */
const char *lk_full_bound(const struct lk_model *model, const struct lk_probe *probe, bool waits);
void lk_answer_full(struct lk_model *model, const char *bound);

/* Clears the effects of the last step, which are invalid once something is restored. */
void lk_forget_effects(struct lk_model *model);

/* Checks a ttl that was named; 0, unnamed, is fine. false: the answer says what is wrong. */
bool lk_check_ttl(struct lk_model *model, int64_t ttl_ms);

/* ---- values (R15) ---------------------------------------------------------------------------- */

/* Their rules, as far as other steps need them. */

/* Writes the value of a path, which ends any doubt. false: memory is exhausted, nothing changed. */
bool lk_value_write(struct lk_model *model, const struct lk_path *path, struct lk_slice bytes);

/* The same for several parts of a release, all or none. */
bool lk_values_write(struct lk_model *model, const struct lk_release *release);

/*
 * Marks the values in doubt that the request's holder may have left half done: at most one change
 * a part. Called when the request perishes or is broken now.
 */
void lk_values_doubt(struct lk_model *model, const struct lk_model_request *request);

/* Every value is marked in doubt at most once a step that puts none: the bound of these changes. */
size_t lk_values_doubts_max(const struct lk_model *model, size_t requests);

#endif
