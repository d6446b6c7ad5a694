/* SPDX-License-Identifier: Apache-2.0 */
/* A move as an event. */
#ifndef LK_TESTS_HISTORIES_SAYING_H
#define LK_TESTS_HISTORIES_SAYING_H

#include "history.h"

/* Makes history->event of it, and history->asked: the same with the store's tokens. */
void history_say(struct history *history, const struct move *move);

#endif
