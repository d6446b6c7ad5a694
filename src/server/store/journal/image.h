/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The present state as tables in memory, which the service that leads keeps beside its model: what
 * an entry of the log changes is changed here, so the state can be written out in pieces while
 * it goes on changing. A service that begins to lead makes the image from what it reads.
 *
 * Pieces of different ages are fine: each entry from that of the first piece on is applied again
 * when they are read, and says all of each row that it changed. So an entry may be applied to rows
 * that are ahead of it.
 *
 * Functions with an `error` return LK_OK, LK_INVALID (what was read is damaged) or LK_INTERNAL.
 */
#ifndef LK_SERVER_STORE_JOURNAL_IMAGE_H
#define LK_SERVER_STORE_JOURNAL_IMAGE_H

#include "server/store/journal/codec.h"
#include "server/store/sql_snapshot.h"

enum { LK_JOURNAL_KEYS_MAX = 3 };

struct lk_journal_image {
    const char *title; /* of the home; borrowed */
    struct lk_sql sql;
    struct lk_sql_load_room load_room;
    struct lk_journal_row_room row_room;
    uint64_t audit_last;    /* the greatest number in use */
    int64_t sweep_after_us; /* ended tokens are swept no earlier */
    unsigned ended_count;   /* since they were bounded last */
};

/* *ret_image is empty; for lk_journal_image_close(). `title` is the home's, for messages. */
lk_outcome lk_journal_image_open(const char *title, struct lk_journal_image **ret_image,
                                 lk_error *error);
void lk_journal_image_close(struct lk_journal_image *image); /* accepts NULL */

/*
 * From now on `tick` is called every few milliseconds while a statement runs on the image, by the
 * thread that runs it. Other than 0: the statement ends, and the image is of no use any more. NULL:
 * it is called no more.
 */
void lk_journal_image_watch(struct lk_journal_image *image, int (*tick)(void *context),
                            void *context);

/* Writes the batch as an entry. */
void lk_journal_image_encode(struct lk_journal_image *image, const struct lk_batch *batch,
                             struct lk_buffer *out);

/* Applies an entry. */
lk_outcome lk_journal_image_apply(struct lk_journal_image *image, struct lk_slice entry,
                                  lk_error *error);

/* Fills a snapshot for the core. */
lk_outcome lk_journal_image_load(struct lk_journal_image *image,
                                 const struct lk_model_config *config,
                                 struct lk_core_snapshot *snapshot, lk_error *error);

/* ---- pieces (pieces.c) ----------------------------------------------------------------------- */

/* How far the tables have been written out; zeroed: nothing yet. */
struct lk_journal_progress {
    size_t table;
    sqlite3_value *behind[LK_JOURNAL_KEYS_MAX]; /* the key of the last row; NULL: none */
    bool is_done;
};
void lk_journal_progress_clear(struct lk_journal_progress *progress);

/* Writes the next rows, `bytes` or a little more. Returns SQLite's code. */
int lk_journal_image_write_piece(struct lk_journal_image *image,
                                 struct lk_journal_progress *progress, size_t bytes,
                                 struct lk_buffer *out);

/* Puts the rows of a piece into their tables. After the last piece, finish. */
lk_outcome lk_journal_image_read_piece(struct lk_journal_image *image, struct lk_slice piece,
                                       lk_error *error);
lk_outcome lk_journal_image_finish(struct lk_journal_image *image, lk_error *error);

/* For both files: what SQLite's code means here. */
lk_outcome lk_journal_image_explain(const struct lk_journal_image *image, int code,
                                    lk_error *error);

#endif
