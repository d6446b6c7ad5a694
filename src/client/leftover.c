/* SPDX-License-Identifier: Apache-2.0 */
/* Leftovers: one thread, which starts with the first of them, and the end of each. */
#include "client/leftover.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/thread.h"
#include "client/batch.h"
#include "client/split.h"

#define AGE_STEP_US INT64_C(1000) /* to which an age is rounded down */
#define ATTEMPT_US INT64_C(3000000)
#define PAUSE_MIN_US INT64_C(50000)
#define PAUSE_MAX_US INT64_C(1000000)
#define LOOK_AGAIN_US 2000 /* while an attempt is under way */

/* How often a store says that there is nothing, before it is believed: see struct lk_note. */
enum { ABSENCES_MAX = 4, LOOKS_MAX = 3 };

/*
 * The ask may be on its way still, in buffers of a connection that has been left, while the release
 * overtakes it on another one. So that there is nothing counts only after a few answers.
 */
struct lk_note {
    struct lk_leftover leftover; /* its texts are in `text` */
    struct lk_note *next;
    int64_t until_us; /* it has perished */
    int64_t due_us;   /* the next attempt */
    int64_t pause_us;
    int absences; /* answers that there is nothing */
    bool is_busy; /* an attempt is under way */
    struct lk_part *parts;
    struct lk_take take;
    struct lk_source source;
    char *text;
};

/* ---- one leftover ---------------------------------------------------------------------------- */

static bool is_of(const lk_entry *entry, const struct lk_leftover *leftover) {
    return lk_slice_equal(lk_slice_of(entry->owner), leftover->owner)
           && lk_slice_equal(
               lk_slice_of(entry->path),
               (struct lk_slice){leftover->parts[0].path.bytes, leftover->parts[0].path.size});
}

/* Whether all of these are of the same user of a service; *user is that of the first, or NULL. */
static bool is_same_user(const lk_entry *entry, const char **user) {
    *user = *user != NULL ? *user : entry->user;
    return *user == NULL || (entry->user != NULL && strcmp(entry->user, *user) == 0);
}

/*
 * What listings say of the moment at which the request was made. Its age, which is rounded down, is
 * that of a moment between question and answer.
 */
struct evidence {
    uint64_t ticket; /* of the request; 0: none was found yet */
    uint64_t token;
    int64_t not_before_us;
    int64_t not_after_us;
    int64_t round_trip_us; /* the shortest */
};

/*
 * Lists once more, and adds what that says. LK_OK with the evidence, whose token is 0 for a queued
 * request; LK_NONE: there is nothing; LK_BUSY: some are of other users; or as the engine's list().
 */
static lk_outcome look(struct lk_engine *engine, const struct lk_leftover *leftover,
                       const struct lk_patience *patience, struct evidence *evidence,
                       lk_error *error) {
    int64_t asked_us = lk_clock_now_us();
    lk_listing *listing = NULL;
    const char *user = NULL;
    lk_outcome outcome =
        engine->ops->list(engine, &leftover->parts[0].path, patience, &listing, error);
    int64_t answered_us = lk_clock_now_us();
    int64_t trip_us = (answered_us - asked_us) / lk_max(1, engine->ops->list_trips);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = LK_NONE;
    for (size_t i = 0; i < listing->count && outcome != LK_BUSY; i++) {
        const lk_entry *entry = &listing->entries[i];

        if (is_of(entry, leftover) && !is_same_user(entry, &user)) {
            outcome = LK_BUSY; /* which of them is ours is not known here */
        } else if (is_of(entry, leftover) && outcome == LK_NONE) {
            int64_t age_us = entry->age_ms * 1000;

            if (entry->ticket != evidence->ticket) { /* another one */
                evidence->not_before_us = INT64_MIN;
                evidence->not_after_us = LK_NEVER;
            }
            evidence->ticket = entry->ticket;
            evidence->token = entry->token;
            evidence->round_trip_us = lk_min(evidence->round_trip_us, trip_us);
            evidence->not_before_us =
                lk_max(evidence->not_before_us, asked_us - age_us - AGE_STEP_US);
            evidence->not_after_us = lk_min(evidence->not_after_us, answered_us - age_us);
            outcome = LK_OK;
        }
    }
    lk_listing_free(listing);
    return lk_error_clear(error, outcome);
}

