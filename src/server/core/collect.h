/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects what decisions change, until it is closed into a batch.
 *
 * Requests are remembered by reference while they live, and copied when the batch is closed.
 * Values, items and ended tokens may be gone by then, and are copied at once.
 *
 * When memory is exhausted, the decisions cannot be written: is_incomplete is set, and the caller
 * has to return to the state that was written last.
 */
#ifndef LK_SERVER_CORE_COLLECT_H
#define LK_SERVER_CORE_COLLECT_H

#include "engine/reply/reply.h"
#include "engine/stored_event.h"
#include "server/core/exchange.h"

/* A request that changed. */
struct lk_dirty {
    lk_ref request; /* 0: it has ended */
    uint64_t id;
    bool has_parts;
};

struct lk_collection {
    struct lk_batch *open;   /* values, items, ended tokens and audit entries so far */
    struct lk_batch *closed; /* being written, or unused */
    struct lk_dirty *dirty;
    size_t dirty_count;
    size_t dirty_capacity;
    uint32_t *dirty_at; /* by reference: its place in `dirty`, plus 1; 0: not there */
    size_t dirty_at_capacity;
    lk_queue_ref *queues; /* queues whose counts changed */
    size_t queue_count;
    size_t queue_capacity;
    uint64_t first_new_id; /* requests with this id or a higher one are in no batch yet */
    bool is_wanted;        /* a commit is needed although nothing has changed */
    bool is_incomplete;
    struct lk_record record; /* scratch space; too large for the stack */
    struct lk_item_record item;
};

/* false: memory is exhausted. */
bool lk_collection_init(struct lk_collection *collection);
void lk_collection_done(struct lk_collection *collection);

/* Drops the open changes: the model was replaced, and its next new request gets `first_new_id`. */
void lk_collection_reset(struct lk_collection *collection, uint64_t first_new_id);

/* Records what one step changed. */
void lk_collect_step(struct lk_collection *collection, const struct lk_model *model,
                     const struct lk_command *command, const struct lk_effects *effects);

/* Adds a row that only proves that a write succeeds. */
void lk_collect_probe(struct lk_collection *collection);

/* Records what a break ended or revoked, for the audit; called besides lk_collect_step(). */
void lk_collect_audit(struct lk_collection *collection, const struct lk_audit_row *row);

/* Copies an event (R21) into the batch. */
void lk_collect_event(struct lk_collection *collection, const struct lk_stored_event *kept);

/* Sets until when events are kept without followers; 0: they are not. */
void lk_collect_mark(struct lk_collection *collection, int64_t watched_until_us);

/* Records new bounds (R22). */
void lk_collect_limits(struct lk_collection *collection, const struct lk_quotas *quotas,
                       uint64_t events_max);

/* Writes the row of a request again: a column outside the model, such as `bound`, has changed. */
void lk_collect_request(struct lk_collection *collection, const struct lk_model *model,
                        lk_ref request);

bool lk_collection_is_empty(const struct lk_collection *collection);
size_t lk_collection_bytes(const struct lk_collection *collection);

/* Fills in what the row has of the request besides its record: whether it is bound (R18). */
typedef void lk_describe_request(void *context, lk_ref request, struct lk_row *row);

/*
 * Closes the open batch. It belongs to the collection and does not change until the next close.
 * NULL: memory is exhausted, and the collection is incomplete.
 */
struct lk_batch *lk_collection_close(struct lk_collection *collection, const struct lk_model *model,
                                     uint64_t number, const struct lk_times *times,
                                     lk_describe_request *describe, void *context);

#endif
