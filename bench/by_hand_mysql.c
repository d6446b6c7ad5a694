/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmarks' own connections to the private server that $LK_TEST_SERVER names; and the peer of
 * a semaphore: its table and procedures, and a client that calls them.
 */
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

/* ---- the peer of a semaphore ----------------------------------------------------------------- */

const char database_semaphore_name[] = "procedures like database-semaphore's";

static const char *const statements[] = {
    "CREATE TABLE permits (id MEDIUMINT NOT NULL AUTO_INCREMENT PRIMARY KEY,"
    " name VARCHAR(256) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL,"
    " number TINYINT NOT NULL,"
    " token VARCHAR(256) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT NULL,"
    " until TIMESTAMP NULL DEFAULT NULL,"
    " UNIQUE KEY (name, number), UNIQUE KEY (token)) ENGINE = InnoDB",
    "CREATE PROCEDURE add_permits(IN the_name VARCHAR(256), IN most INT)"
    " SQL SECURITY INVOKER MODIFIES SQL DATA"
    " BEGIN"
    " DECLARE there TINYINT; DECLARE next TINYINT DEFAULT 0;"
    " SELECT COUNT(p.number) INTO there FROM permits AS p WHERE p.name = the_name;"
    " IF there < most THEN"
    " WHILE next < most DO"
    " INSERT IGNORE INTO permits (name, number) VALUES (the_name, next);"
    " SET next = next + 1;"
    " END WHILE; END IF; END",
    "CREATE PROCEDURE take_permit(IN the_name VARCHAR(256), IN ttl_s INT, IN most INT)"
    " SQL SECURITY INVOKER MODIFIES SQL DATA"
    " BEGIN"
    " DECLARE got VARCHAR(256) DEFAULT NULL; DECLARE found MEDIUMINT;"
    " SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    " CALL add_permits(the_name, most);"
    " START TRANSACTION;"
    " SELECT p.id INTO found FROM permits AS p WHERE p.name = the_name AND p.number < most"
    " AND (p.token IS NULL OR p.until < CURRENT_TIMESTAMP) LIMIT 1 FOR UPDATE SKIP LOCKED;"
    " IF found IS NOT NULL THEN"
    " SET got = UUID();"
    " UPDATE permits AS p SET p.token = got, p.until = CURRENT_TIMESTAMP + INTERVAL ttl_s SECOND"
    " WHERE p.id = found;"
    " END IF;"
    " COMMIT;"
    " SELECT got; END",
    "CREATE PROCEDURE leave_permit(IN its_token VARCHAR(256))"
    " SQL SECURITY INVOKER MODIFIES SQL DATA"
    " BEGIN"
    " SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    " START TRANSACTION;"
    " UPDATE permits AS p SET p.token = NULL WHERE p.token = its_token;"
    " SELECT ROW_COUNT();"
    " COMMIT; END",
};

void database_semaphore_prepare(void) {
    MYSQL *connection = by_hand_connect();
    char ignored[64];

    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        by_hand_run(connection, statements[i], ignored, sizeof ignored);
    }
    mysql_close(connection);
}

void database_semaphore_pairs(struct database_client *client) {
    MYSQL *connection = by_hand_connect();
    char sql[160];
    char token[64];
    char ended[64];

    for (unsigned at = client->number * 7; database_is_time(client); at++) {
        (void)snprintf(sql, sizeof sql, "CALL take_permit('key%u', 60, %d)", at % client->keys,
                       DATABASE_SLOTS);
        by_hand_run(connection, sql, token, sizeof token);
        if (token[0] != '\0') {
            (void)snprintf(sql, sizeof sql, "CALL leave_permit('%s')", token);
            by_hand_run(connection, sql, ended, sizeof ended);
            client->done++;
        }
    }
    mysql_close(connection);
}
