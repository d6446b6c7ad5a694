/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmarks' own connections to the private server that $LK_TEST_SERVER names. */
#include "by_hand_postgresql.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

const char *by_hand_url(void) {
    static char text[512];

    if (getenv("LK_TEST_SERVER") == NULL) {
        bench_give_up("to be run by tests/postgresql/with_server.sh");
    }
    if (text[0] == '\0') {
        (void)snprintf(text, sizeof text, "postgresql://postgres@/postgres?host=%s",
                       getenv("LK_TEST_SERVER"));
    }
    return text;
}

PGconn *by_hand_connect(void) {
    PGconn *connection = PQconnectdb(by_hand_url());

    if (PQstatus(connection) != CONNECTION_OK) {
        bench_give_up("%s", PQerrorMessage(connection));
    }
    return connection;
}

static void check(PGconn *connection, const PGresult *result, const char *what) {
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK) {
        bench_give_up("%.60s: %s", what, PQerrorMessage(connection));
    }
}

void by_hand_prepare(PGconn *connection, const char *name, const char *sql) {
    PGresult *result = PQprepare(connection, name, sql, 0, NULL);

    check(connection, result, sql);
    PQclear(result);
}

void by_hand_run(PGconn *connection, const char *name, int count, const char *const *values,
                 char *ret_text, size_t size) {
    PGresult *result = PQexecPrepared(connection, name, count, values, NULL, NULL, 0);

    check(connection, result, name);
    (void)snprintf(ret_text, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
}

void by_hand_execute(const char *sql) {
    PGconn *connection = by_hand_connect();
    PGresult *result = PQexec(connection, sql);

    check(connection, result, sql);
    PQclear(result);
    PQfinish(connection);
}
