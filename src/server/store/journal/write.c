/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing: transactions under the present epoch, entries of the log, snapshots beside them.
 *
 * While a snapshot is due, each entry takes the next piece of the image along in its transaction.
 * The last one makes the snapshot valid. Then what it replaces is deleted, some keys with each
 * entry, and the home is told to forget their former revisions.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "server/store/journal/state.h"

enum {
    PIECE_BYTES_MIN = 64 * 1024, /* taken along with one entry */
    DELETE_ENTRIES = 256,        /* with one entry */
    DELETE_PIECES = 64,
};

/* ---- transactions ---------------------------------------------------------------------------- */

struct lk_journal_leader lk_journal_next(const struct lk_journal *store) {
    struct lk_journal_leader next = store->leader;

    next.commit++;
    return next;
}

/*
 * The leader's record is not as this service wrote it last. Either another service leads; or the
 * transaction itself had arrived before, and its answer was lost.
 */
static bool was_done_before(const struct lk_journal_leader *next,
                            const struct lk_home_commit *commit) {
    struct lk_journal_leader found;

    return commit->found.size > 0
           && lk_journal_leader_read(commit->found, "", &found, NULL) == LK_OK
           && lk_journal_leader_is(&found, next);
}

static lk_outcome judge(struct lk_journal *store, const struct lk_journal_leader *next,
                        const struct lk_home_commit *commit, int64_t begun_us, lk_error *error) {
    if (!commit->is_done && !was_done_before(next, commit)) {
        return lk_error_set(error, LK_LOST, "another service leads this store");
    }
    store->leader = *next;
    store->revision = commit->revision;
    store->renewed_us = begun_us;
    return LK_OK;
}

