/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands about the connection itself, as clients of Redis send them at their start: enough for
 * each client to start up, with truthful answers.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "command/rights.h"
#include "engine/reply/reply.h"
#include "server/connections/monitor.h"
#include "server/resp/resp.h"
#include "wire/resp.h"

enum { INFO_BYTES_MAX = 4096, LIST_LINE_BYTES_MAX = 768 };

static struct lk_buffer *out_of(struct lk_resp_connection *connection) {
    return &connection->replies.bytes;
}

/* ---- CLIENT ---------------------------------------------------------------------------------- */

void lk_resp_describe(const struct lk_resp_connection *connection, struct lk_buffer *list) {
    char bytes[LIST_LINE_BYTES_MAX];
    char address[LK_ADDRESS_BYTES_MAX];
    struct lk_text line = lk_text_in(bytes, sizeof bytes);
    struct lk_slice owner =
        connection->session != NULL ? lk_session_owner(connection->session) : lk_slice_of("");

    lk_listen_socket_name_peer(&connection->listener->listen_socket, connection->socket, address);
    lk_text_format(&line, "id=%" PRIu64 " addr=%s name=%s owner=%.*s resp=%d flags=%s",
                   connection->session != NULL ? lk_session_number(connection->session) : 0,
                   address, connection->name, (int)owner.size, owner.bytes, connection->version,
                   connection->blocked != NULL ? "b" : "N");
    if (connection->grant.user != NULL) {
        lk_text_format(&line, " user=%s", connection->grant.user->name);
    }
    lk_text_format(&line, "\n");
    lk_buffer_add(list, bytes, line.size);
}

