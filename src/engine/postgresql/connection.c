/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: makes them, waits for them, and explains their errors. */
#include <ctype.h>
#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/program.h"
#include "base/text.h"
#include "engine/postgresql/store.h"
#include "engine/procedures/socket.h"

enum { SERVER_OLDEST = 130000 };

/* ---- what went wrong ------------------------------------------------------------------------- */

/* The last line of a message that is neither a hint nor libpq's guess at the cause. */
static struct lk_slice last_line_of(const char *message) {
    const char *line = message;

    for (const char *at = message; *at != '\0'; at += strspn(at, "\n")) {
        line = *at != '\t' && strncmp(at, "Either ", 7) != 0 ? at : line;
        at += strcspn(at, "\n");
    }
    return (struct lk_slice){line, strcspn(line, "\n")};
}

/* The message without the text that libpq puts before the cause. */
static struct lk_slice cause_of(const char *message) {
    struct lk_slice line = last_line_of(message);
    static const char fatal[] = "FATAL:  ";
    const char *at;

    at = line.size > 0 ? memmem(line.bytes, line.size, fatal, sizeof fatal - 1) : NULL;
    if (at != NULL) {
        at += sizeof fatal - 1;
        line = (struct lk_slice){at, line.size - (size_t)(at - line.bytes)};
    }
    while (line.size > 0 && isspace((unsigned char)line.bytes[0])) {
        line.bytes++;
        line.size--;
    }
    return line;
}

static lk_outcome say(lk_error *error, lk_outcome outcome, const char *message,
                      const char *advice) {
    struct lk_slice cause = cause_of(message);

    return lk_error_set(error, outcome, "PostgreSQL: %.*s%s",
                        cause.size < 240 ? (int)cause.size : 240, cause.bytes, advice);
}

static lk_outcome refuse_url(lk_error *error) {
    return lk_error_set(error, LK_INVALID,
                        "PostgreSQL's client library does not understand the URL: its options are "
                        "schema, listen and those of libpq, and %%XX stands for what has a meaning "
                        "in URLs");
}

/* If libpq cannot parse the URL, its message repeats it, including the password. */
static lk_outcome check_url(const char *url, lk_error *error) {
    PQconninfoOption *options = PQconninfoParse(url, NULL);

    if (options == NULL) {
        return refuse_url(error);
    }
    PQconninfoFree(options);
    return LK_OK;
}

/* For errors before the login is complete, libpq gives no code, only the server's message. */
static lk_outcome explain_connection(const PGconn *connection, lk_error *error) {
    const char *message = PQerrorMessage(connection);

    if (strstr(message, "password authentication failed") != NULL
        || strstr(message, "no password supplied") != NULL || strstr(message, "pg_hba.conf") != NULL
        || strstr(message, "authentication failed") != NULL
        || strstr(message, "is not permitted to log in") != NULL
        || strstr(message, "permission denied for database") != NULL
        || (strstr(message, "role \"") != NULL && strstr(message, "does not exist") != NULL)
        || PQconnectionNeedsPassword(connection)) {
        return say(error, LK_DENIED, message,
                   "; check user and password of the URL (or ~/.pgpass), and pg_hba.conf");
    }
    if (strstr(message, "database \"") != NULL && strstr(message, "does not exist") != NULL) {
        return say(error, LK_UNAVAILABLE, message, "; make it (createdb), or name another one");
    }
    if (strstr(message, "invalid port") != NULL || strstr(message, "invalid integer") != NULL
        || strstr(message, "invalid connection option") != NULL
        || (strstr(message, "invalid ") != NULL && strstr(message, " value: ") != NULL)) {
        return refuse_url(error);
    }
    return say(error, LK_UNAVAILABLE, message, "; is the server there, and does it let us in?");
}

bool lk_postgresql_has_code(const PGresult *result, const char *codes) {
    const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    size_t size;

    for (; code != NULL && *codes != '\0'; codes += size + (codes[size] == ' ')) {
        size = strcspn(codes, " ");
        if (strncmp(code, codes, size) == 0) {
            return true;
        }
    }
    return false;
}

bool lk_postgresql_is_conflict(const PGresult *result) {
    return lk_postgresql_has_code(result, "40001 40P01");
}

bool lk_postgresql_is_hole(const PGresult *result) {
    return lk_postgresql_has_code(result, "0A000 3F000 42P01 42883 42703 42704");
}

bool lk_postgresql_is_read_only(const PGresult *result) {
    return lk_postgresql_has_code(result, "25006");
}

void lk_postgresql_schema_command(const char *schema,
                                  char ret_command[LK_POSTGRESQL_COMMAND_SIZE]) {
    (void)snprintf(ret_command, LK_POSTGRESQL_COMMAND_SIZE,
                   strcmp(schema, LK_POSTGRESQL_SCHEMA_DEFAULT) == 0
                       ? "%s schema postgresql"
                       : "%s -S 'postgresql:?schema=%s' schema",
                   lk_program(), schema);
}

