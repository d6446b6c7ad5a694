/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waiters that sleep, and the messages for them; subscriber_thread.c has the thread. Lock
 * order: subscriber, waker.
 */
#include "engine/redis/client/subscriber.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "base/random.h"
#include "base/thread.h"
#include "engine/redis/client/keys.h"

#define START_US_MAX INT64_C(500000)   /* for the first connection */
#define POLL_US INT64_C(2000000)       /* about how often sleepers query by themselves... */
#define POLL_DEAF_US INT64_C(100000)   /* ...and how often without a subscription */
#define QUEUE_POLL_US INT64_C(5000000) /* the same for workers, which have no place to lose */
#define QUEUE_POLL_DEAF_US INT64_C(250000)
#define QUEUE_BIT (UINT64_C(1) << 63) /* a request's id is below 2^53 */

/* ---- messages -------------------------------------------------------------------------------- */

uint64_t lk_redis_queue_id(struct lk_slice queue) {
    return lk_hash_bytes(0, queue) | QUEUE_BIT;
}

static uint64_t id_of(struct lk_slice text) {
    char digits[24] = "";

    if (text.size > 0 && text.bytes[0] == 'q') {
        return lk_redis_queue_id((struct lk_slice){text.bytes + 1, text.size - 1});
    }
    memcpy(digits, text.bytes, text.size < sizeof digits - 1 ? text.size : sizeof digits - 1);
    return strtoull(digits, NULL, 10);
}

void lk_redis_subscriber_tell(struct lk_redis_subscriber *subscriber, struct lk_slice text) {
    uint64_t id = id_of(text);

    pthread_mutex_lock(&subscriber->mutex);
    lk_sleepers_wake(&subscriber->sleepers, id);
    pthread_mutex_unlock(&subscriber->mutex);
}

