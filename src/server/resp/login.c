/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AUTH, HELLO and ACL: the user of a connection. A password of a user is verified by a thread.
 * Meanwhile the connection takes no input, and later commands wait, so that answers keep their
 * order.
 */
#include "base/error.h"
#include "base/secret.h"
#include "server/resp/resp.h"
#include "wire/resp.h"

static struct lk_buffer *out_of(struct lk_resp_connection *connection) {
    return &connection->replies.bytes;
}

static const struct lk_server_options *options_of(const struct lk_resp_connection *connection) {
    return lk_server_options_of(connection->listener->server);
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* Without users there is one, named as the default user of Redis. */
static enum lk_login_state compare_password(const struct lk_resp_connection *connection,
                                            struct lk_slice user, struct lk_slice password) {
    return lk_word_is(user, "default")
                   && lk_secret_equal(options_of(connection)->password, password)
               ? LK_LOGIN_GRANTED
               : LK_LOGIN_REFUSED;
}

static enum lk_login_state begin(struct lk_resp_connection *connection, struct lk_slice user,
                                 struct lk_slice password, struct lk_login_grant *ret_grant) {
    struct lk_resp_listener *listener = connection->listener;
    struct lk_logins *logins = lk_server_logins(listener->server);

    return logins == NULL
               ? compare_password(connection, user, password)
               : lk_login_begin(logins, user, password, lk_server_times(listener->server).wall_us,
                                &connection->login, ret_grant);
}

/* The connection is the user's, or an error is written. */
static bool conclude(struct lk_resp_connection *connection, enum lk_login_state state,
                     const struct lk_login_grant *grant) {
    if (state == LK_LOGIN_FULL) {
        lk_resp_connection_refused(connection, LK_REFUSED_FULL);
        lk_resp_refuse(connection, "FULL", "too many logins are being verified; try again later");
        return false;
    }
    if (state != LK_LOGIN_GRANTED) {
        lk_resp_refuse(connection, "WRONGPASS", "invalid username-password pair");
        lk_resp_connection_refused(connection, LK_REFUSED_PASSWORD);
        lk_resp_connection_penalize(connection, LK_OFFENCE_PASSWORD);
        return false;
    }
    if (!lk_resp_connection_admit(connection)) {
        lk_resp_connection_refused(connection, LK_REFUSED_FULL);
        lk_resp_refuse(connection, "FULL", "too many connections");
        connection->is_ending = true;
        return false;
    }
    connection->grant = *grant;
    return true;
}

bool lk_resp_log_in_by_certificate(struct lk_resp_connection *connection) {
    struct lk_logins *logins = lk_server_logins(connection->listener->server);
    char name[LK_TLS_NAME_BYTES_MAX + 1];

    return logins != NULL && connection->handshake.session != NULL
           && lk_tls_session_peer_name(connection->handshake.session, name)
           && lk_login_by_certificate(logins, name, &connection->grant);
}

/* ---- AUTH and HELLO -------------------------------------------------------------------------- */

/* A name for listings: printable, without blanks. */
bool lk_resp_set_name(struct lk_resp_connection *connection, struct lk_slice name) {
    for (size_t i = 0; i < name.size; i++) {
        if (name.bytes[i] < '!' || name.bytes[i] > '~') {
            lk_resp_refuse(connection, "ERR",
                           "Client names cannot contain spaces, newlines or special characters.");
            return false;
        }
    }
    if (name.size > LK_RESP_NAME_BYTES_MAX) {
        lk_resp_refuse(connection, "ERR", "Client names have at most %d bytes.",
                       LK_RESP_NAME_BYTES_MAX);
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

/* What is left of AUTH (version 0) or HELLO, once the user is known. */
static void finish(struct lk_resp_connection *connection) {
    const struct lk_resp_greeting *greeting = &connection->greeting;

    if (greeting->version == 0) {
        lk_resp_put_simple(out_of(connection), "OK");
        return;
    }
    if (greeting->has_name && !lk_resp_set_name(connection, lk_slice_of(greeting->name))) {
        return;
    }
    connection->version = greeting->version;
    write_hello(connection);
}

static void on_decided(struct lk_login *login, enum lk_login_state state,
                       const struct lk_login_grant *grant) {
    struct lk_resp_connection *connection =
        (struct lk_resp_connection *)((char *)login - offsetof(struct lk_resp_connection, login));

    lk_admission_protect(&connection->listener->admission, &connection->pending, false);
    lk_reply_buffer_begin(&connection->replies);
    if (conclude(connection, state, grant)) {
        finish(connection);
    }
    lk_resp_end_answer(connection, 0);
    lk_resp_connection_schedule(connection);
}

/* Answers, or leaves that to on_decided(). */
static void log_in(struct lk_resp_connection *connection, struct lk_slice user,
                   struct lk_slice password) {
    struct lk_login_grant grant = {.user = NULL};
    enum lk_login_state state;

    connection->login.done = on_decided;
    connection->login.origin =
        lk_admission_origin(&connection->listener->admission, connection->socket);
    state = begin(connection, user, password, &grant);
    if (state == LK_LOGIN_PENDING) {
        lk_admission_protect(&connection->listener->admission, &connection->pending, true);
    } else if (conclude(connection, state, &grant)) {
        finish(connection);
    }
}

/* AUTH [user] password */
void lk_resp_auth(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                  size_t count) {
    struct lk_slice user = count == 3 ? arguments[1] : lk_slice_of("default");

    connection->greeting = (struct lk_resp_greeting){.version = 0};
    if (count > 3) {
        lk_resp_refuse(connection, "ERR", "syntax error");
    } else if (!lk_server_wants_login(options_of(connection))) {
        lk_resp_refuse(connection, "ERR",
                       "AUTH <password> called without any password configured.");
    } else {
        log_in(connection, user, arguments[count - 1]);
    }
}

/* What HELLO says: its options in any order. */
struct hello {
    bool has_login;
    struct lk_slice user;
    struct lk_slice password;
};

static bool read_name(struct lk_resp_greeting *greeting, struct lk_slice name) {
    greeting->has_name = name.size < sizeof greeting->name;
    if (greeting->has_name) {
        memcpy(greeting->name, name.bytes, name.size);
        greeting->name[name.size] = '\0';
    }
    return greeting->has_name;
}

/* HELLO [version [AUTH user password] [SETNAME name]]. false: an error is written. */
static bool read_hello(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                       size_t count, struct hello *hello) {
    struct lk_resp_greeting *greeting = &connection->greeting;
    int64_t version = connection->version;
    size_t at = 2;

    if (count > 1
        && (!lk_resp_number_parse(arguments[1], &version) || version < 2 || version > 3)) {
        lk_resp_refuse(connection, "NOPROTO", "unsupported protocol version");
        return false;
    }
    *greeting = (struct lk_resp_greeting){.version = (int)version};
    while (at < count) {
        if (lk_word_is(arguments[at], "AUTH") && at + 2 < count) {
            *hello = (struct hello){true, arguments[at + 1], arguments[at + 2]};
            at += 3;
        } else if (lk_word_is(arguments[at], "SETNAME") && at + 1 < count) {
            if (!read_name(greeting, arguments[at + 1])) {
                lk_resp_refuse(connection, "ERR", "Client names have at most %d bytes.",
                               LK_RESP_NAME_BYTES_MAX);
                return false;
            }
            at += 2;
        } else {
            lk_resp_refuse(connection, "ERR", "Syntax error in HELLO");
            return false;
        }
    }
    return true;
}

void lk_resp_hello(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                   size_t count) {
    struct hello hello = {.has_login = false};

    if (!read_hello(connection, arguments, count, &hello)) {
        return;
    }
    if (hello.has_login && !lk_server_wants_login(options_of(connection))) {
        lk_resp_refuse(connection, "ERR",
                       "AUTH <password> called without any password configured.");
    } else if (hello.has_login) {
        log_in(connection, hello.user, hello.password);
    } else if (!connection->is_authenticated) {
        lk_resp_refuse(connection, "NOAUTH",
                       "HELLO must be called with the client already authenticated, or with AUTH");
    } else {
        finish(connection);
    }
}

/* ---- ACL ------------------------------------------------------------------------------------- */

/* ACL WHOAMI. Users are made by lk passwd, so there is nothing else to ask for. */
void lk_resp_acl(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                 size_t count) {
    const struct lk_user *user = connection->grant.user;

    if (count == 2 && lk_word_is(arguments[1], "WHOAMI")) {
        lk_resp_put_bulk(out_of(connection), lk_slice_of(user != NULL ? user->name : "default"));
    } else {
        lk_resp_refuse(connection, "ERR",
                       "unknown subcommand or wrong number of arguments for 'ACL'");
    }
}

/* ---- rights that change ---------------------------------------------------------------------- */

bool lk_resp_is_granted(struct lk_resp_connection *connection) {
    struct lk_server *server = connection->listener->server;
    struct lk_logins *logins = lk_server_logins(server);

    return logins == NULL
           || lk_grant_is_valid(logins, &connection->grant, lk_server_times(server).wall_us);
}

/* Ends the connection with an error, which takes the place of a blocked command's answer. */
void lk_resp_end_grant(struct lk_resp_connection *connection) {
    lk_copy_end(&connection->copy);
    lk_reply_buffer_begin(&connection->replies);
    lk_resp_refuse(connection, "NOAUTH", "the user is not there any more, or has another secret");
    lk_resp_end_answer(connection, 0);
    connection->is_ending = true;
    lk_resp_connection_schedule(connection);
}

void lk_resp_check_grant(struct lk_resp_connection *connection) {
    bool is_valid = lk_resp_is_granted(connection);
    bool has_other_rules = lk_grant_has_other_rules(&connection->grant);
    bool was_blocked = connection->blocked != NULL;
    struct lk_times times = lk_server_times(connection->listener->server);

    if (!connection->is_authenticated || connection->is_ending
        || (is_valid && !(has_other_rules && was_blocked))) {
        return;
    }
    if (was_blocked) {
        lk_resp_cancel(connection, &times);
    }
    if (!is_valid) {
        lk_resp_end_grant(connection);
        return;
    }
    lk_reply_buffer_begin(&connection->replies);
    lk_resp_refuse(connection, "DENIED", "the rights of the user have changed; ask again");
    lk_resp_end_answer(connection, 0);
    lk_resp_connection_schedule(connection);
}