lk_outcome lk_postgresql_explain(const PGresult *result, const char *schema, lk_error *error) {
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *message = primary != NULL ? primary : PQresultErrorMessage(result);

    if (lk_postgresql_is_read_only(result)) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "PostgreSQL: the database can only be read (a replica?); name the "
                            "primary, for instance with target_session_attrs=read-write");
    }
    if (lk_postgresql_has_code(result, "LK077")) {
        return say(error, LK_DENIED, message,
                   "; look as the role that owns the store, or as one without further rights, or "
                   "name the role in the URL, ?owner=ROLE, if it is trusted (docs/dba.md)");
    }
    if (lk_postgresql_has_code(result, "LK079")) {
        return say(error, LK_UNSUPPORTED, message, "");
    }
    if (lk_postgresql_has_code(result, "42501")) {
        char command[LK_POSTGRESQL_COMMAND_SIZE];
        char advice[LK_POSTGRESQL_SCHEMA_MAX + LK_POSTGRESQL_COMMAND_SIZE + 100];

        lk_postgresql_schema_command(schema, command);
        (void)snprintf(advice, sizeof advice,
                       "; a DBA makes the schema %s with `%s`, unless it is there, and grants the "
                       "rights that this lists",
                       schema, command);
        return say(error, LK_DENIED, message, advice);
    }
    if (lk_postgresql_is_hole(result)) {
        char command[LK_POSTGRESQL_COMMAND_SIZE];
        char advice[LK_POSTGRESQL_COMMAND_SIZE + 100];

        lk_postgresql_schema_command(schema, command);
        (void)snprintf(advice, sizeof advice,
                       "; the store is missing or incomplete: open it again, or run `%s | psql`",
                       command);
        return say(error, LK_UNAVAILABLE, message, advice);
    }
    if (lk_postgresql_has_code(result, "22021 22P05")) {
        return say(error, LK_INVALID, message, "; the database must be encoded as UTF8");
    }
    if (lk_postgresql_has_code(result, "08 40 53 55 57 58 XX001 XX002 25P03") || primary == NULL) {
        return say(error, LK_UNAVAILABLE, message, "");
    }
    return say(error, LK_INTERNAL, message, " (in a procedure of the store)");
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void hear_no_notices(void *context, const char *message) {
    (void)context;
    (void)message;
}

PGconn *lk_postgresql_begin(const char *url, const struct lk_postgresql_hosts *hosts) {
    const char *const names[] = {
        "dbname", "fallback_application_name", "client_encoding", "host", "hostaddr", "port", NULL};
    const char *const values[] = {url,
                                  "lockkeeper",
                                  "UTF8",
                                  hosts->is_changed ? hosts->host : NULL,
                                  hosts->is_changed ? hosts->address : NULL,
                                  hosts->is_changed ? hosts->port : NULL,
                                  NULL};
    PGconn *connection = PQconnectStartParams(names, values, 1);

    /* By default libpq writes notices to stderr; a server that shuts down sends one. */
    (void)PQsetNoticeProcessor(connection, hear_no_notices, NULL);
    return connection;
}

/* One of so many hosts has the same part of what is left of the time. */
static struct lk_patience share_of(const struct lk_patience *patience, size_t host_count) {
    struct lk_patience share = *patience;

    if (host_count > 1) {
        int64_t now_us = lk_clock_now_us();
        share.until_us = now_us + (patience->until_us - now_us) / (int64_t)host_count;
    }
    return share;
}