lk_outcome lk_journal_commit(struct lk_journal *store, const struct lk_journal_leader *next,
                             const struct lk_home_meanwhile *meanwhile, lk_error *error) {
    int64_t begun_us = lk_clock_now_us();
    struct lk_home_commit commit;
    lk_outcome outcome;

    lk_buffer_cut(&store->scratch, 0);
    lk_journal_leader_write(next, &store->scratch);
    outcome =
        store->scratch.failed || store->operations.failed
            ? lk_error_set(error, LK_INTERNAL, "memory is exhausted")
            : store->home->ops->commit(store->home, store->revision,
                                       (struct lk_slice){store->scratch.bytes, store->scratch.size},
                                       &store->operations, meanwhile, &commit, error);
    if (outcome == LK_OK) {
        outcome = judge(store, next, &commit, begun_us, error);
    }
    lk_buffer_done(&store->operations);
    return outcome;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void add_put(struct lk_journal *store, struct lk_home_key key, struct lk_slice value) {
    store->home->ops->put(store->home, &store->operations, &key, value);
}

static void add_removal(struct lk_journal *store, struct lk_home_key from, struct lk_home_key to) {
    store->home->ops->remove(store->home, &store->operations, &from, &to);
}

static struct lk_home_key entry_key(uint64_t number) {
    return (struct lk_home_key){LK_HOME_ENTRY, 0, number};
}

static struct lk_home_key part_key(uint64_t entry, uint64_t number) {
    return (struct lk_home_key){LK_HOME_PART, entry, number};
}

static struct lk_home_key piece_key(uint64_t snapshot, uint64_t number) {
    return (struct lk_home_key){LK_HOME_PIECE, snapshot, number};
}

/* ---- the log --------------------------------------------------------------------------------- */

/*
 * Behind the parts, the last one makes the entry valid. Before it stands how many others there are.
 * The parts of an entry that was never finished are written over by the next one of that number.
 */
lk_outcome lk_journal_append(struct lk_journal *store, struct lk_journal_leader *next,
                             const struct lk_home_meanwhile *meanwhile, lk_error *error) {
    struct lk_slice rest = {store->entry.bytes, store->entry.size};
    struct lk_buffer last = {.max = 0};
    struct lk_journal_codec codec = {.out = &last};
    uint64_t number = store->leader.last + 1;
    uint64_t parts = 0;
    size_t part_bytes = store->home->part_bytes;
    lk_outcome outcome = LK_OK;

    if (store->entry.failed) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    if (rest.size > part_bytes) {
        struct lk_buffer operations = store->operations; /* they belong to the last transaction */

        store->operations = (struct lk_buffer){.max = 0};
        for (; rest.size > part_bytes && outcome == LK_OK; parts++) {
            struct lk_journal_leader renewed = lk_journal_next(store);

            add_put(store, part_key(number, parts), (struct lk_slice){rest.bytes, part_bytes});
            rest.bytes += part_bytes;
            rest.size -= part_bytes;
            outcome = lk_journal_commit(store, &renewed, NULL, error);
        }
        store->operations = operations;
        next->commit = store->leader.commit + 1;
    }
    lk_journal_code_number(&codec, &parts);
    lk_buffer_add_slice(&last, rest);
    add_put(store, entry_key(number), (struct lk_slice){last.bytes, last.size});
    store->operations.failed = store->operations.failed || last.failed;
    next->last = number;
    if (outcome == LK_OK) {
        outcome = lk_journal_commit(store, next, meanwhile, error);
    }
    lk_buffer_done(&last);
    return outcome;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* Half a snapshot of a former leader, and those before the one that is valid. */
static void take_half_snapshots(struct lk_journal *store) {
    const struct lk_journal_leader *leader = &store->leader;

    if (leader->snapshot > 0) {
        add_removal(store, piece_key(0, 0), piece_key(leader->snapshot, 0));
    }
    add_removal(store, piece_key(leader->snapshot, leader->pieces),
                piece_key(UINT64_MAX, LK_HOME_NUMBER_MAX));
}

static bool take_number(void *context, uint64_t number, struct lk_slice value) {
    uint64_t *ret_number = context;

    (void)value;
    *ret_number = number;
    return false;
}

/* The first entry that is there, of those that the snapshot has; or the first one behind it. */
static lk_outcome find_rest(struct lk_journal *store, uint64_t *ret_first, lk_error *error) {
    const struct lk_home_key from = entry_key(0);
    const struct lk_home_key to = entry_key(store->leader.first);
    uint64_t first = store->leader.first;
    lk_outcome outcome =
        store->home->ops->read(store->home, &from, &to, 1, take_number, &first, error);

    if (outcome == LK_OK && first == LK_HOME_NO_NUMBER) {
        return lk_error_set(error, LK_UNAVAILABLE, "%s has answered with a key of no entry",
                            store->home->title);
    }
    *ret_first = first;
    return outcome;
}

lk_outcome lk_journal_begin_writing(struct lk_journal *store, lk_error *error) {
    lk_journal_progress_clear(&store->progress);
    store->next_snapshot = 0;
    store->old_snapshot = 0;
    store->old_pieces = 0;
    store->compactable = store->revision;
    store->draw_floor = 0;
    lk_buffer_done(&store->operations);
    take_half_snapshots(store);
    return find_rest(store, &store->old_first, error);
}

/* Whether something that the last snapshot has replaced is still to be deleted. */
static bool has_rest(const struct lk_journal *store) {
    return store->old_first < store->leader.first || store->old_pieces > 0;
}

/* What is there to be read grows to twice of what is needed at most, and to a little. */
static bool is_due(const struct lk_journal *store) {
    return store->next_snapshot == 0 && !has_rest(store)
           && store->log_bytes >= (uint64_t)lk_max((int64_t)store->snapshot_bytes,
                                                   (int64_t)store->snapshot_bytes_min);
}

/* The image is as of the entry before `number`: that is the first one to be applied to it. */
static void begin_snapshot(struct lk_journal *store, uint64_t number) {
    lk_journal_progress_clear(&store->progress);
    store->next_snapshot = number;
    store->next_first = number;
    store->next_pieces = 0;
    store->next_bytes = 0;
    store->log_bytes = 0;
}

/* Adds the next piece to the operations. */
static lk_outcome take_piece(struct lk_journal *store, int64_t bytes, lk_error *error) {
    struct lk_buffer piece = {.max = 0};
    int code = lk_journal_image_write_piece(store->image, &store->progress, (size_t)bytes, &piece);

    if (code == SQLITE_OK && piece.size > 0) {
        add_put(store, piece_key(store->next_snapshot, store->next_pieces),
                (struct lk_slice){piece.bytes, piece.size});
        store->next_pieces++;
        store->next_bytes += piece.size;
    }
    lk_buffer_done(&piece);
    return code == SQLITE_OK ? LK_OK : lk_journal_image_explain(store->image, code, error);
}

/*
 * Takes along as many bytes of the image as the entry has, and a piece at least: so the log grows
 * by no more than the snapshot's size while that is written. What has no room in the transaction of
 * the entry has transactions before it. The entry makes the snapshot valid if all is written.
 */
static lk_outcome take_pieces(struct lk_journal *store, struct lk_journal_leader *next,
                              lk_error *error) {
    int64_t entry = (int64_t)store->entry.size;
    int64_t part = (int64_t)store->home->part_bytes;
    /* The last row may go beyond it: by its value, its names and a text or two. */
    int64_t room = lk_min(part, (int64_t)store->home->commit_bytes_max - lk_min(entry, part)
                                    - 2 * LK_VALUE_BYTES_MAX);
    int64_t left = lk_max(lk_min(PIECE_BYTES_MIN, part), entry);
    lk_outcome outcome = LK_OK;

    while (left > room && !store->progress.is_done && outcome == LK_OK) {
        struct lk_journal_leader renewed = lk_journal_next(store);

        outcome = take_piece(store, lk_min(part, left), error);
        left -= part;
        if (outcome == LK_OK) {
            outcome = lk_journal_commit(store, &renewed, NULL, error);
        }
    }
    if (outcome == LK_OK && left > 0 && !store->progress.is_done) {
        outcome = take_piece(store, left, error);
    }
    next->commit = store->leader.commit + 1;
    if (store->progress.is_done) {
        next->first = store->next_first;
        next->snapshot = store->next_snapshot;
        next->pieces = store->next_pieces;
    }
    return outcome;
}

/* The transaction that made it valid is done. */
static void end_snapshot(struct lk_journal *store, const struct lk_journal_leader *former) {
    store->old_first = former->first;
    store->old_snapshot = former->snapshot;
    store->old_pieces = former->pieces;
    store->snapshot_bytes = store->next_bytes;
    store->next_snapshot = 0;
    lk_journal_progress_clear(&store->progress);
}

/* Some of what the last snapshot has replaced, if there is any left. */
static void take_deletions(struct lk_journal *store) {
    uint64_t first = store->leader.first;

    if (store->old_first < first) {
        uint64_t until =
            (uint64_t)lk_min((int64_t)first, (int64_t)store->old_first + DELETE_ENTRIES);

        add_removal(store, entry_key(store->old_first), entry_key(until));
        add_removal(store, part_key(store->old_first, 0), part_key(until, 0));
        store->old_first = until;
    }
    if (store->old_pieces > 0) {
        uint64_t left = store->old_pieces > DELETE_PIECES ? store->old_pieces - DELETE_PIECES : 0;

        add_removal(store, piece_key(store->old_snapshot, left),
                    piece_key(store->old_snapshot, store->old_pieces));
        store->old_pieces = left;
    }
}

/*
 * Tells the home to forget revisions, which etcd keeps for readers of the past, and which each
 * renewal of the lease adds one to. Those before the last time are forgotten, so that others on the
 * cluster keep a while of theirs. It is time when what a snapshot has replaced is deleted, and
 * after a number of revisions.
 */
static void compact(struct lk_journal *store, bool has_deleted) {
    if (!has_deleted && store->revision - store->compactable < store->history_max) {
        return;
    }
    if (store->compactable > 0) {
        store->home->ops->forget(store->home, store->compactable);
    }
    store->compactable = store->revision;
}

/* ---- batches --------------------------------------------------------------------------------- */

struct applying {
    struct lk_journal *store;
    lk_outcome outcome;
    lk_error error;
};

/* While the home makes the entry durable. If it fails there, the image is given up anyway. */
static void apply(void *context) {
    struct applying *applying = context;
    const struct lk_buffer *entry = &applying->store->entry;

    applying->outcome = lk_journal_image_apply(
        applying->store->image, (struct lk_slice){entry->bytes, entry->size}, &applying->error);
}

static lk_outcome write_entry(struct lk_journal *store, struct lk_journal_leader *next,
                              lk_error *error) {
    struct applying applying = {.store = store, .outcome = LK_OK};
    const struct lk_home_meanwhile meanwhile = {.run = apply, .context = &applying};
    const struct lk_journal_leader former = store->leader;
    bool has_deletions = has_rest(store);
    lk_outcome outcome = LK_OK;

    take_deletions(store);
    if (is_due(store) && !has_deletions) {
        begin_snapshot(store, store->leader.last + 1);
    }
    if (store->next_snapshot != 0) {
        outcome = take_pieces(store, next, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_journal_append(store, next, &meanwhile, error);
    }
    if (outcome == LK_OK && applying.outcome != LK_OK) {
        return lk_error_set(error, LK_INTERNAL, "%s", applying.error.text);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    store->log_bytes += store->entry.size;
    if (next->snapshot != former.snapshot) {
        end_snapshot(store, &former);
    } else {
        compact(store, has_deletions && !has_rest(store));
    }
    return LK_OK;
}

/* Whether there is anything but the time to be written. */
static bool has_content(const struct lk_journal *store, const struct lk_batch *batch) {
    for (const struct lk_row *row = batch->first; row != NULL; row = row->next) {
        if (row->kind != LK_ROW_PROBE) {
            return true;
        }
    }
    return batch->events.has_mark || batch->draw_floor > store->draw_floor;
}

/* Only the lease is renewed. A service that is idle deletes what there is to be deleted as well. */
static lk_outcome write_nothing(struct lk_journal *store, const struct lk_journal_leader *next,
                                lk_error *error) {
    bool has_deletions = has_rest(store);
    lk_outcome outcome;

    take_deletions(store);
    outcome = lk_journal_commit(store, next, NULL, error);
    if (outcome == LK_OK) {
        compact(store, has_deletions && !has_rest(store));
    }
    return outcome;
}

lk_outcome lk_journal_write(struct lk_journal *store, const struct lk_batch *batch,
                            lk_error *error) {
    struct lk_journal_leader next = lk_journal_next(store);

    next.now_us = batch->times.now_us;
    if (!has_content(store, batch)) {
        return write_nothing(store, &next, error);
    }
    lk_buffer_cut(&store->entry, 0);
    lk_journal_image_encode(store->image, batch, &store->entry);
    store->draw_floor = batch->draw_floor;
    return write_entry(store, &next, error);
}
