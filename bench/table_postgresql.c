/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work in a table of PostgreSQL's costs (R17), beside the loop that one would write by hand,
 * on the same table of the same server in the same run, with commits that are flushed.
 *
 *     tests/postgresql/with_server.sh --durable bench-table-postgresql
 *
 * By hand: UPDATE the first free row (SELECT ... FOR UPDATE SKIP LOCKED) with owner and deadline;
 * and UPDATE it as done, if the claim is still held: two statements, two commits. It has no finder,
 * no queue, no locks beside the claim, no counters. Its statements are prepared, as the library's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "by_hand_postgresql.h"
#include "table_share.h"

static void work_by_hand(unsigned number) {
    PGconn *connection = by_hand_connect();
    char who[32];
    char id[32];
    char ignored[32];

    (void)snprintf(who, sizeof who, "worker-%u", number);
    by_hand_prepare(connection, "claim",
                    "UPDATE work SET owner = $1, until = now() + interval '60 s' WHERE id ="
                    " (SELECT w.id FROM work AS w WHERE w.done = 0 AND w.until < now()"
                    "  ORDER BY w.id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id");
    by_hand_prepare(connection, "complete",
                    "UPDATE work SET done = 1 WHERE id = $1 AND owner = $2 AND until > now()");
    for (;;) {
        by_hand_run(connection, "claim", 1, (const char *const[]){who}, id, sizeof id);
        if (id[0] == '\0') {
            break;
        }
        by_hand_run(connection, "complete", 2, (const char *const[]){id, who}, ignored,
                    sizeof ignored);
    }
    PQfinish(connection);
}

static void fill(int rows) {
    char sql[96];

    by_hand_execute("TRUNCATE work");
    (void)snprintf(sql, sizeof sql, "INSERT INTO work (id) SELECT generate_series(1, %d)", rows);
    by_hand_execute(sql);
    by_hand_execute("VACUUM ANALYZE work");
}

static int left(void) {
    PGconn *connection = by_hand_connect();
    char count[32];

    by_hand_prepare(connection, "left", "SELECT count(*) FROM work WHERE done = 0");
    by_hand_run(connection, "left", 0, NULL, count, sizeof count);
    PQfinish(connection);
    return atoi(count);
}

int main(void) {
    const struct table_database database = {
        .url = by_hand_url(), .fill = fill, .work = work_by_hand, .left = left};

    bench_begin("bench-table-postgresql", "Work in a table of PostgreSQL's, beside a loop by hand");
    by_hand_execute(
        "CREATE TABLE work (id bigint PRIMARY KEY, done integer NOT NULL DEFAULT 0, owner text,"
        " until timestamptz NOT NULL DEFAULT '-infinity')");
    by_hand_execute("CREATE INDEX work_to_do ON work (id) WHERE done = 0");
    table_database_compare(&database);
    return 0;
}
