/* SPDX-License-Identifier: Apache-2.0 */
/* Its table and procedures, and a client that calls them. */
#include "database_semaphore.h"

#include <stdio.h>

#include "by_hand_mysql.h"

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
