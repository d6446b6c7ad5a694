/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A feed: lk_work() with one worker in a thread of its own, whose items one loop in Lua decides on.
 * The library claims, renews, finishes and retries; here is only the hand-over.
 */
#ifndef LOCKKEEPER_LUA_FEED_H
#define LOCKKEEPER_LUA_FEED_H

#include <sys/types.h>

#include "module.h"

enum { LK_LUA_FEED_TEXTS = 8, LK_LUA_FAILURE_MAX = 1024 };

/* Verdicts, as lk_work_handle() returns them. */
enum { LK_LUA_DONE = 0, LK_LUA_FAILED = 1 };

struct lk_lua_feed {
    /* Fixed once the thread runs. */
    pid_t process;
    lk_store *store;
    lk_cancel *cancel;
    lk_work_options options;
    lk_work_table table;
    char *texts[LK_LUA_FEED_TEXTS];
    size_t text_count;

    atomic_int count;         /* of the loop, the store and the thread */
    bool is_started;          /* used by the thread of the interpreter alone, as `next` */
    struct lk_lua_feed *next; /* of the same store */
    sem_t news;               /* an item, a step or the end: for the loop */
    sem_t decided;            /* a verdict: for the thread */

    pthread_mutex_t mutex; /* for all below */
    pthread_cond_t over;
    const lk_claim_info *claim; /* the present item; NULL: none */
    lk_lease *lease;
    uint64_t number; /* of the present or last item; 0: none yet */
    bool is_decided;
    bool is_lost; /* of the present or last item */
    int verdict;
    char failure[LK_LUA_FAILURE_MAX];
    size_t failure_size;
    bool has_exit;
    int32_t exit_code;
    uint64_t stepped; /* the number of the item that `step` is of */
    lk_work_step step;
    bool is_closing;
    bool is_over;
    lk_outcome outcome;
    lk_error error;
    lk_work_counts counts;
};

struct lk_lua_feed *lk_lua_feed_new(lk_store *store); /* NULL: no memory */
void lk_lua_feed_free(void *feed);                    /* one that counts it does so no more */
/* A copy that the feed owns; NULL also for no text. */
const char *lk_lua_feed_text(struct lk_lua_feed *feed, const char *text, bool *is_made);
bool lk_lua_feed_start(struct lk_lua_feed *feed); /* false: no thread */

struct lk_lua_verdict {
    int verdict;
    const char *failure; /* NULL: not said */
    size_t failure_size;
    bool has_exit;
    int32_t exit_code;
};
static const struct lk_lua_verdict lk_lua_given_back = {.verdict = LK_WORK_GIVE_BACK};

/* Decides on the item, unless it is decided on, or another one is the present one. */
bool lk_lua_feed_decide(struct lk_lua_feed *feed, uint64_t number,
                        const struct lk_lua_verdict *verdict);
/* Ends the work, which claims nothing more. The present item gets the verdict unless it has one. */
void lk_lua_feed_cancel(struct lk_lua_feed *feed, const struct lk_lua_verdict *verdict);
/* Claims nothing more. The item with the number `taken` stays with its loop; another goes back. */
void lk_lua_feed_stop(struct lk_lua_feed *feed, uint64_t taken);
void lk_lua_feed_await(struct lk_lua_feed *feed); /* its end */

#endif
