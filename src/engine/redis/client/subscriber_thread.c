/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subscriber's thread: detects the manner, subscribes, and delivers messages to the sleepers.
 * It owns its connections; the subscriptions belong to the subscriber, under its mutex.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/redis/client/subscriber.h"

#define AGAIN_US INT64_C(200000)     /* between attempts to connect */
#define PATIENCE_US INT64_C(2000000) /* for one attempt */
enum { CONNECTIONS_MAX = 64 };

/* Connections, each to another node; the plain manner has one. */
struct connections {
    struct lk_redis_subscriber *subscriber;
    struct lk_redis_link *links[CONNECTIONS_MAX];
    size_t count;
    uint64_t order; /* of the last subscription */
    bool has_lost;  /* messages may have been lost: a subscription to a root has ended */
};

static struct lk_patience patience(void) {
    return (struct lk_patience){.until_us = lk_clock_now_us() + PATIENCE_US};
}

static bool is_stopping(struct lk_redis_subscriber *subscriber) {
    bool stopping;

    pthread_mutex_lock(&subscriber->mutex);
    stopping = subscriber->is_stopping;
    pthread_mutex_unlock(&subscriber->mutex);
    return stopping;
}

/* Waits for a nudge or for something to read, at most `time_ms`; -1: without limit. */
static void wait_for_connections(const struct connections *connections, int time_ms,
                                 bool ret_readable[CONNECTIONS_MAX]) {
    struct pollfd files[CONNECTIONS_MAX + 1] = {
        {.fd = connections->subscriber->nudge, .events = POLLIN}};
    uint64_t count;
    int ready;

    for (size_t i = 0; i < connections->count; i++) {
        files[i + 1] = (struct pollfd){.fd = connections->links[i]->descriptor, .events = POLLIN};
    }
    ready = poll(files, connections->count + 1, time_ms);
    for (size_t i = 0; i < connections->count; i++) {
        ret_readable[i] = ready > 0 && files[i + 1].revents != 0;
    }
    if (ready > 0 && files[0].revents != 0) {
        (void)!read(connections->subscriber->nudge, &count, sizeof count);
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

static void drop(struct connections *connections, size_t index) {
    lk_redis_topology_drop(connections->subscriber->topology, connections->links[index]);
    connections->links[index] = connections->links[--connections->count];
}

static void drop_all(struct connections *connections) {
    while (connections->count > 0) {
        drop(connections, connections->count - 1);
    }
}

/* ---- the manner ------------------------------------------------------------------------------ */

/* Whether the server has this command and permits it to this user. */
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

/* Queries any node. UNKNOWN: none answers. */
static enum lk_redis_manner find_manner(struct lk_redis_subscriber *subscriber) {
    const char *const publish[] = {"SPUBLISH", subscriber->name, "0"};
    const char *const subscribe[] = {"SSUBSCRIBE", subscriber->name};
    const struct lk_patience until = patience();
    struct lk_redis_link *link = NULL;
    enum lk_redis_manner manner = LK_REDIS_PLAIN;
    lk_outcome outcome;
    lk_error error;

    if (lk_redis_topology_take(subscriber->topology, LK_REDIS_SLOTS, &until, &link, &error)
        != LK_OK) {
        return LK_REDIS_MANNER_UNKNOWN;
    }
    if (!link->is_cluster) {
        lk_redis_topology_give(subscriber->topology, link);
        return LK_REDIS_PLAIN;
    }
    if (may_say(link, publish, 3, &outcome) && may_say(link, subscribe, 2, &outcome)) {
        manner = LK_REDIS_SHARDED;
    }
    lk_redis_link_close(link); /* it may be subscribed */
    return outcome == LK_OK ? manner : LK_REDIS_MANNER_UNKNOWN;
}

static void set_manner(struct lk_redis_subscriber *subscriber, enum lk_redis_manner manner) {
    pthread_mutex_lock(&subscriber->mutex);
    subscriber->manner = manner;
    if (manner == LK_REDIS_PLAIN) {
        for (size_t i = 0; i < LK_REDIS_SUBSCRIPTIONS_MAX; i++) {
            subscriber->subscriptions[i].state = LK_REDIS_UNUSED;
        }
    }
    pthread_cond_broadcast(&subscriber->changed);
    pthread_mutex_unlock(&subscriber->mutex);
}

/* ---- plain ----------------------------------------------------------------------------------- */

static bool subscribe(struct connections *connections) {
    struct lk_redis_subscriber *subscriber = connections->subscriber;
    const char *const words[] = {"SUBSCRIBE", subscriber->name};
    const struct lk_patience until = patience();
    redisReply *reply = NULL;
    lk_error error;

    if (lk_redis_topology_take(subscriber->topology, LK_REDIS_SLOTS, &until, &connections->links[0],
                               &error)
        != LK_OK) {
        return false;
    }
    connections->count = 1;
    if (lk_redis_exchange_text(connections->links[0], words, 2, &until, &reply, &error) != LK_OK) {
        drop(connections, 0);
        return false;
    }
    freeReplyObject(reply);
    return true;
}

/* Returns false when the connection is broken. */
static bool take_plain(struct connections *connections) {
    for (;;) {
        redisReply *reply;

        if (!lk_redis_link_next(connections->links[0], &reply)) {
            return false;
        }
        if (reply == NULL) {
            return true;
        }
        if (is_kind(reply, "message")) {
            lk_redis_subscriber_tell(connections->subscriber, text_at(reply, 2));
        }
        freeReplyObject(reply);
    }
}

static void listen_plainly(struct connections *connections) {
    bool is_readable[CONNECTIONS_MAX] = {false};

    while (!is_stopping(connections->subscriber)) {
        bool is_new = connections->count == 0;

        if (is_new && !subscribe(connections)) {
            wait_for_connections(connections, (int)(AGAIN_US / 1000), is_readable);
            continue;
        }
        lk_redis_subscriber_set_connected(connections->subscriber, true, is_new);
        wait_for_connections(connections, -1, is_readable);
        if (is_readable[0]
            && (!lk_redis_link_fill(connections->links[0]) || !take_plain(connections))) {
            lk_redis_subscriber_set_connected(connections->subscriber, false, true);
            drop(connections, 0);
        }
    }
}

/* ---- sharded: commands ----------------------------------------------------------------------- */

static struct lk_redis_link *link_to(struct connections *connections, int node) {
    for (size_t i = 0; i < connections->count; i++) {
        if (connections->links[i]->node == node) {
            return connections->links[i];
        }
    }
    return NULL;
}

/* Returns a connection to the node that has the root's slot; opens it if necessary. */
static struct lk_redis_link *open_link(struct connections *connections, struct lk_slice root) {
    struct lk_redis_topology *topology = connections->subscriber->topology;
    const struct lk_patience until = patience();
    struct lk_redis_link *link;
    lk_error error;
    int node;

    if (lk_redis_topology_node_of(topology, lk_redis_slot_of(root), &until, &node, &error)
        != LK_OK) {
        return NULL;
    }
    link = link_to(connections, node);
    if (link == NULL && connections->count < CONNECTIONS_MAX) {
        if (lk_redis_topology_take_node(topology, node, &until, &link, &error) != LK_OK) {
            return NULL;
        }
        connections->links[connections->count++] = link;
    }
    return link;
}

static bool send_command(struct connections *connections, struct lk_redis_link *link,
                         const char *word, struct lk_slice root) {
    char channel[LK_REDIS_CHANNEL_BYTES_MAX + 1];
    const struct lk_patience until = patience();
    struct lk_redis_words words = {.count = 0};
    lk_error error;

    lk_redis_subscriber_channel(connections->subscriber, root, channel);
    lk_redis_words_add(&words, lk_slice_of(word));
    lk_redis_words_add(&words, lk_slice_of(channel));
    return lk_redis_send(link, &words, &until, &error) == LK_OK;
}

/* Subscribes to a root that is wanted, or unsubscribes from one that is not. */
static void update_subscription(struct connections *connections,
                                struct lk_redis_subscription *subscription) {
    struct lk_redis_subscriber *subscriber = connections->subscriber;
    bool is_leaving = subscription->state == LK_REDIS_UNWANTED;
    char bytes[LK_SEGMENT_BYTES_MAX];
    const struct lk_slice root = {bytes, subscription->size};
    struct lk_redis_link *link;
    int node = subscription->node;
    bool is_sent;

    memcpy(bytes, subscription->root, subscription->size);
    pthread_mutex_unlock(&subscriber->mutex);
    link = is_leaving ? link_to(connections, node) : open_link(connections, root);
    is_sent = link != NULL
              && send_command(connections, link, is_leaving ? "SUNSUBSCRIBE" : "SSUBSCRIBE", root);
    pthread_mutex_lock(&subscriber->mutex);
    if (is_leaving) {
        subscription->state = is_sent ? LK_REDIS_UNSUBSCRIBING : LK_REDIS_UNUSED;
    } else if (is_sent) {
        subscription->state = LK_REDIS_SUBSCRIBING;
        subscription->node = link->node;
        subscription->order = ++connections->order;
    } else {
        subscription->retry_us = lk_clock_now_us() + AGAIN_US;
    }
}

/* Sends the commands that are due; returns how long to wait then. */
static int send_due_commands(struct connections *connections) {
    struct lk_redis_subscriber *subscriber = connections->subscriber;
    int64_t now_us = lk_clock_now_us();
    bool is_all_subscribed = true;
    bool is_retrying = false;

    pthread_mutex_lock(&subscriber->mutex);
    for (size_t i = 0; i < LK_REDIS_SUBSCRIPTIONS_MAX; i++) {
        struct lk_redis_subscription *subscription = &subscriber->subscriptions[i];

        if (subscription->state == LK_REDIS_UNWANTED
            || (subscription->state == LK_REDIS_WANTED && subscription->retry_us <= now_us)) {
            update_subscription(connections, subscription);
        }
        is_retrying = is_retrying || subscription->state == LK_REDIS_WANTED;
        is_all_subscribed = is_all_subscribed && subscription->state != LK_REDIS_WANTED
                            && subscription->state != LK_REDIS_SUBSCRIBING;
    }
    pthread_mutex_unlock(&subscriber->mutex);
    lk_redis_subscriber_set_connected(subscriber, is_all_subscribed,
                                      is_all_subscribed && connections->has_lost);
    connections->has_lost = connections->has_lost && !is_all_subscribed;
    return is_retrying ? (int)(AGAIN_US / 1000) : -1;
}

/* ---- sharded: answers and messages ----------------------------------------------------------- */

/* The root to which the node's next answer belongs; the mutex is held. */
static struct lk_redis_subscription *next_answered(struct lk_redis_subscriber *subscriber,
                                                   int node) {
    struct lk_redis_subscription *first = NULL;

    for (size_t i = 0; i < LK_REDIS_SUBSCRIPTIONS_MAX; i++) {
        struct lk_redis_subscription *subscription = &subscriber->subscriptions[i];

        if (subscription->state == LK_REDIS_SUBSCRIBING && subscription->node == node
            && (first == NULL || subscription->order < first->order)) {
            first = subscription;
        }
    }
    return first;
}

/* The root of a channel, which is the text in its braces. */
static struct lk_redis_subscription *find_channel(struct lk_redis_subscriber *subscriber,
                                                  struct lk_slice channel) {
    const char *brace = channel.size > 0 ? memchr(channel.bytes, '{', channel.size) : NULL;
    size_t size = brace != NULL ? (size_t)(channel.bytes + channel.size - brace) : 0;

    for (size_t i = 0; size > 2 && i < LK_REDIS_SUBSCRIPTIONS_MAX; i++) {
        struct lk_redis_subscription *subscription = &subscriber->subscriptions[i];

        if (subscription->state != LK_REDIS_UNUSED && subscription->size == size - 2
            && memcmp(subscription->root, brace + 1, subscription->size) == 0) {
            return subscription;
        }
    }
    return NULL;
}

static void want_again(struct connections *connections,
                       struct lk_redis_subscription *subscription) {
    connections->has_lost = connections->has_lost || subscription->state == LK_REDIS_SUBSCRIBED;
    subscription->state = LK_REDIS_WANTED;
    subscription->retry_us = lk_clock_now_us() + AGAIN_US;
}

/*
 * Handles "smessage", "ssubscribe", "sunsubscribe" (requested, or the slot has moved), or an error.
 */
static void take_sharded(struct connections *connections, struct lk_redis_link *link,
                         const redisReply *reply) {
    struct lk_redis_subscriber *subscriber = connections->subscriber;
    struct lk_redis_subscription *subscription;

    if (is_kind(reply, "smessage")) {
        lk_redis_subscriber_tell(subscriber, text_at(reply, 2));
        return;
    }
    pthread_mutex_lock(&subscriber->mutex);
    if (is_kind(reply, "ssubscribe")) {
        subscription = find_channel(subscriber, text_at(reply, 1));
        if (subscription != NULL && subscription->state == LK_REDIS_SUBSCRIBING) {
            subscription->state = LK_REDIS_SUBSCRIBED;
        }
    } else if (is_kind(reply, "sunsubscribe")) {
        subscription = find_channel(subscriber, text_at(reply, 1));
        if (subscription != NULL && subscription->state == LK_REDIS_UNSUBSCRIBING
            && subscription->used_us < lk_clock_now_us() - LK_REDIS_UNUSED_US) {
            subscription->state = LK_REDIS_UNUSED;
        } else if (subscription != NULL) { /* unless a wait has begun meanwhile */
            want_again(connections, subscription);
        }
    } else {
        subscription = next_answered(subscriber, link->node);
        if (subscription != NULL) {
            want_again(connections, subscription);
        }
    }
    pthread_mutex_unlock(&subscriber->mutex);
    if (!is_kind(reply, "ssubscribe")) {
        lk_redis_topology_mark_stale(subscriber->topology,
                                     link->node); /* the slot map has changed */
    }
}

static bool receive(struct connections *connections, struct lk_redis_link *link) {
    if (!lk_redis_link_fill(link)) {
        return false;
    }
    for (;;) {
        redisReply *reply;

        if (!lk_redis_link_next(link, &reply)) {
            return false;
        }
        if (reply == NULL) {
            return true;
        }
        take_sharded(connections, link, reply);
        freeReplyObject(reply);
    }
}

/* Handles a broken connection to the node. */
static void lose_node(struct connections *connections, int node) {
    struct lk_redis_subscriber *subscriber = connections->subscriber;

    pthread_mutex_lock(&subscriber->mutex);
    for (size_t i = 0; i < LK_REDIS_SUBSCRIPTIONS_MAX; i++) {
        struct lk_redis_subscription *subscription = &subscriber->subscriptions[i];

        if (subscription->state == LK_REDIS_UNUSED || subscription->node != node) {
            continue;
        }
        if (subscription->state == LK_REDIS_UNWANTED
            || subscription->state == LK_REDIS_UNSUBSCRIBING) {
            subscription->state = LK_REDIS_UNUSED;
        } else {
            want_again(connections, subscription);
        }
    }
    pthread_mutex_unlock(&subscriber->mutex);
}

static void listen_in_shards(struct connections *connections) {
    bool is_readable[CONNECTIONS_MAX];

    while (!is_stopping(connections->subscriber)) {
        int time_ms = send_due_commands(connections);

        wait_for_connections(connections, time_ms, is_readable);
        for (size_t i = connections->count; i-- > 0;) {
            if (is_readable[i] && !receive(connections, connections->links[i])) {
                lose_node(connections, connections->links[i]->node);
                drop(connections, i);
            }
        }
    }
}

void *lk_redis_subscriber_run(void *context) {
    struct lk_redis_subscriber *subscriber = context;
    struct connections connections = {.subscriber = subscriber};
    enum lk_redis_manner manner = LK_REDIS_MANNER_UNKNOWN;
    bool is_readable[CONNECTIONS_MAX];

    while (!is_stopping(subscriber)) {
        manner = find_manner(subscriber);
        if (manner != LK_REDIS_MANNER_UNKNOWN) {
            break;
        }
        wait_for_connections(&connections, (int)(AGAIN_US / 1000), is_readable);
    }
    set_manner(subscriber, manner);
    if (manner == LK_REDIS_SHARDED) {
        listen_in_shards(&connections);
    } else {
        listen_plainly(&connections);
    }
    drop_all(&connections);
    return NULL;
}
