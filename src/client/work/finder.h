/* SPDX-License-Identifier: Apache-2.0 */
/* R17: a user's table as an engine takes it, and the loop that announces its rows. */
#ifndef LK_CLIENT_WORK_FINDER_H
#define LK_CLIENT_WORK_FINDER_H

#include "client/contact.h"
#include "client/store.h"

/* A source that borrows the caller's texts; the queue may be made of the table's name. */
struct lk_table_text {
    struct lk_source source;
    char queue[LK_SEGMENT_BYTES_MAX + 1];
};

/*
 * Checks the struct, and the source in the store. queue NULL: the table's name. LK_OK, LK_INVALID,
 * LK_UNSUPPORTED, or another outcome of the store. *ret_text must not move afterwards.
 */
lk_outcome lk_table_text_make(lk_store *store, const char *queue, const lk_work_table *table,
                              struct lk_table_text *ret_text, lk_error *error);

enum { LK_FINDER_TOLD_MAX = LK_SKIPPED_ROWS_MAX };

struct lk_finder {
    lk_store *store;
    const struct lk_source *source;
    struct lk_waker *waker; /* ends it */
    struct lk_outage outage;
    int64_t patience_ms; /* for how long a store that does not answer is retried; 0: no limit */
    bool drains;         /* ends when there is nothing to announce */
    void (*tell)(void *context, const struct lk_announcement *announcement);
    /* A row is skipped, and why. Once for each row, and for LK_FINDER_TOLD_MAX of them. */
    void (*tell_skipped)(void *context, const char *text);
    void *context;

    /* The finder's own. */
    uint64_t told[LK_FINDER_TOLD_MAX]; /* hashes of ids */
    size_t told_count;
};

/* Blocks. LK_BUSY: nothing is left to announce; LK_CANCELLED: the waker; or the store's outcome. */
lk_outcome lk_finder_run(struct lk_finder *finder, lk_error *error);

#endif
