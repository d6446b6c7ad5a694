/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work in a table of MariaDB's costs (R17), beside the loop that one would write by hand, on
 * the same table of the same server in the same run, with commits that are flushed.
 *
 *     tests/mysql/with_server.sh --durable bench-table-mysql
 *
 * By hand, as one would write it for speed: two procedures, a round trip and a commit each.
 * One finds the first free row (SELECT ... FOR UPDATE SKIP LOCKED) and writes its owner and
 * deadline; the other marks it as done, if the claim is still held. It has no finder, no queue, no
 * locks beside the claim, no counters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "by_hand_mysql.h"
#include "table_share.h"

static const char *const made[] = {
    "CREATE TABLE work (id BIGINT PRIMARY KEY, done INT NOT NULL DEFAULT 0, owner VARCHAR(64),"
    " until_us BIGINT NOT NULL DEFAULT 0, KEY (done, id)) ENGINE = InnoDB",
    "CREATE PROCEDURE claim(who VARCHAR(64))"
    " BEGIN DECLARE got BIGINT DEFAULT NULL;"
    " DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));"
    " START TRANSACTION;"
    " SELECT w.id INTO got FROM work AS w WHERE w.done = 0 AND w.until_us < now_us"
    " ORDER BY w.id LIMIT 1 FOR UPDATE SKIP LOCKED;"
    " UPDATE work SET owner = who, until_us = now_us + 60000000 WHERE id = got;"
    " COMMIT; SELECT got; END",
    "CREATE PROCEDURE complete(the_id BIGINT, who VARCHAR(64))"
    " BEGIN UPDATE work SET done = 1 WHERE id = the_id AND owner = who AND until_us >"
    " TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)); SELECT ROW_COUNT(); END",
};

static void work_by_hand(unsigned number) {
    MYSQL *connection = by_hand_connect();
    char sql[128];
    char id[32];
    char ignored[32];

    for (;;) {
        (void)snprintf(sql, sizeof sql, "CALL claim('worker-%u')", number);
        by_hand_run(connection, sql, id, sizeof id);
        if (id[0] == '\0') {
            break;
        }
        (void)snprintf(sql, sizeof sql, "CALL complete(%s, 'worker-%u')", id, number);
        by_hand_run(connection, sql, ignored, sizeof ignored);
    }
    mysql_close(connection);
}

static void fill(int rows) {
    MYSQL *connection = by_hand_connect();
    char sql[96];
    char ignored[32];

    by_hand_run(connection, "TRUNCATE work", ignored, sizeof ignored);
    (void)snprintf(sql, sizeof sql, "INSERT INTO work (id) SELECT seq FROM seq_1_to_%d", rows);
    by_hand_run(connection, sql, ignored, sizeof ignored);
    mysql_close(connection);
}

static int left(void) {
    MYSQL *connection = by_hand_connect();
    char count[32];

    by_hand_run(connection, "SELECT COUNT(*) FROM work WHERE done = 0", count, sizeof count);
    mysql_close(connection);
    return atoi(count);
}

int main(void) {
    const struct table_database database = {
        .url = by_hand_url(), .fill = fill, .work = work_by_hand, .left = left};
    MYSQL *connection;
    char ignored[32];

    bench_begin("bench-table-mysql", "Work in a table of MariaDB's, beside a loop by hand");
    connection = by_hand_connect();
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        by_hand_run(connection, made[i], ignored, sizeof ignored);
    }
    mysql_close(connection);
    table_database_compare(&database);
    return 0;
}
