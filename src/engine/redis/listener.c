/* SPDX-License-Identifier: Apache-2.0 */
/* Listening and sleeping. Lock order: listener, waker. */
#include "engine/redis/listener.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/random.h"

#define START_US_MAX INT64_C(500000) /* for the first connection */
#define AGAIN_US INT64_C(200000)     /* between attempts to connect */
#define LOOK_US INT64_C(2000000)     /* sleepers look by themselves, about this often... */
#define LOOK_DEAF_US INT64_C(100000) /* ...and when nobody listens */
#define PATIENCE_US INT64_C(2000000) /* for one attempt */

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

static void tell(struct lk_redis_listener *listener, uint64_t id) {
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

/* "message", channel, text. */
static void take_message(struct lk_redis_listener *listener, const redisReply *reply) {
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 3
        && reply->element[0]->type == REDIS_REPLY_STRING
        && strcmp(reply->element[0]->str, "message") == 0
        && reply->element[2]->type == REDIS_REPLY_STRING) {
        tell(listener,
             id_of((struct lk_slice){reply->element[2]->str, (size_t)reply->element[2]->len}));
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void set_connected(struct lk_redis_listener *listener, bool is_connected) {
    pthread_mutex_lock(&listener->mutex);
    listener->is_connected = is_connected;
    /* What was told meanwhile is lost: everybody looks. */
    for (struct lk_redis_sleeper *s = listener->sleepers; s != NULL; s = s->next) {
        s->is_woken = true;
        lk_waker_nudge(s->waker);
    }
    pthread_cond_broadcast(&listener->changed);
    pthread_mutex_unlock(&listener->mutex);
}

static bool is_stopping(struct lk_redis_listener *listener) {
    bool stopping;

    pthread_mutex_lock(&listener->mutex);
    stopping = listener->is_stopping;
    pthread_mutex_unlock(&listener->mutex);
    return stopping;
}

/* Waits until the socket can be read or the thread shall end; at most `time_ms`. */
static bool wait_until_readable(const struct lk_redis_listener *listener, int socket, int time_ms) {
    struct pollfd files[] = {{.fd = listener->stop, .events = POLLIN},
                             {.fd = socket, .events = POLLIN}};

    return poll(files, socket >= 0 ? 2 : 1, time_ms) > 0 && socket >= 0 && files[1].revents != 0;
}

static struct lk_redis_link *subscribe(struct lk_redis_listener *listener) {
    const char *const words[] = {"SUBSCRIBE", listener->channel};
    const struct lk_patience patience = {.until_us = lk_clock_now_us() + PATIENCE_US};
    struct lk_redis_link *link = NULL;
    redisReply *reply = NULL;
    lk_error error;

    if (lk_redis_fleet_take(listener->fleet, LK_REDIS_SLOTS, &patience, &link, &error) != LK_OK) {
        lk_redis_fleet_doubt(listener->fleet);
        return NULL;
    }
    if (lk_redis_exchange_text(link, words, 2, &patience, &reply, &error) != LK_OK) {
        lk_redis_fleet_drop(listener->fleet, link);
        return NULL;
    }
    freeReplyObject(reply);
    return link;
}

/* Until the connection breaks or the thread shall end. */
static void listen_on(struct lk_redis_listener *listener, struct lk_redis_link *link) {
    while (!is_stopping(listener)) {
        void *reply = NULL;

        if (redisGetReplyFromReader(link->context, &reply) != REDIS_OK) {
            return;
        }
        if (reply != NULL) {
            take_message(listener, reply);
            freeReplyObject(reply);
            continue;
        }
        if (wait_until_readable(listener, link->context->fd, -1)
            && redisBufferRead(link->context) != REDIS_OK) {
            return;
        }
    }
}

static void *run(void *context) {
    struct lk_redis_listener *listener = context;

    while (!is_stopping(listener)) {
        struct lk_redis_link *link = subscribe(listener);

        if (link == NULL) {
            (void)wait_until_readable(listener, -1, (int)(AGAIN_US / 1000));
            continue;
        }
        set_connected(listener, true);
        listen_on(listener, link);
        set_connected(listener, false);
        lk_redis_fleet_drop(listener->fleet, link);
    }
    return NULL;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

bool lk_redis_listener_init(struct lk_redis_listener *listener, struct lk_redis_fleet *fleet,
                            const char *channel) {
    *listener = (struct lk_redis_listener){.fleet = fleet, .channel = channel};
    listener->stop = eventfd(0, EFD_CLOEXEC);
    if (listener->stop < 0) {
        return false;
    }
    if (pthread_mutex_init(&listener->mutex, NULL) != 0) {
        (void)close(listener->stop);
        return false;
    }
    if (!lk_condition_init(&listener->changed)) {
        (void)pthread_mutex_destroy(&listener->mutex);
        (void)close(listener->stop);
        return false;
    }
    return true;
}

void lk_redis_listener_done(struct lk_redis_listener *listener) {
    const uint64_t one = 1;

    pthread_mutex_lock(&listener->mutex);
    listener->is_stopping = true;
    pthread_mutex_unlock(&listener->mutex);
    if (listener->is_running && write(listener->stop, &one, sizeof one) == sizeof one) {
        (void)pthread_join(listener->thread, NULL);
    }
    (void)pthread_cond_destroy(&listener->changed);
    (void)pthread_mutex_destroy(&listener->mutex);
    (void)close(listener->stop);
}

void lk_redis_listener_start(struct lk_redis_listener *listener) {
    pthread_mutex_lock(&listener->mutex);
    if (!listener->is_running && pthread_create(&listener->thread, NULL, run, listener) == 0) {
        const struct timespec until = lk_condition_instant(START_US_MAX);

        listener->is_running = true;
        while (!listener->is_connected
               && pthread_cond_timedwait(&listener->changed, &listener->mutex, &until) == 0) {
        }
    }
    pthread_mutex_unlock(&listener->mutex);
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
    struct lk_redis_sleeper sleeper = {.id = id, .waker = waker};
    struct lk_random random = {lk_random_draw()};
    bool is_thrown = false;
    int64_t look_us;

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
        is_thrown = lk_waker_sleep(waker, left_us);
        pthread_mutex_lock(&listener->mutex);
    }
    unlink_sleeper(listener, &sleeper);
    pthread_mutex_unlock(&listener->mutex);
    return is_thrown ? LK_CANCELLED : LK_OK;
}