/*
 * LK_OK with *ret_token: the request was made after the call began; LK_BUSY: before; or as look().
 *
 * A request that is younger than the call came by half of a round trip, that of the ask. Often one
 * listing decides. If not, more of them tell the shortest round trip, because an answer that came
 * late makes an older request look young. What is in doubt then is younger only if it was made a
 * quarter of that round trip after the call began, by an answer that took half of it.
 */
static lk_outcome find(struct lk_engine *engine, const struct lk_leftover *leftover,
                       const struct lk_patience *patience, uint64_t *ret_token, lk_error *error) {
    struct evidence evidence = {
        .not_before_us = INT64_MIN, .not_after_us = LK_NEVER, .round_trip_us = LK_NEVER};

    for (int i = 0; i < LOOKS_MAX; i++) {
        lk_outcome outcome = look(engine, leftover, patience, &evidence, error);

        if (outcome != LK_OK) {
            return outcome;
        }
        *ret_token = evidence.token;
        if (evidence.not_before_us >= leftover->began_us) {
            return LK_OK;
        }
        if (evidence.not_after_us < leftover->began_us) {
            return lk_error_clear(error, LK_BUSY);
        }
    }
    return lk_error_clear(error, evidence.not_after_us - leftover->began_us
                                         >= evidence.round_trip_us * 3 / 4 + AGE_STEP_US
                                     ? LK_OK
                                     : LK_BUSY);
}

