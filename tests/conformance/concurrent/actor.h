/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One owner that asks, waits, renews and releases at random, and writes down what it sees; or keeps
 * something by its locks, as said below.
 */
#ifndef CONFORMANCE_ACTOR_H
#define CONFORMANCE_ACTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

enum { ACTOR_OWNER_MAX = 32, RESOURCES = 2 };

/* What all actors of a history have in common, be they threads or processes. */
struct actor_shared {
    _Atomic int64_t until_us; /* of actor_now_us() */
    atomic_ulong answers;
    _Atomic uint64_t resources[RESOURCES]; /* of keepers: the greatest token that each has seen */
};

struct actor {
    lk_store *store;
    char owner[ACTOR_OWNER_MAX];
    int log; /* a file of its own, appended to; a line is one write(), so that kills cut cleanly */
    uint64_t random;
    struct actor_shared *shared;
    atomic_bool *stop;     /* NULL: none. Set: leave everything as it is */
    unsigned requests_max; /* how many it may have at once */
    unsigned long calls;
    int64_t called_us; /* when the last call began; 0: it is a wait */
    int64_t took_us;   /* the last call that was no wait */
    bool outlasts;     /* some leases are long enough to outlast a restart of the store */
    bool one_root;     /* nothing over several roots: the store draws for each of them (R14) */
};

/* The clock of all logs: one for the whole machine. */
int64_t actor_now_us(void);

uint64_t actor_draw(struct actor *actor, uint64_t below);

/* Writes a call down before it is made, and its answer: that of a grant with what came with it. */
void actor_log_call(struct actor *actor, const char *verb, const char *style,
                    const lk_request *request);
void actor_log_given(struct actor *actor, lk_outcome outcome, const lk_result *result,
                     const char *given);
void actor_log_line(const struct actor *actor, const char *line);

bool actor_goes_on(const struct actor *actor); /* whether it is not over yet */

/*
 * Passes time for what a holder holds a lease for. Where calls are slow, it passes as much as they
 * do: else hardly two would hold something at the same time, and there would be nothing to compare.
 */
void actor_hold(struct actor *actor);

/* Plays until `shared->until_us` or until `stop` is set; what is held then is left to perish. */
void actor_play(struct actor *actor);

/* One wait for an exclusive lease and its release, written down as any other. */
lk_outcome actor_close(struct actor *actor, const char *path, int64_t wait_ms);

/* ---- keeper.c -------------------------------------------------------------------------------- */

/*
 * As actor_play(), by an actor that keeps something by its locks: values in the store, a resource
 * outside it that refuses old tokens, and items of work.
 */
void keeper_play(struct actor *actor);

/* Does all work that is left and reads all values. Returns whether it came to an end in time. */
bool keeper_close(struct actor *actor, int64_t wait_ms);

#endif
