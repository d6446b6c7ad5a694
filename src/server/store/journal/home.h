/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The home of a journal: the place where services that share a store keep it. The journal decides
 * who leads, what is written, what is read and what can be deleted. A home keeps values under keys,
 * and changes several of them at once, if the leader's record is still as it was.
 *
 * What a home promises:
 *
 *   - commit() does all of its operations or none, whatever fails under it, and compares and writes
 *     the leader's record in the same step. What it has done is durable when it returns.
 *   - look(), has_keys() and read() show all that was committed, by any service, before they were
 *     called: no copy that is behind.
 *   - The revision of the leader's record grows with each commit. 0: there is none yet.
 *   - Calls come to an end within the time of a lease, and a commit that has failed may be done
 *     later. Nothing else may: a read is of the time of its call.
 *
 * It does not promise that a commit is done once: one whose answer was lost may be made again, and
 * then finds a record that it has written itself, which the journal knows by its content. Values
 * are up to `part_bytes` and a little, and never change once the leader's record says that they
 * are valid. Used by one thread at a time.
 *
 * Functions with an `error` return LK_OK or, with a message, LK_UNAVAILABLE (the home was not
 * reached, or that is unknown), LK_DENIED (rights), LK_UNSUPPORTED, LK_INVALID or LK_INTERNAL.
 */
#ifndef LK_SERVER_STORE_JOURNAL_HOME_H
#define LK_SERVER_STORE_JOURNAL_HOME_H

#include "base/buffer.h"
#include "lockkeeper/lockkeeper.h"
#include "server/store/store.h"

struct lk_home; /* one open home; each kind embeds it first */

/* In the order of keys: first by kind, then by `of`, then by `number`. */
enum lk_home_kind {
    LK_HOME_ENTRY, /* of the log: `number`; `of` is 0 */
    LK_HOME_PART,  /* `number` of what of the entry `of` comes before it */
    LK_HOME_PIECE, /* `number` of the snapshot `of` */
};

struct lk_home_key {
    enum lk_home_kind kind;
    uint64_t of;
    uint64_t number; /* LK_HOME_NUMBER_MAX at most, but for an entry */
};

#define LK_HOME_NUMBER_MAX UINT32_MAX
#define LK_HOME_NO_NUMBER UINT64_MAX /* of a row that was read: its key is not the journal's */

/* What read() calls for each row, whose value is valid until it returns. false: no more of them. */
typedef bool lk_home_visit(void *context, uint64_t number, struct lk_slice value);

/* What is done once in the course of a commit: while it is under way, if it is sent at once. */
struct lk_home_meanwhile {
    void (*run)(void *context);
    void *context;
};

struct lk_home_commit {
    bool is_done;          /* else the leader's record was not of that revision, or there was one */
    uint64_t revision;     /* of the leader's record, as it is now */
    struct lk_slice found; /* not done: the record, until the next call; empty: there is none */
};

struct lk_home_ops {
    /* Whether the journal may write and delete all of its keys: done once, behind the first look,
     * and changes nothing. From now on calls are made again until their time is over. */
    lk_outcome (*check)(struct lk_home *home, lk_error *error);

    /* Replaces *ret_record by the leader's. *ret_revision 0: there is none. */
    lk_outcome (*look)(struct lk_home *home, struct lk_buffer *ret_record, uint64_t *ret_revision,
                       lk_error *error);

    /* Whether there are keys of a journal, beside the leader's record. */
    lk_outcome (*has_keys)(struct lk_home *home, bool *ret_has, lk_error *error);

    /* Visits the rows from `from` on and before `to`, `limit` at most, in the order of their keys.
     * Both are of one kind and one `of`. LK_OK: all of them were visited, or visiting ended. */
    lk_outcome (*read)(struct lk_home *home, const struct lk_home_key *from,
                       const struct lk_home_key *to, unsigned limit, lk_home_visit *visit,
                       void *context, lk_error *error);

    /* Appends an operation to those of a commit, in a form of the home's own. */
    void (*put)(struct lk_home *home, struct lk_buffer *operations, const struct lk_home_key *key,
                struct lk_slice value);
    /* ... all keys from `from` on and before `to`, which are of one kind. */
    void (*remove)(struct lk_home *home, struct lk_buffer *operations,
                   const struct lk_home_key *from, const struct lk_home_key *to);

    /* Does the operations and writes the leader's record, if that is of the revision still. LK_OK
     * with *ret_commit, and `meanwhile` (NULL: nothing) was run; else whether it was done is
     * unknown, or it was not. */
    lk_outcome (*commit)(struct lk_home *home, uint64_t revision, struct lk_slice record,
                         const struct lk_buffer *operations,
                         const struct lk_home_meanwhile *meanwhile,
                         struct lk_home_commit *ret_commit, lk_error *error);

    /* What keys were before that revision is not needed any more. Must be quick, and may fail. */
    void (*forget)(struct lk_home *home, uint64_t revision);

    void (*close)(struct lk_home *home);
};

struct lk_home {
    const struct lk_home_ops *ops;
    const char *title;       /* for messages, such as "etcd" */
    const char *place;       /* ... what the names of its keys begin with */
    size_t part_bytes;       /* of a value; a larger entry is divided */
    size_t commit_bytes_max; /* of the values of one commit */
};

/* ---- the journal ----------------------------------------------------------------------------- */

/*
 * A store that several services share, as a journal at a home: a log of entries, and snapshots of
 * what came before it. Where that is, and how to change it in one step, is the home's.
 */

struct lk_journal_options {
    const char *address;         /* where clients find this service when it leads; copied */
    int64_t lease_us;            /* after its last commit no other service leads for so long */
    uint64_t snapshot_bytes_min; /* of the log, before a snapshot is begun; 0: the default */
    uint64_t history_max; /* revisions, before the home is told to forget some; 0: the default */
};

/*
 * The store at this home, which it owns from then on, whatever is returned. Leads nothing before
 * the first load, and writes nothing. LK_OK with *ret_storage; LK_INVALID (what is there),
 * LK_UNSUPPORTED (another format), or what the home answers.
 */
lk_outcome lk_journal_open(struct lk_home *home, const struct lk_journal_options *options,
                           struct lk_storage **ret_storage, lk_error *error);

#endif
