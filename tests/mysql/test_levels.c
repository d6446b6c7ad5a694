/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions of every level beside the model (tests/levels), by the procedures for people
 * (docs/sql-mysql.md). */
#include <mysql.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "../levels/levels.h"
#include "engine/mysql/mysql.h"
#include "levels_ways.h"

enum { HISTORIES = 3, STEPS = 200, UNSUPPORTED = 30079, READ_ONLY = 1792 };
enum { WAITED_TOO_LONG = 1205, IS_DEADLOCK = 1213 };

static MYSQL *watcher; /* of the test's own statements */
static char database[32];

/* ---- connections ----------------------------------------------------------------------------- */

static MYSQL *connect_with(const char *name) {
    MYSQL *connection = mysql_init(NULL);
    char socket[256];

    (void)snprintf(socket, sizeof socket, "%s/socket", getenv("LK_TEST_SERVER"));
    (void)mysql_options(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(connection, NULL, "root", NULL, name, 0, socket, CLIENT_MULTI_RESULTS)
        == NULL) {
        test_die("%s", mysql_error(connection));
    }
    return connection;
}

static void *connect_to(void) {
    return connect_with(database);
}

static void disconnect(void *connection) {
    mysql_close(connection);
}

/* Rows, or NULL. */
static MYSQL_RES *run(MYSQL *connection, const char *sql) {
    if (mysql_query(connection, sql) != 0) {
        test_die("%s: %s", sql, mysql_error(connection));
    }
    return mysql_store_result(connection);
}

static void must(MYSQL *connection, const char *sql) {
    mysql_free_result(run(connection, sql));
}

/* Each of these statements. */
static void must_all(MYSQL *connection, const char *statements) {
    char text[LEVEL_SQL_MAX];

    (void)snprintf(text, sizeof text, "%s", statements);
    for (char *rest = text, *one; (one = strsep(&rest, "|")) != NULL;) {
        must(connection, one);
    }
}

/* The last column of the first row. */
static unsigned number_of(const char *sql) {
    MYSQL_RES *rows = run(watcher, sql);
    MYSQL_ROW row = mysql_fetch_row(rows);
    unsigned number = (unsigned)strtoul(row[mysql_num_fields(rows) - 1], NULL, 10);

    mysql_free_result(rows);
    return number;
}

/* ---- the store ------------------------------------------------------------------------------- */

static struct lk_engine *open_store(struct lk_random *random) {
    static unsigned opened;
    struct lk_patience patience = test_patience(60000000);
    struct lk_engine *engine = NULL;
    char text[512];
    lk_error error;

    (void)random;
    watcher = connect_with(NULL);
    (void)snprintf(database, sizeof database, "levels%u", opened++);
    (void)snprintf(text, sizeof text, "CREATE DATABASE %s|USE %s", database, database);
    must_all(watcher, text);
    (void)snprintf(text, sizeof text, "//root@/%s?socket=%s/socket", database,
                   getenv("LK_TEST_SERVER"));
    if (lk_engine_mysql.open(lk_slice_of(text), &patience, &engine, &error) != LK_OK) {
        test_die("cannot open the store: %s", error.text);
    }
    must_all(watcher, levels_ways_schema);
    return engine;
}

static void close_store(struct lk_engine *engine) {
    char text[64];

    engine->ops->close(engine);
    (void)snprintf(text, sizeof text, "DROP DATABASE %s", database);
    must(watcher, text);
    mysql_close(watcher);
}

static void list(char *listing, size_t size) {
    MYSQL_RES *rows =
        run(watcher,
            "SELECT x.line FROM (SELECT CONCAT(path, ' ', owner, ' ', state) AS line FROM lk_locks"
            " UNION ALL SELECT CONCAT('item ', queue, '/', id, ' ', state, ' ', attempts)"
            " FROM lk_work) AS x ORDER BY BINARY x.line");
    size_t used = 0;
    MYSQL_ROW row;

    listing[0] = '\0';
    while ((row = mysql_fetch_row(rows)) != NULL && used < size) {
        used += (size_t)snprintf(listing + used, size - used, "%s\n", row[0]);
    }
    mysql_free_result(rows);
}

static unsigned overlaps(void) {
    return number_of(LEVEL_OVERLAPS);
}

static unsigned waiting(void) {
    return number_of("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'");
}

/* ---- transactions ---------------------------------------------------------------------------- */

static enum level_end run_in(struct level_session *session, const char *sql) {
    must(session != NULL ? session->connection : watcher, sql);
    return LEVEL_ANSWERED;
}

