/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that go to the core, and the core's replies. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/minmax.h"
#include "server/connections/monitor.h"
#include "server/resp/resp.h"

enum { SHOWN_NAME_BYTES_MAX = 64, ERROR_BYTES_MAX = 512 };

/* Every call of a connection has the same tag: one at a time is with the core. */
static const uint64_t the_tag = 1;

static struct lk_form_writer writer_of(struct lk_resp_connection *connection) {
    return lk_form_writer_resp(&connection->replies.bytes, connection->version);
}

void lk_resp_refuse(struct lk_resp_connection *connection, const char *word, const char *format,
                    ...) {
    char text[ERROR_BYTES_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lk_resp_put_error(&connection->replies.bytes, word, lk_slice_of(text));
}

void lk_resp_end_answer(struct lk_resp_connection *connection, uint64_t batch) {
    if (!lk_reply_buffer_fits(&connection->replies)) {
        lk_resp_refuse(connection, "FULL", "the reply is too large; ask for less");
    }
    lk_reply_buffer_end(&connection->replies, batch, true);
    lk_resp_connection_charge(connection);
}

void lk_resp_move(struct lk_resp_connection *connection, const char *leader) {
    lk_resp_refuse(connection, "MOVED", "0 %.*s", (int)strcspn(leader, " "), leader);
}

/* ---- from the core --------------------------------------------------------------------------- */

static void answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    struct lk_resp_connection *connection = peer;
    const struct lk_reply_context *context =
        connection->is_calling ? &connection->listener->context : connection->blocked;
    struct lk_form_writer writer = writer_of(connection);

    (void)tag;
    lk_reply_buffer_begin(&connection->replies);
    if (context->command->kind == LK_CALL_INFO && reply->answer->outcome == LK_DENIED) {
        lk_answer_write_failure(&writer, LK_DENIED, reply->answer->text);
    } else if (context->command->kind == LK_CALL_INFO) {
        lk_resp_write_info(connection, reply);
    } else if (reply->leader != NULL) {
        lk_resp_move(connection, reply->leader);
    } else {
        (void)lk_answer_write(context, reply, &writer);
    }
    connection->replies.bytes.failed = lk_form_writer_failed(&writer);
    lk_resp_end_answer(connection, batch);
    connection->is_answered = true;
    if (!connection->is_calling) {
        free(connection->blocked);
        connection->blocked = NULL;
    }
    lk_resp_connection_schedule(connection);
}

static void durable(void *peer, uint64_t batch) {
    struct lk_resp_connection *connection = peer;

    lk_reply_buffer_release(&connection->replies, batch);
    lk_resp_connection_schedule(connection);
}

static void failed(void *peer, const char *why) {
    struct lk_resp_connection *connection = peer;
    struct lk_buffer instead = {.max = 0};

    lk_resp_put_error(&instead, "UNAVAILABLE", lk_slice_of(why));
    lk_reply_buffer_void(&connection->replies, (struct lk_slice){instead.bytes, instead.size});
    connection->replies.bytes.failed = connection->replies.bytes.failed || instead.failed;
    lk_buffer_done(&instead);
    lk_resp_connection_schedule(connection);
}

const struct lk_session_ops lk_resp_session_ops = {
    .answer = answer,
    .durable = durable,
    .failed = failed,
};

/* ---- to the core ----------------------------------------------------------------------------- */

static void refuse_draft(struct lk_resp_connection *connection, const lk_error *error) {
    struct lk_form_writer writer = writer_of(connection);

    lk_reply_buffer_begin(&connection->replies);
    lk_answer_write_failure(&writer, error->outcome, error->text);
    lk_resp_end_answer(connection, 0);
}

/* A command without an owner gets the connection's own, and its request is bound (R18). */
static void fill_in_defaults(struct lk_resp_connection *connection, struct lk_draft *draft) {
    bool takes_owner = (draft->command->keywords >> LK_WORD_OWNER & 1) != 0;

    if (lk_command_decides(draft->command, LK_COMMAND_BREAK)) {
        draft->by = draft->by.size > 0 ? draft->by : lk_session_owner(connection->session);
    } else if (takes_owner && (draft->given >> LK_WORD_OWNER & 1) == 0) {
        draft->owner = lk_session_owner(connection->session);
        draft->is_bound = true;
    }
}

/* Makes the call; if it blocks, keeps a copy of what its answer will need. */
static void call(struct lk_resp_connection *connection) {
    struct lk_resp_listener *listener = connection->listener;
    struct lk_core *core = lk_server_core(listener->server);
    struct lk_times times = lk_server_times(listener->server);
    int64_t begun_us = lk_slow_begin(listener->server);

    listener->call.tag = the_tag;
    connection->is_calling = true;
    connection->is_answered = false;
    lk_core_call(core, connection->session, &listener->call, &times);
    lk_slow_end(listener->server, &listener->base, listener->context.command, &listener->draft,
                begun_us);
    connection->is_calling = false;
    if (connection->is_answered) {
        return;
    }
    connection->blocked = lk_reply_context_copy(&listener->context);
    if (connection->blocked == NULL) {
        lk_core_cancel(core, connection->session, the_tag, &times);
        lk_reply_buffer_begin(&connection->replies);
        lk_resp_refuse(connection, "INTERNAL", "no memory for a blocked call");
        lk_resp_end_answer(connection, 0);
    }
}

