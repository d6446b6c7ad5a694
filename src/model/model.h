/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock model: one state, one step.
 *
 * An event with its own time goes into lk_model_step(), effects come out: the answer for whoever
 * asked, and the changes that a store has to write down. The same events give the same effects:
 * there is no clock, no I/O, no randomness and no global here. The rules are those of
 * docs/rules.md, cited by number at the branch that keeps them.
 *
 * Ownership: everything passed in is borrowed for the call. What effects and records refer to is
 * the model's; it stays readable until the next step, also what the step ended.
 * Threads: none; whoever shares a model brings a lock.
 * Memory: a step first reserves all it may need. If that fails it answers LK_INTERNAL and the event
 * has changed nothing; afterwards it cannot fail half-way. What time alone has brought about by
 * then (R11) stays, and stands among the changes: all that is due, or nothing of it.
 */
#ifndef LK_MODEL_MODEL_H
#define LK_MODEL_MODEL_H

#include <stdint.h>

#include "base/allocator.h"
#include "model/part.h"

enum {
    LK_OWNER_BYTES_MAX = 128,
    LK_NOTE_BYTES_MAX = 255,
    LK_REASON_BYTES_MAX = 1024,
};

#define LK_TTL_MIN_MS INT64_C(50)
#define LK_TTL_MAX_MS (INT64_C(366) * 24 * 60 * 60 * 1000)
#define LK_TTL_DEFAULT_MS INT64_C(60000)
#define LK_ENDED_MEMORY_US (INT64_C(5) * 60 * 1000000) /* R3: ended tokens, five minutes */
#define LK_NEVER INT64_MAX                             /* an instant that does not come */

/* R22. 0 means unbounded. */
struct lk_quotas {
    uint64_t live_max;
    uint64_t live_per_owner_max;
    uint64_t live_per_root_max;
    uint64_t waiters_per_path_max;
};

struct lk_model_config {
    const struct lk_allocator *allocator; /* borrowed for the model's life; NULL: the C library's */
    struct lk_quotas quotas;
    uint64_t hash_seed; /* random where names come from strangers; same seed, same order */
    uint32_t ended_max; /* ended tokens remembered at most (R3); 0: LK_ENDED_MAX_DEFAULT */
};
enum { LK_ENDED_MAX_DEFAULT = 65536 };

struct lk_model;

/* A request inside a model; 0 is none. Not reused before the step after the one that ended it. */
typedef uint32_t lk_ref;

/* Both readings of one turn. Deadlines live on `now_us`, draws (R4) and `until` on `wall_us`. */
struct lk_times {
    int64_t now_us;  /* the store's clock (R11); never runs backwards */
    int64_t wall_us; /* microseconds of Unix time */
};

/* ---- events --------------------------------------------------------------------------------- */

/* An owner and the paths of one of its requests (R3). Modes and limits are ignored. */
struct lk_target {
    struct lk_slice owner;
    const struct lk_part *parts;
    size_t part_count;
    uint64_t token; /* 0: not named */
};

struct lk_ask {
    struct lk_slice owner;
    const struct lk_part *parts;
    size_t part_count;
    lk_style style;   /* LK_WAIT: somebody is blocked on it; its grant sets the deadline (R10) */
    int64_t ttl_ms;   /* 0: LK_TTL_DEFAULT_MS */
    int64_t until_us; /* wall clock; 0: none. Fixes the deadline (R11) */
    bool note_given;  /* false: a repeated ask keeps the note it has */
    struct lk_slice note;
    size_t blockers_max; /* how many blockers to name in the answer (R20); 0: none */
};

struct lk_renew {
    struct lk_target target;
    int64_t ttl_ms; /* 0: the request's own */
};

struct lk_break {
    struct lk_path path;   /* requests with a part at exactly this path */
    struct lk_slice owner; /* empty: anybody's */
    bool at_once;          /* R12 break now */
};