void lk_redis_subscriber_set_connected(struct lk_redis_subscriber *subscriber, bool is_connected,
                                       bool has_lost) {
    pthread_mutex_lock(&subscriber->mutex);
    subscriber->is_connected = is_connected;
    if (has_lost) {
        lk_sleepers_wake_all(&subscriber->sleepers);
    }
    pthread_cond_broadcast(&subscriber->changed);
    pthread_mutex_unlock(&subscriber->mutex);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

bool lk_redis_subscriber_init(struct lk_redis_subscriber *subscriber,
                              struct lk_redis_topology *topology, const char *name) {
    *subscriber = (struct lk_redis_subscriber){.topology = topology, .name = name};
    subscriber->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (subscriber->nudge < 0) {
        return false;
    }
    if (pthread_mutex_init(&subscriber->mutex, NULL) != 0) {
        (void)close(subscriber->nudge);
        return false;
    }
    if (!lk_condition_init(&subscriber->changed)) {
        (void)pthread_mutex_destroy(&subscriber->mutex);
        (void)close(subscriber->nudge);
        return false;
    }
    return true;
}

static void nudge(const struct lk_redis_subscriber *subscriber) {
    const uint64_t one = 1;

    (void)!write(subscriber->nudge, &one, sizeof one); /* fails only if a nudge is pending */
}

void lk_redis_subscriber_done(struct lk_redis_subscriber *subscriber) {
    pthread_mutex_lock(&subscriber->mutex);
    subscriber->is_stopping = true;
    pthread_mutex_unlock(&subscriber->mutex);
    if (subscriber->is_running) {
        nudge(subscriber);
        (void)pthread_join(subscriber->thread, NULL);
    }
    (void)pthread_cond_destroy(&subscriber->changed);
    (void)pthread_mutex_destroy(&subscriber->mutex);
    (void)close(subscriber->nudge);
}

/* ---- roots ----------------------------------------------------------------------------------- */

static struct lk_redis_subscription *find_root(struct lk_redis_subscriber *subscriber,
                                               struct lk_slice root) {
    for (size_t i = 0; i < LK_REDIS_SUBSCRIPTIONS_MAX; i++) {
        struct lk_redis_subscription *subscription = &subscriber->subscriptions[i];

        if (subscription->state != LK_REDIS_UNUSED && subscription->size == root.size
            && memcmp(subscription->root, root.bytes, root.size) == 0) {
            return subscription;
        }
    }
    return NULL;
}

/*
 * Returns a free entry. If there is none, returns NULL and starts to unsubscribe the root that has
 * been unused for longest.
 */
static struct lk_redis_subscription *find_room(struct lk_redis_subscriber *subscriber,
                                               int64_t now_us) {
    struct lk_redis_subscription *oldest = NULL;

    for (size_t i = 0; i < LK_REDIS_SUBSCRIPTIONS_MAX; i++) {
        struct lk_redis_subscription *subscription = &subscriber->subscriptions[i];

        if (subscription->state == LK_REDIS_UNUSED) {
            return subscription;
        }
        if (subscription->state == LK_REDIS_SUBSCRIBED
            && (oldest == NULL || subscription->used_us < oldest->used_us)) {
            oldest = subscription;
        }
    }
    if (oldest != NULL && oldest->used_us < now_us - LK_REDIS_UNUSED_US) {
        oldest->state = LK_REDIS_UNWANTED;
    }
    return NULL;
}

/* Makes the root one of the subscriptions; NULL: there is no room. */
static const struct lk_redis_subscription *want_root(struct lk_redis_subscriber *subscriber,
                                                     struct lk_slice root) {
    int64_t now_us = lk_clock_now_us();
    struct lk_redis_subscription *subscription = find_root(subscriber, root);

    if (subscription == NULL && root.size <= LK_SEGMENT_BYTES_MAX) {
        subscription = find_room(subscriber, now_us);
        nudge(subscriber);
        if (subscription != NULL) {
            *subscription =
                (struct lk_redis_subscription){.state = LK_REDIS_WANTED, .size = root.size};
            memcpy(subscription->root, root.bytes, root.size);
        }
    } else if (subscription != NULL && subscription->state == LK_REDIS_UNWANTED) {
        subscription->state = LK_REDIS_SUBSCRIBED;
    }
    if (subscription != NULL) {
        subscription->used_us = now_us;
    }
    return subscription;
}

static bool is_ready(const struct lk_redis_subscriber *subscriber,
                     const struct lk_redis_subscription *subscription) {
    return subscriber->manner == LK_REDIS_PLAIN
               ? subscriber->is_connected
               : subscriber->manner == LK_REDIS_SHARDED
                     && (subscription == NULL || subscription->state == LK_REDIS_SUBSCRIBED);
}

void lk_redis_subscriber_start(struct lk_redis_subscriber *subscriber, struct lk_slice root) {
    const struct lk_redis_subscription *subscription;
    struct lk_redis_prefix prefix;
    bool is_new;

    lk_redis_prefix_make(root, &prefix);
    root = lk_redis_prefix_tag(&prefix); /* one channel for all roots of a tag */
    pthread_mutex_lock(&subscriber->mutex);
    is_new = subscriber->manner == LK_REDIS_MANNER_UNKNOWN
             || (subscriber->manner == LK_REDIS_SHARDED && find_root(subscriber, root) == NULL);
    subscription = subscriber->manner != LK_REDIS_PLAIN ? want_root(subscriber, root) : NULL;
    if (!subscriber->is_running
        && lk_thread_start(&subscriber->thread, lk_redis_subscriber_run, subscriber)) {
        subscriber->is_running = true;
    }
    if (is_new) {
        const struct timespec until = lk_condition_instant(START_US_MAX);

        while (!is_ready(subscriber, subscription)
               && pthread_cond_timedwait(&subscriber->changed, &subscriber->mutex, &until) == 0) {
        }
    }
    pthread_mutex_unlock(&subscriber->mutex);
}

void lk_redis_subscriber_channel(struct lk_redis_subscriber *subscriber, struct lk_slice root,
                                 char ret_channel[LK_REDIS_CHANNEL_BYTES_MAX + 1]) {
    struct lk_redis_prefix prefix;
    bool is_sharded;

    pthread_mutex_lock(&subscriber->mutex);
    is_sharded = subscriber->manner == LK_REDIS_SHARDED;
    pthread_mutex_unlock(&subscriber->mutex);
    if (is_sharded) { /* in the root's slot; the script recognizes it by the brace */
        lk_redis_prefix_make(root, &prefix);
        (void)snprintf(ret_channel, LK_REDIS_CHANNEL_BYTES_MAX + 1, "%s:{%.*s}", subscriber->name,
                       (int)prefix.tag_size, lk_redis_prefix_tag(&prefix).bytes);
    } else {
        (void)snprintf(ret_channel, LK_REDIS_CHANNEL_BYTES_MAX + 1, "%s", subscriber->name);
    }
}

uint64_t lk_redis_subscriber_version(struct lk_redis_subscriber *subscriber) {
    uint64_t version;

    pthread_mutex_lock(&subscriber->mutex);
    version = subscriber->sleepers.version;
    pthread_mutex_unlock(&subscriber->mutex);
    return version;
}

/* How often a sleeper queries by itself. The caller has the mutex. */
static int64_t poll_us_of(const struct lk_redis_subscriber *subscriber, uint64_t id) {
    if ((id & QUEUE_BIT) != 0) {
        return subscriber->is_connected ? QUEUE_POLL_US : QUEUE_POLL_DEAF_US;
    }
    return subscriber->is_connected ? POLL_US : POLL_DEAF_US;
}

/* ---- sleeping -------------------------------------------------------------------------------- */

lk_outcome lk_redis_subscriber_sleep(struct lk_redis_subscriber *subscriber, uint64_t id,
                                     uint64_t version, int64_t until_us, struct lk_waker *waker) {
    struct lk_random random = {lk_random_draw()};
    lk_outcome outcome;
    int64_t poll_us;

    pthread_mutex_lock(&subscriber->mutex);
    poll_us = poll_us_of(subscriber, id);
    poll_us = lk_clock_now_us() + lk_random_between(&random, poll_us * 3 / 4, poll_us * 5 / 4);
    outcome = lk_sleepers_sleep(&subscriber->sleepers, &subscriber->mutex, id, version,
                                lk_min(until_us, poll_us), waker);
    pthread_mutex_unlock(&subscriber->mutex);
    return outcome;
}
