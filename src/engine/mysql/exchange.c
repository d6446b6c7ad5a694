/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange with MySQL: calls a procedure, and reads its rows.
 *
 * The call is one statement of SQL, so it takes one round trip on any connection. A prepared
 * statement would take two on each new connection, and poolers handle it badly. No data can become
 * SQL: quoted text is printable ASCII without quotes and backslashes, which has one meaning in
 * every sql_mode and character set. Everything else is sent as hexadecimal digits. So calls are
 * readable in the server's logs.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/mysql/script.h"
#include "engine/mysql/store.h"

_Static_assert(LK_MYSQL_FORMAT == 1, "the next format gives these calls other names: README.md");

enum {
    SMALL_BYTES_MAX = 16384, /* of a call: no server is meant to take less (net_buffer_length) */
    PACKET_BYTES = 16,       /* of a packet, beside the text of the call */
};

/* ---- what is sent ---------------------------------------------------------------------------- */

static bool is_plain(struct lk_slice text) {
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.bytes[i];
        if (byte < ' ' || byte > '~' || byte == '\'' || byte == '\\') {
            return false;
        }
    }
    return true;
}

static char *put(char *end, struct lk_slice text) {
    if (text.size > 0) { /* else there may be no bytes */
        memcpy(end, text.bytes, text.size);
    }
    return end + text.size;
}

static char *put_hex(char *end, struct lk_slice bytes) {
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < bytes.size; i++) {
        unsigned byte = (unsigned char)bytes.bytes[i];
        *end++ = digits[byte >> 4];
        *end++ = digits[byte & 15];
    }
    return end;
}

char *lk_mysql_put_literal(char *end, struct lk_slice text) {
    bool is_text = is_plain(text);

    end = put(end, lk_slice_of(is_text ? "'" : "x'"));
    end = is_text ? put(end, text) : put_hex(end, text);
    return put(end, lk_slice_of("'"));
}

char *lk_mysql_put_argument(char *end, enum lk_argument_kind kind, struct lk_slice value) {
    if (value.bytes == NULL) {
        return put(end, lk_slice_of("NULL"));
    }
    return kind == LK_ARGUMENT_NUMBER ? put(end, value) : lk_mysql_put_literal(end, value);
}

/* For free(). NULL: memory is exhausted. */
static char *write_call(const char *prefix, const struct lk_procedure_call *call,
                        size_t *ret_size) {
    const struct lk_arguments *arguments = call->arguments;
    size_t size = strlen("CALL ()") + strlen(prefix) + strlen(call->name);
    char *sql;
    char *end;

    for (int i = 0; i < arguments->count; i++) {
        size += LK_MYSQL_LITERAL_MAX(arguments->values[i].size) + sizeof "NULL,";
    }
    sql = malloc(size);
    if (sql == NULL) {
        return NULL;
    }
    end = put(sql, lk_slice_of("CALL "));
    end = put(end, lk_slice_of(prefix));
    end = put(end, lk_slice_of(call->name + strlen("lk_")));
    for (int i = 0; i < arguments->count; i++) {
        *end++ = i == 0 ? '(' : ',';
        end = lk_mysql_put_argument(end, arguments->kinds[i], arguments->values[i]);
    }
    end = put(end, lk_slice_of(arguments->count > 0 ? ")" : "()"));
    *ret_size = (size_t)(end - sql);
    return sql;
}

/* ---- results --------------------------------------------------------------------------------- */

static void free_result(void *result) {
    mysql_free_result(result);
}

struct lk_rows *lk_mysql_rows(MYSQL_RES *result) {
    int count = result != NULL ? (int)mysql_num_rows(result) : 0;
    int column_count = result != NULL ? (int)mysql_num_fields(result) : 0;
    struct lk_rows *rows = lk_rows_new(count, column_count);
    struct lk_slice *cell;
    MYSQL_ROW row;

