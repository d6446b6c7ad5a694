/* SPDX-License-Identifier: Apache-2.0 */
/* Sleepers, and what is told to them; ears.c has the thread. Lock order: listener, waker. */
#include "engine/redis/listener.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/random.h"

#define START_US_MAX INT64_C(500000) /* for the first connection */
#define LOOK_US INT64_C(2000000)     /* sleepers look by themselves, about this often... */
#define LOOK_DEAF_US INT64_C(100000) /* ...and when nobody listens */

/* ---- messages -------------------------------------------------------------------------------- */

uint64_t lk_redis_queue_id(struct lk_slice queue) {
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    for (size_t i = 0; i < queue.size; i++) {
        hash = (hash ^ (unsigned char)queue.bytes[i]) * UINT64_C(1099511628211);
    }
    return hash | UINT64_C(1) << 63; /* a request's id is below 2^53 */
}

static uint64_t id_of(struct lk_slice text) {
    char digits[24] = "";

    if (text.size > 0 && text.bytes[0] == 'q') {
        return lk_redis_queue_id((struct lk_slice){text.bytes + 1, text.size - 1});
    }
    memcpy(digits, text.bytes, text.size < sizeof digits - 1 ? text.size : sizeof digits - 1);
    return strtoull(digits, NULL, 10);
}

void lk_redis_listener_tell(struct lk_redis_listener *listener, struct lk_slice text) {
    uint64_t id = id_of(text);

    pthread_mutex_lock(&listener->mutex);
    listener->recent[listener->version++ % LK_REDIS_RECENT_MAX] = id;
    for (struct lk_redis_sleeper *s = listener->sleepers; s != NULL; s = s->next) {
        if (s->id == id) {
            s->is_woken = true;
            lk_waker_nudge(s->waker);
        }
    }
    pthread_mutex_unlock(&listener->mutex);
}

void lk_redis_listener_set_connected(struct lk_redis_listener *listener, bool is_connected,
                                     bool has_lost) {
    pthread_mutex_lock(&listener->mutex);
    listener->is_connected = is_connected;
    for (struct lk_redis_sleeper *s = listener->sleepers; has_lost && s != NULL; s = s->next) {
        s->is_woken = true;
        lk_waker_nudge(s->waker);
    }
    pthread_cond_broadcast(&listener->changed);
    pthread_mutex_unlock(&listener->mutex);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

bool lk_redis_listener_init(struct lk_redis_listener *listener, struct lk_redis_fleet *fleet,
                            const char *name) {
    *listener = (struct lk_redis_listener){.fleet = fleet, .name = name};
    listener->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listener->nudge < 0) {
        return false;
    }
    if (pthread_mutex_init(&listener->mutex, NULL) != 0) {
        (void)close(listener->nudge);
        return false;
    }
    if (!lk_condition_init(&listener->changed)) {
        (void)pthread_mutex_destroy(&listener->mutex);
        (void)close(listener->nudge);
        return false;
    }
    return true;
}

static void nudge(const struct lk_redis_listener *listener) {
    const uint64_t one = 1;

    (void)!write(listener->nudge, &one, sizeof one); /* fails only where it is nudged already */
}

void lk_redis_listener_done(struct lk_redis_listener *listener) {
    pthread_mutex_lock(&listener->mutex);
    listener->is_stopping = true;
    pthread_mutex_unlock(&listener->mutex);
    if (listener->is_running) {
        nudge(listener);
        (void)pthread_join(listener->thread, NULL);
    }
    (void)pthread_cond_destroy(&listener->changed);
    (void)pthread_mutex_destroy(&listener->mutex);
    (void)close(listener->nudge);
}

/* ---- roots ----------------------------------------------------------------------------------- */

static struct lk_redis_heard *find_root(struct lk_redis_listener *listener, struct lk_slice root) {
    for (size_t i = 0; i < LK_REDIS_HEARD_MAX; i++) {
        struct lk_redis_heard *heard = &listener->heard[i];

        if (heard->state != LK_REDIS_UNUSED && heard->size == root.size
            && memcmp(heard->root, root.bytes, root.size) == 0) {
            return heard;
        }
    }
    return NULL;
}

/* One that is free; or NULL, and the one that nobody has waited for longest is left. */
static struct lk_redis_heard *find_room(struct lk_redis_listener *listener, int64_t now_us) {
    struct lk_redis_heard *oldest = NULL;

    for (size_t i = 0; i < LK_REDIS_HEARD_MAX; i++) {
        struct lk_redis_heard *heard = &listener->heard[i];

        if (heard->state == LK_REDIS_UNUSED) {
            return heard;
        }
        if (heard->state == LK_REDIS_HEARD
            && (oldest == NULL || heard->used_us < oldest->used_us)) {
            oldest = heard;
        }
    }
    if (oldest != NULL && oldest->used_us < now_us - LK_REDIS_UNUSED_US) {
        oldest->state = LK_REDIS_UNWANTED;
    }
    return NULL;
}

