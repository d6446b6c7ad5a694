/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a journal, for the files that implement it: store.c (opening, leading, handing
 * over), follow.c (until then), write.c (writing), replay.c (reading). Used by one thread at a
 * time. At its home (home.h) it has
 *
 *   the leader's record      which service leads, and what of the rest counts (leader.h)
 *   entries of the log       entry N: a batch, or the beginning of an epoch
 *   their parts              what of a large entry comes before what is in the log
 *   pieces of snapshots      the state as it was, which replaces the entries before
 */
#ifndef LK_SERVER_STORE_JOURNAL_STATE_H
#define LK_SERVER_STORE_JOURNAL_STATE_H

#include "server/store/journal/home.h"
#include "server/store/journal/image.h"
#include "server/store/journal/leader.h"

/* What a follower has seen of the leader. */
struct lk_journal_observation {
    uint64_t revision;  /* of the leader's key; 0: nothing yet */
    int64_t first_us;   /* when it was seen first */
    int64_t last_us;    /* when it was seen last */
    int64_t counted_us; /* of the time in between, without what the home took */
    bool has_failed;    /* the last look has failed */
};

struct lk_journal {
    struct lk_storage storage; /* first */
    struct lk_home *home;
    char advertised[LK_LEADER_BYTES_MAX + 1];
    char process[LK_JOURNAL_PROCESS_BYTES];
    int64_t lease_us;
    uint64_t snapshot_bytes_min; /* of the log, before a snapshot is begun */
    uint64_t history_max;        /* revisions, before the home is told to forget some */

    /* What was read. */
    struct lk_journal_leader leader; /* as it was found, or written by this service */
    struct lk_journal_image *image;  /* the state; NULL: it is to be read from the snapshot on */
    uint64_t applied;                /* the last entry that was read into the image */

    /* Of a follower. */
    struct lk_journal_observation observed;
    int64_t read_after_us; /* reading has failed: not before that */

    /* Of the service that leads. */
    bool is_leading;   /* from its takeover until a transaction has failed */
    uint64_t revision; /* of the leader's key, as this service has written it last */
    int64_t renewed_us;
    uint64_t epoch;      /* that this service has begun last; 0: none */
    bool is_foreign;     /* before it another service has led, and no load has succeeded */
    uint64_t draw_floor; /* that the log has; 0: not known */
    struct lk_buffer entry;
    struct lk_buffer operations;
    struct lk_buffer scratch;

    /* Snapshots. */
    uint64_t log_bytes;      /* since the last one was begun; less if a follower saw that */
    uint64_t snapshot_bytes; /* of the last one; 0: not known */
    uint64_t next_snapshot;  /* the one that is being written; 0: none is */
    uint64_t next_first;     /* the entry behind which it is valid */
    uint64_t next_pieces;
    uint64_t next_bytes;
    struct lk_journal_progress progress;
    uint64_t old_first; /* entries from here to leader.first are still to be deleted */
    uint64_t old_snapshot;
    uint64_t old_pieces;
    uint64_t compactable; /* a revision before which nothing is needed; 0: none */
};

static inline struct lk_journal *lk_journal_of(struct lk_storage *storage) {
    return (struct lk_journal *)storage;
}

/* ---- write.c --------------------------------------------------------------------------------- */

/*
 * One transaction: if the leader's record is as it was written last, `next` replaces it, and the
 * operations of the store are done. LK_OK. LK_LOST: another service leads; nothing was done. Else
 * it was not done, or that is unknown. Clears the operations.
 */
lk_outcome lk_journal_commit(struct lk_journal *store, const struct lk_journal_leader *next,
                             const struct lk_home_meanwhile *meanwhile, lk_error *error);

/* The leader's record as the next transaction would write it. */
struct lk_journal_leader lk_journal_next(const struct lk_journal *store);

/* Writes store->entry to the log, with `next` (its `last` is set here). As lk_journal_commit(). */
lk_outcome lk_journal_append(struct lk_journal *store, struct lk_journal_leader *next,
                             const struct lk_home_meanwhile *meanwhile, lk_error *error);

lk_outcome lk_journal_write(struct lk_journal *store, const struct lk_batch *batch,
                            lk_error *error);

/*
 * Before the first write of an epoch: no snapshot is being written. What former leaders have left
 * is to be deleted: half a snapshot with the next transaction, and with those that follow, some
 * with each, entries that are in a snapshot. LK_OK, or why the home was not read.
 */
lk_outcome lk_journal_begin_writing(struct lk_journal *store, lk_error *error);

/* ---- replay.c -------------------------------------------------------------------------------- */

/*
 * Reads the leader's record. *ret_revision 0: there is none, nor any other key of services.
 */
lk_outcome lk_journal_look(struct lk_journal *store, struct lk_journal_leader *ret_leader,
                           uint64_t *ret_revision, lk_error *error);

/*
 * Brings the image to what store->leader says, by entries behind the last that it has, or from the
 * snapshot on. LK_OK. LK_LOST: another service leads. LK_INVALID: something is missing; a follower
 * finds that while the leader deletes. Else the home has not answered, or memory is exhausted.
 * After a failure there is no image, or a true one of fewer entries.
 */
lk_outcome lk_journal_replay(struct lk_journal *store, lk_error *error);

/*
 * Between two steps of a takeover, in which nothing is written: renews the lease when a third of it
 * is over. LK_OK, or the outcome of lk_journal_commit().
 */
lk_outcome lk_journal_keep_lease(struct lk_journal *store, lk_error *error);

/* ---- follow.c -------------------------------------------------------------------------------- */

/*
 * Takes what a look has found. It began at `begun_us`, on the clock of load(), and took `took_us`.
 * Drops the image if it may not be what led to this.
 */
void lk_journal_observe(struct lk_journal *store, const struct lk_journal_leader *found,
                        uint64_t revision, int64_t begun_us, int64_t took_us);

/* Whether nothing speaks against a takeover, from what was seen. */
bool lk_journal_may_lead(const struct lk_journal *store);

/* Reads what the leader has written since, so that a takeover has little to read. */
void lk_journal_keep_up(struct lk_journal *store, int64_t now_us, int64_t took_us);

/* It is read from the snapshot on again. */
void lk_journal_image_drop(struct lk_journal *store);

#endif
