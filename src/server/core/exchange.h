/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the core and a store exchange: batches to write, and the snapshot that was loaded.
 *
 * A batch: the rows that a number of decisions changed, to be made durable in one transaction. It
 * is a deep copy, so that the writer thread never touches the model.
 *
 * A request or queue that changed several times is here once, as it was when the batch was closed,
 * and not at all if it was made and removed within the batch. Values and items have a row for each
 * change, in the order of the changes.
 */
#ifndef LK_SERVER_CORE_EXCHANGE_H
#define LK_SERVER_CORE_EXCHANGE_H

#include "lockkeeper/lockkeeper.h"
#include "model/model.h"
#include "server/core/event_log.h"
#include "sql/rows.h"

/* ---- memory that is taken piece by piece and freed all at once ------------------------------- */

struct lk_arena_chunk;

struct lk_arena {
    struct lk_arena_chunk *chunks; /* the one in use first */
    size_t used;                   /* bytes of that chunk */
    size_t bytes;                  /* bytes taken in all */
};

/* `size` bytes, aligned for anything, not cleared. NULL: memory is exhausted. */
void *lk_arena_take(struct lk_arena *arena, size_t size);

/* A copy of the bytes in the arena. false: memory is exhausted. */
bool lk_arena_copy(struct lk_arena *arena, struct lk_slice bytes, struct lk_slice *ret_copy);

/* Frees everything. One chunk is kept for the next use. */
void lk_arena_reset(struct lk_arena *arena);
void lk_arena_done(struct lk_arena *arena);

/* ---- batches --------------------------------------------------------------------------------- */

/* The state of the event log, besides the events. */
struct lk_batch_events {
    uint64_t last;      /* the last number that was drawn */
    uint64_t forgotten; /* events up to this number have been dropped */
    bool has_mark;
    int64_t watched_until_us; /* until when events are kept, on the clock of `times`; 0: no
                               * followers */
};

struct lk_batch {
    uint64_t number;
    struct lk_times times; /* when the batch was closed */
    uint64_t draw_floor;   /* R4: no draw up to this one may be made again, in any root */
    struct lk_batch_events events;
    size_t row_count;
    struct lk_row *first;
    struct lk_row *last;
    struct lk_arena arena; /* holds all rows of the batch */
};

/* ---- snapshots ------------------------------------------------------------------------------- */

/*
 * What was loaded: made on the writer thread, then owned by the core. The store fills model and
 * audit directly, and lists the requests that were bound to a connection (R18).
 */

struct lk_core_snapshot {
    struct lk_model *model;
    lk_audit *audit;
    uint64_t *bound; /* ids of requests */
    size_t bound_count;
    size_t bound_capacity;
    struct lk_quotas quotas; /* R22: as stored; the model's own may override them */
    struct lk_event_log_snapshot event_log;
    bool is_foreign; /* another service has led the store since this one did, and ended all that
                      * was bound to connections of this one; ids may have been used again */
};

/* NULL: memory is exhausted. */
struct lk_core_snapshot *lk_core_snapshot_new(const struct lk_model_config *config);
void lk_core_snapshot_free(struct lk_core_snapshot *snapshot); /* accepts NULL */

/* R22: the configured bound where it is not 0, else the stored one. */
struct lk_quotas lk_quotas_over(const struct lk_quotas *configured, const struct lk_quotas *kept);

/* false: memory is exhausted. */
bool lk_core_snapshot_add_bound(struct lk_core_snapshot *snapshot, uint64_t id);

#endif
