/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that reads the store about once a second, so that the screen never waits for it. A store
 * that is busy or unreachable is reported and retried. Breaks are made by the same thread.
 */
#ifndef LK_CLI_TOP_FEED_H
#define LK_CLI_TOP_FEED_H

#include "cli/top/listing.h"
#include "lockkeeper/lockkeeper.h"

struct lk_feed;

/* What has happened since the last call; what has not is zero. */
struct lk_feed_news {
    struct lk_snapshot *snapshot; /* the newest; the taker's from now on */
    bool has_failed;              /* the last reading: why is in `failure` */
    lk_error failure;
    int64_t stale_ms; /* since the last reading that went well */
    bool has_broken;  /* a break has been answered */
    size_t broken_count;
    lk_error break_error;
};

/*
 * Begins to read everything at or below `prefix` (NULL: everything). Takes over the store on
 * success; NULL: it does not exist yet, and is empty until it does. `url` and `prefix` are borrowed
 * until it is closed. NULL: the system has no room for it.
 */
struct lk_feed *lk_feed_open(lk_store *store, const char *url, const char *prefix);

/*
 * Ends the reading. A call to the store that is still under way is not waited for: the thread is
 * left alone with it, for the program is about to end.
 */
void lk_feed_close(struct lk_feed *feed);

/* Readable while there are news. */
int lk_feed_descriptor(const struct lk_feed *feed);
void lk_feed_take(struct lk_feed *feed, struct lk_feed_news *ret_news);

/* Since the last reading that went well; one that is under way has not been answered yet. */
int64_t lk_feed_stale_ms(struct lk_feed *feed);

/* Reads at once; `path` (NULL: none) is the selected path. */
void lk_feed_refresh(struct lk_feed *feed, const char *path);

/* Asks for a break, and then reads. Copies what it needs. */
void lk_feed_break(struct lk_feed *feed, const lk_break_request *request);

#endif
