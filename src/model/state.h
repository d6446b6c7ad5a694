/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the model, for the files of this folder only.
 *
 *   node         one segment of a path in use, at it or below it; nodes form the tree (R5)
 *   part entry   one part of a request, at its node: in the ring of holders there while held
 *   request      an owner's claim to its parts (R3); in the list of its owner, in the heap of
 *                deadlines
 *   owner        the identity of requests; exists while it has a live request
 *   waits        of an owner: its waiting requests
 *   wait queue   of a node: what waits there or below, in the order of tickets; exists while
 *                something does
 *   queue entry  one waiting part entry in one list of a wait queue
 *
 * Each node counts the parts held at or below it, so that a conflict below (R6) is found without
 * a walk of the tree. Each wait queue lists waiters at or below its node, so that the first in the
 * queue is found without a walk too. README.md has the invariants.
 */
#ifndef LK_MODEL_STATE_H
#define LK_MODEL_STATE_H

#include "model/deadlines.h"
#include "model/model.h"
#include "model/pool.h"
#include "model/rules.h"

/* ---- ended tokens (R3) ----------------------------------------------------------------------- */

/*
 * The bounded memory of ended tokens (R3): a release that is repeated after a lost reply is
 * answered as the first time.
 */

struct lk_ended_token {
    uint64_t key; /* of owner and paths */
    uint64_t token;
    int64_t ended_us;
};

/* A ring, oldest overwritten first; grows up to `max`. */
struct lk_ended {
    const struct lk_allocator *allocator;
    struct lk_ended_token *tokens;
    uint32_t capacity;
    uint32_t max;
    uint32_t next; /* where the next one goes */
    uint32_t count;
};

void lk_ended_init(struct lk_ended *ended, const struct lk_allocator *allocator, uint32_t max);
void lk_ended_done(struct lk_ended *ended);

/* Makes sure that one can be remembered. false: memory is exhausted. */
bool lk_ended_reserve(struct lk_ended *ended);
void lk_ended_remember(struct lk_ended *ended, const struct lk_target *target, int64_t ended_us);

/* Whether this very target and token ended within LK_ENDED_MEMORY_US before now. */
bool lk_ended_recalls(const struct lk_ended *ended, const struct lk_target *target, int64_t now_us);

/* ---- the state ------------------------------------------------------------------------------- */

#define LK_ROOT_BIT (UINT32_C(1) << 31)

struct lk_node {
    uint32_t above; /* the parent; of a root: its struct lk_root, with LK_ROOT_BIT */
    lk_id first_child;
    lk_id next_sibling;
    lk_id previous_sibling;
    lk_id holders; /* ring of held parts, exclusive ones first */
    lk_id queue;
    uint32_t held_below;      /* parts held here and below */
    uint32_t exclusive_below; /* the exclusive ones of them */
    uint32_t units_held_low;  /* held here (R7c): 64 bits in two halves, so that nodes */
    uint32_t units_held_high; /* stay aligned to 32 */
    uint32_t entries;         /* here, also those of requests that the last step ended; and what
                                 else keeps the node: its value, item and queue */
    struct lk_name name;
};

/* A tree of order.h, and an item's place in one. */
struct lk_order_tree {
    lk_id root; /* 0: empty */
    lk_id last; /* in its order */
};

struct lk_order_links {
    lk_id left;
    lk_id right;
    lk_id parent; /* 0: it is the root */
};

struct lk_root {
    uint64_t last_draw;      /* R4 */
    uint32_t live;           /* requests with a part under this root (R22) */
    uint32_t live_elsewhere; /* the same, that the model has not been given */

    /* R16: its queues with items that are ready or delayed, by when the first of each is ready; and
     * when the first of all is, by which the root is in a tree itself; LK_NEVER: there is none. */
    struct lk_order_tree unclaimed;
    struct lk_order_links by_ready;
    int64_t ready_us;
};

struct lk_model_request {
    lk_id owner;
    lk_id previous; /* ring of the owner's held requests, or of its waiting ones by ticket */
    lk_id next;
    uint32_t deadline_at; /* index in the heap */
    lk_id first_entry;
    uint8_t entry_count;
    uint8_t state; /* enum lk_state */
    bool revoked : 1;
    bool attended : 1;
    bool fixed : 1;
    bool wants_value : 1; /* R15 */
    bool is_claim : 1;    /* R16: of the item at its first part entry's node */
    uint8_t ttl_high;     /* the ttl in two parts, since 40 bits are enough: see lk_request_ttl() */
    uint32_t ttl_low;
    struct lk_order_links by_ticket;
    uint64_t id;
    uint64_t ticket;
    uint64_t token;
    char *note; /* size in the first byte; NULL: none */
};