lk_outcome lk_leftover_end(struct lk_engine *engine, const struct lk_leftover *leftover,
                           const struct lk_patience *patience, lk_error *error) {
    struct lk_command command = {
        .kind = LK_COMMAND_RELEASE,
        .release = {.target = {.owner = leftover->owner,
                               .parts = leftover->parts,
                               .part_count = leftover->part_count,
                               .token = leftover->token,
                               .batch = leftover->batch}},
    };
    struct lk_decision decision;
    lk_outcome outcome = LK_OK;

    if (leftover->take != NULL) {
        return lk_leftover_end_claims(engine, leftover, patience, error);
    }
    if (!leftover->is_ours && leftover->token == 0) {
        outcome = find(engine, leftover, patience, &command.release.target.token, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = lk_batch_decide(engine, &command, patience, &decision);
    (void)lk_error_copy(error, &decision.error);
    lk_decision_done(&decision);
    return outcome == LK_LOST && leftover->token == 0 ? lk_error_clear(error, LK_NONE) : outcome;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void note_free(struct lk_note *note) {
    free(note->parts);
    free(note->text);
    free(note);
}

static struct lk_slice *texts_of(struct lk_source *source, size_t at) {
    struct lk_slice *const texts[] = {&source->table, &source->id_column, &source->where,
                                      &source->order, &source->done};

    return at < sizeof texts / sizeof texts[0] ? texts[at] : NULL;
}

static size_t text_size(const struct lk_leftover *leftover) {
    struct lk_source source = {.table = {.bytes = NULL}};
    size_t size = leftover->owner.size + leftover->batch.size;

    for (size_t i = 0; i < leftover->part_count; i++) {
        size += leftover->parts[i].path.size;
    }
    if (leftover->source != NULL) {
        source = *leftover->source;
    }
    for (size_t i = 0; texts_of(&source, i) != NULL; i++) {
        size += texts_of(&source, i)->size;
    }
    return size;
}

/* Copies the bytes to *next, which moves behind them. */
static const char *keep(char **next, const char *bytes, size_t size) {
    const char *kept = *next;

    if (size > 0) {
        memcpy(*next, bytes, size);
    }
    *next += size;
    return kept;
}

/* Points the note's copies at its own text. */
static void keep_texts(struct lk_note *note, const struct lk_leftover *given) {
    struct lk_leftover *leftover = &note->leftover;
    char *next = note->text;

    leftover->owner.bytes = keep(&next, given->owner.bytes, given->owner.size);
    leftover->batch.bytes = keep(&next, given->batch.bytes, given->batch.size);
    leftover->parts = note->parts;
    for (size_t i = 0; i < given->part_count; i++) {
        const struct lk_path *path = &given->parts[i].path;

        note->parts[i] = given->parts[i];
        note->parts[i].path.bytes = keep(&next, path->bytes, path->size);
    }
    if (given->take != NULL) {
        note->take = *given->take;
        note->take.queue = note->parts[0].path;
        note->take.owner = leftover->owner;
        note->take.note_given = false;
        leftover->take = &note->take;
    }
    if (given->source != NULL) {
        note->source = *given->source;
        note->source.queue = note->parts[0].path;
        for (size_t i = 0; texts_of(&note->source, i) != NULL; i++) {
            struct lk_slice *text = texts_of(&note->source, i);

            text->bytes = keep(&next, text->bytes, text->size);
        }
        leftover->source = &note->source;
    }
}

/* NULL: memory is exhausted. */
static struct lk_note *note_new(const struct lk_leftover *leftover) {
    struct lk_note *note = calloc(1, sizeof *note);

    if (note == NULL) {
        return NULL;
    }
    note->text = malloc(text_size(leftover));
    note->parts = calloc(leftover->part_count, sizeof *note->parts);
    if (note->text == NULL || note->parts == NULL) {
        note_free(note);
        return NULL;
    }
    note->leftover = *leftover;
    keep_texts(note, leftover);
    note->pause_us = PAUSE_MIN_US;
    note->until_us = leftover->ttl_ms > (INT64_MAX - lk_clock_now_us()) / 1000
                         ? LK_NEVER
                         : lk_clock_now_us() + leftover->ttl_ms * 1000;
    return note;
}

/* With the mutex. */
static void remove_note(struct lk_leftovers *leftovers, struct lk_note *note) {
    struct lk_note **at = &leftovers->first;

    while (*at != note) {
        at = &(*at)->next;
    }
    *at = note->next;
    note_free(note);
    pthread_cond_broadcast(&leftovers->changed);
}

/* The one that is due first; NULL: there is none. */
static struct lk_note *first_due(const struct lk_leftovers *leftovers) {
    struct lk_note *first = leftovers->first;

    for (struct lk_note *note = first; note != NULL; note = note->next) {
        first = note->due_us < first->due_us ? note : first;
    }
    return first;
}

/* One attempt. Called and left with the mutex held; releases it meanwhile. */
static void attempt(struct lk_leftovers *leftovers, struct lk_note *note) {
    const struct lk_patience patience = {.until_us = lk_clock_now_us() + ATTEMPT_US,
                                         .waker = &leftovers->waker};
    lk_outcome outcome;

    note->is_busy = true;
    pthread_mutex_unlock(&leftovers->mutex);
    outcome = lk_leftover_end(leftovers->engine, &note->leftover, &patience, NULL);
    pthread_mutex_lock(&leftovers->mutex);
    note->is_busy = false;
    note->absences += outcome == LK_NONE;
    if ((outcome != LK_NONE && outcome != LK_UNAVAILABLE && outcome != LK_CANCELLED)
        || note->absences == ABSENCES_MAX || lk_clock_now_us() >= note->until_us) {
        remove_note(leftovers, note);
        return;
    }
    note->due_us = lk_clock_now_us() + note->pause_us;
    note->pause_us = lk_min(note->pause_us * 2, PAUSE_MAX_US);
    pthread_cond_broadcast(&leftovers->changed);
}

static void *run(void *context) {
    struct lk_leftovers *leftovers = context;

    pthread_mutex_lock(&leftovers->mutex);
    while (!leftovers->is_closed) {
        struct lk_note *note = first_due(leftovers);
        int64_t left_us = note != NULL ? note->due_us - lk_clock_now_us() : LK_NEVER;

        if (note == NULL) {
            (void)pthread_cond_wait(&leftovers->changed, &leftovers->mutex);
        } else if (left_us > 0) {
            struct timespec end = lk_condition_instant(left_us);

            (void)pthread_cond_timedwait(&leftovers->changed, &leftovers->mutex, &end);
        } else {
            attempt(leftovers, note);
        }
    }
    pthread_mutex_unlock(&leftovers->mutex);
    return NULL;
}

void lk_leftovers_add(struct lk_leftovers *leftovers, const struct lk_leftover *leftover) {
    struct lk_note *note = note_new(leftover);

    if (note == NULL) {
        return;
    }
    pthread_mutex_lock(&leftovers->mutex);
    if (!leftovers->is_started) {
        leftovers->is_started = lk_thread_start(&leftovers->thread, run, leftovers);
    }
    if (leftovers->is_started) {
        note->next = leftovers->first;
        leftovers->first = note;
        pthread_cond_broadcast(&leftovers->changed);
    } else {
        note_free(note);
    }
    pthread_mutex_unlock(&leftovers->mutex);
}

/* Whether it is of a request for just these parts, or of the share of a node in one. */
static bool has_parts(const struct lk_leftover *leftover, const struct lk_part *parts,
                      size_t part_count) {
    size_t found = 0;

    if (leftover->batch.size > 0) {
        return lk_split_is_named(leftover->batch, parts, part_count);
    }
    for (size_t i = 0; i < part_count && leftover->part_count == part_count; i++) {
        for (size_t k = 0; k < part_count; k++) {
            found += lk_path_equal(&leftover->parts[k].path, &parts[i].path);
        }
    }
    return found == part_count; /* R2: a request names no path twice */
}

/*
 * Drops the notes of the same request, but for those whose attempt is under way: *ret_is_busy.
 * Returns when the first call began that has left one of them.
 */
static int64_t drop_notes(struct lk_leftovers *leftovers, const struct lk_asking *asking,
                          bool *ret_is_busy) {
    int64_t began_us = LK_NEVER;
    struct lk_note *next;

    pthread_mutex_lock(&leftovers->mutex);
    for (struct lk_note *note = leftovers->first; note != NULL; note = next) {
        bool is_it = note->leftover.take == NULL
                     && lk_slice_equal(note->leftover.owner, asking->owner)
                     && has_parts(&note->leftover, asking->parts, asking->part_count);

        next = note->next;
        if (is_it && note->is_busy) {
            *ret_is_busy = true;
        } else if (is_it) {
            began_us = lk_min(began_us, note->leftover.began_us);
            remove_note(leftovers, note);
        }
    }
    pthread_mutex_unlock(&leftovers->mutex);
    return began_us;
}

/* ---- calls of this process ------------------------------------------------------------------- */

/* Its mutex may be held while that of a store is taken, never the other way round. */
static struct {
    pthread_mutex_t mutex;
    struct lk_leftovers *stores;
    struct lk_asking *calls;
} process = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* In a child of fork() stores and calls are the parent's, of which a thread may have the mutex. */
static void forget_parent(void) {
    process.stores = NULL;
    process.calls = NULL;
    (void)pthread_mutex_init(&process.mutex, NULL);
}

static void watch_forks(void) {
    (void)pthread_atfork(NULL, NULL, forget_parent);
}

static bool is_same_request(const struct lk_asking *one, const struct lk_asking *other) {
    const struct lk_leftover leftover = {.parts = other->parts, .part_count = other->part_count};

    return strcmp(one->url, other->url) == 0 && lk_slice_equal(one->owner, other->owner)
           && has_parts(&leftover, one->parts, one->part_count);
}

int64_t lk_leftovers_enter(struct lk_asking *asking) {
    int64_t began_us = LK_NEVER;
    bool is_busy = true;

    pthread_mutex_lock(&process.mutex);
    for (struct lk_asking *call = process.calls; call != NULL; call = call->next) {
        if (is_same_request(call, asking)) {
            call->is_shared = asking->is_shared = true;
        }
    }
    asking->next = process.calls;
    process.calls = asking;
    while (is_busy) {
        is_busy = false;
        for (struct lk_leftovers *at = process.stores; at != NULL; at = at->other) {
            if (strcmp(at->url, asking->url) == 0) {
                began_us = lk_min(began_us, drop_notes(at, asking, &is_busy));
            }
        }
        if (is_busy) { /* a store may be closed meanwhile, so the search begins again */
            pthread_mutex_unlock(&process.mutex);
            (void)usleep(LOOK_AGAIN_US);
            pthread_mutex_lock(&process.mutex);
        }
    }
    pthread_mutex_unlock(&process.mutex);
    return began_us;
}

void lk_leftovers_leave(struct lk_asking *asking) {
    struct lk_asking **at = &process.calls;

    pthread_mutex_lock(&process.mutex);
    while (*at != NULL && *at != asking) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = asking->next;
    }
    pthread_mutex_unlock(&process.mutex);
}

bool lk_leftovers_is_shared(const struct lk_asking *asking) {
    bool is_shared;

    pthread_mutex_lock(&process.mutex);
    is_shared = asking != NULL && asking->is_shared;
    pthread_mutex_unlock(&process.mutex);
    return is_shared;
}

static void enlist(struct lk_leftovers *leftovers) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, watch_forks);
    pthread_mutex_lock(&process.mutex);
    leftovers->other = process.stores;
    process.stores = leftovers;
    pthread_mutex_unlock(&process.mutex);
}

