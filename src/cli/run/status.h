/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that lk writes to stderr beside its outcome, each in one write. */
#ifndef LK_CLI_RUN_STATUS_H
#define LK_CLI_RUN_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

/* Bytes of a line; a longer one is cut. */
enum { LK_RUN_STATUS_MAX = 1024 };

/*
 * Prints `lk: WORD: text`, with the text made visible (lk_human_sentence()). If stderr stays
 * unwritable for a second (a full pipe, a terminal held by ^S), the line is dropped: a slow reader
 * must not delay lk.
 */
void lk_run_status(const char *word, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * `prefix` is written in front of each later line, in the same write: what clears a line that the
 * terminal shows and that is drawn again. Static storage. To be called while no other thread is
 * running; children that are forked later have it too.
 */
void lk_run_status_begin_with(const char *prefix);

/* Whether a notice would be said without waiting for a reader. */
bool lk_run_status_has_room(void);

/* ---- a store that is away -------------------------------------------------------------------- */

/* Messages about a store that does not answer, while lk waits and while CMD runs. */

enum { LK_RUN_OUTAGE_LOOK_MS = 500 };

enum lk_run_outage_news {
    LK_RUN_OUTAGE_NOTHING,
    LK_RUN_OUTAGE_AWAY, /* a line is due */
    LK_RUN_OUTAGE_BACK,
};

/* Start from all zero bytes, but for `may_say` and `has_no_limit`. */
struct lk_run_outage_log {
    int64_t next_ms; /* of the outage: when the next line is due */
    bool has_said;
    bool has_said_why;
    bool has_no_limit; /* the wait goes on until the store is back */

    /* Asked before each line, of processes that share a stderr and a store. NULL: always. */
    bool (*may_say)(void *context, enum lk_run_outage_news news);
    void *context;
};

/*
 * What is to be said of a store that has been away for so long, and counts it as said: the first
 * line after a second, another one when the outage is twice as old, or when its reason is known.
 */
enum lk_run_outage_news lk_run_outage_log_next(struct lk_run_outage_log *log, int64_t away_ms,
                                               bool knows_why);

/*
 * To be called every LK_RUN_OUTAGE_LOOK_MS: prints a line on stderr when the store has been away
 * for a second, after as long again each time, and when it is back. With a lease the line says how
 * long that is still promised; NULL: lk waits for one. Does not block.
 */
void lk_run_outage_log_look(struct lk_run_outage_log *log, lk_store *store, const lk_lease *lease);

/* ---- a store that drops what it should keep -------------------------------------------------- */

/* A warning at the start of a worker: a Redis server may drop the queue that it works on. */

/*
 * Writes a line for each server of a Redis store that evicts keys. Other stores are not asked. The
 * caller waits so long for work; a server that is silent is not waited for much longer.
 */
void lk_warn_of_eviction(lk_store *store, int64_t wait_ms);

#endif
