/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subscriber of a store: one thread that receives messages about grants, and the waiters that
 * sleep until then. The servers notify only the process that owns the granted request. Messages
 * sent while a connection is down are lost, so sleepers also query from time to time.
 *
 * There are two manners. Plain: one connection, one channel; in a cluster every message goes to
 * every node. Sharded (a cluster of Redis 7 or later): one channel for each root that has waiters,
 * in the root's own slot, and one connection to each node that has such slots; a message stays on
 * its node. The first wait detects the manner.
 */
#ifndef LK_ENGINE_REDIS_CLIENT_SUBSCRIBER_H
#define LK_ENGINE_REDIS_CLIENT_SUBSCRIBER_H

#include "engine/redis/client/topology.h"

#define LK_REDIS_UNUSED_US INT64_C(10000000) /* without a wait so long: may be unsubscribed */
enum {
    LK_REDIS_RECENT_MAX = 1024,
    LK_REDIS_SUBSCRIPTIONS_MAX = 256, /* roots at a time; waits under further roots poll */
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

enum lk_redis_subscription_state {
    LK_REDIS_UNUSED,
    LK_REDIS_WANTED,      /* to be subscribed to, not before `retry_us` */
    LK_REDIS_SUBSCRIBING, /* the node has not answered yet */
    LK_REDIS_SUBSCRIBED,
    LK_REDIS_UNWANTED,      /* to be unsubscribed */
    LK_REDIS_UNSUBSCRIBING, /* the node has not answered yet */
};

/* A root, and the state of the subscription to its channel. */
struct lk_redis_subscription {
    enum lk_redis_subscription_state state;
    char root[LK_SEGMENT_BYTES_MAX];
    size_t size;
    int node;
    uint64_t order; /* of the commands: answers come in this order */
    int64_t retry_us;
    int64_t used_us; /* when the last wait there began */
};

struct lk_redis_subscriber {
    struct lk_redis_topology *topology; /* borrowed */
    const char *name;                   /* borrowed; prefix of this process's channels */
    pthread_mutex_t mutex;              /* guards all that follows */
    pthread_cond_t changed;
    pthread_t thread;
    int nudge; /* an eventfd that wakes the thread */
    bool is_running;
    bool is_stopping;
    bool is_connected; /* and subscribed to all that is wanted */
    enum lk_redis_manner manner;
    struct lk_redis_subscription subscriptions[LK_REDIS_SUBSCRIPTIONS_MAX];
    struct lk_redis_sleeper *sleepers;
    uint64_t version; /* number of messages received */
    uint64_t recent[LK_REDIS_RECENT_MAX];
};

bool lk_redis_subscriber_init(struct lk_redis_subscriber *subscriber,
                              struct lk_redis_topology *topology, const char *name);
void lk_redis_subscriber_done(struct lk_redis_subscriber *subscriber);

/*
 * Subscribes to the root's channel. Starts the thread at first use, and waits a moment for its
 * connection.
 */
void lk_redis_subscriber_start(struct lk_redis_subscriber *subscriber, struct lk_slice root);

/* The channel for messages to the waiters under the root. */
void lk_redis_subscriber_channel(struct lk_redis_subscriber *subscriber, struct lk_slice root,
                                 char ret_channel[LK_REDIS_CHANNEL_BYTES_MAX + 1]);

/* The number of the next message. A sleep that is given it misses no later message. */
uint64_t lk_redis_subscriber_version(struct lk_redis_subscriber *subscriber);

/* The id that messages about a queue have. */
uint64_t lk_redis_queue_id(struct lk_slice queue);

/*
 * Sleeps until a message with this id that is not older than `version`, or until `until_us`, or
 * until the waker (which may be NULL) is thrown.
 */
lk_outcome lk_redis_subscriber_sleep(struct lk_redis_subscriber *subscriber, uint64_t id,
                                     uint64_t version, int64_t until_us, struct lk_waker *waker);

/* ---- for subscriber_thread.c ----------------------------------------------------------------- */

void *lk_redis_subscriber_run(void *subscriber);

void lk_redis_subscriber_tell(struct lk_redis_subscriber *subscriber, struct lk_slice text);

/* `has_lost`: messages may have been lost, so all sleepers wake and query. */
void lk_redis_subscriber_set_connected(struct lk_redis_subscriber *subscriber, bool is_connected,
                                       bool has_lost);

#endif