_Static_assert(LK_TTL_MAX_MS < INT64_C(1) << 40, "a ttl has 40 bits");

static inline int64_t lk_request_ttl(const struct lk_model_request *request) {
    return (int64_t)request->ttl_high << 32 | request->ttl_low;
}

static inline void lk_request_set_ttl(struct lk_model_request *request, int64_t ttl_ms) {
    request->ttl_high = (uint8_t)(ttl_ms >> 32);
    request->ttl_low = (uint32_t)ttl_ms;
}

struct lk_part_entry {
    lk_id request;
    lk_id node;
    union {
        struct {
            lk_id previous; /* ring of the node's holders */
            lk_id next;
        };
        lk_id first_queue_entry; /* while waiting */
    };
    uint32_t limit;
    uint32_t units;   /* 0: exclusive */
    lk_id next_entry; /* of the same request */
};

struct lk_owner {
    lk_id held;          /* ring of held requests */
    lk_id waits;         /* its struct lk_waits, once it has waited; 0: it never has */
    uint32_t live;       /* requests */
    uint32_t references; /* live requests, and those that the last step ended */
    struct lk_name name;
};

/* The waiting requests of an owner, and the position of a pass or a search in them. */
struct lk_waits {
    lk_id first;        /* ring, the smallest ticket first; 0: none waits now */
    uint32_t mark;      /* of the pass or search that has this owner in its list */
    lk_id next_owner;   /* in that list */
    lk_id next_request; /* a pass: the one to check next */
    lk_id waited_by;    /* a search: the owner through which it came here */
};

struct lk_queue_entry {
    lk_id entry;
    lk_id node; /* the node of its wait queue */
    lk_id previous;
    lk_id next;
    lk_id next_queue_entry; /* of the same part entry */
    uint8_t list;           /* enum lk_list_kind */
};

/* The lists of a wait queue: waiting exactly here, and here or below; by mode. */
enum lk_list_kind {
    LK_HERE_EXCLUSIVE,
    LK_HERE_SHARED,
    LK_BELOW_EXCLUSIVE,
    LK_BELOW_SHARED,
    LK_LIST_KINDS
};

struct lk_wait_list {
    lk_id first;
    lk_id last;
    uint32_t searched_mark; /* deadlock: the search that has seen all up to `searched` */
    lk_id searched;
};

struct lk_wait_queue {
    struct lk_wait_list lists[LK_LIST_KINDS];
    uint64_t units_waiting; /* here (R7c) */
    uint32_t waiters_here;  /* R22 */
    uint32_t shared_here;
    uint32_t shared_below;
    uint32_t limited_here;
    uint32_t limit_bound;    /* no waiting limit here is greater */
    uint32_t exhausted_pass; /* the pass that found no room here up to limit_bound */
    uint32_t summed_pass;    /* the pass in which... */
    lk_id summed_to;         /* ...the units in front of this entry were `summed_units` */
    uint64_t summed_units;
    uint32_t limit_searched;        /* deadlock: the search that has seen what counts here... */
    uint32_t limit_searched_room;   /* ...and has more units than this... */
    uint64_t limit_searched_ticket; /* ...up to this ticket */
    uint32_t searched_holders[2];   /* by mode of the probe: the search that saw the holders here */
    uint32_t searched_below[2];     /* ... and those below */
};

/* R15. */
struct lk_kept_value {
    lk_id node;
    lk_id next_gone; /* deleted by the last step, still readable */
    uint32_t size;
    struct lk_order_links by_path;       /* of all values */
    struct lk_order_links doubt_by_path; /* of those in doubt */
    bool in_doubt;
    char *bytes; /* NULL where size is 0 */
};

/*
 * R16: one piece of work. In its queue's tree by age; unless it is claimed also in that of its
 * state, or of its group while it is ready, by rank; once it is done, in the model's of those.
 */