/* The connections at every listener, or this one alone; to a user, its own. */
static void write_clients(struct lk_resp_connection *connection, bool is_all) {
    struct lk_buffer list = {.max = LK_RESP_OUTPUT_PAUSE_BYTES};
    const struct lk_user *user = connection->grant.user;

    if (is_all) {
        lk_server_list_clients(connection->listener->server,
                               lk_visible_all(user, LK_RIGHT_ADMIN) ? NULL : user, &list);
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

static void run_client(struct lk_resp_connection *connection, const struct lk_slice *arguments,
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
        if (lk_resp_set_name(connection, arguments[2])) {
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

static void run_ping(struct lk_resp_connection *connection, const struct lk_slice *arguments,
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

static void run_echo(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                     size_t count) {
    (void)count;
    lk_resp_put_bulk(out_of(connection), arguments[1]);
}

static void run_select(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                       size_t count) {
    (void)count;
    if (lk_slice_equal(arguments[1], lk_slice_of("0"))) {
        lk_resp_put_simple(out_of(connection), "OK");
    } else {
        lk_resp_refuse(connection, "ERR", "DB index is out of range");
    }
}

/* The first question of cluster clients. */
static void run_cluster(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                        size_t count) {
    (void)arguments;
    (void)count;
    lk_resp_refuse(connection, "ERR", "This instance has cluster support disabled");
}

static void run_quit(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                     size_t count) {
    (void)arguments;
    (void)count;
    lk_resp_put_simple(out_of(connection), "OK");
    connection->is_ending = true;
}

static void run_reset(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                      size_t count) {
    (void)arguments;
    (void)count;
    lk_resp_unwatch_all(connection);
    lk_copy_end(&connection->copy);
    connection->version = 2;
    connection->name[0] = '\0';
    connection->grant = (struct lk_login_grant){.user = NULL};
    connection->is_authenticated =
        !lk_server_wants_login(lk_server_options_of(connection->listener->server))
        || lk_resp_log_in_by_certificate(connection);
    lk_resp_put_simple(out_of(connection), "RESET");
}

/* A service that does not lead has no events; else refuses. */
static bool may_watch(struct lk_resp_connection *connection) {
    const struct lk_core *core = lk_server_core(connection->listener->server);
    const char *leader = lk_core_leader(core);

    if (lk_core_leads(core)) {
        return true;
    }
    if (leader != NULL) {
        lk_resp_move(connection, leader);
    } else {
        lk_resp_refuse(connection, "UNAVAILABLE", LK_CORE_LEADS_NOT);
    }
    return false;
}

static void run_watch(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                      size_t count) {
    struct lk_form_writer writer = lk_form_writer_resp(out_of(connection), connection->version);
    lk_error error;

    if (!may_watch(connection)) {
        return;
    }
    if (lk_resp_watch(connection, arguments, count, &error) == LK_OK) {
        lk_resp_put_simple(out_of(connection), "OK");
    } else {
        lk_answer_write_failure(&writer, error.outcome, error.text);
    }
}

static void run_unwatch(struct lk_resp_connection *connection, const struct lk_slice *arguments,
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

    if (may_watch(connection)
        && lk_resp_subscribe(connection, kind, arguments + 1, count - 1, &error) != LK_OK) {
        lk_answer_write_failure(&writer, error.outcome, error.text);
    }
}

static void run_subscribe(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                          size_t count) {
    subscribe(connection, LK_RESP_SUBSCRIBE, arguments, count);
}

static void run_psubscribe(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                           size_t count) {
    subscribe(connection, LK_RESP_PSUBSCRIBE, arguments, count);
}

static void run_unsubscribe(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                            size_t count) {
    lk_resp_unsubscribe(connection, LK_RESP_SUBSCRIBE, arguments + 1, count - 1);
}

static void run_punsubscribe(struct lk_resp_connection *connection,
                             const struct lk_slice *arguments, size_t count) {
    lk_resp_unsubscribe(connection, LK_RESP_PSUBSCRIBE, arguments + 1, count - 1);
}

/* ---- INFO ------------------------------------------------------------------------------------ */

const struct lk_command_spec lk_resp_info = {
    .name = "INFO", .kind = LK_CALL_INFO, .right = LK_RIGHT_USER};

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

static void add_writes_and_clients(struct lk_text *text,
                                   const struct lk_resp_connection *connection,
                                   const struct lk_core_stats *core) {
    lk_text_format(text, "batches:%" PRIu64 "\r\nbatches_failed:%" PRIu64 "\r\n", core->batches,
                   core->batches_failed);
    lk_text_format(text, "\r\n# Clients\r\nconnected_clients:%" PRIu64 "\r\n",
                   lk_server_count_clients(connection->listener->server));
    lk_text_format(text, "blocked_clients:%" PRIu64 "\r\n", core->blocked);
}

static void add_locks(struct lk_text *text, const struct lk_core_stats *core,
                      const struct lk_model *of) {
    struct lk_model_stats model = {.live = 0};

    if (of != NULL) {
        lk_model_stats(of, &model);
    }
    lk_text_format(text, "\r\n# Locks\r\nlive:%" PRIu64 "\r\nwaiting:%" PRIu64 "\r\n", model.live,
                   model.waiting);
    lk_text_format(text, "owners:%" PRIu64 "\r\nbound:%" PRIu64 "\r\n", model.owners, core->bound);
    lk_text_format(text, "calls:%" PRIu64 "\r\nmemory_bytes:%" PRIu64 "\r\n", core->calls,
                   core->bytes);
    add_limits(text, core);
}

/* A client of Redis that finds `loading` waits, and one that is told a master goes there. */
static void add_leadership(struct lk_text *text, const struct lk_server *server) {
    const struct lk_leadership *leadership = lk_server_leadership(server);
    bool leads = lk_core_leads(lk_server_core(server));
    char leader[LK_LEADER_BYTES_MAX + 1];

    lk_text_format(text, "\r\n# Replication\r\nrole:%s\r\n", leads ? "master" : "slave");
    if (leadership == NULL) {
        return;
    }
    lk_text_format(text, "is_leader:%d\r\nepoch:%" PRIu64 "\r\ntakeovers:%" PRIu64 "\r\n", leads,
                   leadership->epoch, leadership->takeovers);
    lk_text_format(text, "caught_up:%d\r\n", lk_leadership_is_caught_up(leadership));
    if (lk_server_leader(server, leader)) {
        lk_text_format(text, "leader:%s\r\n", leader);
    }
    if (leads) {
        lk_text_format(text, "may_lose_commits:%d\r\n", leadership->may_lose);
    }
}

/* Only a user who may watch every path is told how much there is in all. */
void lk_resp_write_info(struct lk_resp_connection *connection, const struct lk_reply *reply) {
    char bytes[INFO_BYTES_MAX];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);
    const struct lk_server_options *options = lk_server_options_of(connection->listener->server);
    bool sees_all = lk_visible_all(connection->grant.user, LK_RIGHT_WATCH);
    struct lk_core_stats core;

    lk_core_stats(lk_server_core(connection->listener->server), &core);
    /* The fields that clients of Redis look for at their start. */
    lk_text_format(&text, "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\n");
    lk_text_format(&text, "lockkeeper_version:%s\r\n", LK_VERSION);
    lk_text_format(&text, "time_us:%" PRId64 "\r\n", reply->times->wall_us);
    lk_text_format(&text, "durability:%s\r\n",
                   options->is_ephemeral ? "none"
                   : options->is_relaxed ? "relaxed"
                                         : "full");
    lk_text_format(&text, "\r\n# Persistence\r\nloading:%d\r\n",
                   reply->model == NULL && reply->leader == NULL);
    if (sees_all) {
        add_writes_and_clients(&text, connection, &core);
    }
    add_leadership(&text, connection->listener->server);
    if (sees_all) {
        add_locks(&text, &core, reply->model);
        lk_text_format(&text, "\r\n# Operation\r\n");
        lk_operation_write(connection->listener->server, &core, reply->model, reply->times, &text);
    }
    lk_resp_put_bulk(out_of(connection), (struct lk_slice){bytes, text.size});
}

/* ---- all of them ----------------------------------------------------------------------------- */

const struct lk_resp_connection_command lk_resp_connection_commands[] = {
    {"PING", -1, "Replies PONG, or with the argument", run_ping, .is_for_watching = true,
     .right = LK_RIGHT_USER},
    {"ECHO", 2, "Replies with the argument", run_echo, .right = LK_RIGHT_USER},
    {"HELLO", -1, "Sets the protocol version, authenticates, names the connection", lk_resp_hello,
     .is_before_auth = true, .right = LK_RIGHT_OPEN},
    {"AUTH", -2, "Authenticates the connection", lk_resp_auth, .is_before_auth = true,
     .right = LK_RIGHT_OPEN},
    {"ACL", -2, "WHOAMI: the name of the user", lk_resp_acl, .right = LK_RIGHT_USER},
    {"CLIENT", -2, "ID, INFO, SETNAME, GETNAME, SETINFO and LIST of connections", run_client,
     .right = LK_RIGHT_USER},
    {"CLUSTER", -1, "Not a cluster: always an error", run_cluster, .right = LK_RIGHT_USER},
    {"SENTINEL", -1, "Not a sentinel: always an error", run_cluster, .right = LK_RIGHT_USER},
    {"COMMAND", -1, "COUNT, DOCS, INFO and LIST of the commands", lk_resp_introspect,
     .right = LK_RIGHT_USER},
    {"INFO", -1, "Returns the state of the service", NULL, .right = LK_RIGHT_USER},
    {"BACKUP", -1, "Copies the file of the store, or returns a piece of the copy: FROM offset",
     lk_resp_backup, .right = LK_RIGHT_ADMIN},
    {"SELECT", 2, "Selects a database; there is only 0", run_select, .right = LK_RIGHT_USER},
    {"WATCH", -1, "Pushes events at or below a prefix, until UNWATCH", run_watch,
     .is_for_watching = true, .right = LK_RIGHT_WATCH},
    {"UNWATCH", 1, "Ends every WATCH of the connection", run_unwatch, .is_for_watching = true,
     .right = LK_RIGHT_USER},
    {"SUBSCRIBE", -2, "WATCH for each path, as a channel", run_subscribe, .is_for_watching = true,
     .right = LK_RIGHT_WATCH},
    {"PSUBSCRIBE", -2, "WATCH for each PREFIX/*, or * for everything", run_psubscribe,
     .is_for_watching = true, .right = LK_RIGHT_WATCH},
    {"UNSUBSCRIBE", -1, "Ends these subscriptions, or all", run_unsubscribe,
     .is_for_watching = true, .right = LK_RIGHT_USER},
    {"PUNSUBSCRIBE", -1, "Ends these patterns, or all", run_punsubscribe, .is_for_watching = true,
     .right = LK_RIGHT_USER},
    {"RESET", 1, "Resets the connection to its initial state", run_reset, .is_before_auth = true,
     .is_for_watching = true, .right = LK_RIGHT_OPEN},
    {"QUIT", -1, "Closes the connection", run_quit, .is_before_auth = true, .is_for_watching = true,
     .right = LK_RIGHT_OPEN},
    {NULL, 0, NULL, NULL},
};

/* The command of that name, or the entry that ends the table. */
static const struct lk_resp_connection_command *find_command(struct lk_slice name) {
    const struct lk_resp_connection_command *command = lk_resp_connection_commands;

    while (command->name != NULL && !lk_word_is(name, command->name)) {
        command++;
    }
    return command;
}

bool lk_resp_is_denied_while_watching(const struct lk_resp_connection *connection,
                                      struct lk_slice name) {
    return connection->version < 3 && connection->watch_count > 0
           && !find_command(name)->is_for_watching;
}

bool lk_resp_run_connection_command(struct lk_resp_connection *connection,
                                    const struct lk_slice *arguments, size_t count) {
    const struct lk_resp_connection_command *command = find_command(arguments[0]);
    size_t needed = (size_t)(command->arity < 0 ? -command->arity : command->arity);

    if (!connection->is_authenticated && !command->is_before_auth) {
        lk_resp_refuse(connection, "NOAUTH", "Authentication required.");
    } else if (command->name == NULL) {
        return false;
    } else if (command->right == LK_RIGHT_UNDECLARED) {
        lk_resp_refuse(connection, "DENIED", "no user may do this");
    } else if (count < needed || (command->arity > 0 && count != needed)) {
        lk_resp_refuse(connection, "ERR", "wrong number of arguments for '%s' command",
                       command->name);
    } else {
        command->run(connection, arguments, count);
    }
    return true;
}
