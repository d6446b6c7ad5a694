/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener's thread: finds out the manner, subscribes, and passes on what it is told. Its
 * connections are its own; the roots that it listens to are the listener's, under its mutex.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/redis/listener.h"

#define AGAIN_US INT64_C(200000)     /* between attempts to connect */
#define PATIENCE_US INT64_C(2000000) /* for one attempt */
enum { EARS_MAX = 64 };

/* Connections, each to another node; the plain manner has one. */
struct ears {
    struct lk_redis_listener *listener;
    struct lk_redis_link *links[EARS_MAX];
    size_t count;
    uint64_t order; /* of the last subscription */
    bool has_lost;  /* messages may have been lost, since a root was not listened to any more */
};

static struct lk_patience patience(void) {
    return (struct lk_patience){.until_us = lk_clock_now_us() + PATIENCE_US};
}

static bool is_stopping(struct lk_redis_listener *listener) {
    bool stopping;

    pthread_mutex_lock(&listener->mutex);
    stopping = listener->is_stopping;
    pthread_mutex_unlock(&listener->mutex);
    return stopping;
}

/* Waits for a nudge or for something to read; at most `time_ms`, -1: as long as it takes. */
static void wait_for_ears(const struct ears *ears, int time_ms, bool ret_readable[EARS_MAX]) {
    struct pollfd files[EARS_MAX + 1] = {{.fd = ears->listener->nudge, .events = POLLIN}};
    uint64_t count;
    int ready;

    for (size_t i = 0; i < ears->count; i++) {
        files[i + 1] = (struct pollfd){.fd = ears->links[i]->context->fd, .events = POLLIN};
    }
    ready = poll(files, ears->count + 1, time_ms);
    for (size_t i = 0; i < ears->count; i++) {
        ret_readable[i] = ready > 0 && files[i + 1].revents != 0;
    }
    if (ready > 0 && files[0].revents != 0) {
        (void)!read(ears->listener->nudge, &count, sizeof count);
    }
}

static struct lk_slice text_at(const redisReply *reply, size_t index) {
    if (index >= reply->elements || reply->element[index]->type != REDIS_REPLY_STRING) {
        return (struct lk_slice){NULL, 0};
    }
    return (struct lk_slice){reply->element[index]->str, (size_t)reply->element[index]->len};
}

static bool is_kind(const redisReply *reply, const char *kind) {
    return reply->type == REDIS_REPLY_ARRAY && lk_slice_equal(text_at(reply, 0), lk_slice_of(kind));
}

static void drop(struct ears *ears, size_t index) {
    lk_redis_fleet_drop(ears->listener->fleet, ears->links[index]);
    ears->links[index] = ears->links[--ears->count];
}

static void drop_all(struct ears *ears) {
    while (ears->count > 0) {
        drop(ears, ears->count - 1);
    }
}

/* ---- the manner ------------------------------------------------------------------------------ */

/* Whether the server knows these words and lets us say them. */
static bool may_say(struct lk_redis_link *link, const char *const *words, size_t count,
                    lk_outcome *ret_outcome) {
    const struct lk_patience until = patience();
    redisReply *reply = NULL;
    lk_error error;
    bool is_refused;

    *ret_outcome = lk_redis_exchange_text(link, words, count, &until, &reply, &error);
    if (*ret_outcome != LK_OK) {
        return false;
    }
    is_refused =
        reply->type == REDIS_REPLY_ERROR
        && (strstr(reply->str, "unknown command") != NULL || strncmp(reply->str, "NOPERM", 6) == 0);
    freeReplyObject(reply);
    return !is_refused;
}

/* Asks any node. UNKNOWN: none answers. */
static enum lk_redis_manner find_manner(struct lk_redis_listener *listener) {
    const char *const publish[] = {"SPUBLISH", listener->name, "0"};
    const char *const subscribe[] = {"SSUBSCRIBE", listener->name};
    const struct lk_patience until = patience();
    struct lk_redis_link *link = NULL;
    enum lk_redis_manner manner = LK_REDIS_PLAIN;
    lk_outcome outcome;
    lk_error error;

