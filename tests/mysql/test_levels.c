/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions of every level beside the model (tests/levels), by the procedures for people
 * (docs/sql-mysql.md). */
#include <mysql.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "../levels/levels.h"
#include "engine/mysql/mysql.h"

enum { HISTORIES = 3, STEPS = 200, UNSUPPORTED = 30079, READ_ONLY = 1792 };
enum { WAITED_TOO_LONG = 1205, IS_DEADLOCK = 1213 };

static MYSQL *watcher; /* of the test's own statements */
static char database[32];

/* ---- ways into a transaction, and ways in which a statement can make a call ------------------ */

struct levels_begin {
    const char *sql; /* statements with | between */
    bool must_decide;
};

#define LEVELS_LEVEL "SET SESSION TRANSACTION ISOLATION LEVEL "
#define LEVELS_NEXT "SET TRANSACTION ISOLATION LEVEL "
#define LEVELS_RESET "SET autocommit = 1|" LEVELS_LEVEL "READ COMMITTED"
#define LEVELS_HAS_READ "|SELECT COUNT(*) FROM lk_requests"

#define LEVELS_BEGIN_WAYS                                                                          \
    {                                                                                              \
        {"START TRANSACTION", true}, {"SET autocommit = 0|SELECT 1", true},                        \
            {LEVELS_NEXT "REPEATABLE READ|START TRANSACTION" LEVELS_HAS_READ, false},              \
            {LEVELS_NEXT "REPEATABLE READ|START TRANSACTION WITH CONSISTENT SNAPSHOT", false},     \
            {LEVELS_NEXT "SERIALIZABLE|START TRANSACTION", false},                                 \
            {LEVELS_NEXT "READ UNCOMMITTED|START TRANSACTION" LEVELS_HAS_READ, false},             \
            {LEVELS_LEVEL "REPEATABLE READ|START TRANSACTION" LEVELS_HAS_READ, false},             \
            {LEVELS_LEVEL "REPEATABLE READ|START TRANSACTION" LEVELS_HAS_READ "|" LEVELS_LEVEL     \
                          "READ COMMITTED",                                                        \
             false},                                                                               \
            {LEVELS_LEVEL "REPEATABLE READ|START TRANSACTION WITH CONSISTENT SNAPSHOT"             \
                          "|" LEVELS_LEVEL "READ COMMITTED",                                       \
             false},                                                                               \
            {LEVELS_LEVEL "REPEATABLE READ|SET autocommit = 0" LEVELS_HAS_READ "|" LEVELS_LEVEL    \
                          "READ COMMITTED",                                                        \
             false},                                                                               \
            {LEVELS_LEVEL "SERIALIZABLE|START TRANSACTION|" LEVELS_LEVEL "READ COMMITTED", false}, \
            {LEVELS_LEVEL "REPEATABLE READ|START TRANSACTION READ ONLY" LEVELS_HAS_READ            \
                          "|" LEVELS_LEVEL "READ COMMITTED",                                       \
             false},                                                                               \
        {                                                                                          \
            LEVELS_LEVEL "READ UNCOMMITTED|START TRANSACTION", false                               \
        }                                                                                          \
    }

/* What the ways need, beside the store; and the plain table. Statements with | between. */
static const char levels_ways_schema[] =
    "CREATE TABLE sections (n BIGINT AUTO_INCREMENT PRIMARY KEY, path VARCHAR(64),"
    " owner VARCHAR(16), unit_limit INT, is_held INT, KEY (path, owner, n))"
    " ENGINE = InnoDB CHARACTER SET ascii|"
    "CREATE TABLE fires (queue VARCHAR(64), id VARCHAR(8)) ENGINE = InnoDB|"
    "CREATE TRIGGER fire AFTER INSERT ON fires FOR EACH ROW"
    " CALL lk_work_push_inside(NEW.queue, NEW.id, NULL, NULL)|"
    "CREATE PROCEDURE ways_run(IN the_call TEXT) BEGIN"
    " SET @ways_call = the_call; PREPARE ways FROM @ways_call; EXECUTE ways;"
    " DEALLOCATE PREPARE ways; END|"
    "CREATE PROCEDURE ways_alone(IN the_call TEXT) BEGIN"
    " DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;"
    " SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION;"
    " SELECT COUNT(*) INTO @ways_count FROM lk_requests; CALL ways_run(the_call); COMMIT; END";

