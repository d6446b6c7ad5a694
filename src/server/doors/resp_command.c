/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that go to the core, and what comes back from it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "server/doors/resp.h"

enum { SHOWN_NAME_BYTES_MAX = 64 };

/* Every wish of a connection has the same tag: one at a time is with the core. */
static const uint64_t the_tag = 1;

static struct lk_form_writer writer_of(struct lk_resp_connection *connection) {
    return lk_form_writer_resp(&connection->outbox.bytes, connection->version);
}

void lk_resp_refuse(struct lk_resp_connection *connection, const char *word, const char *text) {
    lk_resp_put_error(&connection->outbox.bytes, word, lk_slice_of(text));
}

/* ---- from the core --------------------------------------------------------------------------- */

static void answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    struct lk_resp_connection *connection = peer;
    const struct lk_echo *echo =
        connection->is_calling ? &connection->door->echo : connection->blocked;
    struct lk_form_writer writer = writer_of(connection);

    (void)tag;
    lk_outbox_begin(&connection->outbox);
    if (echo->command->kind == LK_CALL_INFO) {
        lk_resp_write_info(connection, reply);
    } else {
        (void)lk_answer_write(echo, reply, &writer);
    }
    connection->outbox.bytes.failed = lk_form_writer_failed(&writer);
    lk_outbox_end(&connection->outbox, batch, true);
    connection->is_answered = true;
    if (!connection->is_calling) {
        free(connection->blocked);
        connection->blocked = NULL;
    }
    lk_resp_connection_stir(connection);
}

static void durable(void *peer, uint64_t batch) {
    struct lk_resp_connection *connection = peer;

    lk_outbox_release(&connection->outbox, batch);
    lk_resp_connection_stir(connection);
}

static void failed(void *peer, const char *why) {
    struct lk_resp_connection *connection = peer;
    struct lk_buffer instead = {.max = 0};

    lk_resp_put_error(&instead, "UNAVAILABLE", lk_slice_of(why));
    lk_outbox_void(&connection->outbox, (struct lk_slice){instead.bytes, instead.size});
    connection->outbox.bytes.failed = connection->outbox.bytes.failed || instead.failed;
    lk_buffer_done(&instead);
    lk_resp_connection_stir(connection);
}

const struct lk_session_ops lk_resp_session_ops = {
    .answer = answer,
    .durable = durable,
    .failed = failed,
};

/* ---- to the core ----------------------------------------------------------------------------- */

/* One refusal, as an answer of its own. */
static void refuse(struct lk_resp_connection *connection, const char *word, const char *text) {
    lk_outbox_begin(&connection->outbox);
    lk_resp_refuse(connection, word, text);
    lk_outbox_end(&connection->outbox, 0, true);
}

static void refuse_wish(struct lk_resp_connection *connection, const lk_error *error) {
    struct lk_form_writer writer = writer_of(connection);

    lk_outbox_begin(&connection->outbox);
    lk_answer_write_failure(&writer, error->outcome, error->text);
    lk_outbox_end(&connection->outbox, 0, true);
}

/* The connection's own owner where none is named, and then the request is bound (R18). */
static void complete_wish(struct lk_resp_connection *connection, struct lk_wish *wish) {
    bool takes_owner = (wish->command->keywords >> LK_WORD_OWNER & 1) != 0;

    if (wish->command->kind == LK_CALL_BREAK) {
        wish->by = wish->by.size > 0 ? wish->by : lk_session_owner(connection->session);
    } else if (takes_owner && (wish->given >> LK_WORD_OWNER & 1) == 0) {
        wish->owner = lk_session_owner(connection->session);
        wish->is_bound = true;
    }
}

/* Hands the call over; what blocks keeps a copy of what its answer will need. */
static void call(struct lk_resp_connection *connection) {
    struct lk_resp_door *door = connection->door;
    struct lk_core *core = lk_server_core(door->server);
    struct lk_times times = lk_server_times(door->server);

    door->understood.call.tag = the_tag;
    connection->is_calling = true;
    connection->is_answered = false;
    lk_core_call(core, connection->session, &door->understood.call, &times);
    connection->is_calling = false;
    if (connection->is_answered) {
        return;
    }
    connection->blocked = lk_echo_copy(&door->echo);
    if (connection->blocked == NULL) {
        lk_core_cancel(core, connection->session, the_tag, &times);
        refuse(connection, "INTERNAL", "no memory to wait");
    }
}

static void execute(struct lk_resp_connection *connection, const struct lk_command *command,
                    const struct lk_slice *words, size_t count) {
    struct lk_resp_door *door = connection->door;
    lk_error error;

    lk_wish_begin(&door->wish, command);
    if (lk_wish_read_words(&door->wish, words, count, &error) != LK_OK) {
        refuse_wish(connection, &error);
        return;
    }
    complete_wish(connection, &door->wish);
    if (lk_wish_understand(&door->wish, &door->understood, &error) != LK_OK
        || lk_echo_fill(&door->echo, &door->wish, &door->understood, &error) != LK_OK) {
        refuse_wish(connection, &error);
        return;
    }
    call(connection);
}

static void refuse_unknown(struct lk_resp_connection *connection, struct lk_slice name) {
    lk_error error;

    (void)lk_error_set(&error, LK_INVALID, "unknown command '%.*s'",
                       (int)(name.size < SHOWN_NAME_BYTES_MAX ? name.size : SHOWN_NAME_BYTES_MAX),
                       name.bytes);
    refuse(connection, "ERR", error.text);
}

static void talk(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                 size_t count) {
    bool is_known;

    lk_outbox_begin(&connection->outbox);
    is_known = lk_resp_talk(connection, arguments, count);
    lk_outbox_end(&connection->outbox, 0, true);
    if (!is_known) {
        refuse_unknown(connection, arguments[0]);
    }
}

static void ask_info(struct lk_resp_connection *connection) {
    connection->door->echo.command = &lk_resp_info;
    connection->door->understood.call = (struct lk_call){.kind = LK_CALL_INFO};
    call(connection);
}

static void refuse_arity(struct lk_resp_connection *connection, const char *name) {
    lk_error error;

    (void)lk_error_set(&error, LK_INVALID, "wrong number of arguments for '%s' command", name);
    refuse(connection, "ERR", error.text);
}

/* A browser that was lured here says so in its first lines. */
static bool is_of_http(struct lk_slice name) {
    return lk_word_is(name, "POST") || lk_word_is(name, "HOST:");
}

/* Before a password was said only a few commands may come. */
static bool is_stranger_at_end(struct lk_resp_connection *connection) {
    return !connection->is_known && ++connection->commands > LK_RESP_STRANGER_COMMANDS_MAX;
}

void lk_resp_execute(struct lk_resp_connection *connection) {
    const struct lk_resp_request *request = &connection->door->request;
    const struct lk_slice *arguments = request->arguments;
    size_t count = request->argument_count;
    const struct lk_command *command = lk_command_find(arguments[0]);

    if ((command == NULL && is_of_http(arguments[0])) || is_stranger_at_end(connection)) {
        connection->is_ending = true;
    } else if (command == NULL && connection->is_known
               && lk_word_is(arguments[0], lk_resp_info.name)) {
        ask_info(connection);
    } else if (command == NULL) {
        talk(connection, arguments, count);
    } else if (!connection->is_known) {
        refuse(connection, "NOAUTH", "Authentication required.");
    } else if (count - 1 < lk_command_operand_count(command)) {
        refuse_arity(connection, command->name);
    } else {
        execute(connection, command, arguments + 1, count - 1);
    }
}
