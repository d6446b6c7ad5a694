/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions of every level beside the model (tests/levels), by the functions for people
 * (docs/sql.md).
 *
 * A call is text of SQL, which is evaluated in ways that are drawn (levels_ways.h).
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "../levels/levels.h"
#include "engine/postgresql/postgresql.h"
#include "levels_ways.h"

enum { HISTORIES = 3, STEPS = 200 };

static PGconn *watcher;  /* of the test's own statements */
static PGconn *exporter; /* of snapshots */

/* ---- connections ----------------------------------------------------------------------------- */

static void *connect_to(void) {
    char url[512];
    PGconn *connection;

    (void)snprintf(url, sizeof url,
                   "postgresql://postgres@/postgres?host=%s&options=-csearch_path%%3Dways"
                   "%%20-cclient_min_messages%%3Derror",
                   getenv("LK_TEST_SERVER"));
    connection = PQconnectdb(url);
    if (PQstatus(connection) != CONNECTION_OK) {
        test_die("%s", PQerrorMessage(connection));
    }
    return connection;
}

static void disconnect(void *connection) {
    PQfinish(connection);
}

static PGresult *run(PGconn *connection, const char *sql) {
    PGresult *result = PQexec(connection, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        test_die("%s: %s", sql, PQerrorMessage(connection));
    }
    return result;
}

static unsigned number_of(const char *sql) {
    PGresult *result = run(watcher, sql);
    unsigned number = (unsigned)strtoul(PQgetvalue(result, 0, 0), NULL, 10);

    PQclear(result);
    return number;
}

/* ---- the store ------------------------------------------------------------------------------- */

static struct lk_engine *open_store(struct lk_random *random) {
    struct lk_patience patience = test_patience(60000000);
    struct lk_engine *engine = NULL;
    char rest[512];
    lk_error error;

    (void)random;
    watcher = connect_to();
    exporter = connect_to();
    PQclear(run(watcher,
                "DROP SCHEMA IF EXISTS lockkeeper CASCADE; DROP SCHEMA IF EXISTS ways CASCADE"));
    (void)snprintf(rest, sizeof rest, "//postgres@/postgres?host=%s&listen=no",
                   getenv("LK_TEST_SERVER"));
    if (lk_engine_postgresql.open(lk_slice_of(rest), &patience, &engine, &error) != LK_OK) {
        test_die("cannot open the store: %s", error.text);
    }
    PQclear(run(watcher, levels_ways_schema));
    return engine;
}

static void close_store(struct lk_engine *engine) {
    engine->ops->close(engine);
    PQfinish(exporter);
    PQfinish(watcher);
}

