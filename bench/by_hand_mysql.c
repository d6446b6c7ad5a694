/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmarks' own connections to the private server that $LK_TEST_SERVER names. */
#include "by_hand_mysql.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

const char *by_hand_url(void) {
    static char text[512];

    if (getenv("LK_TEST_SERVER") == NULL) {
        bench_give_up("to be run by tests/mysql/with_server.sh");
    }
    if (text[0] == '\0') {
        (void)snprintf(text, sizeof text, "mysql://root@/test?socket=%s/socket",
                       getenv("LK_TEST_SERVER"));
    }
    return text;
}

MYSQL *by_hand_connect(void) {
    MYSQL *connection = mysql_init(NULL);
    char socket[256];

    (void)snprintf(socket, sizeof socket, "%s/socket", getenv("LK_TEST_SERVER"));
    if (mysql_real_connect(connection, NULL, "root", NULL, "test", 0, socket, 0) == NULL
        || mysql_query(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED") != 0) {
        bench_give_up("%s", mysql_error(connection));
    }
    return connection;
}

void by_hand_run(MYSQL *connection, const char *sql, char *ret_text, size_t size) {
    MYSQL_RES *result;
    MYSQL_ROW row = NULL;

    if (mysql_query(connection, sql) != 0) {
        bench_give_up("%.60s: %s", sql, mysql_error(connection));
    }
    result = mysql_store_result(connection);
    row = result != NULL ? mysql_fetch_row(result) : NULL;
    (void)snprintf(ret_text, size, "%s", row != NULL && row[0] != NULL ? row[0] : "");
    mysql_free_result(result);
    while (mysql_next_result(connection) == 0) {
        mysql_free_result(mysql_store_result(connection));
    }
}
