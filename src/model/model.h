/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock model: one state, one step.
 *
 * A command goes into lk_model_step() with its time, and effects come out: the answer to the
 * command, and the changes that a store has to write down. The same commands give the same effects:
 * no clock, no I/O, no randomness, no global. Each branch cites its rule (docs/rules.md).
 *
 * Ownership: everything passed in is borrowed for the call. What effects and records refer to
 * belongs to the model. It stays readable until the next step, including what the step ended.
 * Threads: none. Callers that share a model between threads need a lock.
 * Memory: a step first reserves all it may need. If that fails it answers LK_INTERNAL and the
 * command has changed nothing; afterwards it cannot fail half-way. Requests that have expired by
 * then (R11) stay ended, and are among the changes: all that are due, or none.
 */
#ifndef LK_MODEL_MODEL_H
#define LK_MODEL_MODEL_H

#include <stdint.h>

#include "base/allocator.h"
#include "model/command.h"

#define LK_ENDED_MEMORY_US (INT64_C(5) * 60 * 1000000) /* R3: ended tokens, five minutes */

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
    uint64_t hash_seed; /* random if untrusted clients choose names; same seed, same order */
    uint32_t ended_max; /* ended tokens remembered at most (R3); 0: LK_ENDED_MAX_DEFAULT */
    /* R16: queues without an item whose counts are kept; 0: LK_IDLE_QUEUES_MAX_DEFAULT */
    uint32_t idle_queues_max;
    /* The wall clock's time less that of the steps, so that items which are restored as ready have
     * an age: the time since they were pushed. */
    int64_t wall_ahead_us;
};
enum { LK_ENDED_MAX_DEFAULT = 65536, LK_IDLE_QUEUES_MAX_DEFAULT = 16384 };

struct lk_model;

/* A request inside a model; 0 is none. Not reused before the step after the one that ended it. */
typedef uint32_t lk_ref;

/* ---- effects -------------------------------------------------------------------------------- */

enum lk_change_kind {
    LK_CHANGE_QUEUED,    /* a new request is in the queue */
    LK_CHANGE_GRANTED,   /* it is held now: new token */
    LK_CHANGE_CONVERTED, /* parts, ticket or token have changed; state unchanged */
    LK_CHANGE_REFRESHED, /* deadline, ttl, note or style */
    LK_CHANGE_REVOKED,   /* broken, but held until its deadline (R12) */
    LK_CHANGE_RELEASED,  /* ended by its owner, was held */
    LK_CHANGE_WITHDRAWN, /* ended by its owner or by a deadlock, was waiting */
    LK_CHANGE_PERISHED,  /* ended by its deadline */
    LK_CHANGE_BROKEN,    /* ended by an administrator */

    LK_CHANGE_VALUE_PUT,     /* `value`: there are other bytes now, and no doubt */
    LK_CHANGE_VALUE_DELETED, /* `value`: as it was */
    LK_CHANGE_VALUE_DOUBTED, /* `value`: R15, its holder may have died half-way */

    LK_CHANGE_ITEM_PUSHED,   /* `item`: new */
    LK_CHANGE_ITEM_REPLACED, /* `item`: a push has changed it, in its value and needs too */
    LK_CHANGE_ITEM_CLAIMED,  /* `item`, and `request`: the claim, which was granted just before */
    LK_CHANGE_ITEM_STOLEN,   /* the same, where the former claim had perished */
    LK_CHANGE_ITEM_DONE,     /* `item`: removed; or kept, with its result as its value and without
                                needs; or free, for it was pushed again */
    LK_CHANGE_ITEM_RETRIED,  /* `item`: given back by its claimant */
    LK_CHANGE_ITEM_FREED,    /* `item`: its claim perished or was broken */
    LK_CHANGE_ITEM_PARKED,   /* `item`: too many attempts, or its claimant said so */
    LK_CHANGE_ITEM_UNPARKED,
    LK_CHANGE_ITEM_CANCELLED,  /* `item`: still claimed; then its claim is revoked or broken */
    LK_CHANGE_ITEM_DROPPED,    /* `item`: removed, and has not been done, or is not kept any more */
    LK_CHANGE_ITEM_FORGOTTEN,  /* `item`: removed, for the time of its result is over */
    LK_CHANGE_ITEM_PROGRESSED, /* `item`: still claimed, with another progress */
    LK_CHANGE_QUEUE_COUNTED,   /* `queue`: a counter moved; at most once a step */
    LK_CHANGE_QUEUE_FORGOTTEN, /* idle for longest; its counts are deleted */
};