struct lk_item {
    lk_id node; /* QUEUE/ID */
    lk_id work; /* its struct lk_work */
    struct lk_order_links by_age;
    struct lk_order_links by_rank;
    struct lk_order_links by_ready;
    int64_t ready_us; /* ready or delayed: since when it is ready, or will be */
    uint8_t state;    /* enum lk_item_state */
    bool was_lost;    /* its last claim perished */
    bool is_head;     /* of its strict needs: heads.h */
    uint32_t attempts;
    bool has_last_exit;
    bool failed_by_loss; /* LK_TEXT_CLAIM_LOST is its last failure, not the kept one */
    int16_t priority;
    int32_t last_exit;
    int64_t rank;          /* delayed, pushed again or done: when it is due; ready: the negative of
                          its priority; else 0 */
    int64_t keep_ms;       /* once it is done; 0: not */
    uint64_t sequence;     /* a draw of its root (R4) */
    lk_id claim;           /* the request that claims it */
    lk_id next_gone;       /* done by the last step, still readable */
    uint32_t max_attempts; /* of the claim */
    uint64_t ask_number;   /* of the claim */
    uint32_t value_size;
    uint32_t need_count;
    uint32_t last_text_size;
    uint32_t progress_size;
    lk_id group; /* of those that need the same; 0: it needs nothing */
    char *value;
    char *last_text;             /* of its last failure */
    char *progress;              /* of its last claim */
    const struct lk_part *needs; /* its group's */
};

/* R16: the items of a queue that need the same: groups.h. */
struct lk_group {
    lk_id work;
    uint32_t items; /* in any state, also those that the last step ended */
    uint32_t hash;
    uint32_t need_count;
    struct lk_part *needs;      /* with the bytes of their paths behind them */
    struct lk_order_tree ready; /* its ready items by priority */
    lk_id head;                 /* of strict needs: only it can be claimed; 0: none */
    bool head_is_ready;         /* and is in `ready` */
    lk_id first; /* that can be claimed; 0: there is none, and the group is in no tree */
    struct lk_order_links by_first;
    lk_id next_open; /* these two of a walk that has visited some of its items */
    lk_id cursor;
};

/* R16: a queue. Without an item it is idle, and in the list of those. */
struct lk_work {
    lk_id node;
    struct lk_order_tree items;     /* all by age, */
    struct lk_order_tree ready;     /* the ready ones that need nothing by priority, */
    struct lk_order_tree groups;    /* the other ready ones in groups, by the first of each, */
    struct lk_order_tree delayed;   /* the delayed ones by when they are due, */
    struct lk_order_tree parked;    /* and the parked ones */
    struct lk_order_tree unclaimed; /* ready or delayed ones, by when they are ready */
    int64_t ready_us;               /* when the first of those is; LK_NEVER: there is none */
    struct lk_order_links by_ready; /* in its root's tree, if there is one */
    struct lk_order_links by_path;
    char *path;
    lk_id previous_idle;
    lk_id next_idle; /* or the next queue that the last step forgot, still readable */
    uint32_t path_size;
    uint32_t needing;      /* items that need further parts */
    uint32_t counted_mark; /* the step that has already reported the counters */
    struct lk_queue_counts counts;
};

enum {
    LK_CYCLE_MAX = 64, /* owners named in an answer */
};

struct lk_model {
    const struct lk_allocator *allocator;
    struct lk_quotas quotas;
    struct lk_pool nodes;
    struct lk_pool roots;
    struct lk_pool requests;
    struct lk_pool entries;
    struct lk_pool owners;
    struct lk_pool waits;
    struct lk_pool queues;
    struct lk_pool queue_entries;
    struct lk_pool values;
    struct lk_pool items;
    struct lk_pool works;
    struct lk_pool groups;
    struct lk_index node_index;    /* by parent and name */
    struct lk_index request_index; /* by owner and set of paths (R3) */
    struct lk_index owner_index;   /* by name */
    struct lk_index value_index;   /* these three by node */
    struct lk_index item_index;
    struct lk_index work_index;
    struct lk_index claim_index; /* items by the owner and ask number of their claims */
    struct lk_index group_index; /* by queue and needs */
    struct lk_index head_index;  /* heads, by queue and strict need */
    struct lk_deadlines deadlines;
    struct lk_ended ended;
    lk_id first_root;                        /* siblings, as the children of a node are */
    struct lk_order_tree requests_by_ticket; /* the live ones */
    struct lk_order_tree queues_by_path;
    struct lk_order_tree values_by_path;
    struct lk_order_tree doubts_by_path; /* the values in doubt */
    struct lk_order_tree roots_by_ready; /* those with items that are ready or delayed */
    struct lk_order_tree done_items;     /* that are kept, of all queues */
    lk_id first_idle;                    /* queues, the one that has been idle longest first */
    lk_id last_idle;
    uint32_t idle;
    uint32_t idle_max;
    uint64_t hash_seed;
    uint64_t floor;         /* R4: the greatest draw of a forgotten root */
    uint64_t greatest_draw; /* R4: of all roots, forgotten or not, since the model was made */
    uint64_t next_id;
    uint64_t kept_bytes; /* of values and items: see lk_model_kept_bytes() */
    uint32_t live;
    uint32_t waiting;
    uint32_t mark;            /* numbers the passes and searches */
    bool needs_grant_pass;    /* restored since the last step: a waiting request may be grantable */
    bool may_hide_cycle;      /* a cycle of owners may exist that no ask has found: see ask.c */
    uint32_t claims;          /* live requests that are claims (R16) */
    uint32_t step_mark;       /* numbers the steps */
    uint64_t live_elsewhere;  /* R22: requests of the store that the model has not been given */
    uint64_t owned_elsewhere; /* of these, those of the owner of the next ask or take */
    lk_id value_gone_first;
    lk_id item_gone_first;
    lk_id work_gone_first;
    lk_id ended_first; /* requests that the last step ended, still readable */
    int64_t now_us;    /* of the last step */
    int64_t
        forgotten_us; /* up to which items that are done have been forgotten, or count as such */
    int64_t wall_ahead_us; /* of the steps' times, as configured */

