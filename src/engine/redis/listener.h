/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ear of a store: one connection and one thread that are told of grants, and those who sleep
 * until then. The servers tell only the process whose request it was that can go. What is told
 * while the connection is down is lost; sleepers look by themselves from time to time.
 */
#ifndef LK_ENGINE_REDIS_LISTENER_H
#define LK_ENGINE_REDIS_LISTENER_H

#include "engine/redis/fleet.h"

enum { LK_REDIS_RECENT_MAX = 1024 };

struct lk_redis_sleeper {
    struct lk_redis_sleeper *next;
    struct lk_redis_sleeper *previous;
    uint64_t id;
    struct lk_waker *waker;
    bool is_woken;
};

struct lk_redis_listener {
    struct lk_redis_fleet *fleet; /* borrowed */
    const char *channel;          /* borrowed */
    pthread_mutex_t mutex;        /* guards all that follows */
    pthread_cond_t changed;
    pthread_t thread;
    int stop; /* an eventfd that ends the thread */
    bool is_running;
    bool is_stopping;
    bool is_connected;
    struct lk_redis_sleeper *sleepers;
    uint64_t version; /* how many messages have come */
    uint64_t recent[LK_REDIS_RECENT_MAX];
};

bool lk_redis_listener_init(struct lk_redis_listener *listener, struct lk_redis_fleet *fleet,
                            const char *channel);
void lk_redis_listener_done(struct lk_redis_listener *listener);

/* Sees to it that it listens; waits for the connection a moment, the first time. */
void lk_redis_listener_start(struct lk_redis_listener *listener);

/* The number of the next message: what comes from now on is not missed. */
uint64_t lk_redis_listener_version(struct lk_redis_listener *listener);

/* What a message about a queue is known by. */
uint64_t lk_redis_queue_id(struct lk_slice queue);

/* Sleeps until a message with this id that is not older than `version`, or until `until_us`. */
lk_outcome lk_redis_listener_sleep(struct lk_redis_listener *listener, uint64_t id,
                                   uint64_t version, int64_t until_us, struct lk_waker *waker);

#endif