/* Values, items and queues inside a model; as lk_ref, valid until the step after the next. */
typedef uint32_t lk_value_ref;
typedef uint32_t lk_item_ref;
typedef uint32_t lk_root_ref;
typedef uint32_t lk_queue_ref;

/* In the order in which they happened. One request may appear more than once. */
struct lk_change {
    enum lk_change_kind kind;
    lk_ref request; /* 0 where the kind is about something else */
    union {
        lk_value_ref value;
        lk_item_ref item;
        lk_queue_ref queue;
    };
};

/* One request in the way of another (R20), and where. */
struct lk_blocker {
    lk_ref request;
    uint32_t part; /* index of the blocker's part that is in the way */
};

enum lk_item_state {
    LK_ITEM_READY,
    LK_ITEM_DELAYED, /* until due_us */
    LK_ITEM_CLAIMED,
    LK_ITEM_PARKED,
    LK_ITEM_CANCELLED, /* claimed, and removed when the claim ends */
    LK_ITEM_AGAIN,     /* claimed, and pushed again: ready when the claim ends, or at due_us */
    LK_ITEM_DONE,      /* kept with its result until due_us */
    LK_ITEM_GONE,      /* done, dropped, cancelled or forgotten, in the last step */
};

static inline bool lk_item_is_claimed(enum lk_item_state state) {
    return state == LK_ITEM_CLAIMED || state == LK_ITEM_CANCELLED || state == LK_ITEM_AGAIN;
}

/* Whether an item in this state has a moment at which it is due: to be claimed, or to go. */
static inline bool lk_item_has_due(enum lk_item_state state) {
    return state == LK_ITEM_DELAYED || state == LK_ITEM_AGAIN || state == LK_ITEM_DONE;
}

struct lk_answer {
    lk_outcome outcome;
    lk_ref request;    /* what the command was about; 0 after a refused try of something new */
    bool created;      /* this command put the request there */
    uint64_t in_use;   /* units held at the first part's path, own included (asks only) */
    size_t in_the_way; /* requests in the way of a WAITING or BUSY ask; 0 when granted.
                          Counted only when the ask's blockers_max is not 0: up to twice as
                          many, but not less than LK_COUNTED_MIN nor more than LK_COUNTED_MAX. */
    size_t broken;     /* LK_COMMAND_BREAK: how many requests it withdrew, revoked or ended; of a
                          cancel: whether the item is, or was, claimed */

    /* R15: of an ask that wants values and was granted: the values at its parts' paths, in the
     * order of the ask; 0: there is none. Else none are counted. */
    lk_value_ref values[LK_PARTS_MAX];
    size_t value_count;
    lk_item_ref item; /* LK_COMMAND_PUSH, TAKE, FINISH, UNPARK, DROP: what it was about; 0: none */
    bool deleted;     /* LK_COMMAND_PUT: there was a value, and it is gone */
    bool is_stolen;   /* LK_COMMAND_TAKE: the item's former claim had perished */
    /* LK_COMMAND_PUSH that has created nothing: in which state the item was, and whether the push
     * has changed it. */
    enum lk_item_state was;
    bool is_replaced;