static void execute(struct lk_resp_connection *connection, const struct lk_command_spec *command,
                    const struct lk_slice *words, size_t count) {
    struct lk_resp_listener *listener = connection->listener;
    lk_error error;

    lk_draft_begin(&listener->draft, command);
    if (lk_draft_read_words(&listener->draft, words, count, &error) != LK_OK) {
        refuse_draft(connection, &error);
        return;
    }
    fill_in_defaults(connection, &listener->draft);
    if (lk_draft_parse(&listener->draft, &listener->call, &error) != LK_OK) {
        refuse_draft(connection, &error);
        return;
    }
    listener->call.user = connection->grant.user;
    lk_reply_context_fill(&listener->context, &listener->draft, &listener->call);
    call(connection);
}

void lk_resp_cancel(struct lk_resp_connection *connection, const struct lk_times *times) {
    lk_core_cancel(lk_server_core(connection->listener->server), connection->session, the_tag,
                   times);
    free(connection->blocked);
    connection->blocked = NULL;
}

static void ask_info(struct lk_resp_connection *connection) {
    struct lk_resp_listener *listener = connection->listener;

    listener->context.command = &lk_resp_info;
    listener->context.user = connection->grant.user;
    listener->call = (struct lk_call){
        .kind = LK_CALL_INFO, .right = lk_resp_info.right, .user = connection->grant.user};
    call(connection);
}

/* `HTTP/1.1` and the like. */
static bool is_version_of_http(struct lk_slice word) {
    static const char name[] = "HTTP/";
    size_t size = sizeof name - 1;

    return word.size > size && memcmp(word.bytes, name, size) == 0 && word.bytes[size] >= '0'
           && word.bytes[size] <= '9';
}

/*
 * A browser that a page has directed here, or a client with the wrong port: the first line ends in
 * the HTTP version, also if its method is the name of a command (GET, PUT), and other lines start
 * with these words.
 */
static bool is_of_http(const struct lk_resp_request *request) {
    const struct lk_slice *words = request->arguments;

    return (request->is_inline && is_version_of_http(words[request->argument_count - 1]))
           || lk_word_is(words[0], "POST") || lk_word_is(words[0], "HOST:");
}

/* Before authentication only a few commands are allowed. */
static bool is_stranger_at_end(struct lk_resp_connection *connection) {
    return !connection->is_authenticated && ++connection->commands > LK_RESP_STRANGER_COMMANDS_MAX;
}

/* Answers a command about the connection itself, or says why a command cannot be executed. */
static void answer_here(struct lk_resp_connection *connection,
                        const struct lk_command_spec *command, const struct lk_slice *arguments,
                        size_t count) {
    int shown = (int)lk_min((int64_t)arguments[0].size, SHOWN_NAME_BYTES_MAX);

    if (lk_resp_is_denied_while_watching(connection, arguments[0])) {
        lk_resp_refuse(connection, "ERR",
                       "Can't execute '%.*s': only (P)SUBSCRIBE / (P)UNSUBSCRIBE / WATCH / UNWATCH "
                       "/ PING / QUIT / RESET are allowed in this context",
                       shown, arguments[0].bytes);
    } else if (command != NULL && !connection->is_authenticated) {
        lk_resp_refuse(connection, "NOAUTH", "Authentication required.");
    } else if (command != NULL) {
        lk_resp_refuse(connection, "ERR", "wrong number of arguments for '%s' command",
                       command->name);
    } else if (!lk_resp_run_connection_command(connection, arguments, count)) {
        lk_resp_refuse(connection, "ERR", "unknown command '%.*s'", shown, arguments[0].bytes);
    }
}

void lk_resp_execute(struct lk_resp_connection *connection) {
    const struct lk_resp_request *request = &connection->listener->request;
    const struct lk_slice *arguments = request->arguments;
    size_t count = request->argument_count;
    const struct lk_command_spec *command = lk_command_find(arguments[0]);
    bool is_allowed =
        connection->is_authenticated && !lk_resp_is_denied_while_watching(connection, arguments[0]);

    if (is_of_http(request)) {
        lk_resp_connection_refused(connection, LK_REFUSED_PROTOCOL);
        connection->is_ending = true;
    } else if (is_stranger_at_end(connection)) {
        connection->is_ending = true;
    } else if (connection->is_authenticated && !lk_resp_is_granted(connection)) {
        lk_resp_end_grant(connection); /* a token has ended */
    } else if (is_allowed && lk_word_is(arguments[0], lk_resp_info.name)) {
        ask_info(connection);
    } else if (is_allowed && command != NULL && count - 1 >= lk_command_operand_count(command)) {
        execute(connection, command, arguments + 1, count - 1);
    } else {
        lk_reply_buffer_begin(&connection->replies);
        answer_here(connection, command, arguments, count);
        lk_resp_end_answer(connection, 0);
    }
}
