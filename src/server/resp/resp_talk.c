/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands about the connection itself, as clients of Redis send them at their start: enough for
 * each client to start up, with truthful answers.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "server/resp/resp.h"
#include "wire/line.h"

enum { INFO_BYTES_MAX = 2048, LIST_LINE_BYTES_MAX = 768 };

typedef void talk_handler(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                          size_t count);

static struct lk_buffer *out_of(struct lk_resp_connection *connection) {
    return &connection->replies.bytes;
}

static const char *password_of(const struct lk_resp_connection *connection) {
    return lk_server_options_of(connection->listener->server)->password;
}

/* ---- identification -------------------------------------------------------------------------- */

/* AUTH [user] password. There is one user, named as the default user of Redis. */
static bool authenticate(struct lk_resp_connection *connection, const struct lk_slice *user,
                         struct lk_slice password) {
    const char *expected = password_of(connection);

    if (expected == NULL) {
        lk_resp_refuse(connection, "ERR",
                       "AUTH <password> called without any password configured.");
        return false;
    }
    if ((user != NULL && !lk_word_is(*user, "default")) || !lk_secret_equal(expected, password)) {
        lk_resp_refuse(connection, "WRONGPASS", "invalid username-password pair");
        lk_resp_connection_penalize(connection);
        return false;
    }
    if (!lk_resp_connection_admit(connection)) {
        lk_resp_refuse(connection, "FULL", "too many connections");
        connection->is_ending = true;
        return false;
    }
    return true;
}

static void talk_auth(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                      size_t count) {
    const struct lk_slice *user = count == 3 ? &arguments[1] : NULL;

    if (count > 3) {
        lk_resp_refuse(connection, "ERR", "syntax error");
    } else if (authenticate(connection, user, arguments[count - 1])) {
        lk_resp_put_simple(out_of(connection), "OK");
    }
}

/* A name for listings: printable, without blanks. */
static bool set_name(struct lk_resp_connection *connection, struct lk_slice name) {
    for (size_t i = 0; i < name.size; i++) {
        if (name.bytes[i] < '!' || name.bytes[i] > '~') {
            lk_resp_refuse(connection, "ERR",
                           "Client names cannot contain spaces, newlines or special characters.");
            return false;
        }
    }
    if (name.size > LK_RESP_NAME_BYTES_MAX) {
        lk_resp_refuse(connection, "ERR", "Client names have at most 64 bytes.");
        return false;
    }
    memcpy(connection->name, name.bytes, name.size);
    connection->name[name.size] = '\0';
    return true;
}

static void write_hello(struct lk_resp_connection *connection) {
    struct lk_form_writer writer = lk_form_writer_resp(out_of(connection), connection->version);

    lk_form_open_map(&writer, NULL);
    lk_form_add_text(&writer, "server", "lockkeeper");
    lk_form_add_text(&writer, "version", LK_VERSION);
    lk_form_add_number(&writer, "proto", connection->version);
    lk_form_add_count(&writer, "id", lk_session_number(connection->session));
    lk_form_add_text(&writer, "mode", "standalone");
    lk_form_add_text(&writer, "role", "master");
    lk_form_add_texts(&writer, "modules", NULL, 0);
    lk_form_close(&writer);
}

/* HELLO [version [AUTH user password] [SETNAME name]] */
static void talk_hello(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                       size_t count) {
    int64_t version = connection->version;
    size_t at = 2;

    if (count > 1
        && (!lk_resp_number_parse(arguments[1], &version) || version < 2 || version > 3)) {
        lk_resp_refuse(connection, "NOPROTO", "unsupported protocol version");
        return;
    }
    while (at < count) {
        bool is_done;
        if (lk_word_is(arguments[at], "AUTH") && at + 2 < count) {
            is_done = authenticate(connection, &arguments[at + 1], arguments[at + 2]);
            at += 3;
        } else if (lk_word_is(arguments[at], "SETNAME") && at + 1 < count) {
            is_done = set_name(connection, arguments[at + 1]);
            at += 2;
        } else {
            lk_resp_refuse(connection, "ERR", "Syntax error in HELLO");
            return;
        }
        if (!is_done) {
            return;
        }
    }
    if (!connection->is_authenticated) {
        lk_resp_refuse(connection, "NOAUTH",
                       "HELLO must be called with the client already authenticated, or with AUTH");
        return;
    }
    connection->version = (int)version;
    write_hello(connection);
}

/* ---- CLIENT ---------------------------------------------------------------------------------- */