    if (rows == NULL) {
        return NULL;
    }
    cell = rows->cells;
    while (result != NULL && (row = mysql_fetch_row(result)) != NULL) {
        const unsigned long *sizes = mysql_fetch_lengths(result);
        for (int column = 0; column < column_count; column++) {
            *cell++ = (struct lk_slice){row[column], sizes[column]};
        }
    }
    rows->lists = LK_LISTS_WORDS;
    rows->source = result;
    rows->free_source = free_result;
    return rows;
}

/* Returns the result, or explains why there is none. */
static enum lk_fate finish(lk_outcome outcome, MYSQL_RES *result, struct lk_rows **ret_rows,
                           lk_outcome *ret_outcome, lk_error *error) {
    struct lk_rows *rows;

    *ret_outcome = outcome;
    if (outcome != LK_OK) {
        return outcome == LK_CANCELLED ? LK_FATE_CANCELLED : LK_FATE_UNKNOWN;
    }
    rows = lk_mysql_rows(result);
    if (rows == NULL) {
        mysql_free_result(result);
        *ret_outcome = lk_error_set(error, LK_INTERNAL, "no memory for an answer");
        return LK_FATE_ANSWERED;
    }
    *ret_rows = rows;
    return LK_FATE_ANSWERED;
}

enum lk_fate lk_mysql_undo(struct lk_mysql_link *link, enum lk_fate fate, unsigned code,
                           const struct lk_patience *patience) {
    MYSQL_RES *result = NULL;

    if (fate == LK_FATE_UNKNOWN) {
        return fate; /* the fate makes the caller close the connection */
    }
    if (lk_mysql_is_replica(code)) {
        return LK_FATE_CANCELLED;
    }
    if (lk_mysql_query(link, lk_slice_of("ROLLBACK"), patience, &result, NULL) != LK_OK) {
        return fate == LK_FATE_CONFLICTED ? LK_FATE_UNREACHED : LK_FATE_CANCELLED;
    }
    mysql_free_result(result);
    return fate;
}

/*
 * Procedures roll back what they have begun, but not after every error: when the stack or the
 * memory is exhausted, the server calls no handler. A call that was refused because a procedure is
 * missing may have met the moment at which a newer version replaces it.
 */
static enum lk_fate refuse(struct lk_mysql *store, struct lk_mysql_link *link,
                           const struct lk_patience *patience, lk_outcome *ret_outcome,
                           lk_error *error) {
    unsigned code = mysql_errno(link->mysql);
    enum lk_fate fate = lk_mysql_fate_of(link->mysql);
    enum lk_fate undone;

    atomic_store(&store->common.is_read_only, lk_mysql_is_replica(code));
    *ret_outcome = lk_mysql_explain(link->mysql, store->address.prefix, error);
    if (lk_mysql_is_hole(code)
        && (!link->met_hole || lk_mysql_is_in_the_making(store, link, patience))) {
        fate = LK_FATE_CONFLICTED; /* once also afterwards: the installer may just have ended */
        link->met_hole = true;
    }
    undone = lk_mysql_undo(link, fate, code, patience);
    if ((lk_mysql_is_hole(code) || *ret_outcome == LK_INTERNAL) && !link->is_lost) {
        *ret_outcome = lk_mysql_explain_hole(store, link, patience, *ret_outcome, error);
        return *ret_outcome == LK_UNSUPPORTED ? LK_FATE_ANSWERED : undone;
    }
    return undone;
}

/* Asked once on a connection, which keeps the setting that it began with. */
static lk_outcome ask_packet_max(struct lk_mysql_link *link, const struct lk_patience *patience,
                                 lk_error *error) {
    MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    lk_outcome outcome =
        lk_mysql_query(link, lk_slice_of("SELECT @@max_allowed_packet"), patience, &result, error);

    row = outcome == LK_OK && result != NULL ? mysql_fetch_row(result) : NULL;
    if (row != NULL && row[0] != NULL) {
        link->packet_max = strtoull(row[0], NULL, 10);
    }
    mysql_free_result(result);
    return outcome;
}

