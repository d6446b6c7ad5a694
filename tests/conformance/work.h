/* SPDX-License-Identifier: Apache-2.0 */
/* Plays the steps about values and work: work.c those about one item, series.c the others. */
#ifndef CONFORMANCE_WORK_H
#define CONFORMANCE_WORK_H

#include "playback.h"

enum { ITEM_TEXT_MAX = 1024 };

bool work_play(struct playback *playback, const struct step *step, struct complaint *complaint);

/* values [PREFIX] */
bool value_list_play(struct playback *playback, const struct step *step, lk_store *store,
                     struct complaint *complaint);

/* ---- shared by the two ----------------------------------------------------------------------- */

bool is_about_several(const struct step *step);
bool series_play(struct playback *playback, const struct step *step, lk_store *store,
                 struct complaint *complaint);

/* QUEUE and ID of a path. */
struct item_name {
    char queue[ITEM_TEXT_MAX];
    const char *id;
};
bool item_name_of(const char *path, struct item_name *ret_name, struct complaint *complaint);

lk_push_request push_request_of(const struct playback *playback, const struct step *step,
                                const struct item_name *name);
lk_claim_request claim_request_of(const struct playback *playback, const struct step *step);

/* A claim is a lease on `*path`: its draws rise, and it expires, like any other. */
void claim_see(struct observation *observation, const lk_claim_info *claim, char **path);
void claim_promise(struct playback *playback, const lk_claim_info *claim, const char *path,
                   int64_t called_us);
void claim_forget_promise(struct playback *playback, const char *owner, const char *path);

/* When the delay of the step's item is over. */
void item_promise_due(struct playback *playback, const struct step *step, const char *path,
                      int64_t called_us);

#endif
