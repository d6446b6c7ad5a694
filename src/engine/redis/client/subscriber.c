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
#include "base/condition.h"
#include "base/hash.h"
#include "base/random.h"

#define START_US_MAX INT64_C(500000) /* for the first connection */
#define LOOK_US INT64_C(2000000)     /* about how often sleepers query by themselves... */
#define LOOK_DEAF_US INT64_C(100000) /* ...and how often without a subscription */

/* ---- messages -------------------------------------------------------------------------------- */

uint64_t lk_redis_queue_id(struct lk_slice queue) {
    return lk_hash_bytes(0, queue) | UINT64_C(1) << 63; /* a request's id is below 2^53 */
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
    subscriber->recent[subscriber->version++ % LK_REDIS_RECENT_MAX] = id;
    for (struct lk_redis_sleeper *s = subscriber->sleepers; s != NULL; s = s->next) {
        if (s->id == id) {
            s->is_woken = true;
            lk_waker_nudge(s->waker);
        }
    }
    pthread_mutex_unlock(&subscriber->mutex);
}

void lk_redis_subscriber_set_connected(struct lk_redis_subscriber *subscriber, bool is_connected,
                                       bool has_lost) {
    pthread_mutex_lock(&subscriber->mutex);
    subscriber->is_connected = is_connected;
    for (struct lk_redis_sleeper *s = subscriber->sleepers; has_lost && s != NULL; s = s->next) {
        s->is_woken = true;
        lk_waker_nudge(s->waker);
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
        struct lk_redis_subscription *subscriptions = &subscriber->subscriptions[i];

        if (subscriptions->state != LK_REDIS_UNUSED && subscriptions->size == root.size
            && memcmp(subscriptions->root, root.bytes, root.size) == 0) {
            return subscriptions;
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
        struct lk_redis_subscription *subscriptions = &subscriber->subscriptions[i];

        if (subscriptions->state == LK_REDIS_UNUSED) {
            return subscriptions;
        }
        if (subscriptions->state == LK_REDIS_SUBSCRIBED
            && (oldest == NULL || subscriptions->used_us < oldest->used_us)) {
            oldest = subscriptions;
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
    struct lk_redis_subscription *subscriptions = find_root(subscriber, root);

    if (subscriptions == NULL && root.size <= LK_SEGMENT_BYTES_MAX) {
        subscriptions = find_room(subscriber, now_us);
        nudge(subscriber);
        if (subscriptions != NULL) {
            *subscriptions =
                (struct lk_redis_subscription){.state = LK_REDIS_WANTED, .size = root.size};
            memcpy(subscriptions->root, root.bytes, root.size);
        }
    } else if (subscriptions != NULL && subscriptions->state == LK_REDIS_UNWANTED) {
        subscriptions->state = LK_REDIS_SUBSCRIBED;
    }
    if (subscriptions != NULL) {
        subscriptions->used_us = now_us;
    }
    return subscriptions;
}

static bool is_ready(const struct lk_redis_subscriber *subscriber,
                     const struct lk_redis_subscription *subscriptions) {
    return subscriber->manner == LK_REDIS_PLAIN
               ? subscriber->is_connected
               : subscriber->manner == LK_REDIS_SHARDED
                     && (subscriptions == NULL || subscriptions->state == LK_REDIS_SUBSCRIBED);
}

void lk_redis_subscriber_start(struct lk_redis_subscriber *subscriber, struct lk_slice root) {
    const struct lk_redis_subscription *subscriptions;
    bool is_new;

    pthread_mutex_lock(&subscriber->mutex);
    is_new = subscriber->manner == LK_REDIS_MANNER_UNKNOWN
             || (subscriber->manner == LK_REDIS_SHARDED && find_root(subscriber, root) == NULL);
    subscriptions = subscriber->manner != LK_REDIS_PLAIN ? want_root(subscriber, root) : NULL;
    if (!subscriber->is_running
        && pthread_create(&subscriber->thread, NULL, lk_redis_subscriber_run, subscriber) == 0) {
        subscriber->is_running = true;
    }
    if (is_new) {
        const struct timespec until = lk_condition_instant(START_US_MAX);

        while (!is_ready(subscriber, subscriptions)
               && pthread_cond_timedwait(&subscriber->changed, &subscriber->mutex, &until) == 0) {
        }
    }
    pthread_mutex_unlock(&subscriber->mutex);
}

void lk_redis_subscriber_channel(struct lk_redis_subscriber *subscriber, struct lk_slice root,
                                 char ret_channel[LK_REDIS_CHANNEL_BYTES_MAX + 1]) {
    bool is_sharded;

    pthread_mutex_lock(&subscriber->mutex);
    is_sharded = subscriber->manner == LK_REDIS_SHARDED;
    pthread_mutex_unlock(&subscriber->mutex);
    if (is_sharded) { /* in the root's slot; the script recognizes it by the brace */
        (void)snprintf(ret_channel, LK_REDIS_CHANNEL_BYTES_MAX + 1, "%s:{%.*s}", subscriber->name,
                       (int)root.size, root.bytes);
    } else {
        (void)snprintf(ret_channel, LK_REDIS_CHANNEL_BYTES_MAX + 1, "%s", subscriber->name);
    }
}

uint64_t lk_redis_subscriber_version(struct lk_redis_subscriber *subscriber) {
    uint64_t version;

    pthread_mutex_lock(&subscriber->mutex);
    version = subscriber->version;
    pthread_mutex_unlock(&subscriber->mutex);
    return version;
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static bool was_told(const struct lk_redis_subscriber *subscriber, uint64_t id, uint64_t version) {
    if (subscriber->version - version > LK_REDIS_RECENT_MAX) {
        return true;
    }
    for (; version != subscriber->version; version++) {
        if (subscriber->recent[version % LK_REDIS_RECENT_MAX] == id) {
            return true;
        }
    }
    return false;
}

static void link_sleeper(struct lk_redis_subscriber *subscriber, struct lk_redis_sleeper *sleeper) {
    sleeper->previous = NULL;
    sleeper->next = subscriber->sleepers;
    if (sleeper->next != NULL) {
        sleeper->next->previous = sleeper;
    }
    subscriber->sleepers = sleeper;
}

static void unlink_sleeper(struct lk_redis_subscriber *subscriber,
                           struct lk_redis_sleeper *sleeper) {
    if (sleeper->previous != NULL) {
        sleeper->previous->next = sleeper->next;
    } else {
        subscriber->sleepers = sleeper->next;
    }
    if (sleeper->next != NULL) {
        sleeper->next->previous = sleeper->previous;
    }
}

lk_outcome lk_redis_subscriber_sleep(struct lk_redis_subscriber *subscriber, uint64_t id,
                                     uint64_t version, int64_t until_us, struct lk_waker *waker) {
    struct lk_waker own;
    struct lk_redis_sleeper sleeper = {.id = id, .waker = lk_waker_borrow(waker, &own)};
    struct lk_random random = {lk_random_draw()};
    bool is_thrown = false;
    int64_t look_us;

    if (sleeper.waker == NULL) {
        return LK_INTERNAL;
    }
    pthread_mutex_lock(&subscriber->mutex);
    look_us = subscriber->is_connected ? LOOK_US : LOOK_DEAF_US;
    look_us = lk_clock_now_us() + lk_random_between(&random, look_us * 3 / 4, look_us * 5 / 4);
    until_us = until_us < look_us ? until_us : look_us;
    sleeper.is_woken = was_told(subscriber, id, version);
    link_sleeper(subscriber, &sleeper);
    while (!sleeper.is_woken && !is_thrown) {
        int64_t left_us = until_us - lk_clock_now_us();

        if (left_us <= 0) {
            break;
        }
        pthread_mutex_unlock(&subscriber->mutex);
        is_thrown = lk_waker_sleep(sleeper.waker, left_us);
        pthread_mutex_lock(&subscriber->mutex);
    }
    unlink_sleeper(subscriber, &sleeper);
    pthread_mutex_unlock(&subscriber->mutex);
    lk_waker_give_back(sleeper.waker, &own);
    return is_thrown ? LK_CANCELLED : LK_OK;
}