void lk_resp_describe(const struct lk_resp_connection *connection, struct lk_buffer *list) {
    char bytes[LIST_LINE_BYTES_MAX];
    char address[LK_ADDRESS_BYTES_MAX];
    struct lk_text line = lk_text_in(bytes, sizeof bytes);
    struct lk_slice owner =
        connection->session != NULL ? lk_session_owner(connection->session) : lk_slice_of("");

    lk_listen_socket_name_peer(&connection->listener->listen_socket, connection->socket, address);
    lk_text_format(&line, "id=%" PRIu64 " addr=%s name=%s owner=%.*s resp=%d flags=%s\n",
                   connection->session != NULL ? lk_session_number(connection->session) : 0,
                   address, connection->name, (int)owner.size, owner.bytes, connection->version,
                   connection->blocked != NULL ? "b" : "N");
    lk_buffer_add(list, bytes, line.size);
}

/* The connections at every listener, or this one alone. */
static void write_clients(struct lk_resp_connection *connection, bool is_all) {
    struct lk_buffer list = {.max = LK_RESP_OUTPUT_PAUSE_BYTES};

    if (is_all) {
        lk_server_list_clients(connection->listener->server, &list);
    } else {
        lk_resp_describe(connection, &list);
    }
    lk_resp_put_bulk(out_of(connection), (struct lk_slice){list.bytes, list.size});
    lk_buffer_done(&list);
}

static bool is_switch(struct lk_slice word) {
    return lk_word_is(word, "ON") || lk_word_is(word, "OFF");
}

/*
 * Options that clients turn on or off at their start, and that have no effect here: nothing is
 * evicted, and nothing is tracked, so tracking can only be turned off.
 */
static bool is_idle_switch(const struct lk_slice *arguments, size_t count) {
    bool is_tracking = lk_word_is(arguments[1], "TRACKING");

    return count == 3
           && ((is_tracking && lk_word_is(arguments[2], "OFF"))
               || ((lk_word_is(arguments[1], "NO-EVICT") || lk_word_is(arguments[1], "NO-TOUCH"))
                   && is_switch(arguments[2])));
}

/* LIST, or LIST TYPE normal: all connections are of that type. */
static bool is_list(const struct lk_slice *arguments, size_t count) {
    return lk_word_is(arguments[1], "LIST")
           && (count == 2
               || (count == 4 && lk_word_is(arguments[2], "TYPE")
                   && lk_word_is(arguments[3], "NORMAL")));
}

static void talk_client(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                        size_t count) {
    struct lk_slice what = arguments[1];

    if (lk_word_is(what, "ID") && count == 2) {
        lk_resp_put_number(out_of(connection), (int64_t)lk_session_number(connection->session));
    } else if (lk_word_is(what, "GETNAME") && count == 2) {
        if (connection->name[0] != '\0') {
            lk_resp_put_bulk(out_of(connection), lk_slice_of(connection->name));
        } else {
            lk_resp_put_null(out_of(connection), connection->version);
        }
    } else if (lk_word_is(what, "SETNAME") && count == 3) {
        if (set_name(connection, arguments[2])) {
            lk_resp_put_simple(out_of(connection), "OK");
        }
    } else if (lk_word_is(what, "SETINFO") && count == 4) {
        lk_resp_put_simple(out_of(connection), "OK");
    } else if (is_idle_switch(arguments, count)) {
        lk_resp_put_simple(out_of(connection), "OK");
    } else if (is_list(arguments, count) || (lk_word_is(what, "INFO") && count == 2)) {
        write_clients(connection, is_list(arguments, count));
    } else {
        lk_resp_refuse(connection, "ERR",
                       "unknown subcommand or wrong number of arguments for 'CLIENT'");
    }
}

/* ---- other commands -------------------------------------------------------------------------- */

static void talk_ping(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                      size_t count) {
    if (count > 2) {
        lk_resp_refuse(connection, "ERR", "wrong number of arguments for 'ping' command");
    } else if (connection->version < 3 && connection->watch_count > 0) {
        lk_resp_put_array(out_of(connection), 2); /* in RESP 2 a watching client gets arrays only */
        lk_resp_put_bulk(out_of(connection), lk_slice_of("pong"));
        lk_resp_put_bulk(out_of(connection), count == 2 ? arguments[1] : lk_slice_of(""));
    } else if (count == 2) {
        lk_resp_put_bulk(out_of(connection), arguments[1]);
    } else {
        lk_resp_put_simple(out_of(connection), "PONG");
    }
}

static void talk_echo(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                      size_t count) {
    (void)count;
    lk_resp_put_bulk(out_of(connection), arguments[1]);
}

static void talk_select(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                        size_t count) {
    (void)count;
    if (lk_slice_equal(arguments[1], lk_slice_of("0"))) {
        lk_resp_put_simple(out_of(connection), "OK");
    } else {
        lk_resp_refuse(connection, "ERR", "DB index is out of range");
    }
}

/* The first question of cluster clients. */
static void talk_cluster(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                         size_t count) {
    (void)arguments;
    (void)count;
    lk_resp_refuse(connection, "ERR", "This instance has cluster support disabled");
}

