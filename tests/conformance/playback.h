/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Playing one scenario: its open stores and waits in the background, the state that is kept
 * meanwhile, and the functions that play its steps. play.c plays asks, renewals and their ends, the
 * others what is said here.
 */
#ifndef CONFORMANCE_PLAYBACK_H
#define CONFORMANCE_PLAYBACK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lockkeeper/lockkeeper.h"
#include "observed.h"
#include "scenario.h"
#include "words.h"

/* ---- handles.c: open stores, and waits in the background ------------------------------------- */

/*
 * If the store outlives its handles, the owners take turns at two of them, as owners in two
 * processes would; otherwise all share one.
 */
enum { HANDLES_STORES = 2, HANDLES_OWNERS_MAX = 40, HANDLES_WAITS_MAX = 40 };

/* The answer to a call; freed by answer_done(). */
struct answer {
    lk_outcome outcome;
    lk_result *result; /* NULL: none */
    lk_error error;
};

void answer_done(struct answer *answer);

/* One wait in the background. */
struct background_wait {
    const void *record; /* the caller's key of this wait */
    lk_store *store;
    lk_request request;
    lk_cancel *cancel;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool is_over;
    struct answer answer;
};

struct handles {
    const char *url;
    bool share;
    lk_store *stores[HANDLES_STORES]; /* NULL: not open */
    const char *owners[HANDLES_OWNERS_MAX];
    size_t owner_count;
    struct background_wait *waits[HANDLES_WAITS_MAX];
    size_t wait_count;
};

/*
 * Opens the handles of a store that outlives them, and lets each ask once and release: a session of
 * a database compiles what it calls then, which on a slow machine takes longer than the steps of a
 * scenario may.
 */
bool handles_open(struct handles *handles, struct complaint *complaint);

/* The owner's handle, opened when it is first needed. NULL with a complaint. */
lk_store *handles_store(struct handles *handles, const char *owner, struct complaint *complaint);

/* Cancels the waits in the background, and forgets them and the owners. */
void handles_end_waits(struct handles *handles);

/* The same, and closes every store. */
void handles_close(struct handles *handles);

/* Begins a wait on a thread of its own. `request` and what it points to must stay. */
bool handles_begin(struct handles *handles, lk_store *store, const lk_request *request,
                   const void *record, struct complaint *complaint);

/* Whether the wait that was begun for `record` is over; false also when there is none. */
bool handles_is_over(struct handles *handles, const void *record);

/* Ends the wait begun for `record`: in its own time within `patience_ms`, or by cancelling. */
bool handles_end(struct handles *handles, const void *record, bool cancel, long patience_ms,
                 struct answer *ret_answer, struct complaint *complaint);

/* ---- the state ------------------------------------------------------------------------------- */

enum { PLAYBACK_TTL_DEFAULT_MS = 60000 }; /* R11 */

struct playback {
    const struct scenario *scenario;
    struct handles handles;
    struct observed observed;
    int64_t stretch;
    int64_t now_ms;      /* the scenario's clock, already stretched */
    bool keeps_alive;    /* a wait in the background has renewed a request with a short ttl */
    lk_watch *watch;     /* NULL: none */
    uint64_t watched_to; /* by the one before */
    FILE *report;
};

/* The machine's clock. */
int64_t playback_now_us(void);

/* An owner that was kept by name, or the name itself. */
const char *playback_owner(const struct playback *playback, const char *name);

/* A token that was kept by name; 0 for NULL. False with a complaint when there is none. */
bool playback_token(const struct playback *playback, const char *name, uint64_t *ret_token,
                    struct complaint *complaint);

/* Compares what came of a step with what it expects; remembers draws, and reports what is wrong. */
bool playback_compare(struct playback *playback, const struct step *step,
                      const struct observation *observation, struct complaint *complaint);

/* ---- listing.c: the steps that change nothing: expect, list, show, audit --------------------- */

/* What these steps need of the playback. */
struct listing_context {
    lk_store *store;
    struct observed *observed;
    const char *owner; /* of the step, kept names resolved; NULL: none */
    int64_t stretch;
};

/* Makes the step; false with a complaint when something is not as the step says. */
bool listing_play(const struct listing_context *context, const struct step *step,
                  struct complaint *complaint);

/* Whether the owner has a live request for exactly the step's paths. */
bool listing_is_there(const struct listing_context *context, const struct step *step);

/* Writes every live request, for a report. */
void listing_report(lk_store *store, FILE *report);

/* ---- work.c: the steps about values and work; series.c: those about several of them ---------- */

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

/* ---- watch.c: the steps about events (R21) and bounds (R22) ---------------------------------- */

/* Makes the step; false with a complaint when something is not as the step says. */
bool watch_play(struct playback *playback, const struct step *step, struct complaint *complaint);

/* Ends the watch, if there is one; `watch again` goes on where it was. Before stores are closed. */
void watch_stop(struct playback *playback);

#endif
