/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A naive reference of the rules: quadratic, slow, meant to be compared with docs/rules.md by
 * reading, sentence by sentence. It takes the events of model/model.h and shares its structs and
 * the parsing of paths, but not one decision: relations, conflicts, covers, limits, cycles and
 * everything above them are written again here.
 *
 * Ownership: names, paths, notes and values in events are borrowed for the reference's whole life,
 * not only for the call. Memory: what cannot be allocated aborts; this is for tests only.
 */
#ifndef LK_TESTS_REFERENCE_H
#define LK_TESTS_REFERENCE_H

#include "model/model.h"

struct lk_reference;

/* A live request, or one in the way of an answer. */
struct lk_reference_request {
    uint64_t arrival; /* 1, 2, 3, ... in the order of arrival; names the request */
    struct lk_slice owner;
    struct lk_part parts[LK_PARTS_MAX]; /* in the order of its first ask */
    size_t part_count;
    enum lk_state state;
    bool revoked;
    bool attended; /* the last ask was LK_WAIT */
    bool fixed;    /* the deadline came from `until` */
    uint64_t ticket;
    uint64_t token; /* 0 while waiting */
    int64_t ttl_ms;
    int64_t deadline_us;
    struct lk_slice note;
    bool wants_value;      /* R15: some ask of it wanted the values */
    bool is_claim;         /* R16: of the item at its first part's path */
    uint64_t ask_number;   /* of a claim; 0: none */
    uint32_t max_attempts; /* of a claim; 0: no maximum */
};

/* R15. */
struct lk_reference_value {
    struct lk_path path;
    struct lk_slice bytes;
    bool in_doubt;
};

/* R16. One that is delayed is so in its state for ever; see lk_reference_is_due(). */
struct lk_reference_item {
    struct lk_path queue;
    struct lk_slice id;
    struct lk_path path; /* QUEUE/ID */
    struct lk_slice value;
    int32_t priority;
    struct lk_item_failure last_failure;
    struct lk_part needs[LK_NEEDS_MAX];
    size_t need_count;
    uint64_t sequence; /* drawn at its push (R4) */
    enum lk_item_state state;
    int64_t due_us;  /* LK_ITEM_DELAYED; LK_ITEM_DONE: when it is forgotten */
    int64_t keep_ms; /* once it is done; 0: not */
    struct lk_slice progress;
    int64_t ready_us; /* since when it may be claimed, or will */
    uint32_t attempts;
    bool was_lost;  /* its last claim perished or was broken */
    bool is_head;   /* of its strict needs */
    uint64_t claim; /* LK_ITEM_CLAIMED: the arrival of its claim */
};

/* R16: what was counted of a queue; how many items there are now is not counted here. */
struct lk_reference_queue {
    struct lk_path path;
    struct lk_queue_counts counts;
    uint64_t emptied; /* the greater, the later its last item was done */
};

struct lk_reference_answer {
    lk_outcome outcome;
    uint64_t arrival; /* of the live request that the event was about; 0: none is left */
    bool created;
    uint64_t in_use;
    size_t broken;
    const struct lk_reference_request *blockers; /* all of them (D8): holders, then by ticket */
    size_t blocker_count;
    /* R15: of an ask that wants them and was granted: of each part; NULL: there is none. */
    const struct lk_reference_value *values[LK_PARTS_MAX];
    size_t value_count;
    bool has_item; /* what a push, take, finish or unpark was about; as it is, or was at its end */
    struct lk_reference_item item;
    enum lk_item_state was; /* of a push that created nothing: how the item was before it */
    bool is_replaced;
};

struct lk_reference *lk_reference_new(const struct lk_quotas *quotas, size_t ended_max,
                                      size_t idle_queues_max);
void lk_reference_free(struct lk_reference *reference);
struct lk_reference *lk_reference_copy(const struct lk_reference *reference);

/* The answer is valid until the next step. */
const struct lk_reference_answer *lk_reference_step(struct lk_reference *reference,
                                                    const struct lk_command *command);

/* Values, items (by age) and queues. Valid until the next step. */
const struct lk_reference_value *lk_reference_values(const struct lk_reference *reference,
                                                     size_t *ret_count);
const struct lk_reference_item *lk_reference_items(const struct lk_reference *reference,
                                                   size_t *ret_count);
const struct lk_reference_queue *lk_reference_queues(const struct lk_reference *reference,
                                                     size_t *ret_count);

/* R16: whether the item could be claimed now, as far as only the item is concerned. */
bool lk_reference_is_due(const struct lk_reference *reference,
                         const struct lk_reference_item *item);

/* LK_NEVER if nothing lives. */
int64_t lk_reference_next_deadline(const struct lk_reference *reference);

/* The live requests, in the order of arrival. Valid until the next step. */
const struct lk_reference_request *lk_reference_live(const struct lk_reference *reference,
                                                     size_t *ret_count);

/*
 * R13: whether these owners, the asker first, were a cycle when the last step answered DEADLOCK:
 * each waited for the next one, and the last one for the first.
 */
bool lk_reference_is_cycle(const struct lk_reference *reference, const struct lk_slice *owners,
                           size_t count);

/* What is in the way of a waiting request (R20), as in an answer. Valid until the next call. */
const struct lk_reference_request *lk_reference_blockers(struct lk_reference *reference,
                                                         uint64_t arrival, size_t *ret_count);

uint64_t lk_reference_units_held(const struct lk_reference *reference, const struct lk_path *path);

/*
 * What must hold at rest, computed from the list alone: no conflicting leases of two owners (R6),
 * one request for an owner and its paths (R3), no queued request that may be granted (R7, R8),
 * nothing past its deadline (R11), one claim for each claimed item (R16). NULL, or a sentence that
 * says what is wrong.
 */
const char *lk_reference_check(const struct lk_reference *reference);

#endif