static void talk_quit(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                      size_t count) {
    (void)arguments;
    (void)count;
    lk_resp_put_simple(out_of(connection), "OK");
    connection->is_ending = true;
}

static void talk_reset(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                       size_t count) {
    (void)arguments;
    (void)count;
    lk_resp_unwatch_all(connection);
    connection->version = 2;
    connection->name[0] = '\0';
    connection->is_authenticated = password_of(connection) == NULL;
    lk_resp_put_simple(out_of(connection), "RESET");
}

static void talk_watch(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                       size_t count) {
    struct lk_form_writer writer = lk_form_writer_resp(out_of(connection), connection->version);
    lk_error error;

    if (lk_resp_watch(connection, arguments, count, &error) == LK_OK) {
        lk_resp_put_simple(out_of(connection), "OK");
    } else {
        lk_answer_write_failure(&writer, error.outcome, error.text);
    }
}

static void talk_unwatch(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                         size_t count) {
    (void)arguments;
    (void)count;
    lk_resp_unwatch(connection);
    lk_resp_put_simple(out_of(connection), "OK");
}

static void subscribe(struct lk_resp_connection *connection, enum lk_resp_watch_kind kind,
                      const struct lk_slice *arguments, size_t count) {
    struct lk_form_writer writer = lk_form_writer_resp(out_of(connection), connection->version);
    lk_error error;

    if (lk_resp_subscribe(connection, kind, arguments + 1, count - 1, &error) != LK_OK) {
        lk_answer_write_failure(&writer, error.outcome, error.text);
    }
}

static void talk_subscribe(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                           size_t count) {
    subscribe(connection, LK_RESP_SUBSCRIBE, arguments, count);
}

static void talk_psubscribe(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                            size_t count) {
    subscribe(connection, LK_RESP_PSUBSCRIBE, arguments, count);
}

static void talk_unsubscribe(struct lk_resp_connection *connection,
                             const struct lk_slice *arguments, size_t count) {
    lk_resp_unsubscribe(connection, LK_RESP_SUBSCRIBE, arguments + 1, count - 1);
}

static void talk_punsubscribe(struct lk_resp_connection *connection,
                              const struct lk_slice *arguments, size_t count) {
    lk_resp_unsubscribe(connection, LK_RESP_PSUBSCRIBE, arguments + 1, count - 1);
}

/* ---- INFO ------------------------------------------------------------------------------------ */

const struct lk_command_spec lk_resp_info = {.name = "INFO", .kind = LK_CALL_INFO};

/* Lines of `name: text` as in INFO. */
static void add_limits(struct lk_text *text, const struct lk_core_stats *core) {
    char bytes[INFO_BYTES_MAX / 2];
    struct lk_text lines = lk_text_in(bytes, sizeof bytes);

    lk_limits_report(&lines, &core->quotas, core->events_max, core->followers > 0);
    for (const char *at = bytes; *at != '\0'; at = strchr(at, '\n') + 1) {
        int name_size = (int)strcspn(at, ":");
        const char *value = at + name_size + 2;
        lk_text_format(text, "%.*s:%.*s\r\n", name_size, at, (int)strcspn(value, "\n"), value);
    }
    lk_text_format(text, "events_kept:%" PRIu64 "\r\n", core->events);
}