static void write_lock(const struct level_call *call, char *sql, size_t size) {
    char limit[32] = "";

    if (call->limit > 0) {
        (void)snprintf(limit, sizeof limit, "?limit=%u", call->limit);
    }
    switch (call->verb) {
    case LEVEL_RENEW:
        (void)snprintf(sql, size, "CALL lk_lock_renew('%s', '%s', NULL, '{\"or_fail\": false}')",
                       call->path, call->owner);
        break;
    case LEVEL_RELEASE:
        (void)snprintf(sql, size,
                       "CALL lk_lock_release('%s', '%s', NULL, NULLIF('%s', ''),"
                       " '{\"or_fail\": false}')",
                       call->path, call->owner, call->value);
        break;
    case LEVEL_PUT:
        (void)snprintf(sql, size,
                       "CALL lk_value_put('%s', '%s', NULL, NULL, '{\"or_fail\": false}')",
                       call->path, call->value);
        break;
    case LEVEL_BREAK:
        (void)snprintf(sql, size, "CALL lk_lock_break('%s', 'a test', '{\"now\": true}')",
                       call->path);
        break;
    default:
        (void)snprintf(sql, size,
                       "CALL lk_lock_acquire('%s%s', '%s', '{\"ttl\": 3600, \"style\": \"%s\","
                       " \"with_value\": %s}')",
                       call->path, limit, call->owner, call->verb == LEVEL_TRY ? "try" : "queue",
                       call->with_value ? "true" : "false");
        break;
    }
}

static void write_call(const struct level_call *call, char *sql, size_t size) {
    const char *queue = call->path;

    switch (call->verb) {
    case LEVEL_PUSH:
        (void)snprintf(sql, size, "CALL lk_work_push('%s', '%s', NULL, NULL)", queue, call->id);
        break;
    case LEVEL_CLAIM:
        (void)snprintf(sql, size, "CALL lk_work_claim('%s', 1, '%s', '{\"ttl\": 3600}')", queue,
                       call->owner);
        break;
    case LEVEL_DONE:
    case LEVEL_RETRY:
        (void)snprintf(sql, size, "CALL lk_work_%s('%s', '%s', '%s', NULL, '{\"or_fail\": false}')",
                       call->verb == LEVEL_DONE ? "done" : "retry", queue, call->id, call->owner);
        break;
    case LEVEL_DROP:
        (void)snprintf(sql, size, "CALL lk_work_drop('%s', '%s', '{\"or_fail\": false}')", queue,
                       call->id);
        break;
    default:
        write_lock(call, sql, size);
        break;
    }
}

/* The call as a string of SQL. */
static void quote(const char *text, char *quoted) {
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            *quoted++ = '\'';
        }
        *quoted++ = *text;
    }
    *quoted = '\0';
}

/* As struct level_ops has it. */
static void levels_write_calls(struct level_session *session, bool is_alone,
                               char sql[LEVEL_SQL_MAX]) {
    int64_t way = lk_random_between(levels_random(), 1, 100);
    char call[1024];
    char quoted[2048];

    write_call(&session->asked[0], call, sizeof call);
    quote(call, quoted);
    if (session->asked[0].verb == LEVEL_PUSH && way <= 40) {
        session->is_elsewhere = is_alone; /* a trigger is refused at another level */
        (void)snprintf(sql, LEVEL_SQL_MAX, "INSERT INTO fires VALUES ('%s', '%s')",
                       session->asked[0].path, session->asked[0].id);
    } else if (is_alone && way <= 55) {
        session->is_elsewhere = true;
        (void)snprintf(sql, LEVEL_SQL_MAX, "CALL ways_alone('%s')", quoted);
    } else if (way <= 65) {
        (void)snprintf(sql, LEVEL_SQL_MAX, "CALL ways_run('%s')", quoted);
    } else {
        (void)snprintf(sql, LEVEL_SQL_MAX, "%s", call);
    }
}

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