/* Sees to it that the root is among those that are listened to; NULL where there is no room. */
static const struct lk_redis_heard *want_root(struct lk_redis_listener *listener,
                                              struct lk_slice root) {
    int64_t now_us = lk_clock_now_us();
    struct lk_redis_heard *heard = find_root(listener, root);

    if (heard == NULL && root.size <= LK_SEGMENT_BYTES_MAX) {
        heard = find_room(listener, now_us);
        nudge(listener);
        if (heard != NULL) {
            *heard = (struct lk_redis_heard){.state = LK_REDIS_WANTED, .size = root.size};
            memcpy(heard->root, root.bytes, root.size);
        }
    } else if (heard != NULL && heard->state == LK_REDIS_UNWANTED) {
        heard->state = LK_REDIS_HEARD;
    }
    if (heard != NULL) {
        heard->used_us = now_us;
    }
    return heard;
}

static bool is_ready(const struct lk_redis_listener *listener, const struct lk_redis_heard *heard) {
    return listener->manner == LK_REDIS_PLAIN
               ? listener->is_connected
               : listener->manner == LK_REDIS_SHARDED
                     && (heard == NULL || heard->state == LK_REDIS_HEARD);
}

void lk_redis_listener_start(struct lk_redis_listener *listener, struct lk_slice root) {
    const struct lk_redis_heard *heard;
    bool is_new;

    pthread_mutex_lock(&listener->mutex);
    is_new = listener->manner == LK_REDIS_MANNER_UNKNOWN
             || (listener->manner == LK_REDIS_SHARDED && find_root(listener, root) == NULL);
    heard = listener->manner != LK_REDIS_PLAIN ? want_root(listener, root) : NULL;
    if (!listener->is_running
        && pthread_create(&listener->thread, NULL, lk_redis_listener_run, listener) == 0) {
        listener->is_running = true;
    }
    if (is_new) {
        const struct timespec until = lk_condition_instant(START_US_MAX);

        while (!is_ready(listener, heard)
               && pthread_cond_timedwait(&listener->changed, &listener->mutex, &until) == 0) {
        }
    }
    pthread_mutex_unlock(&listener->mutex);
}

void lk_redis_listener_channel(struct lk_redis_listener *listener, struct lk_slice root,
                               char ret_channel[LK_REDIS_CHANNEL_BYTES_MAX + 1]) {
    bool is_sharded;

    pthread_mutex_lock(&listener->mutex);
    is_sharded = listener->manner == LK_REDIS_SHARDED;
    pthread_mutex_unlock(&listener->mutex);
    if (is_sharded) { /* in the root's slot; the script knows it by the brace */
        (void)snprintf(ret_channel, LK_REDIS_CHANNEL_BYTES_MAX + 1, "%s:{%.*s}", listener->name,
                       (int)root.size, root.bytes);
    } else {
        (void)snprintf(ret_channel, LK_REDIS_CHANNEL_BYTES_MAX + 1, "%s", listener->name);
    }
}

uint64_t lk_redis_listener_version(struct lk_redis_listener *listener) {
    uint64_t version;

    pthread_mutex_lock(&listener->mutex);
    version = listener->version;
    pthread_mutex_unlock(&listener->mutex);
    return version;
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static bool was_told(const struct lk_redis_listener *listener, uint64_t id, uint64_t version) {
    if (listener->version - version > LK_REDIS_RECENT_MAX) {
        return true;
    }
    for (; version != listener->version; version++) {
        if (listener->recent[version % LK_REDIS_RECENT_MAX] == id) {
            return true;
        }
    }
    return false;
}

static void link_sleeper(struct lk_redis_listener *listener, struct lk_redis_sleeper *sleeper) {
    sleeper->previous = NULL;
    sleeper->next = listener->sleepers;
    if (sleeper->next != NULL) {
        sleeper->next->previous = sleeper;
    }
    listener->sleepers = sleeper;
}

static void unlink_sleeper(struct lk_redis_listener *listener, struct lk_redis_sleeper *sleeper) {
    if (sleeper->previous != NULL) {
        sleeper->previous->next = sleeper->next;
    } else {
        listener->sleepers = sleeper->next;
    }
    if (sleeper->next != NULL) {
        sleeper->next->previous = sleeper->previous;
    }
}

lk_outcome lk_redis_listener_sleep(struct lk_redis_listener *listener, uint64_t id,
                                   uint64_t version, int64_t until_us, struct lk_waker *waker) {
    struct lk_waker own;
    struct lk_redis_sleeper sleeper = {.id = id, .waker = lk_waker_borrow(waker, &own)};
    struct lk_random random = {lk_random_draw()};
    bool is_thrown = false;
    int64_t look_us;

    if (sleeper.waker == NULL) {
        return LK_INTERNAL;
    }
    pthread_mutex_lock(&listener->mutex);
    look_us = listener->is_connected ? LOOK_US : LOOK_DEAF_US;
    look_us = lk_clock_now_us() + lk_random_between(&random, look_us * 3 / 4, look_us * 5 / 4);
    until_us = until_us < look_us ? until_us : look_us;
    sleeper.is_woken = was_told(listener, id, version);
    link_sleeper(listener, &sleeper);
    while (!sleeper.is_woken && !is_thrown) {
        int64_t left_us = until_us - lk_clock_now_us();

        if (left_us <= 0) {
            break;
        }
        pthread_mutex_unlock(&listener->mutex);
        is_thrown = lk_waker_sleep(sleeper.waker, left_us);
        pthread_mutex_lock(&listener->mutex);
    }
    unlink_sleeper(listener, &sleeper);
    pthread_mutex_unlock(&listener->mutex);
    lk_waker_give_back(sleeper.waker, &own);
    return is_thrown ? LK_CANCELLED : LK_OK;
}