void lk_resp_write_info(struct lk_resp_connection *connection, const struct lk_reply *reply) {
    char bytes[INFO_BYTES_MAX];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);
    const struct lk_server_options *options = lk_server_options_of(connection->listener->server);
    struct lk_model_stats model = {.live = 0};
    struct lk_core_stats core;

    lk_core_stats(lk_server_core(connection->listener->server), &core);
    if (reply->model != NULL) {
        lk_model_stats(reply->model, &model);
    }
    /* The fields that clients of Redis look for at their start. */
    lk_text_format(&text, "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\n");
    lk_text_format(&text, "lockkeeper_version:%s\r\n", LK_VERSION);
    lk_text_format(&text, "time_us:%" PRId64 "\r\n", reply->times->wall_us);
    lk_text_format(&text, "durability:%s\r\n",
                   options->is_ephemeral ? "none"
                   : options->is_relaxed ? "relaxed"
                                         : "full");
    lk_text_format(&text, "\r\n# Persistence\r\nloading:%d\r\n", reply->model == NULL);
    lk_text_format(&text, "batches:%" PRIu64 "\r\nbatches_failed:%" PRIu64 "\r\n", core.batches,
                   core.batches_failed);
    lk_text_format(&text, "\r\n# Clients\r\nconnected_clients:%" PRIu64 "\r\n",
                   lk_server_count_clients(connection->listener->server));
    lk_text_format(&text, "blocked_clients:%" PRIu64 "\r\n", core.blocked);
    lk_text_format(&text, "\r\n# Replication\r\nrole:master\r\n");
    lk_text_format(&text, "\r\n# Locks\r\nlive:%" PRIu64 "\r\nwaiting:%" PRIu64 "\r\n", model.live,
                   model.waiting);
    lk_text_format(&text, "owners:%" PRIu64 "\r\nbound:%" PRIu64 "\r\n", model.owners, core.bound);
    lk_text_format(&text, "calls:%" PRIu64 "\r\nmemory_bytes:%" PRIu64 "\r\n", core.calls,
                   core.bytes);
    add_limits(&text, &core);
    lk_resp_put_bulk(out_of(connection), (struct lk_slice){bytes, text.size});
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Their handlers are below, in the same order. */
const struct lk_resp_word lk_resp_words[] = {
    {"PING", -1, "Answers PONG, or what it is given"},
    {"ECHO", 2, "Answers what it is given"},
    {"HELLO", -1, "Begins: the version of the protocol, password, name"},
    {"AUTH", -2, "Says the password"},
    {"CLIENT", -2, "ID, INFO, SETNAME, GETNAME, SETINFO and LIST of connections"},
    {"CLUSTER", -1, "There is none: always an error"},
    {"SENTINEL", -1, "There is none: always an error"},
    {"COMMAND", -1, "COUNT, DOCS, INFO and LIST of the commands"},
    {"INFO", -1, "What the service is and does"},
    {"SELECT", 2, "There is one database, 0"},
    {"WATCH", -1, "Tells what happens at or below a prefix, until UNWATCH"},
    {"UNWATCH", 1, "Ends every WATCH of the connection"},
    {"SUBSCRIBE", -2, "WATCH for each path, as a channel"},
    {"PSUBSCRIBE", -2, "WATCH for each PREFIX/*, or * for everything"},
    {"UNSUBSCRIBE", -1, "Ends these subscriptions, or all"},
    {"PUNSUBSCRIBE", -1, "Ends these patterns, or all"},
    {"RESET", 1, "The connection as it began"},
    {"QUIT", -1, "Ends the connection"},
    {NULL, 0, NULL},
};

static talk_handler *const handlers[] = {
    talk_ping,      talk_echo,       talk_hello,       talk_auth,
    talk_client,    talk_cluster,    talk_cluster,     lk_resp_introspect,
    NULL,           talk_select,     talk_watch,       talk_unwatch,
    talk_subscribe, talk_psubscribe, talk_unsubscribe, talk_punsubscribe,
    talk_reset,     talk_quit,
};

/* Whether the command is allowed before authentication. */
static bool is_for_strangers(talk_handler *handler) {
    return handler == talk_hello || handler == talk_auth || handler == talk_quit
           || handler == talk_reset;
}

static bool is_for_watching(talk_handler *handler) {
    static talk_handler *const allowed[] = {
        talk_watch,        talk_unwatch, talk_subscribe, talk_psubscribe, talk_unsubscribe,
        talk_punsubscribe, talk_ping,    talk_reset,     talk_quit,
    };
    bool is_allowed = false;

    for (size_t i = 0; i < sizeof allowed / sizeof(*allowed); i++) {
        is_allowed = is_allowed || handler == allowed[i];
    }
    return is_allowed;
}

/* The index of the command of that name, or the number of commands. */
static size_t find_word(struct lk_slice name) {
    size_t i = 0;

    while (lk_resp_words[i].name != NULL && !lk_word_is(name, lk_resp_words[i].name)) {
        i++;
    }
    return i;
}

bool lk_resp_is_barred(const struct lk_resp_connection *connection, struct lk_slice name) {
    size_t i = find_word(name);

    return connection->version < 3 && connection->watch_count > 0
           && (lk_resp_words[i].name == NULL || !is_for_watching(handlers[i]));
}

bool lk_resp_talk(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                  size_t count) {
    size_t i = find_word(arguments[0]);
    size_t needed;

    if (lk_resp_words[i].name == NULL) {
        if (!connection->is_authenticated) {
            lk_resp_refuse(connection, "NOAUTH", "Authentication required.");
        }
        return !connection->is_authenticated;
    }
    needed =
        (size_t)(lk_resp_words[i].arity < 0 ? -lk_resp_words[i].arity : lk_resp_words[i].arity);
    if (!connection->is_authenticated && (handlers[i] == NULL || !is_for_strangers(handlers[i]))) {
        lk_resp_refuse(connection, "NOAUTH", "Authentication required.");
    } else if (count < needed || (lk_resp_words[i].arity > 0 && count != needed)) {
        lk_error error;
        (void)lk_error_set(&error, LK_INVALID, "wrong number of arguments for '%s' command",
                           lk_resp_words[i].name);
        lk_resp_refuse(connection, "ERR", error.text);
    } else {
        handlers[i](connection, arguments, count);
    }
    return true;
}