enum lk_event_kind {
    LK_EVENT_ASK,     /* R3, R7-R10, R13 */
    LK_EVENT_RENEW,   /* R11: only what is held and not revoked; else LK_LOST */
    LK_EVENT_RELEASE, /* R12: release or withdraw */
    LK_EVENT_BREAK,   /* R12 */
    LK_EVENT_TICK,    /* nothing but the passing of time */
};

struct lk_event {
    enum lk_event_kind kind;
    struct lk_times times;
    union {
        struct lk_ask ask;
        struct lk_renew renew;
        struct lk_target release;
        struct lk_break broken;
    };
};

/* ---- effects -------------------------------------------------------------------------------- */

enum lk_change_kind {
    LK_CHANGE_QUEUED,    /* a new request stands in line */
    LK_CHANGE_GRANTED,   /* it is held now: new token */
    LK_CHANGE_CONVERTED, /* parts, ticket or token are others now; state unchanged */
    LK_CHANGE_REFRESHED, /* deadline, ttl, note or style */
    LK_CHANGE_REVOKED,   /* broken, but held until its deadline (R12) */
    LK_CHANGE_RELEASED,  /* ended by its owner, was held */
    LK_CHANGE_WITHDRAWN, /* ended by its owner or by a deadlock, was waiting */
    LK_CHANGE_PERISHED,  /* ended by its deadline */
    LK_CHANGE_BROKEN,    /* ended by an administrator */
};

/* In the order in which they happened. One request may appear more than once. */
struct lk_change {
    enum lk_change_kind kind;
    lk_ref request;
};

/* One request in the way of another (R20), and where. */
struct lk_blocker {
    lk_ref request;
    uint32_t part; /* index of the blocker's part that is in the way */
};

struct lk_answer {
    lk_outcome outcome;
    lk_ref request;    /* what the event was about; 0 after a refused try of something new */
    bool created;      /* this event put the request there */
    uint64_t in_use;   /* units held at the first part's path, own included (asks only) */
    size_t in_the_way; /* requests in the way of a WAITING or BUSY ask; 0 when granted.
                          Counted only when the ask's blockers_max is not 0. */
    size_t broken;     /* LK_EVENT_BREAK: how many requests it withdrew, revoked or ended */

    const struct lk_blocker *blockers; /* the first of those in the way: holders, then by ticket */
    size_t blocker_count;
    const struct lk_slice *cycle; /* LK_DEADLOCK: the owners, the asker first */
    size_t cycle_count;
    const char *text; /* for people; empty when there is nothing to add. Never NULL */
};

struct lk_effects {
    struct lk_answer answer;
    const struct lk_change *changes;
    size_t change_count;
};

/* ---- the state and its step ------------------------------------------------------------------ */

/* Returns NULL when memory is exhausted. Free with lk_model_free(). */
struct lk_model *lk_model_new(const struct lk_model_config *config);
void lk_model_free(struct lk_model *model); /* accepts NULL */

/*
 * Everything due by the event's now takes effect first, in the order of the deadlines (R11); then
 * the event itself. `now_us` must not be smaller than at the step before.
 * The result is the model's and valid until the next step or restore. Never NULL.
 */
const struct lk_effects *lk_model_step(struct lk_model *model, const struct lk_event *event);

/* The earliest deadline, on the now_us axis; LK_NEVER if nothing lives. */
int64_t lk_model_next_deadline(const struct lk_model *model);

/* ---- records: what is kept of a request ------------------------------------------------------ */

enum lk_state { LK_STATE_WAITING, LK_STATE_HELD, LK_STATE_ENDED };

/*
 * A request in the open. Filled by lk_model_record() (slices point into `text` and the model) and
 * read by lk_model_restore() (slices may point anywhere). Large: keep it off deep stacks.
 */