    if (lk_redis_fleet_take(listener->fleet, LK_REDIS_SLOTS, &until, &link, &error) != LK_OK) {
        lk_redis_fleet_doubt(listener->fleet);
        return LK_REDIS_MANNER_UNKNOWN;
    }
    if (!link->is_cluster) {
        lk_redis_fleet_give(listener->fleet, link);
        return LK_REDIS_PLAIN;
    }
    if (may_say(link, publish, 3, &outcome) && may_say(link, subscribe, 2, &outcome)) {
        manner = LK_REDIS_SHARDED;
    }
    lk_redis_link_close(link); /* it may be subscribed */
    return outcome == LK_OK ? manner : LK_REDIS_MANNER_UNKNOWN;
}

static void set_manner(struct lk_redis_listener *listener, enum lk_redis_manner manner) {
    pthread_mutex_lock(&listener->mutex);
    listener->manner = manner;
    if (manner == LK_REDIS_PLAIN) {
        for (size_t i = 0; i < LK_REDIS_HEARD_MAX; i++) {
            listener->heard[i].state = LK_REDIS_UNUSED;
        }
    }
    pthread_cond_broadcast(&listener->changed);
    pthread_mutex_unlock(&listener->mutex);
}

/* ---- plain ----------------------------------------------------------------------------------- */

static bool subscribe(struct ears *ears) {
    struct lk_redis_listener *listener = ears->listener;
    const char *const words[] = {"SUBSCRIBE", listener->name};
    const struct lk_patience until = patience();
    redisReply *reply = NULL;
    lk_error error;

    if (lk_redis_fleet_take(listener->fleet, LK_REDIS_SLOTS, &until, &ears->links[0], &error)
        != LK_OK) {
        lk_redis_fleet_doubt(listener->fleet);
        return false;
    }
    ears->count = 1;
    if (lk_redis_exchange_text(ears->links[0], words, 2, &until, &reply, &error) != LK_OK) {
        drop(ears, 0);
        return false;
    }
    freeReplyObject(reply);
    return true;
}

/* false: the connection is broken. */
static bool take_plain(struct ears *ears) {
    for (;;) {
        void *got = NULL;
        redisReply *reply;

        if (redisGetReplyFromReader(ears->links[0]->context, &got) != REDIS_OK) {
            return false;
        }
        reply = got;
        if (reply == NULL) {
            return true;
        }
        if (is_kind(reply, "message")) {
            lk_redis_listener_tell(ears->listener, text_at(reply, 2));
        }
        freeReplyObject(reply);
    }
}

static void listen_plainly(struct ears *ears) {
    bool is_readable[EARS_MAX] = {false};

    while (!is_stopping(ears->listener)) {
        bool is_new = ears->count == 0;

        if (is_new && !subscribe(ears)) {
            wait_for_ears(ears, (int)(AGAIN_US / 1000), is_readable);
            continue;
        }
        lk_redis_listener_set_connected(ears->listener, true, is_new);
        wait_for_ears(ears, -1, is_readable);
        if (is_readable[0]
            && (redisBufferRead(ears->links[0]->context) != REDIS_OK || !take_plain(ears))) {
            lk_redis_listener_set_connected(ears->listener, false, true);
            drop(ears, 0);
        }
    }
}

/* ---- sharded: saying ------------------------------------------------------------------------- */

static struct lk_redis_link *ear_of(struct ears *ears, int node) {
    for (size_t i = 0; i < ears->count; i++) {
        if (ears->links[i]->node == node) {
            return ears->links[i];
        }
    }
    return NULL;
}

/* A connection to the node that has the root's slot, made if need be. */
static struct lk_redis_link *open_ear(struct ears *ears, struct lk_slice root) {
    struct lk_redis_fleet *fleet = ears->listener->fleet;
    const struct lk_patience until = patience();
    struct lk_redis_link *link;
    lk_error error;
    int node;

    if (lk_redis_fleet_node_of(fleet, lk_redis_slot_of(root), &until, &node, &error) != LK_OK) {
        return NULL;
    }
    link = ear_of(ears, node);
    if (link == NULL && ears->count < EARS_MAX) {
        if (lk_redis_fleet_take_node(fleet, node, &until, &link, &error) != LK_OK) {
            lk_redis_fleet_doubt(fleet);
            return NULL;
        }
        ears->links[ears->count++] = link;
    }
    return link;
}

