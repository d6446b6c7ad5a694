/* SPDX-License-Identifier: Apache-2.0 */
/* The events that a store keeps of a step of a random history, beside what the model does (R21). */
#ifndef LK_TESTS_HISTORIES_EVENTS_H
#define LK_TESTS_HISTORIES_EVENTS_H

#include "history.h"

/*
 * Asks the engine what has happened since it was asked last: what differs from the effects of
 * history->event, in words, or NULL. Events of one step are in order; but what one break ends has
 * none, and several roots of a lazy store have none among them (R11).
 */
const char *events_differ(struct history *history, struct lk_engine *engine,
                          const struct lk_effects *effects);

/* From here on the store keeps what happens. */
const char *events_begin(struct history *history);

#endif