    const struct lk_blocker *blockers; /* the first of those in the way: holders, then by ticket */
    size_t blocker_count;
    const struct lk_slice *cycle; /* LK_DEADLOCK: the owners, the asker first */
    size_t cycle_count;
    const char *text; /* an explanation; empty when there is nothing to add. Never NULL */
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
 * Everything due by the command's now takes effect first, in the order of the deadlines (R11); then
 * the command itself. `now_us` must not be smaller than at the previous step. The result belongs to
 * the model and is valid until the next step or restore. Never NULL.
 */
const struct lk_effects *lk_model_step(struct lk_model *model, const struct lk_command *command);

/* The earliest deadline, on the now_us axis; LK_NEVER if nothing lives. */
int64_t lk_model_next_deadline(const struct lk_model *model);

/* ---- records: what is kept of a request ------------------------------------------------------ */

enum lk_state { LK_STATE_WAITING, LK_STATE_HELD, LK_STATE_ENDED };

/*
 * A request as a record. Filled by lk_model_record() (slices point into `text` and the model) and
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
    int64_t deadline_us;   /* on the now_us axis */
    bool wants_value;      /* R15: if it perishes, the values of its parts are in doubt */
    bool is_claim;         /* R16: of the item at its first part's path; the others are its needs */
    uint64_t ask_number;   /* of a claim; 0: none */
    uint32_t max_attempts; /* of a claim; 0: no maximum */
    size_t part_count;
    struct lk_part parts[LK_PARTS_MAX];                /* in the order of the ask */
    char text[LK_PARTS_MAX * (LK_PATH_BYTES_MAX + 1)]; /* where lk_model_record() puts the paths */
};

/* Copies the request into *ret_record. `request` must be live, or ended by the last step. */
void lk_model_record(const struct lk_model *model, lk_ref request, struct lk_record *ret_record);

/* The same without the parts. */
void lk_model_record_head(const struct lk_model *model, lk_ref request,
                          struct lk_record *ret_record);

/* Its id alone. */
uint64_t lk_model_request_id(const struct lk_model *model, lk_ref request);

/*
 * Restores a live request, as a store loads it, in any order. Decides nothing and draws nothing.
 * The next step expires what is overdue and grants what has become grantable. A record keeps its
 * id. Returns LK_OK; or LK_INTERNAL (no memory), LK_INVALID (not a possible record), no effect.
 */
lk_outcome lk_model_restore(struct lk_model *model, const struct lk_record *record);

/*
 * A held request that another owner's held request excludes (R5, R6), both not overdue at `now_us`;
 * 0: there is none. No step makes such a state: restored rows are damaged.
 */
lk_ref lk_model_conflict(const struct lk_model *model, int64_t now_us);

/* R4: the last draw of a root, as a store remembers it. Smaller than what is known: no effect. */
lk_outcome lk_model_restore_draw(struct lk_model *model, struct lk_slice root, uint64_t last_draw);

/* R4: no draw in a root that the model does not know may be <= floor. Never lowers it. */
void lk_model_restore_floor(struct lk_model *model, uint64_t floor);
uint64_t lk_model_floor(const struct lk_model *model);

/* The greatest draw there ever was, in any root: what a store remembers as the floor, forgetting
 * none. */
uint64_t lk_model_greatest_draw(const struct lk_model *model);

/* R3: a token that a release named and ended at `ended_us` (now_us axis). */
lk_outcome lk_model_restore_ended(struct lk_model *model, const struct lk_target *target,
                                  int64_t ended_us);

/* The id that the next new request gets: at least `next_id`. A fresh model starts with 1. */
void lk_model_restore_next_id(struct lk_model *model, uint64_t next_id);
uint64_t lk_model_next_id(const struct lk_model *model);

/* No reference that the next step names is greater, unless it makes more than one request. */
lk_ref lk_model_greatest_ref(const struct lk_model *model);

void lk_model_set_quotas(struct lk_model *model, const struct lk_quotas *quotas);

/*
 * R22, for a model that has been given only a part of a store: how many more requests live in the
 * store, with the owner of the next ask or take, and under a root. Each call replaces the number.
 */
void lk_model_restore_elsewhere(struct lk_model *model, uint64_t live, uint64_t owned);
lk_outcome lk_model_restore_root_elsewhere(struct lk_model *model, struct lk_slice root,
                                           uint64_t live);

/* ---- values, items and queues (R15, R16) ----------------------------------------------------- */

struct lk_value_record {
    char path[LK_PATH_BYTES_MAX + 1];
    struct lk_slice bytes; /* the model's */
    bool in_doubt;
};

