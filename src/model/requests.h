/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and their owners: made, found again (R3), held, put in the queue, ended.
 *
 * A request is made as a draft, which reserves everything that its later life needs; from then on
 * nothing fails. An ended request stays readable until lk_requests_bury().
 */
#ifndef LK_MODEL_REQUESTS_H
#define LK_MODEL_REQUESTS_H

#include "model/probe.h"

/* The owner of this name, 0 if it has no request. */
lk_id lk_owner_find(const struct lk_model *model, struct lk_slice name);

/* The live request of the probe's owner with the probe's paths, 0 if there is none (R3). */
lk_id lk_request_find(const struct lk_model *model, const struct lk_probe *probe);

/*
 * A draft: a request with owner, part entries and note that is not visible yet. `probe` is what
 * lk_probe_of_ask() found of the same parts. 0: memory is exhausted, and nothing was made. Continue
 * with lk_request_enter() or lk_request_discard().
 */
lk_id lk_request_draft(struct lk_model *model, struct lk_slice owner, const struct lk_part *parts,
                       const struct lk_probe *probe, struct lk_slice note);
void lk_request_discard(struct lk_model *model, lk_id request);

/* Makes a draft live, in `state`; ticket, token and deadline have been decided. */
void lk_request_enter(struct lk_model *model, lk_id request, enum lk_state state,
                      int64_t deadline_us);

/* Takes a live request out of its state, before its part entries or its ticket change; and back. */
void lk_request_detach(struct lk_model *model, lk_id request);
void lk_request_attach(struct lk_model *model, lk_id request, enum lk_state state);

/* Takes a live request out of all lists and indexes, back to a draft that was never reported. */
void lk_request_leave(struct lk_model *model, lk_id request);

/* Ends a live request; it stays readable until the next step. Adds the end to the effects. */
void lk_request_end(struct lk_model *model, lk_id request, enum lk_change_kind kind);

/* Frees what the last step ended. */
void lk_requests_bury(struct lk_model *model);

/* Gives the part entries other modes, limits and units; the request must be detached. */
void lk_request_convert(struct lk_model *model, lk_id request, const struct lk_part *parts,
                        size_t count);

/* A copy of a note. false: memory is exhausted. An empty note is NULL. */
bool lk_note_make(struct lk_model *model, struct lk_slice text, char **ret_note);
void lk_note_free(struct lk_model *model, char *note);
struct lk_slice lk_request_note(const struct lk_model_request *request);

/* R4: the greatest draw so far of the roots of this request. */
uint64_t lk_request_last_draw(const struct lk_model *model, lk_id request);

/*
 * R4: the next draw for this request, over all of its roots; and recording it there, once it is
 * certain that it is used. An ask refused as a deadlock has drawn nothing, so that a store that
 * writes down what changed loses no draw. lk_request_draw() does both.
 */
uint64_t lk_request_next_draw(const struct lk_model *model, lk_id request, int64_t wall_us);
void lk_request_keep_draw(struct lk_model *model, lk_id request, uint64_t draw);
uint64_t lk_request_draw(struct lk_model *model, lk_id request, int64_t wall_us);

/* A root has come to this draw. */
static inline void lk_draw_note(struct lk_model *model, uint64_t draw) {
    model->greatest_draw = draw > model->greatest_draw ? draw : model->greatest_draw;
}

static inline int64_t lk_request_deadline(const struct lk_model *model,
                                          const struct lk_model_request *request) {
    return model->deadlines.keys[request->deadline_at];
}

/* Room for `extra` changes and for one of each waiting request. false: memory is exhausted. */
bool lk_changes_reserve(struct lk_model *model, size_t extra);
void lk_change_add(struct lk_model *model, enum lk_change_kind kind, lk_id request);

#endif