static bool say(struct ears *ears, struct lk_redis_link *link, const char *word,
                struct lk_slice root) {
    char channel[LK_REDIS_CHANNEL_BYTES_MAX + 1];
    const char *words[] = {word, channel};
    int is_done = 0;

    lk_redis_listener_channel(ears->listener, root, channel);
    return redisAppendCommandArgv(link->context, 2, words, NULL) == REDIS_OK
           && redisBufferWrite(link->context, &is_done) == REDIS_OK && is_done;
}

/* Subscribes to a root that is wanted, or leaves one that is not. */
static void tend_one(struct ears *ears, struct lk_redis_heard *heard) {
    struct lk_redis_listener *listener = ears->listener;
    bool is_leaving = heard->state == LK_REDIS_UNWANTED;
    char bytes[LK_SEGMENT_BYTES_MAX];
    const struct lk_slice root = {bytes, heard->size};
    struct lk_redis_link *link;
    int node = heard->node;
    bool is_said;

    memcpy(bytes, heard->root, heard->size);
    pthread_mutex_unlock(&listener->mutex);
    link = is_leaving ? ear_of(ears, node) : open_ear(ears, root);
    is_said = link != NULL && say(ears, link, is_leaving ? "SUNSUBSCRIBE" : "SSUBSCRIBE", root);
    pthread_mutex_lock(&listener->mutex);
    if (is_leaving) {
        heard->state = is_said ? LK_REDIS_LEFT : LK_REDIS_UNUSED;
    } else if (is_said) {
        heard->state = LK_REDIS_ASKED;
        heard->node = link->node;
        heard->order = ++ears->order;
    } else {
        heard->retry_us = lk_clock_now_us() + AGAIN_US;
    }
}

/* Says what is to be said; how long to wait then. */
static int tend(struct ears *ears) {
    struct lk_redis_listener *listener = ears->listener;
    int64_t now_us = lk_clock_now_us();
    bool is_all_heard = true;
    bool is_retrying = false;

    pthread_mutex_lock(&listener->mutex);
    for (size_t i = 0; i < LK_REDIS_HEARD_MAX; i++) {
        struct lk_redis_heard *heard = &listener->heard[i];

        if (heard->state == LK_REDIS_UNWANTED
            || (heard->state == LK_REDIS_WANTED && heard->retry_us <= now_us)) {
            tend_one(ears, heard);
        }
        is_retrying = is_retrying || heard->state == LK_REDIS_WANTED;
        is_all_heard =
            is_all_heard && heard->state != LK_REDIS_WANTED && heard->state != LK_REDIS_ASKED;
    }
    pthread_mutex_unlock(&listener->mutex);
    lk_redis_listener_set_connected(listener, is_all_heard, is_all_heard && ears->has_lost);
    ears->has_lost = ears->has_lost && !is_all_heard;
    return is_retrying ? (int)(AGAIN_US / 1000) : -1;
}

/* ---- sharded: hearing ------------------------------------------------------------------------ */

/* The root that the node's next answer is about; the mutex is held. */
static struct lk_redis_heard *next_answered(struct lk_redis_listener *listener, int node) {
    struct lk_redis_heard *first = NULL;

    for (size_t i = 0; i < LK_REDIS_HEARD_MAX; i++) {
        struct lk_redis_heard *heard = &listener->heard[i];

        if (heard->state == LK_REDIS_ASKED && heard->node == node
            && (first == NULL || heard->order < first->order)) {
            first = heard;
        }
    }
    return first;
}

/* The root of a channel: what stands in its braces. */
static struct lk_redis_heard *find_channel(struct lk_redis_listener *listener,
                                           struct lk_slice channel) {
    const char *brace = channel.size > 0 ? memchr(channel.bytes, '{', channel.size) : NULL;
    size_t size = brace != NULL ? (size_t)(channel.bytes + channel.size - brace) : 0;

    for (size_t i = 0; size > 2 && i < LK_REDIS_HEARD_MAX; i++) {
        struct lk_redis_heard *heard = &listener->heard[i];

        if (heard->state != LK_REDIS_UNUSED && heard->size == size - 2
            && memcmp(heard->root, brace + 1, heard->size) == 0) {
            return heard;
        }
    }
    return NULL;
}