struct lk_record {
    uint64_t id; /* unique in the store, given by the model on arrival, never changed */
    struct lk_slice owner;
    struct lk_slice note;
    enum lk_state state;
    bool revoked;  /* R12: held to its deadline, not renewable */
    bool attended; /* the last ask was LK_WAIT */
    bool fixed;    /* the deadline came from `until` and does not move */
    uint64_t ticket;
    uint64_t token; /* 0 while waiting */
    int64_t ttl_ms;
    int64_t deadline_us; /* on the now_us axis */
    size_t part_count;
    struct lk_part parts[LK_PARTS_MAX];                /* in the order of the ask */
    char text[LK_PARTS_MAX * (LK_PATH_BYTES_MAX + 1)]; /* where lk_model_record() puts the paths */
};

/* Copies the request into *ret_record. `request` must be live, or ended by the last step. */
void lk_model_record(const struct lk_model *model, lk_ref request, struct lk_record *ret_record);

/*
 * Puts a live request back, as a store loads it. Any order; nothing is decided, nothing is drawn.
 * The next step expires what is overdue and grants what has become free. Returns LK_OK,
 * LK_INTERNAL (memory exhausted) or LK_INVALID (not a possible record), the latter two with no
 * effect. A record that was restored keeps its id.
 */
lk_outcome lk_model_restore(struct lk_model *model, const struct lk_record *record);

/* R4: the last draw of a root, as a store remembers it. Smaller than what is known: no effect. */
lk_outcome lk_model_restore_draw(struct lk_model *model, struct lk_slice root, uint64_t last_draw);

/* R4: no draw in any root the model has not heard of may be <= floor. Never lowers it. */
void lk_model_restore_floor(struct lk_model *model, uint64_t floor);
uint64_t lk_model_floor(const struct lk_model *model);

/* R3: a token that a release named and ended at `ended_us` (now_us axis). */
lk_outcome lk_model_restore_ended(struct lk_model *model, const struct lk_target *target,
                                  int64_t ended_us);

/* The id that the next new request gets: at least `next_id`. A fresh model starts with 1. */
void lk_model_restore_next_id(struct lk_model *model, uint64_t next_id);

void lk_model_set_quotas(struct lk_model *model, const struct lk_quotas *quotas);

/* ---- questions ------------------------------------------------------------------------------- */

/* The live request of this owner and these paths, 0 if there is none (R3). */
lk_ref lk_model_find(const struct lk_model *model, struct lk_slice owner,
                     const struct lk_part *parts, size_t part_count);

/* Called for one request; returning false ends the walk. The model must not be stepped inside. */
typedef bool lk_visit(void *context, lk_ref request);

/* Every live request, in no particular order. */
void lk_model_each(const struct lk_model *model, lk_visit *visit, void *context);

/* Each live request with a part at or below `prefix`, once, in no particular order. */
void lk_model_each_below(const struct lk_model *model, const struct lk_path *prefix,
                         lk_visit *visit, void *context);

/* Each live request with a part related (R5) to `path`, once, in no particular order. */
void lk_model_each_related(const struct lk_model *model, const struct lk_path *path,
                           lk_visit *visit, void *context);

/*
 * What is in the way of a waiting request (R20): up to `max` blockers into ret_blockers, holders
 * first, then by ticket. Returns how many there are in all; 0 for a held request.
 */
size_t lk_model_blockers(const struct lk_model *model, lk_ref request,
                         struct lk_blocker *ret_blockers, size_t max);

/* Units held at exactly this path (R7c). */
uint64_t lk_model_units_held(const struct lk_model *model, const struct lk_path *path);

struct lk_model_stats {
    uint64_t live;
    uint64_t waiting;
    uint64_t owners;
    uint64_t nodes; /* paths and prefixes of paths that something stands at */
    uint64_t bytes; /* memory in use; without notes, and names of more than 11 bytes */
};
void lk_model_stats(const struct lk_model *model, struct lk_model_stats *ret_stats);

/*
 * Checks every invariant of the state, O(everything): for tests. Returns NULL, or a sentence that
 * says what is wrong (static storage).
 */
const char *lk_model_check(const struct lk_model *model);

#endif
