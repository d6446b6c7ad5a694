/* SPDX-License-Identifier: Apache-2.0 */
/* COMMAND: the list of commands, in the form that redis-cli and clients expect at their start. */
#include "server/resp/resp.h"

/* A command of either table. */
struct described {
    const char *name;
    const char *summary;
    const char *usage; /* NULL: a command about the connection */
    int64_t arity;     /* as Redis counts: with the name; negative: at least so many */
};

static size_t connection_command_count(void) {
    size_t count = 0;

    while (lk_resp_connection_commands[count].name != NULL) {
        count++;
    }
    return count;
}

static struct described describe(size_t index) {
    if (index < lk_command_count) {
        const struct lk_command_spec *command = &lk_command_table[index];
        return (struct described){
            .name = command->name,
            .summary = command->summary,
            .usage = command->usage,
            .arity = -(int64_t)(1 + lk_command_operand_count(command)),
        };
    }
    const struct lk_resp_connection_command *command =
        &lk_resp_connection_commands[index - lk_command_count];
    return (struct described){
        .name = command->name, .summary = command->summary, .arity = command->arity};
}

/* The index of the command of that name, or the number of commands. */
static size_t find(struct lk_slice name) {
    size_t count = lk_command_count + connection_command_count();
    size_t i = 0;

    while (i < count && !lk_word_is(name, describe(i).name)) {
        i++;
    }
    return i;
}

/* No key is named by position: a client that spreads keys over several servers must not try. */
static void write_info(struct lk_form_writer *writer, size_t index) {
    struct described described = describe(index);

    lk_form_open_array(writer, NULL);
    lk_form_add_text(writer, NULL, described.name);
    lk_form_add_number(writer, NULL, described.arity);
    lk_form_open_array(writer, NULL);
    lk_form_close(writer);
    for (int i = 0; i < 3; i++) {
        lk_form_add_number(writer, NULL, 0);
    }
    for (int i = 0; i < 4; i++) {
        lk_form_open_array(writer, NULL);
        lk_form_close(writer);
    }
    lk_form_close(writer);
}

static void write_docs(struct lk_form_writer *writer, size_t index) {
    struct described described = describe(index);

    lk_form_open_map(writer, described.name);
    lk_form_add_text(writer, "summary", described.summary);
    lk_form_add_text(writer, "since", LK_VERSION);
    lk_form_add_text(writer, "group", described.usage != NULL ? "locks" : "connection");
    if (described.usage != NULL) {
        lk_form_open_array(writer, "arguments");
        lk_form_open_map(writer, NULL);
        lk_form_add_text(writer, "name", described.usage);
        lk_form_add_text(writer, "type", "string");
        lk_form_add_text(writer, "display_text", described.usage);
        lk_form_close(writer);
        lk_form_close(writer);
    }
    lk_form_close(writer);
}

/* All commands, or the named ones; null for an unknown name. */
static void write_infos(struct lk_resp_connection *connection, const struct lk_slice *names,
                        size_t name_count) {
    struct lk_buffer *out = &connection->replies.bytes;
    size_t all = lk_command_count + connection_command_count();
    size_t count = name_count > 0 ? name_count : all;

    lk_resp_put_array(out, count);
    for (size_t i = 0; i < count; i++) {
        struct lk_form_writer writer = lk_form_writer_resp(out, connection->version);
        size_t index = name_count > 0 ? find(names[i]) : i;
        if (index == all) {
            lk_resp_put_null(out, connection->version);
        } else {
            write_info(&writer, index);
        }
    }
}

/* The same without unknown names. */
static void write_all_docs(struct lk_resp_connection *connection, const struct lk_slice *names,
                           size_t name_count) {
    struct lk_form_writer writer =
        lk_form_writer_resp(&connection->replies.bytes, connection->version);
    size_t all = lk_command_count + connection_command_count();

    lk_form_open_map(&writer, NULL);
    for (size_t i = 0; i < (name_count > 0 ? name_count : all); i++) {
        size_t index = name_count > 0 ? find(names[i]) : i;
        if (index < all) {
            write_docs(&writer, index);
        }
    }
    lk_form_close(&writer);
}

static void write_names(struct lk_resp_connection *connection) {
    size_t count = lk_command_count + connection_command_count();

    lk_resp_put_array(&connection->replies.bytes, count);
    for (size_t i = 0; i < count; i++) {
        lk_resp_put_bulk(&connection->replies.bytes, lk_slice_of(describe(i).name));
    }
}

void lk_resp_introspect(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                        size_t count) {
    if (count == 1) {
        write_infos(connection, NULL, 0);
    } else if (lk_word_is(arguments[1], "COUNT")) {
        lk_resp_put_number(&connection->replies.bytes,
                           (int64_t)(lk_command_count + connection_command_count()));
    } else if (lk_word_is(arguments[1], "DOCS")) {
        write_all_docs(connection, arguments + 2, count - 2);
    } else if (lk_word_is(arguments[1], "INFO")) {
        write_infos(connection, arguments + 2, count - 2);
    } else if (lk_word_is(arguments[1], "LIST")) {
        write_names(connection);
    } else {
        lk_resp_refuse(connection, "ERR", "unknown subcommand of 'COMMAND'");
    }
}
