/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An actor that keeps something by its locks: values in the store, a resource outside it that
 * refuses old tokens, and items of work.
 */
#ifndef CONFORMANCE_KEEPER_H
#define CONFORMANCE_KEEPER_H

#include "actor.h"

/* As actor_play(). */
void keeper_play(struct actor *actor);

/* Does all work that is left and reads all values. Returns whether it came to an end in time. */
bool keeper_close(struct actor *actor, int64_t wait_ms);

#endif