/* The value at this path; 0: there is none. */
lk_value_ref lk_model_value(const struct lk_model *model, const struct lk_path *path);
void lk_model_value_record(const struct lk_model *model, lk_value_ref value,
                           struct lk_value_record *ret_record);
lk_outcome lk_model_restore_value(struct lk_model *model, const struct lk_path *path,
                                  struct lk_slice bytes, bool in_doubt);

/* Called for one value; returning false ends the walk. */
typedef bool lk_visit_value(void *context, lk_value_ref value);

/*
 * The values at or below `prefix` (NULL: all) whose paths are greater than `behind`, in the order
 * of their bytes. Others are not read.
 */
void lk_model_each_value(const struct lk_model *model, const struct lk_path *prefix,
                         struct lk_slice behind, lk_visit_value *visit, void *context);

/* The same of the values in doubt. Values without a doubt are not read. */
void lk_model_each_doubt(const struct lk_model *model, const struct lk_path *prefix,
                         struct lk_slice behind, lk_visit_value *visit, void *context);

/* An item in the open. Filled by lk_model_item_record(), read by lk_model_restore_item(). */
struct lk_item_record {
    struct lk_path queue;
    struct lk_slice id;
    uint64_t sequence; /* the smaller, the older; a draw of the queue's root (R4) */
    enum lk_item_state state;
    int64_t due_us;        /* on the now_us axis; 0 unless lk_item_has_due() */
    int64_t ready_unix_us; /* LK_ITEM_READY: since when, by the wall clock; 0: since its push */
    uint32_t attempts;     /* claims so far */
    bool was_lost;         /* its last claim perished: the next one is a steal */
    bool is_head;          /* of its strict needs (R16) */
    lk_ref claim;          /* of a claimed item: the request; not read by restoring */
    struct lk_slice value; /* LK_ITEM_DONE: its result */
    int32_t priority;
    int64_t keep_ms;                     /* how long it is kept at least once it is done; 0: not */
    struct lk_slice progress;            /* of its last claim, while it is not done */
    struct lk_item_failure last_failure; /* of its last retry that gave one */
    size_t need_count;
    struct lk_part needs[LK_NEEDS_MAX];
    char text[(LK_NEEDS_MAX + 1) * (LK_PATH_BYTES_MAX + 1)]; /* where the paths are put */
};

/* The item of this id; 0: there is none, or it is done and its time is over. */
lk_item_ref lk_model_item(const struct lk_model *model, const struct lk_path *queue,
                          struct lk_slice id);
void lk_model_item_record(const struct lk_model *model, lk_item_ref item,
                          struct lk_item_record *ret_record);

/*
 * Puts an item back. Claims are requests (is_claim): an item is restored as READY, DELAYED,
 * PARKED or CANCELLED. One that is not CANCELLED becomes CLAIMED when its claim is restored, after
 * it.
 */
lk_outcome lk_model_restore_item(struct lk_model *model, const struct lk_item_record *record);

/* Counted per queue (R16). */
struct lk_queue_counts {
    uint64_t pushed;
    uint64_t duplicates; /* pushes of what was there */
    uint64_t claims;
    uint64_t steals;
    uint64_t done;
    uint64_t retried;
    uint64_t parked;
    uint64_t ready; /* items now, by state; these five are not restored but counted */
    uint64_t delayed;
    uint64_t claimed;
    uint64_t parked_now;
    uint64_t done_now;
    int64_t oldest_ready_us; /* since when the oldest of the ready ones is so; LK_NEVER: none is */
};

/* What was counted of this queue; as if nothing ever was, where it is forgotten. */
void lk_model_queue_counts(const struct lk_model *model, const struct lk_path *queue,
                           struct lk_queue_counts *ret_counts);
void lk_model_queue_record(const struct lk_model *model, lk_queue_ref queue,
                           char ret_path[LK_PATH_BYTES_MAX + 1],
                           struct lk_queue_counts *ret_counts);

/* Whether a queue that was named by a change is still there. */
bool lk_model_has_queue(const struct lk_model *model, lk_queue_ref queue);

/* Queues that are restored first are idle for longest. */
lk_outcome lk_model_restore_queue(struct lk_model *model, const struct lk_path *queue,
                                  const struct lk_queue_counts *counts);