static void want_again(struct ears *ears, struct lk_redis_heard *heard) {
    ears->has_lost = ears->has_lost || heard->state == LK_REDIS_HEARD;
    heard->state = LK_REDIS_WANTED;
    heard->retry_us = lk_clock_now_us() + AGAIN_US;
}

/* "smessage", "ssubscribe" and "sunsubscribe" (said, or the slot has moved), or an error. */
static void take_sharded(struct ears *ears, struct lk_redis_link *link, const redisReply *reply) {
    struct lk_redis_listener *listener = ears->listener;
    struct lk_redis_heard *heard;

    if (is_kind(reply, "smessage")) {
        lk_redis_listener_tell(listener, text_at(reply, 2));
        return;
    }
    pthread_mutex_lock(&listener->mutex);
    if (is_kind(reply, "ssubscribe")) {
        heard = find_channel(listener, text_at(reply, 1));
        if (heard != NULL && heard->state == LK_REDIS_ASKED) {
            heard->state = LK_REDIS_HEARD;
        }
    } else if (is_kind(reply, "sunsubscribe")) {
        heard = find_channel(listener, text_at(reply, 1));
        if (heard != NULL && heard->state == LK_REDIS_LEFT
            && heard->used_us < lk_clock_now_us() - LK_REDIS_UNUSED_US) {
            heard->state = LK_REDIS_UNUSED;
        } else if (heard != NULL) { /* or somebody has come meanwhile */
            want_again(ears, heard);
        }
    } else {
        heard = next_answered(listener, link->node);
        if (heard != NULL) {
            want_again(ears, heard);
        }
    }
    pthread_mutex_unlock(&listener->mutex);
    if (!is_kind(reply, "ssubscribe")) {
        lk_redis_fleet_doubt(listener->fleet); /* the slots are not as they were */
    }
}

static bool hear(struct ears *ears, struct lk_redis_link *link) {
    if (redisBufferRead(link->context) != REDIS_OK) {
        return false;
    }
    for (;;) {
        void *reply = NULL;

        if (redisGetReplyFromReader(link->context, &reply) != REDIS_OK) {
            return false;
        }
        if (reply == NULL) {
            return true;
        }
        take_sharded(ears, link, reply);
        freeReplyObject(reply);
    }
}

/* The connection to the node is broken. */
static void lose_node(struct ears *ears, int node) {
    struct lk_redis_listener *listener = ears->listener;

    pthread_mutex_lock(&listener->mutex);
    for (size_t i = 0; i < LK_REDIS_HEARD_MAX; i++) {
        struct lk_redis_heard *heard = &listener->heard[i];

        if (heard->state == LK_REDIS_UNUSED || heard->node != node) {
            continue;
        }
        if (heard->state == LK_REDIS_UNWANTED || heard->state == LK_REDIS_LEFT) {
            heard->state = LK_REDIS_UNUSED;
        } else {
            want_again(ears, heard);
        }
    }
    pthread_mutex_unlock(&listener->mutex);
}

static void listen_in_shards(struct ears *ears) {
    bool is_readable[EARS_MAX];

    while (!is_stopping(ears->listener)) {
        int time_ms = tend(ears);

        wait_for_ears(ears, time_ms, is_readable);
        for (size_t i = ears->count; i-- > 0;) {
            if (is_readable[i] && !hear(ears, ears->links[i])) {
                lose_node(ears, ears->links[i]->node);
                drop(ears, i);
            }
        }
    }
}

void *lk_redis_listener_run(void *context) {
    struct lk_redis_listener *listener = context;
    struct ears ears = {.listener = listener};
    enum lk_redis_manner manner = LK_REDIS_MANNER_UNKNOWN;
    bool is_readable[EARS_MAX];

    while (!is_stopping(listener)) {
        manner = find_manner(listener);
        if (manner != LK_REDIS_MANNER_UNKNOWN) {
            break;
        }
        wait_for_ears(&ears, (int)(AGAIN_US / 1000), is_readable);
    }
    set_manner(listener, manner);
    if (manner == LK_REDIS_SHARDED) {
        listen_in_shards(&ears);
    } else {
        listen_plainly(&ears);
    }
    drop_all(&ears);
    return NULL;
}
