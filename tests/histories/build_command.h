/* SPDX-License-Identifier: Apache-2.0 */
/* A move as an event. */
#ifndef LK_TESTS_HISTORIES_BUILD_COMMAND_H
#define LK_TESTS_HISTORIES_BUILD_COMMAND_H

#include "history.h"

/* Makes history->event of it, and history->asked: the same with the store's tokens. */
void history_build_command(struct history *history, const struct move *move);

#endif
