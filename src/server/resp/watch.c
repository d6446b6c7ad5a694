/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events (R21) as pushes of RESP 3, or in version 2 as messages are published. WATCH is the
 * service's own; SUBSCRIBE and PSUBSCRIBE are what the pub/sub objects of Redis' clients say.
 *
 *     >3  event     PREFIX  {map}                WATCH in RESP 3
 *     *3  message   PREFIX  "{...}"              WATCH in RESP 2: the map as JSON
 *     *3  message   CHANNEL "{...}"              SUBSCRIBE, the channel as it was subscribed
 *     *4  pmessage  PATTERN PATH "{...}"         PSUBSCRIBE, a path of the event that matches
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "command/rights.h"
#include "form/form.h"
#include "server/core/event_log.h"
#include "server/resp/resp.h"
#include "wire/resp.h"

enum {
    WATCHES_MAX = 64, /* of one connection */
    CHANNEL_BYTES_MAX = LK_PATH_BYTES_MAX + 4,
};

struct lk_resp_watch {
    struct lk_watcher watcher;
    struct lk_resp_connection *connection;
    SLIST_ENTRY(lk_resp_watch) list;
    enum lk_resp_watch_kind kind;
    char channel[CHANNEL_BYTES_MAX]; /* of a subscription, as the client wrote it */
};

static void on_events(struct lk_watcher *watcher) {
    struct lk_resp_watch *watch = (struct lk_resp_watch *)(void *)watcher;

    lk_resp_connection_schedule(watch->connection);
}

/* Without a word: what is written now would be taken for the answer of a call. */
static void on_ended(struct lk_watcher *watcher) {
    struct lk_resp_watch *watch = (struct lk_resp_watch *)(void *)watcher;

    watch->connection->is_ending = true;
    lk_resp_connection_schedule(watch->connection);
}

static void end_watch(struct lk_resp_connection *connection, struct lk_resp_watch *watch) {
    struct lk_server *server = connection->listener->server;
    struct lk_times times = lk_server_times(server);

    SLIST_REMOVE(&connection->watches, watch, lk_resp_watch, list);
    lk_watcher_end(lk_server_core(server), &watch->watcher, &times);
    free(watch);
    connection->watch_count--;
}

static struct lk_resp_watch *find_kind(const struct lk_resp_connection *connection,
                                       enum lk_resp_watch_kind kind) {
    struct lk_resp_watch *each;

    SLIST_FOREACH(each, &connection->watches, list) {
        if (each->kind == kind) {
            return each;
        }
    }
    return NULL;
}

void lk_resp_unwatch(struct lk_resp_connection *connection) {
    struct lk_resp_watch *watch;

    while ((watch = find_kind(connection, LK_RESP_WATCH)) != NULL) {
        end_watch(connection, watch);
    }
}

void lk_resp_unwatch_all(struct lk_resp_connection *connection) {
    while (!SLIST_EMPTY(&connection->watches)) {
        end_watch(connection, SLIST_FIRST(&connection->watches));
    }
}

/* Without a prefix, the user gets the events that it may see. */
static lk_outcome check_right(const struct lk_resp_connection *connection,
                              const struct lk_path *prefix, lk_error *error) {
    const struct lk_user *user = connection->grant.user;

    return user == NULL || prefix == NULL
                   || lk_rules_allow(lk_user_rules(user), LK_RIGHT_WATCH, prefix)
               ? LK_OK
               : lk_error_set(error, LK_DENIED, "the user %s has no right to watch: %.*s",
                              user->name, (int)prefix->size, prefix->bytes);
}

static lk_outcome watch(struct lk_resp_connection *connection, enum lk_resp_watch_kind kind,
                        struct lk_slice channel, const struct lk_path *prefix, uint64_t after,
                        lk_error *error) {
    struct lk_server *server = connection->listener->server;
    struct lk_times times = lk_server_times(server);
    struct lk_resp_watch *added;

    if (connection->watch_count == WATCHES_MAX) {
        return lk_error_set(error, LK_FULL, "a connection watches at most %d prefixes",
                            WATCHES_MAX);
    }
    added = calloc(1, sizeof *added);
    if (added == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a watch");
    }
    added->connection = connection;
    added->kind = kind;
    (void)snprintf(added->channel, sizeof added->channel, "%.*s", (int)channel.size, channel.bytes);
    added->watcher.ready = on_events;
    added->watcher.ended = on_ended;
    lk_watcher_begin(lk_server_core(server), &added->watcher, prefix, after, &times);
    SLIST_INSERT_HEAD(&connection->watches, added, list);
    connection->watch_count++;
    return LK_OK;
}

