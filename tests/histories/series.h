/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series of commands (R16) on the store, as one decision, and on the model, one step for each:
 * both must give the same answers.
 *
 * The claims of a series share a token, unless a root has drawn a greater one (R4). A root that is
 * forgotten may have drawn anything up to the floor: a store that forgets roots at other moments
 * than the model refuses to share where the model shares, or shares where the model refuses. Its
 * refusal ends the series. Where it shares, no known token under these roots may be greater; then
 * the history is over.
 */
#ifndef LK_TESTS_HISTORIES_SERIES_H
#define LK_TESTS_HISTORIES_SERIES_H

#include "history.h"

/* Plays the present move, which is a series. What differs, in words; NULL: nothing. */
const char *series_differ(struct history *history, struct lk_engine *engine);

#endif