/*
 * A server that finds a call too large while it is being sent closes the connection, and its
 * reason is lost as often as not. So its limit is known before a call that is not small is sent.
 * LK_INVALID: the call is too large.
 */
static lk_outcome check_size(struct lk_mysql_link *link, size_t size,
                             const struct lk_patience *patience, lk_error *error) {
    lk_outcome outcome = LK_OK;

    if (size < SMALL_BYTES_MAX) {
        return LK_OK;
    }
    if (link->packet_max == 0) {
        outcome = ask_packet_max(link, patience, error);
    }
    if (link->packet_max != 0 && link->packet_max < size + PACKET_BYTES) {
        outcome = lk_mysql_explain_size(error);
    }
    return outcome;
}

static enum lk_fate exchange(struct lk_procedures *common, void *connection,
                             const struct lk_procedure_call *call,
                             const struct lk_patience *patience, struct lk_rows **ret_rows,
                             lk_outcome *ret_outcome, lk_error *error) {
    struct lk_mysql *store = lk_mysql_of(&common->engine);
    MYSQL_RES *result = NULL;
    struct lk_slice sql = call->sql != NULL ? lk_slice_of(call->sql) : (struct lk_slice){NULL, 0};
    char *made = NULL;
    lk_outcome outcome;

    if (call->sql == NULL) {
        made = write_call(store->address.prefix, call, &sql.size);
        sql.bytes = made;
    }
    if (sql.bytes == NULL) {
        *ret_outcome = lk_error_set(error, LK_INTERNAL, "no memory for a call");
        return LK_FATE_ANSWERED;
    }
    outcome = check_size(connection, sql.size, patience, error);
    if (outcome == LK_OK) {
        outcome = lk_mysql_query(connection, sql, patience, &result, error);
    }
    free(made);
    if (outcome == LK_INVALID) {
        *ret_outcome = outcome;
        return LK_FATE_ANSWERED;
    }
    if (outcome == LK_OK) {
        atomic_store(&common->is_read_only, false);
        ((struct lk_mysql_link *)connection)->met_hole = false;
    }
    return outcome == LK_INTERNAL ? refuse(store, connection, patience, ret_outcome, error)
                                  : finish(outcome, result, ret_rows, ret_outcome, error);
}

/* ---- connections ----------------------------------------------------------------------------- */

static lk_outcome connect_to(struct lk_procedures *common, const struct lk_patience *patience,
                             void **ret_connection, lk_error *error) {
    struct lk_mysql_link *link = NULL;
    lk_outcome outcome =
        lk_mysql_connect(&lk_mysql_of(&common->engine)->address, patience, &link, error);

    if (outcome == LK_OK) {
        *ret_connection = link;
    }
    return outcome;
}

/* On an idle connection a server sends nothing except that it closes it. */
bool lk_mysql_is_alive(void *connection) {
    struct lk_mysql_link *link = connection;
    struct pollfd polled = {.fd = (int)mysql_get_socket(link->mysql), .events = POLLIN};

    return poll(&polled, 1, 0) == 0;
}

static bool is_idle(const void *connection) {
    return !((const struct lk_mysql_link *)connection)->is_lost;
}

static void disconnect(void *connection) {
    lk_mysql_disconnect(connection);
}

const struct lk_database lk_mysql_database = {
    .lists = LK_LISTS_WORDS,
    .connect = connect_to,
    .is_alive = lk_mysql_is_alive,
    .is_idle = is_idle,
    .disconnect = disconnect,
    .exchange = exchange,
    .write_look = lk_mysql_write_look,
    .values_sql = lk_mysql_values_sql,
    .table_open = lk_mysql_table_open,
    .transact = lk_mysql_transact,
};