static void list(char *listing, size_t size) {
    PGresult *result = run(
        watcher,
        "SELECT coalesce(string_agg(line || E'\\n', '' ORDER BY line COLLATE \"C\"), '') FROM ("
        " SELECT path || ' ' || owner || ' ' || state AS line FROM lockkeeper.lk_locks UNION ALL"
        " SELECT 'item ' || queue || '/' || id || ' ' || state || ' ' || attempts"
        " FROM lockkeeper.lk_items) AS all_lines");

    (void)snprintf(listing, size, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
}

static unsigned overlaps(void) {
    return number_of(LEVEL_OVERLAPS);
}

/* SERIALIZABLE READ ONLY DEFERRABLE waits for a safe snapshot, which is no lock. */
static unsigned waiting(void) {
    return number_of("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
                     " AND wait_event IN ('advisory', 'transactionid', 'tuple', 'SafeSnapshot')");
}

/* ---- transactions ---------------------------------------------------------------------------- */

static enum level_end run_in(struct level_session *session, const char *sql) {
    PGresult *result = PQexec(session != NULL ? session->connection : watcher, sql);
    bool is_good =
        PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;

    PQclear(result);
    return is_good ? LEVEL_ANSWERED : LEVEL_BROKEN;
}

static void begin(struct level_session *session) {
    static const struct levels_begin ways[] = LEVELS_BEGIN_WAYS;
    const struct levels_begin *way =
        levels_chance(40)
            ? &ways[0]
            : &ways[lk_random_between(levels_random(), 0, sizeof ways / sizeof ways[0] - 1)];
    char sql[512];

    session->way = way->sql;
    session->must_decide = way->must_decide;
    session->may_wait = strstr(way->sql, "DEFERRABLE") != NULL;
    session->has_default = !way->changes_default;
    if (strstr(way->sql, "%s") != NULL) { /* a snapshot of another transaction */
        PGresult *exported = run(
            exporter, "COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot()");
        (void)snprintf(sql, sizeof sql, way->sql, PQgetvalue(exported, 0, 0));
        PQclear(exported);
    } else {
        (void)snprintf(sql, sizeof sql, "%s", way->sql);
    }
    PQclear(run(session->connection, "RESET default_transaction_isolation"));
    for (char *rest = sql, *one; (one = strsep(&rest, ";")) != NULL;) {
        PQclear(run(session->connection, one));
    }
    if (!session->may_wait && levels_chance(60)) {
        PQclear(run(session->connection, "SELECT count(*) FROM lockkeeper.requests"));
    }
}

/* NOTIFY, for one that waited, makes the server refuse this. */
static bool prepare(struct level_session *session) {
    char sql[64];
    char count[96];

    (void)snprintf(sql, sizeof sql, "PREPARE TRANSACTION 's%u'", session->number);
    (void)snprintf(count, sizeof count, "SELECT count(*) FROM pg_prepared_xacts WHERE gid = 's%u'",
                   session->number);
    return run_in(session, sql) == LEVEL_ANSWERED && number_of(count) == 1;
}

static const char *end_prepared(const struct level_session *session, bool commits) {
    static char sql[64];

    (void)snprintf(sql, sizeof sql, "%s PREPARED 's%u'", commits ? "COMMIT" : "ROLLBACK",
                   session->number);
    return sql;
}

/* An error has ended the transaction, but for its savepoint. */
static const char *go_on(struct level_session *session) {
    if (!session->has_savepoint || levels_chance(50)) {
        return NULL;
    }
    level_go_back(session);
    return "ROLLBACK TO SAVEPOINT a_test";
}

/* ---- statements ------------------------------------------------------------------------------ */

static void send(struct level_session *session, const char *sql) {
    bool is_one = strchr(sql, ';') == NULL;
    int is_sent = is_one && levels_chance(50)
                      ? PQsendQueryParams(session->connection, sql, 0, NULL, NULL, NULL, NULL, 0)
                      : PQsendQuery(session->connection, sql);

    if (!is_sent) {
        test_die("%s: %s", sql, PQerrorMessage(session->connection));
    }
}

static bool is_answered(struct level_session *session) {
    return PQconsumeInput(session->connection) == 0 || !PQisBusy(session->connection);
}

/* The answers, with | between, as those of the calls. */
static void give_answers(struct level_session *session, const char *text) {
    for (size_t i = 0; i < session->asked_count; i++) {
        size_t size = strcspn(text, "|");
        (void)snprintf(session->asked[i].answer, LEVEL_TEXT_MAX, "%.*s", (int)size, text);
        text += size + (text[size] == '|');
    }
}

static enum level_end end_of(const PGresult *result) {
    const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (code == NULL) {
        return LEVEL_ANSWERED;
    }
    if (strcmp(code, "LK079") == 0 || strcmp(code, "25006") == 0) {
        return LEVEL_REFUSED;
    }
    if (strcmp(code, "40P01") == 0 || strcmp(code, "40001") == 0) {
        return LEVEL_BROKEN;
    }
    test_die("%s", PQresultErrorMessage(result));
}

static enum level_end collect(struct level_session *session) {
    enum level_end end = LEVEL_ANSWERED;
    PGresult *result;

    while ((result = PQgetResult(session->connection)) != NULL) {
        if (end == LEVEL_ANSWERED) {
            end = end_of(result);
        }
        if (PQntuples(result) > 0 && end == LEVEL_ANSWERED) {
            give_answers(session, PQgetvalue(result, 0, 0));
        }
        PQclear(result);
    }
    return end;
}

static void collect_late(struct level_session *session) {
    char sql[128];
    PGresult *result;

    (void)snprintf(sql, sizeof sql, "DELETE FROM answers WHERE session = %u RETURNING answer",
                   session->number);
    result = run(watcher, sql);
    if (PQntuples(result) != 1) {
        test_die("a commit has decided %d late calls, and not one", PQntuples(result));
    }
    give_answers(session, PQgetvalue(result, 0, 0));
    PQclear(result);
}

int main(void) {
    static const struct level_ops postgresql = {
        .name = "postgresql",
        .open = open_store,
        .close = close_store,
        .connect = connect_to,
        .disconnect = disconnect,
        .run = run_in,
        .begin = begin,
        .write_calls = levels_write_calls,
        .send = send,
        .is_answered = is_answered,
        .collect = collect,
        .collect_late = collect_late,
        .waiting = waiting,
        .prepare = prepare,
        .end_prepared = end_prepared,
        .go_on = go_on,
        .list = list,
        .overlaps = overlaps,
    };

    return levels_run(&postgresql, HISTORIES, STEPS);
}