/* WATCH [prefix] [AFTER sequence] */
lk_outcome lk_resp_watch(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                         size_t count, lk_error *error) {
    struct lk_path prefix;
    bool has_prefix = count > 1 && !lk_word_is(arguments[1], "AFTER");
    size_t at = has_prefix ? 2 : 1;
    bool is_all = !has_prefix || arguments[1].size == 0;
    int64_t after = 0;
    lk_outcome outcome = is_all ? LK_OK : lk_path_parse(arguments[1], &prefix, error);

    if (outcome == LK_OK) {
        outcome = check_right(connection, is_all ? NULL : &prefix, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    if (at != count
        && (at + 2 != count || !lk_word_is(arguments[at], "AFTER")
            || !lk_resp_number_parse(arguments[at + 1], &after) || after < 0)) {
        return lk_error_set(error, LK_INVALID, "WATCH [prefix] [AFTER sequence]");
    }
    return watch(connection, LK_RESP_WATCH, lk_slice_of(""), is_all ? NULL : &prefix,
                 (uint64_t)after, error);
}

/* ---- subscriptions --------------------------------------------------------------------------- */

/*
 * What a channel or a pattern names: a path; a path and "/" and a star; or a star alone, which is
 * everything (*ret_is_all).
 */
static lk_outcome parse_channel(enum lk_resp_watch_kind kind, struct lk_slice channel,
                                struct lk_path *ret_prefix, bool *ret_is_all, lk_error *error) {
    static const char below[] = "/*";
    size_t below_size = sizeof below - 1;

    *ret_is_all = kind == LK_RESP_PSUBSCRIBE && lk_slice_equal(channel, lk_slice_of("*"));
    if (*ret_is_all) {
        return LK_OK;
    }
    if (kind == LK_RESP_PSUBSCRIBE) {
        if (channel.size <= below_size
            || memcmp(channel.bytes + channel.size - below_size, below, below_size) != 0) {
            return lk_error_set(error, LK_INVALID, "a pattern is PREFIX/*, or * for everything");
        }
        channel.size -= below_size;
    }
    return lk_path_parse(channel, ret_prefix, error);
}

static struct lk_resp_watch *find_subscription(const struct lk_resp_connection *connection,
                                               enum lk_resp_watch_kind kind,
                                               struct lk_slice channel) {
    struct lk_resp_watch *each;

    SLIST_FOREACH(each, &connection->watches, list) {
        if (each->kind == kind && lk_slice_equal(lk_slice_of(each->channel), channel)) {
            return each;
        }
    }
    return NULL;
}

/* As Redis counts: channels and patterns together. */
static int64_t count_subscriptions(const struct lk_resp_connection *connection) {
    const struct lk_resp_watch *each;
    int64_t count = 0;

    SLIST_FOREACH(each, &connection->watches, list) {
        count += each->kind != LK_RESP_WATCH;
    }
    return count;
}

/* Writes `subscribe`, the channel, and the number of subscriptions. */
static void confirm(struct lk_resp_connection *connection, enum lk_resp_watch_kind kind,
                    bool is_begun, const struct lk_slice *channel) {
    struct lk_buffer *out = &connection->replies.bytes;
    const char *word = is_begun ? "subscribe" : "unsubscribe";

    lk_resp_put_push(out, connection->version, 3);
    lk_resp_put_bulk(out, lk_slice_of(kind != LK_RESP_PSUBSCRIBE ? word
                                      : is_begun                 ? "psubscribe"
                                                                 : "punsubscribe"));
    if (channel != NULL) {
        lk_resp_put_bulk(out, *channel);
    } else {
        lk_resp_put_null(out, connection->version);
    }
    lk_resp_put_number(out, count_subscriptions(connection));
}

/* Refuses before the first confirmation if at all: clients count the replies. */
lk_outcome lk_resp_subscribe(struct lk_resp_connection *connection, enum lk_resp_watch_kind kind,
                             const struct lk_slice *channels, size_t count, lk_error *error) {
    struct lk_path prefix;
    bool is_all;
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; i < count && outcome == LK_OK; i++) {
        outcome = parse_channel(kind, channels[i], &prefix, &is_all, error);
        if (outcome == LK_OK) {
            outcome = check_right(connection, is_all ? NULL : &prefix, error);
        }
    }
    if (outcome == LK_OK && connection->watch_count + count > WATCHES_MAX) {
        outcome =
            lk_error_set(error, LK_FULL, "a connection watches at most %d prefixes", WATCHES_MAX);
    }
    for (size_t i = 0; i < count && outcome == LK_OK; i++) {
        if (find_subscription(connection, kind, channels[i]) == NULL) {
            (void)parse_channel(kind, channels[i], &prefix, &is_all, error);
            outcome = watch(connection, kind, channels[i], is_all ? NULL : &prefix, 0, error);
        }
        if (outcome == LK_OK) {
            confirm(connection, kind, true, &channels[i]);
        }
    }
    return outcome;
}

void lk_resp_unsubscribe(struct lk_resp_connection *connection, enum lk_resp_watch_kind kind,
                         const struct lk_slice *channels, size_t count) {
    struct lk_resp_watch *watch = find_kind(connection, kind);

    if (count == 0 && watch == NULL) {
        confirm(connection, kind, false, NULL);
    }
    for (; count == 0 && watch != NULL; watch = find_kind(connection, kind)) {
        char bytes[CHANNEL_BYTES_MAX];
        struct lk_slice channel = {.bytes = bytes, .size = strlen(watch->channel)};

        memcpy(bytes, watch->channel, channel.size);
        end_watch(connection, watch);
        confirm(connection, kind, false, &channel);
    }
    for (size_t i = 0; i < count; i++) {
        watch = find_subscription(connection, kind, channels[i]);
        if (watch != NULL) {
            end_watch(connection, watch);
        }
        confirm(connection, kind, false, &channels[i]);
    }
}

/* ---- sending events -------------------------------------------------------------------------- */

/* The first path of the event below the prefix; for a gap, which has none, the prefix. */
static struct lk_slice event_path(const struct lk_watcher *watcher, const lk_watch_event *event) {
    struct lk_path path;

    for (size_t i = 0; i < event->part_count; i++) {
        if (watcher->prefix.depth == 0
            || (lk_path_parse(lk_slice_of(event->paths[i]), &path, NULL) == LK_OK
                && lk_path_contains(&watcher->prefix, &path))) {
            return lk_slice_of(event->paths[i]);
        }
    }
    return (struct lk_slice){watcher->prefix.bytes, watcher->prefix.size};
}

/* Writes the fields before the event. */
static void write_address(struct lk_resp_connection *connection, const struct lk_resp_watch *watch,
                          const lk_watch_event *event, bool is_map) {
    struct lk_buffer *out = &connection->replies.bytes;
    const struct lk_watcher *watcher = &watch->watcher;

    lk_resp_put_push(out, connection->version, watch->kind == LK_RESP_PSUBSCRIBE ? 4 : 3);
    switch (watch->kind) {
    case LK_RESP_PSUBSCRIBE:
        lk_resp_put_bulk(out, lk_slice_of("pmessage"));
        lk_resp_put_bulk(out, lk_slice_of(watch->channel));
        lk_resp_put_bulk(out, event_path(watcher, event));
        break;
    case LK_RESP_SUBSCRIBE:
        lk_resp_put_bulk(out, lk_slice_of("message"));
        lk_resp_put_bulk(out, lk_slice_of(watch->channel));
        break;
    case LK_RESP_WATCH:
        lk_resp_put_bulk(out, lk_slice_of(is_map ? "event" : "message"));
        lk_resp_put_bulk(out, (struct lk_slice){watcher->prefix.bytes, watcher->prefix.size});
        break;
    }
}

static void write_event(struct lk_resp_connection *connection, const struct lk_resp_watch *watch,
                        const lk_watch_event *event) {
    struct lk_buffer *out = &connection->replies.bytes;
    struct lk_form_writer writer = lk_form_writer_resp(out, connection->version);
    struct lk_buffer json = {.max = 0};
    bool is_map = connection->version >= 3 && watch->kind == LK_RESP_WATCH;

    lk_reply_buffer_begin(&connection->replies);
    write_address(connection, watch, event, is_map);
    if (is_map) {
        lk_form_write_event(&writer, event);
    } else {
        writer = lk_form_writer_json(&json);
        lk_form_write_event(&writer, event);
        lk_resp_put_bulk(out, (struct lk_slice){json.bytes, json.size});
        lk_buffer_done(&json);
    }
    out->failed = out->failed || writer.failed;
    lk_reply_buffer_end(&connection->replies, 0, false);
}

void lk_resp_write_events(struct lk_resp_connection *connection) {
    struct lk_core *core = lk_server_core(connection->listener->server);
    struct lk_times times = lk_server_times(connection->listener->server);
    struct lk_visible_event room;
    struct lk_resp_watch *each;

    SLIST_FOREACH(each, &connection->watches, list) {
        const lk_watch_event *event = NULL;
        while (connection->replies.bytes.size < LK_RESP_OUTPUT_PAUSE_BYTES
               && (event = lk_watcher_next(core, &each->watcher, &times)) != NULL) {
            event = lk_visible_event(connection->grant.user, event, &room);
            if (event != NULL) {
                write_event(connection, each, event);
            }
        }
    }
}
