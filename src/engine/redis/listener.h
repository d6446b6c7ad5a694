/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ear of a store: one thread that is told of grants, and those who sleep until then. The
 * servers tell only the process whose request it was that can go. What is told while a connection
 * is down is lost; sleepers look by themselves from time to time.
 *
 * Two manners. Plain: one connection, one channel, and in a cluster every message goes to every
 * node. Sharded (a cluster of Redis 7 or later): a channel for each root that is waited for, in the
 * root's own slot, and a connection to each of the nodes that have them; a message stays on its
 * node. Which one it is, is found out when somebody waits for the first time.
 */
#ifndef LK_ENGINE_REDIS_LISTENER_H
#define LK_ENGINE_REDIS_LISTENER_H

#include "engine/redis/fleet.h"

#define LK_REDIS_UNUSED_US INT64_C(10000000) /* a root not waited for this long may be left */
enum {
    LK_REDIS_RECENT_MAX = 1024,
    LK_REDIS_HEARD_MAX = 256, /* roots at a time; those beyond are looked at from time to time */
    LK_REDIS_NAME_BYTES_MAX = 40,
    LK_REDIS_CHANNEL_BYTES_MAX = LK_REDIS_NAME_BYTES_MAX + LK_SEGMENT_BYTES_MAX + 8,
};

struct lk_redis_sleeper {
    struct lk_redis_sleeper *next;
    struct lk_redis_sleeper *previous;
    uint64_t id;
    struct lk_waker *waker;
    bool is_woken;
};

enum lk_redis_manner { LK_REDIS_MANNER_UNKNOWN, LK_REDIS_PLAIN, LK_REDIS_SHARDED };

enum lk_redis_heard_state {
    LK_REDIS_UNUSED,
    LK_REDIS_WANTED, /* to be subscribed to, not before `retry_us` */
    LK_REDIS_ASKED,  /* the node has not answered yet */
    LK_REDIS_HEARD,
    LK_REDIS_UNWANTED, /* to be left */
    LK_REDIS_LEFT,     /* the node has not answered yet */
};

/* A root whose channel is listened to. */
struct lk_redis_heard {
    enum lk_redis_heard_state state;
    char root[LK_SEGMENT_BYTES_MAX];
    size_t size;
    int node;
    uint64_t order; /* of the asking: answers come in this order */
    int64_t retry_us;
    int64_t used_us; /* when somebody waited there last */
};

struct lk_redis_listener {
    struct lk_redis_fleet *fleet; /* borrowed */
    const char *name;             /* borrowed; what this process's channels begin with */
    pthread_mutex_t mutex;        /* guards all that follows */
    pthread_cond_t changed;
    pthread_t thread;
    int nudge; /* an eventfd that the thread looks at */
    bool is_running;
    bool is_stopping;
    bool is_connected; /* and hears all that is wanted */
    enum lk_redis_manner manner;
    struct lk_redis_heard heard[LK_REDIS_HEARD_MAX];
    struct lk_redis_sleeper *sleepers;
    uint64_t version; /* how many messages have come */
    uint64_t recent[LK_REDIS_RECENT_MAX];
};

bool lk_redis_listener_init(struct lk_redis_listener *listener, struct lk_redis_fleet *fleet,
                            const char *name);
void lk_redis_listener_done(struct lk_redis_listener *listener);

/* Sees to it that it listens to the root; waits for the connection a moment, the first time. */
void lk_redis_listener_start(struct lk_redis_listener *listener, struct lk_slice root);

/* Where those who wait under the root are told. */
void lk_redis_listener_channel(struct lk_redis_listener *listener, struct lk_slice root,
                               char ret_channel[LK_REDIS_CHANNEL_BYTES_MAX + 1]);

/* The number of the next message: what comes from now on is not missed. */
uint64_t lk_redis_listener_version(struct lk_redis_listener *listener);

/* What a message about a queue is known by. */
uint64_t lk_redis_queue_id(struct lk_slice queue);

/*
 * Sleeps until a message with this id that is not older than `version`, or until `until_us`, or
 * until the waker (which may be NULL) is thrown.
 */
lk_outcome lk_redis_listener_sleep(struct lk_redis_listener *listener, uint64_t id,
                                   uint64_t version, int64_t until_us, struct lk_waker *waker);

/* ---- for ears.c: the thread ------------------------------------------------------------------ */

void *lk_redis_listener_run(void *listener);

void lk_redis_listener_tell(struct lk_redis_listener *listener, struct lk_slice text);

/* `has_lost`: what was told meanwhile is lost, so everybody looks. */
void lk_redis_listener_set_connected(struct lk_redis_listener *listener, bool is_connected,
                                     bool has_lost);

#endif
