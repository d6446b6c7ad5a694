/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work in a table of PostgreSQL's costs (R17), beside the loop that one would write by hand,
 * on the same table of the same server in the same run, with commits that are flushed.
 *
 *     bench-table-postgresql     runs itself again beside a private server (tests/postgresql)
 *
 * By hand: UPDATE the first free row (SELECT ... FOR UPDATE SKIP LOCKED) with owner and deadline;
 * and UPDATE it as done, if the claim is still held: two statements, two commits. It has no finder,
 * no queue, no locks beside the claim, no counters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "by_hand_postgresql.h"
#include "table_database.h"

static void work_by_hand(unsigned number) {
    PGconn *connection = by_hand_connect();
    char who[32];
    char id[32];
    char ignored[32];

    (void)snprintf(who, sizeof who, "worker-%u", number);
    for (;;) {
        by_hand_run(connection,
                    "UPDATE work SET owner = $1, until = now() + interval '60 s' WHERE id ="
                    " (SELECT w.id FROM work AS w WHERE w.done = 0 AND w.until < now()"
                    "  ORDER BY w.id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id",
                    1, (const char *const[]){who}, id, sizeof id);
        if (id[0] == '\0') {
            break;
        }
        by_hand_run(connection,
                    "UPDATE work SET done = 1 WHERE id = $1 AND owner = $2 AND until > now()", 2,
                    (const char *const[]){id, who}, ignored, sizeof ignored);
    }
    PQfinish(connection);
}

static void fill(int rows) {
    PGconn *connection = by_hand_connect();
    char sql[96];
    char ignored[32];

    by_hand_run(connection, "TRUNCATE work", 0, NULL, ignored, sizeof ignored);
    (void)snprintf(sql, sizeof sql, "INSERT INTO work (id) SELECT generate_series(1, %d)", rows);
    by_hand_run(connection, sql, 0, NULL, ignored, sizeof ignored);
    by_hand_run(connection, "VACUUM ANALYZE work", 0, NULL, ignored, sizeof ignored);
    PQfinish(connection);
}

static int left(void) {
    PGconn *connection = by_hand_connect();
    char count[32];

    by_hand_run(connection, "SELECT count(*) FROM work WHERE done = 0", 0, NULL, count,
                sizeof count);
    PQfinish(connection);
    return atoi(count);
}

int main(int argc, char **argv) {
    const struct table_database database = {
        .url = by_hand_url(), .fill = fill, .work = work_by_hand, .left = left};
    PGconn *connection;
    char ignored[32];

    (void)argc;
    if (getenv("LK_TEST_SERVER") == NULL) {
        (void)execl(WITH_SERVER, WITH_SERVER, "--durable", argv[0], (char *)NULL);
        bench_give_up("%s cannot be run", WITH_SERVER);
    }
    printf("Work in a table of PostgreSQL's, beside a loop of one's own\n");
    connection = by_hand_connect();
    by_hand_run(
        connection,
        "CREATE TABLE work (id bigint PRIMARY KEY, done integer NOT NULL DEFAULT 0, owner text,"
        " until timestamptz NOT NULL DEFAULT '-infinity')",
        0, NULL, ignored, sizeof ignored);
    by_hand_run(connection, "CREATE INDEX work_to_do ON work (id) WHERE done = 0", 0, NULL, ignored,
                sizeof ignored);
    PQfinish(connection);
    table_database_compare(&database);
    return 0;
}
