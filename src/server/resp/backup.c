/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BACKUP: a copy of the store's file, in pieces. A thread makes and reads it. Meanwhile the
 * connection executes nothing, so that answers keep their order. The copy ends with the connection.
 */
#include <inttypes.h>

#include "base/error.h"
#include "command/rights.h"
#include "server/log/log.h"
#include "server/resp/resp.h"
#include "wire/resp.h"

static struct lk_buffer *out_of(struct lk_resp_connection *connection) {
    return &connection->replies.bytes;
}

static void refuse(struct lk_resp_connection *connection, const lk_error *error) {
    struct lk_form_writer writer = lk_form_writer_resp(out_of(connection), connection->version);

    lk_answer_write_failure(&writer, error->outcome, error->text);
}

/* The copy has every path and every value. */
static bool may_copy(const struct lk_resp_connection *connection, lk_error *error) {
    const struct lk_user *user = connection->grant.user;

    if (lk_visible_all(user, LK_RIGHT_ADMIN)) {
        return true;
    }
    (void)lk_error_set(error, LK_DENIED, "the user %s has no right to admin: /", user->name);
    return false;
}

/* The log says which client has a copy of all values. */
static void log_made(const struct lk_resp_connection *connection, uint64_t size) {
    char address[LK_ADDRESS_BYTES_MAX];
    const struct lk_user *user = connection->grant.user;
    const struct lk_log_field fields[] = {
        {.name = "listener", .text = connection->listener->base.name},
        {.name = "peer", .text = address},
        {.name = "user", .text = user != NULL ? user->name : ""},
    };

    lk_listen_socket_name_peer(&connection->listener->listen_socket, connection->socket, address);
    lk_log_fields(LK_LOG_INFO, "backup", fields, user != NULL ? 3 : 2,
                  "a copy of %" PRIu64 " bytes was made", size);
}

static void on_done(struct lk_copy *copy, const struct lk_copy_result *result) {
    struct lk_resp_connection *connection =
        (struct lk_resp_connection *)((char *)copy - offsetof(struct lk_resp_connection, copy));
    lk_error denied;

    lk_reply_buffer_begin(&connection->replies);
    if (result->error.outcome != LK_OK) {
        refuse(connection, &result->error);
    } else if (!may_copy(connection, &denied)) { /* the rules of the user have changed meanwhile */
        refuse(connection, &denied);
    } else if (result->is_made) {
        log_made(connection, result->size);
        lk_resp_put_number(out_of(connection), (int64_t)result->size);
    } else {
        lk_resp_put_bulk(out_of(connection), result->bytes);
    }
    lk_resp_end_answer(connection, 0);
    lk_resp_connection_schedule(connection);
}

static lk_outcome begin(struct lk_resp_connection *connection, lk_error *error) {
    struct lk_copies *copies = lk_server_copies(connection->listener->server);

    connection->copy.done = on_done;
    if (lk_server_is_shared(lk_server_options_of(connection->listener->server))) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "the service keeps everything in a database: copy that (pg_dump)");
    }
    return copies->copier != NULL
               ? lk_copy_begin(copies->copier, &connection->copy, error)
               : lk_error_set(error, LK_UNSUPPORTED,
                              "the service keeps everything in memory (--ephemeral): it has no "
                              "file to copy");
}

/* BACKUP, BACKUP FROM offset */
void lk_resp_backup(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                    size_t count) {
    int64_t from = -1;
    lk_error error = {.outcome = LK_OK};

    if (count != 1
        && (count != 3 || !lk_word_is(arguments[1], "FROM")
            || !lk_resp_number_parse(arguments[2], &from) || from < 0)) {
        lk_resp_refuse(connection, "ERR", "BACKUP, or BACKUP FROM offset");
        return;
    }
    if (!may_copy(connection, &error)) {
        refuse(connection, &error);
        return;
    }
    if (count == 1) {
        (void)begin(connection, &error);
    } else {
        (void)lk_copy_read(&connection->copy, (uint64_t)from, &error);
    }
    if (error.outcome != LK_OK) {
        refuse(connection, &error);
    }
}

void lk_resp_backup_stop(struct lk_resp_connection *connection) {
    if (!connection->copy.is_pending) {
        return;
    }
    lk_copy_end(&connection->copy);
    lk_reply_buffer_begin(&connection->replies);
    lk_resp_refuse(connection, "UNAVAILABLE", "the service is stopping");
    lk_resp_end_answer(connection, 0);
    lk_resp_connection_schedule(connection);
}
