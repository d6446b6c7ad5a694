/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of the store's file for a client, made and read by a thread of its own, so that the loop
 * never waits for the disk. There is one copy at a time: it needs as much room as the file. It has
 * no name while it is read, so nothing is left of it when the service ends, however it ends.
 *
 * All functions are the loop's. The thread is started by the first copy.
 */
#ifndef LK_SERVER_STORE_COPIER_H
#define LK_SERVER_STORE_COPIER_H

#include "base/slice.h"
#include "lockkeeper/lockkeeper.h"

enum { LK_COPY_PIECE_BYTES = 256 * 1024 };

struct lk_copier;

/* What became of a job: LK_OK, or an outcome with its message. */
struct lk_copy_result {
    lk_error error;
    bool is_made;          /* of lk_copy_begin(), else of lk_copy_read() */
    uint64_t size;         /* of the copy */
    struct lk_slice bytes; /* a piece, empty at the end; borrowed until done() returns */
};

/* A client's copy, embedded in its connection. Zeroed, with done(): it has none. */
struct lk_copy {
    struct lk_copier *copier; /* NULL: there is no copy */
    bool is_pending;          /* a job is not done yet */
    void (*done)(struct lk_copy *copy, const struct lk_copy_result *result);
};

/*
 * For the file of this path; removes what a service that was killed has left. LK_OK with
 * *ret_copier, or LK_INTERNAL.
 */
lk_outcome lk_copier_new(const char *path, struct lk_copier **ret_copier, lk_error *error);
void lk_copier_free(struct lk_copier *copier); /* accepts NULL; waits for the thread */

/* Readable when a job is done: then lk_copier_fetch() calls done() of its copy. */
int lk_copier_descriptor(const struct lk_copier *copier);
void lk_copier_fetch(struct lk_copier *copier);

/* Whether a copy is kept and no job of it is pending: it waits for its client. */
bool lk_copier_is_idle(const struct lk_copier *copier);

/* Gives up a copy that is idle: a further read is LOST. */
void lk_copier_expire(struct lk_copier *copier);

/*
 * Makes a copy of the file as it is at one moment, in place of an earlier one of this client.
 * LK_OK: done() will be called; LK_FULL: another client has one. UNAVAILABLE of the result: the
 * disk has no room for it, or fails.
 */
lk_outcome lk_copy_begin(struct lk_copier *copier, struct lk_copy *copy, lk_error *error);

/*
 * Reads a piece of at most LK_COPY_PIECE_BYTES. An empty one, from the end on, ends the copy.
 * LK_OK: done() will be called; LK_LOST: there is no copy (any more).
 */
lk_outcome lk_copy_read(struct lk_copy *copy, uint64_t from, lk_error *error);

/* The client needs it no more; done() is not called. */
void lk_copy_end(struct lk_copy *copy);

#endif