/* Called for one item; returning false ends the walk. */
typedef bool lk_visit_item(void *context, lk_item_ref item);

/* Whether the work of any item of the queue needs parts beside the item. */
bool lk_model_queue_has_needs(const struct lk_model *model, const struct lk_path *queue);

/* Every item of a queue, the oldest first. */
void lk_model_each_item(const struct lk_model *model, const struct lk_path *queue,
                        lk_visit_item *visit, void *context);

/* The parked items of a queue with a sequence above `behind`, the oldest first. */
void lk_model_each_parked(const struct lk_model *model, const struct lk_path *queue,
                          uint64_t behind, lk_visit_item *visit, void *context);

/* Called for one queue; returning false ends the walk. */
typedef bool lk_visit_queue(void *context, lk_queue_ref queue);

/*
 * The queues at or below `prefix` (NULL: all) whose paths are greater than `behind`, in the order
 * of their bytes.
 */
void lk_model_each_queue(const struct lk_model *model, const struct lk_path *prefix,
                         struct lk_slice behind, lk_visit_queue *visit, void *context);

/* When the earliest delayed item of the queue is due; LK_NEVER if none is delayed. */
int64_t lk_model_next_due(const struct lk_model *model, const struct lk_path *queue);

/*
 * Roots with items that are ready, and since when the oldest of each has been: neither claimed nor
 * delayed nor parked. At most `max`, those with the oldest first; takes O(max + log n) for n roots.
 */
struct lk_ready_root {
    lk_root_ref root;
    int64_t since_us;
};
size_t lk_model_oldest_ready(const struct lk_model *model, int64_t now_us,
                             struct lk_ready_root *ret_roots, size_t max);

/* ---- questions ------------------------------------------------------------------------------- */

/* The live request of this owner and these paths, 0 if there is none (R3). */
lk_ref lk_model_find(const struct lk_model *model, struct lk_slice owner,
                     const struct lk_part *parts, size_t part_count);

/* The lease that has this token and a part at exactly this path, 0 if there is none. */
lk_ref lk_model_holder(const struct lk_model *model, const struct lk_path *path, uint64_t token);

/* Called for one request; returning false ends the walk. The model must not be stepped inside. */
typedef bool lk_visit(void *context, lk_ref request);

/* Every live request, in the order of lk_standing. */
void lk_model_each(const struct lk_model *model, lk_visit *visit, void *context);

/* Each live request of this owner, in no particular order. */
void lk_model_each_of_owner(const struct lk_model *model, struct lk_slice owner, lk_visit *visit,
                            void *context);

/* Each live request with a part at exactly this path, once: holders, then waiters. */
void lk_model_each_at(const struct lk_model *model, const struct lk_path *path, lk_visit *visit,
                      void *context);

/* Each live request with a part at or below `prefix`, once, in no particular order. */
void lk_model_each_below(const struct lk_model *model, const struct lk_path *prefix,
                         lk_visit *visit, void *context);

/* Each live request with a part related (R5) to `path`, once, in no particular order. */
void lk_model_each_related(const struct lk_model *model, const struct lk_path *path,
                           lk_visit *visit, void *context);

/* Its position in listings: by ticket, and by id where tickets of different roots are equal. */
struct lk_standing {
    uint64_t ticket;
    uint64_t id;
};
struct lk_standing lk_model_standing(const struct lk_model *model, lk_ref request);

/* The same for items of one queue: their sequence. */
uint64_t lk_model_item_sequence(const struct lk_model *model, lk_item_ref item);

/* Its state. */
enum lk_state lk_model_state(const struct lk_model *model, lk_ref request);

/*
 * The root that its first part is at or below: a number that stays the same while any request or
 * item is below that root; and the name of such a root, which belongs to the model.
 */
lk_root_ref lk_model_root(const struct lk_model *model, lk_ref request);
struct lk_slice lk_model_root_name(const struct lk_model *model, lk_root_ref root);

/* How many are counted in an answer that names up to so many: twice as many, within the bounds. */
size_t lk_counted_max(size_t named_max);