    struct lk_effects effects;
    struct lk_change *changes;
    size_t change_capacity;
    lk_ref *scratch; /* of lk_grant_all_waiters(): waiting requests */
    size_t scratch_capacity;
    struct lk_blocker blockers[LK_BLOCKERS_MAX];
    struct lk_slice cycle[LK_CYCLE_MAX];
    char text[LK_ERROR_TEXT_MAX];
};

static inline struct lk_node *lk_node_at(const struct lk_model *model, lk_id id) {
    return lk_pool_at(&model->nodes, id);
}

static inline struct lk_model_request *lk_request_at(const struct lk_model *model, lk_id id) {
    return lk_pool_at(&model->requests, id);
}

static inline struct lk_part_entry *lk_part_entry_at(const struct lk_model *model, lk_id id) {
    return lk_pool_at(&model->entries, id);
}

static inline struct lk_owner *lk_owner_at(const struct lk_model *model, lk_id id) {
    return lk_pool_at(&model->owners, id);
}

/* The waiting requests of an owner that has waited. */
static inline struct lk_waits *lk_waits_of(const struct lk_model *model, lk_id owner) {
    return lk_pool_at(&model->waits, lk_owner_at(model, owner)->waits);
}

/* The first waiting request of an owner, 0: it does not wait. */
static inline lk_id lk_owner_waiting(const struct lk_model *model, lk_id owner) {
    return lk_owner_at(model, owner)->waits != 0 ? lk_waits_of(model, owner)->first : 0;
}

static inline struct lk_wait_queue *lk_wait_queue_at(const struct lk_model *model, lk_id id) {
    return lk_pool_at(&model->queues, id);
}

static inline struct lk_queue_entry *lk_queue_entry_at(const struct lk_model *model, lk_id id) {
    return lk_pool_at(&model->queue_entries, id);
}

static inline struct lk_kept_value *lk_kept_value_at(const struct lk_model *model, lk_id id) {
    return lk_pool_at(&model->values, id);
}

/* Of a root's node. */
static inline struct lk_root *lk_root_at(const struct lk_model *model, lk_id node) {
    return lk_pool_at(&model->roots, lk_node_at(model, node)->above & ~LK_ROOT_BIT);
}

static inline struct lk_item *lk_item_at(const struct lk_model *model, lk_id id) {
    return lk_pool_at(&model->items, id);
}

static inline struct lk_work *lk_work_at(const struct lk_model *model, lk_id id) {
    return lk_pool_at(&model->works, id);
}

static inline struct lk_group *lk_group_at(const struct lk_model *model, lk_id id) {
    return lk_pool_at(&model->groups, id);
}

/* Units held at exactly this node (R7c). Conversions check no limit (R9): 32 bits are too few. */
static inline uint64_t lk_node_units_held(const struct lk_node *node) {
    return (uint64_t)node->units_held_high << 32 | node->units_held_low;
}

static inline void lk_node_set_units_held(struct lk_node *node, uint64_t units) {
    node->units_held_low = (uint32_t)units;
    node->units_held_high = (uint32_t)(units >> 32);
}

/* The parent of a node, 0 for a root. */
static inline lk_id lk_node_parent(const struct lk_node *node) {
    return (node->above & LK_ROOT_BIT) != 0 ? 0 : node->above;
}

static inline bool lk_part_entry_is_exclusive(const struct lk_part_entry *entry) {
    return lk_mode_of_units(entry->units) == LK_EXCLUSIVE;
}

static inline lk_id lk_part_entry_owner(const struct lk_model *model,
                                        const struct lk_part_entry *entry) {
    return lk_request_at(model, entry->request)->owner;
}

#endif
