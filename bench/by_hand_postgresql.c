/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmarks' own connections to the private server that $LK_TEST_SERVER names. */
#include "by_hand_postgresql.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

const char *by_hand_url(void) {
    static char text[512];

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

void by_hand_run(PGconn *connection, const char *sql, int count, const char *const *values,
                 char *ret_text, size_t size) {
    PGresult *result = PQexecParams(connection, sql, count, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK) {
        bench_give_up("%.60s: %s", sql, PQerrorMessage(connection));
    }
    (void)snprintf(ret_text, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
}