static void begin(struct level_session *session) {
    static const struct levels_begin ways[] = LEVELS_BEGIN_WAYS;
    const struct levels_begin *way =
        levels_chance(40)
            ? &ways[0]
            : &ways[lk_random_between(levels_random(), 0, sizeof ways / sizeof ways[0] - 1)];

    session->way = way->sql;
    session->must_decide = way->must_decide;
    must_all(session->connection, LEVELS_RESET);
    must_all(session->connection, way->sql);
}

/* An error undoes the call alone: the transaction goes on, also against the refusal's advice. What
 * marks it as refused is a savepoint: the next call looks for it, and those behind it are gone. */
static const char *go_on(struct level_session *session) {
    session->has_savepoint = false;
    return levels_chance(50) ? "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED" : NULL;
}

/* ---- statements ------------------------------------------------------------------------------ */

static void write_calls(struct level_session *session, bool is_alone, char sql[LEVEL_SQL_MAX]) {
    if (is_alone) {
        must_all(session->connection, LEVELS_RESET);
        if (levels_chance(40)) {
            must(session->connection, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
        }
    }
    levels_write_calls(session, is_alone, sql);
}

static void send(struct level_session *session, const char *sql) {
    if (mysql_send_query(session->connection, sql, strlen(sql)) != 0) {
        test_die("%s: %s", sql, mysql_error(session->connection));
    }
}

static bool is_answered(struct level_session *session) {
    struct pollfd answer = {.fd = mysql_get_socket(session->connection), .events = POLLIN};

    return poll(&answer, 1, 0) > 0;
}

static const char *field(MYSQL_RES *rows, MYSQL_ROW row, const char *name) {
    for (unsigned i = 0; i < mysql_num_fields(rows); i++) {
        if (strcmp(mysql_fetch_fields(rows)[i].name, name) == 0) {
            return row[i];
        }
    }
    test_die("an answer has no column %s", name);
}

static void read_answer(MYSQL_RES *rows, struct level_call *call) {
    MYSQL_ROW row = mysql_fetch_row(rows);
    const char *value = NULL;

    if (call->verb == LEVEL_CLAIM && row == NULL) {
        (void)snprintf(call->answer, LEVEL_TEXT_MAX, "busy");
    } else if (row == NULL) {
        test_die("an answer without a row");
    } else if (call->verb == LEVEL_CLAIM) {
        (void)snprintf(call->answer, LEVEL_TEXT_MAX, "granted %s:%s", field(rows, row, "id"),
                       field(rows, row, "attempt"));
    } else if (call->verb == LEVEL_PUSH) {
        (void)snprintf(call->answer, LEVEL_TEXT_MAX, "%s",
                       field(rows, row, "added")[0] == '1' ? "added" : "known");
    } else if (call->verb == LEVEL_BREAK) {
        (void)snprintf(call->answer, LEVEL_TEXT_MAX, "broken %s", field(rows, row, "broken"));
    } else {
        (void)snprintf(call->answer, LEVEL_TEXT_MAX, "%s", field(rows, row, "outcome"));
    }
    if (call->verb <= LEVEL_QUEUE && call->with_value && strcmp(call->answer, "granted") == 0) {
        value = field(rows, row, "value");
        (void)snprintf(call->answer, LEVEL_TEXT_MAX, "granted %s", value != NULL ? value : "none");
    }
}

static enum level_end collect(struct level_session *session) {
    MYSQL *connection = session->connection;

    if (mysql_read_query_result(connection) == 0) {
        do {
            MYSQL_RES *rows = mysql_store_result(connection);
            if (rows != NULL) {
                read_answer(rows, &session->asked[0]);
            }
            mysql_free_result(rows);
        } while (mysql_next_result(connection) == 0);
    }
    switch (mysql_errno(connection)) {
    case 0:
        return LEVEL_ANSWERED;
    case UNSUPPORTED:
    case READ_ONLY:
        return LEVEL_REFUSED;
    case WAITED_TOO_LONG:
    case IS_DEADLOCK:
        return LEVEL_BROKEN;
    default:
        test_die("%s", mysql_error(connection));
    }
}

int main(void) {
    static const struct level_ops mysql = {
        .name = "mysql",
        .open = open_store,
        .close = close_store,
        .connect = connect_to,
        .disconnect = disconnect,
        .run = run_in,
        .begin = begin,
        .write_calls = write_calls,
        .send = send,
        .is_answered = is_answered,
        .collect = collect,
        .waiting = waiting,
        .go_on = go_on,
        .list = list,
        .overlaps = overlaps,
        .begins_late = true, /* with autocommit = 0 */
    };

    return levels_run(&mysql, HISTORIES, STEPS);
}
