/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WATCH and UNWATCH: events (R21) as pushes of RESP 3, or in version 2 as messages are published.
 *
 *     >3  event    PREFIX  {map}         RESP 3
 *     *3  message  PREFIX  "{...}"       RESP 2: the map as JSON
 */
#include <stdlib.h>

#include "base/error.h"
#include "form/form.h"
#include "server/doors/resp.h"
#include "server/history.h"
#include "wire/line.h"

enum { WATCHES_MAX = 64 }; /* of one connection */

struct lk_resp_watch {
    struct lk_watcher watcher;
    struct lk_resp_connection *connection;
    SLIST_ENTRY(lk_resp_watch) list;
};

static void hear(struct lk_watcher *watcher) {
    struct lk_resp_watch *watch = (struct lk_resp_watch *)(void *)watcher;

    lk_resp_connection_stir(watch->connection);
}

void lk_resp_unwatch(struct lk_resp_connection *connection) {
    struct lk_server *server = connection->door->server;
    struct lk_times times = lk_server_times(server);

    while (!SLIST_EMPTY(&connection->watches)) {
        struct lk_resp_watch *watch = SLIST_FIRST(&connection->watches);
        SLIST_REMOVE_HEAD(&connection->watches, list);
        lk_watcher_end(lk_server_core(server), &watch->watcher, &times);
        free(watch);
    }
    connection->watch_count = 0;
}

static lk_outcome watch(struct lk_resp_connection *connection, const struct lk_path *prefix,
                        uint64_t after, lk_error *error) {
    struct lk_server *server = connection->door->server;
    struct lk_times times = lk_server_times(server);
    struct lk_resp_watch *added;

    if (connection->watch_count == WATCHES_MAX) {
        return lk_error_set(error, LK_FULL, "a connection watches at most %d prefixes",
                            WATCHES_MAX);
    }
    added = calloc(1, sizeof *added);
    if (added == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory to watch");
    }
    added->connection = connection;
    added->watcher.stirred = hear;
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

    if (outcome != LK_OK) {
        return outcome;
    }
    if (at != count
        && (at + 2 != count || !lk_word_is(arguments[at], "AFTER")
            || !lk_resp_number_parse(arguments[at + 1], &after) || after < 0)) {
        return lk_error_set(error, LK_INVALID, "WATCH [prefix] [AFTER sequence]");
    }
    return watch(connection, is_all ? NULL : &prefix, (uint64_t)after, error);
}

static void write_event(struct lk_resp_connection *connection, const struct lk_watcher *watcher,
                        const lk_watch_event *event) {
    struct lk_buffer *out = &connection->outbox.bytes;
    struct lk_form_writer writer = lk_form_writer_resp(out, connection->version);
    struct lk_buffer json = {.max = 0};

    lk_outbox_begin(&connection->outbox);
    lk_resp_put_push(out, connection->version, 3);
    lk_resp_put_bulk(out, lk_slice_of(connection->version >= 3 ? "event" : "message"));
    lk_resp_put_bulk(out, (struct lk_slice){watcher->prefix.bytes, watcher->prefix.size});
    if (connection->version >= 3) {
        lk_form_write_event(&writer, event);
    } else {
        writer = lk_form_writer_json(&json);
        lk_form_write_event(&writer, event);
        lk_resp_put_bulk(out, (struct lk_slice){json.bytes, json.size});
        lk_buffer_done(&json);
    }
    out->failed = out->failed || writer.failed;
    lk_outbox_end(&connection->outbox, 0, false);
}

void lk_resp_tell_events(struct lk_resp_connection *connection) {
    struct lk_core *core = lk_server_core(connection->door->server);
    struct lk_times times = lk_server_times(connection->door->server);
    struct lk_resp_watch *each;

    SLIST_FOREACH(each, &connection->watches, list) {
        const lk_watch_event *event = NULL;
        while (connection->outbox.bytes.size < LK_RESP_OUTPUT_PAUSE_BYTES
               && (event = lk_watcher_next(core, &each->watcher, &times)) != NULL) {
            write_event(connection, &each->watcher, event);
        }
    }
}