/*
 * What is in the way of a waiting request (R20): up to `max` blockers into ret_blockers, holders
 * first, then by ticket. Returns how many there are, up to the bound of lk_answer.in_the_way, where
 * any of them may be named; 0 for a held request.
 */
size_t lk_model_blockers(const struct lk_model *model, lk_ref request,
                         struct lk_blocker *ret_blockers, size_t max);

/*
 * The same for many requests of one state, in the order of their tickets. What was walked over for
 * one is not walked over again for the next, so that all cost little more than the walk for the
 * last. Zeroed it is empty. It is invalid after the next step. Large.
 */
enum {
    LK_EXPLAINED_MAX = 16, /* blockers named of each */
    LK_EXPLAINED_SIGNATURES = 16,
    LK_EXPLAINED_LISTS = 512, /* a power of two */
    LK_EXPLAINED_HELD = 32,   /* a power of two */
};

/* The nodes, modes and limits of a probe: what is remembered may be valid for it only. */
struct lk_explained_signature {
    uint32_t number;
    uint32_t part_count; /* 0: empty */
    uint64_t parts[LK_PARTS_MAX];
};

/* A list of a wait queue up to a ticket. */
struct lk_explained_list {
    uint64_t key; /* 0: empty */
    uint32_t signature;
    uint32_t next; /* the queue entry to continue at */
    uint64_t ticket;
    uint64_t units;
    uint32_t count;
    uint32_t steps;
    bool has_several; /* a request that has other part entries, too */
};

/* What is held at a node, or at and below it. */
struct lk_explained_held {
    uint64_t key; /* 0: empty */
    uint32_t signature;
    uint32_t total;
    uint32_t count;
    bool has_several;
    struct lk_blocker named[LK_EXPLAINED_MAX];
};

struct lk_explaining {
    uint64_t steps; /* queue entries, holders and own requests read so far */
    uint32_t last_signature;
    struct lk_explained_signature signatures[LK_EXPLAINED_SIGNATURES];
    struct lk_explained_list lists[LK_EXPLAINED_LISTS];
    struct lk_explained_held held[LK_EXPLAINED_HELD];
};

/* At most LK_EXPLAINED_MAX blockers. */
size_t lk_model_explain(const struct lk_model *model, lk_ref request,
                        struct lk_explaining *explaining, struct lk_blocker *ret_blockers,
                        size_t max);

/* Units held at exactly this path (R7c). */
uint64_t lk_model_units_held(const struct lk_model *model, const struct lk_path *path);

struct lk_model_stats {
    uint64_t live;
    uint64_t waiting;
    uint64_t owners;
    uint64_t nodes; /* paths in use, and their prefixes */
    uint64_t values;
    uint64_t items;
    uint64_t queues;
    uint64_t bytes; /* memory in use; without notes, and names of more than 11 bytes */
};
void lk_model_stats(const struct lk_model *model, struct lk_model_stats *ret_stats);

/* What values and items come to (R15, R16), each with what it costs besides its bytes. */
enum { LK_KEPT_COST_BYTES = 256 };
uint64_t lk_model_kept_bytes(const struct lk_model *model);

/* For tests: checks every invariant, O(everything). Returns NULL, or a static sentence. */
const char *lk_model_check(const struct lk_model *model);

/* ---- records of breaks (R12) ----------------------------------------------------------------- */

/* A break as every store keeps it on record. Borrows its texts. */
struct lk_audit_row {
    int64_t at_unix_us;
    struct lk_slice by;
    struct lk_slice reason;
    struct lk_slice path; /* the path that was broken */
    struct lk_slice owner;
    struct lk_slice note; /* empty: none */
    uint64_t ticket;
    uint64_t token; /* 0: it was waiting */
};

/*
 * Whether a break keeps this change of its step on record, and how. One record is kept of each
 * request that it has ended or revoked, and one of an item that it has cancelled. The texts of
 * *ret_row are borrowed from `broken`, `record`, and the model.
 */
bool lk_audit_row_of(const struct lk_model *model, const struct lk_effects *effects,
                     const struct lk_change *change, const struct lk_break *broken, int64_t wall_us,
                     struct lk_record *record, struct lk_audit_row *ret_row);

#endif