/* Ends when the present one of `host_count` hosts has had its share of the time. */
static lk_outcome poll_connection(PGconn *connection, size_t host_count,
                                  const struct lk_patience *patience, lk_error *error) {
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    struct lk_patience share = share_of(patience, host_count);
    const char *host = PQhost(connection);
    const char *port = PQport(connection);

    while (status == PGRES_POLLING_READING || status == PGRES_POLLING_WRITING) {
        lk_outcome outcome =
            lk_socket_wait(PQsocket(connection), status == PGRES_POLLING_READING ? POLLIN : POLLOUT,
                           &share, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        status = PQconnectPoll(connection);
        if (PQhost(connection) != host || PQport(connection) != port) { /* of another host */
            host = PQhost(connection);
            port = PQport(connection);
            share = share_of(patience, host_count);
        }
    }
    return status == PGRES_POLLING_OK ? LK_OK : explain_connection(connection, error);
}

/* Connects to one of the hosts. */
static lk_outcome reach(const char *url, const struct lk_patience *patience,
                        PGconn **ret_connection, lk_error *error) {
    struct lk_postgresql_hosts hosts = {.is_changed = false};
    PGconn *connection;
    lk_outcome outcome;
    bool is_silent;

    do {
        connection = lk_postgresql_begin(url, &hosts);
        if (connection == NULL) {
            outcome = lk_error_set(error, LK_INTERNAL, "no memory for a connection");
        } else if (PQstatus(connection) == CONNECTION_BAD) {
            outcome = explain_connection(connection, error);
        } else {
            outcome = poll_connection(connection, lk_postgresql_hosts_count(&hosts, connection),
                                      patience, error);
        }
        is_silent = outcome == LK_UNAVAILABLE && PQstatus(connection) != CONNECTION_BAD
                    && lk_clock_now_us() < patience->until_us
                    && lk_postgresql_hosts_drop(&hosts, connection);
        if (outcome == LK_OK) {
            *ret_connection = connection;
        } else {
            PQfinish(connection);
        }
    } while (is_silent);
    lk_postgresql_hosts_done(&hosts);
    return outcome;
}

static lk_outcome check_server(const PGconn *connection, lk_error *error) {
    const char *encoding = PQparameterStatus(connection, "server_encoding");
    int version = PQserverVersion(connection);

    if (version < SERVER_OLDEST) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "the server is PostgreSQL %d; 13 or later is needed", version / 10000);
    }
    if (encoding != NULL && strcmp(encoding, "UTF8") != 0) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "the database's encoding is %s; make one with ENCODING 'UTF8'",
                            encoding);
    }
    return LK_OK;
}

lk_outcome lk_postgresql_connect(const char *url, const struct lk_patience *patience,
                                 PGconn **ret_connection, lk_error *error) {
    const struct lk_patience contact = lk_patience_for_contact(patience);
    lk_outcome outcome = check_url(url, error);
    PGconn *connection;

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = reach(url, &contact, &connection, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = check_server(connection, error);
    if (outcome != LK_OK) {
        PQfinish(connection);
        return outcome;
    }
    lk_patience_note_reached(patience);
    *ret_connection = connection;
    return LK_OK;
}

/* ---- one exchange ---------------------------------------------------------------------------- */

lk_outcome lk_postgresql_lose(const PGconn *connection, lk_error *error) {
    struct lk_slice cause = cause_of(PQerrorMessage(connection));

    return lk_error_set(error, LK_UNAVAILABLE,
                        "the connection to the database was lost, and with it the answer: %.*s",
                        cause.size < 200 ? (int)cause.size : 200, cause.bytes);
}

void lk_postgresql_drop_notifications(PGconn *connection) {
    PGnotify *notification;

    while ((notification = PQnotifies(connection)) != NULL) {
        PQfreemem(notification);
    }
}

lk_outcome lk_postgresql_next(PGconn *connection, const struct lk_patience *patience,
                              PGresult **ret_result, lk_error *error) {
    while (PQisBusy(connection)) {
        lk_outcome outcome = lk_socket_wait(PQsocket(connection), POLLIN, patience, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        if (PQconsumeInput(connection) == 0) {
            return lk_postgresql_lose(connection, error);
        }
    }
    *ret_result = PQgetResult(connection);
    return LK_OK;
}

lk_outcome lk_postgresql_receive(PGconn *connection, const struct lk_patience *patience,
                                 PGresult **ret_result, lk_error *error) {
    PGresult *last = NULL;
    PGresult *result;

    for (;;) {
        lk_outcome outcome = lk_postgresql_next(connection, patience, &result, error);
        if (outcome != LK_OK) {
            PQclear(last);
            return outcome;
        }
        if (result == NULL) {
            break;
        }
        if (last == NULL || PQresultStatus(last) != PGRES_FATAL_ERROR) {
            PQclear(last); /* of several errors, the first one is the cause */
            last = result;
        } else {
            PQclear(result);
        }
    }
    lk_postgresql_drop_notifications(connection);
    if (last == NULL || PQstatus(connection) != CONNECTION_OK) {
        PQclear(last);
        return lk_postgresql_lose(connection, error);
    }
    *ret_result = last;
    return LK_OK;
}

lk_outcome lk_postgresql_execute(PGconn *connection, const char *sql, const char *schema,
                                 const struct lk_patience *patience, PGresult **ret_result,
                                 lk_error *error) {
    PGresult *result = NULL;
    lk_outcome outcome;

    if (PQsendQuery(connection, sql) == 0) {
        return lk_postgresql_lose(connection, error);
    }
    outcome = lk_postgresql_receive(connection, patience, &result, error);
    if (outcome == LK_OK && PQresultStatus(result) != PGRES_COMMAND_OK
        && PQresultStatus(result) != PGRES_TUPLES_OK) {
        outcome = lk_postgresql_explain(result, schema, error);
        PQclear(result);
        return outcome;
    }
    if (outcome == LK_OK) {
        *ret_result = result;
    }
    return outcome;
}