static void strike(struct lk_leftovers *leftovers) {
    struct lk_leftovers **at = &process.stores;

    pthread_mutex_lock(&process.mutex);
    while (*at != NULL && *at != leftovers) {
        at = &(*at)->other;
    }
    if (*at != NULL) {
        *at = leftovers->other;
    }
    pthread_mutex_unlock(&process.mutex);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

bool lk_leftovers_init(struct lk_leftovers *leftovers, struct lk_engine *engine, const char *url) {
    leftovers->engine = engine;
    leftovers->url = url;
    if (pthread_mutex_init(&leftovers->mutex, NULL) != 0) {
        return false;
    }
    if (!lk_condition_init(&leftovers->changed)) {
        (void)pthread_mutex_destroy(&leftovers->mutex);
        return false;
    }
    if (!lk_waker_init(&leftovers->waker)) {
        (void)pthread_cond_destroy(&leftovers->changed);
        (void)pthread_mutex_destroy(&leftovers->mutex);
        return false;
    }
    enlist(leftovers);
    return true;
}

/* Until when the notes are waited for; 0: there is none. */
static int64_t close_until_us(const struct lk_leftovers *leftovers) {
    int64_t until_us = 0;

    for (const struct lk_note *note = leftovers->first; note != NULL; note = note->next) {
        until_us = lk_max(until_us, note->leftover.close_until_us);
    }
    return until_us;
}

void lk_leftovers_close(struct lk_leftovers *leftovers) {
    bool is_started;
    int64_t left_us;

    pthread_mutex_lock(&leftovers->mutex);
    while ((left_us = close_until_us(leftovers) - lk_clock_now_us()) > 0) {
        struct timespec end = lk_condition_instant(left_us);

        (void)pthread_cond_timedwait(&leftovers->changed, &leftovers->mutex, &end);
    }
    leftovers->is_closed = true;
    is_started = leftovers->is_started;
    pthread_cond_broadcast(&leftovers->changed);
    pthread_mutex_unlock(&leftovers->mutex);
    lk_waker_throw(&leftovers->waker);
    if (is_started) {
        (void)pthread_join(leftovers->thread, NULL);
    }
    strike(leftovers);
    while (leftovers->first != NULL) {
        remove_note(leftovers, leftovers->first);
    }
    lk_waker_done(&leftovers->waker);
    (void)pthread_cond_destroy(&leftovers->changed);
    (void)pthread_mutex_destroy(&leftovers->mutex);
}
