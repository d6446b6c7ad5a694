/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collecting what decisions change, until it is closed into a batch.
 *
 * Requests are remembered by reference while they live and copied when the batch is closed; what
 * may be gone by then (values, items, ended tokens) is copied at once.
 * Where memory is exhausted, what was decided cannot be written: is_incomplete is set, and whoever
 * drives this has to go back to what was written before.
 */
#ifndef LK_SERVER_COLLECT_H
#define LK_SERVER_COLLECT_H

#include "engine/reply.h"
#include "server/batch.h"

/* A request that changed. */
struct lk_dirty {
    lk_ref request; /* 0: it has ended */
    uint64_t id;
    bool has_parts;
};

struct lk_collection {
    struct lk_batch *open;   /* values, items, ended tokens and audits so far */
    struct lk_batch *closed; /* being written, or of no use just now */
    struct lk_dirty *dirty;
    size_t dirty_count;
    size_t dirty_capacity;
    uint32_t *dirty_at; /* by reference: its place in `dirty`, plus 1; 0: not there */
    size_t dirty_at_capacity;
    lk_queue_ref *queues; /* whose counts moved */
    size_t queue_count;
    size_t queue_capacity;
    uint64_t first_new_id; /* requests from here on are in no batch yet */
    bool is_wanted;        /* a commit is wanted although nothing has changed */
    bool is_incomplete;
    struct lk_record record; /* in hand; too large for the stack */
    struct lk_item_record item;
};

/* false: memory is exhausted. */
bool lk_collection_init(struct lk_collection *collection);
void lk_collection_done(struct lk_collection *collection);

/* Forgets all that is open: another model is there, whose next new request has `first_new_id`. */
void lk_collection_reset(struct lk_collection *collection, uint64_t first_new_id);

/* What one step changed. */
void lk_collect_step(struct lk_collection *collection, const struct lk_model *model,
                     const struct lk_event *event, const struct lk_effects *effects);

/* What a break ended or revoked, for the record; besides lk_collect_step(). */
void lk_collect_audit(struct lk_collection *collection, const struct lk_audit_row *row);

/* An event (R21), copied. */
void lk_collect_event(struct lk_collection *collection, const struct lk_kept *kept);

/* Until when events are kept though nobody follows; 0: they are not. */
void lk_collect_mark(struct lk_collection *collection, int64_t watched_until_us);

/* The bounds (R22) are others now. */
void lk_collect_limits(struct lk_collection *collection, const struct lk_quotas *quotas,
                       uint64_t events_max);

/* A request is as it was, but for what the model does not know of it. */
void lk_collect_request(struct lk_collection *collection, const struct lk_model *model,
                        lk_ref request);

bool lk_collection_is_empty(const struct lk_collection *collection);
size_t lk_collection_bytes(const struct lk_collection *collection);

/* Whether the request ends with a connection (R18). */
typedef bool lk_is_bound(void *context, lk_ref request);

/*
 * Closes what is open: it is the collection's, and untouched until the next close. NULL: memory is
 * exhausted, and it is incomplete.
 */
struct lk_batch *lk_collection_close(struct lk_collection *collection, const struct lk_model *model,
                                     uint64_t number, const struct lk_times *times,
                                     lk_is_bound *is_bound, void *context);

#endif
