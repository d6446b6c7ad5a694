/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store in MariaDB costs, beside what one would write by hand, on the same server in the
 * same run, with commits that are flushed.
 *
 *     tests/mysql/with_server.sh --durable bench-mysql [WORD]
 *
 * WORD: only this part, "key", "queue" or "dead".
 *
 * On both sides a client has a connection of its own, and has done a few pairs on it before the
 * clock starts: what a new connection costs is not in these figures.
 *
 * (a) A counting semaphore of slot rows in stored procedures, taken with SKIP LOCKED: no queue, no
 *     tree, no fairness, no token memory. A pair is an acquire and a release.
 * (b) The procedures of the library database-semaphore (by_hand_mysql.h), the same pairs.
 * (c) A queue table: SELECT ... FOR UPDATE SKIP LOCKED, claimed in one transaction and completed in
 *     another, a procedure and a round trip each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "by_hand_mysql.h"
#include "database.h"
#include "lockkeeper/lockkeeper.h"

enum { ITEMS = 400000, ITEMS_SMOKE = 3000 };

/* ---- by hand --------------------------------------------------------------------------------- */

static const char *const by_hand[] = {
    "CREATE TABLE slots (lock_key VARCHAR(64), slot INT, holder VARCHAR(64), token BIGINT,"
    " expires_us BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (lock_key, slot)) ENGINE = InnoDB",
    "CREATE SEQUENCE tokens",
    "CREATE PROCEDURE acquire(the_key VARCHAR(64), who VARCHAR(64), most INT, ttl_ms BIGINT)"
    " BEGIN"
    " DECLARE got BIGINT DEFAULT NULL; DECLARE found_slot INT DEFAULT NULL;"
    " DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));"
    " START TRANSACTION;"
    " SELECT s.slot INTO found_slot FROM slots AS s WHERE s.lock_key = the_key AND s.slot <= most"
    " AND s.expires_us < now_us ORDER BY s.slot LIMIT 1 FOR UPDATE SKIP LOCKED;"
    " IF found_slot IS NOT NULL THEN"
    " SET got = NEXT VALUE FOR tokens;"
    " UPDATE slots SET holder = who, token = got, expires_us = now_us + ttl_ms * 1000"
    " WHERE lock_key = the_key AND slot = found_slot;"
    " END IF; COMMIT; SELECT got; END",
    "CREATE PROCEDURE let_go(the_key VARCHAR(64), the_token BIGINT)"
    " BEGIN UPDATE slots SET expires_us = 0 WHERE lock_key = the_key AND token = the_token AND"
    " expires_us > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));"
    " SELECT ROW_COUNT(); END",
    "INSERT INTO slots (lock_key, slot) SELECT CONCAT('key', k.seq), s.seq"
    " FROM seq_0_to_99 AS k CROSS JOIN seq_1_to_30 AS s",
    "CREATE TABLE queue (id BIGINT PRIMARY KEY, state TINYINT NOT NULL DEFAULT 0,"
    " expires_us BIGINT NOT NULL DEFAULT 0, KEY (state, id)) ENGINE = InnoDB",
    "CREATE PROCEDURE claim()"
    " BEGIN DECLARE got BIGINT DEFAULT NULL; START TRANSACTION;"
    " SELECT q.id INTO got FROM queue AS q WHERE q.state = 0 ORDER BY q.id LIMIT 1"
    " FOR UPDATE SKIP LOCKED;"
    " UPDATE queue SET state = 1, expires_us ="
    " TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + 60000000 WHERE id = got;"
    " COMMIT; SELECT got; END",
    "CREATE PROCEDURE complete(the_id BIGINT)"
    " BEGIN DELETE FROM queue WHERE id = the_id AND expires_us >"
    " TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)); SELECT ROW_COUNT(); END",
};

static void semaphore_by_hand(struct database_client *client) {
    MYSQL *connection = by_hand_connect();
    char sql[160];
    char token[64];
    char ignored[64];

    for (unsigned at = client->number * 7; database_is_time(client); at++) {
        (void)snprintf(sql, sizeof sql, "CALL acquire('key%u', 'worker-%u', %d, 60000)",
                       at % client->keys, client->number, DATABASE_SLOTS);
        by_hand_run(connection, sql, token, sizeof token);
        if (token[0] != '\0') {
            (void)snprintf(sql, sizeof sql, "CALL let_go('key%u', %s)", at % client->keys, token);
            by_hand_run(connection, sql, ignored, sizeof ignored);
            client->done++;
        }
    }
    mysql_close(connection);
}

static void queue_by_hand(struct database_client *client) {
    MYSQL *connection = by_hand_connect();
    char sql[96];
    char id[64];
    char ignored[64];

    while (database_is_time(client)) {
        by_hand_run(connection, "CALL claim()", id, sizeof id);
        if (id[0] == '\0') {
            bench_give_up("the queue by hand is empty: more ITEMS are needed");
        }
        (void)snprintf(sql, sizeof sql, "CALL complete(%s)", id);
        by_hand_run(connection, sql, ignored, sizeof ignored);
        client->done++;
    }
    mysql_close(connection);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void prepare(const char *url) {
    MYSQL *connection = by_hand_connect();
    char ignored[64];
    char sql[512];
    lk_store *store;
    lk_error error;

    for (size_t i = 0; i < sizeof by_hand / sizeof by_hand[0]; i++) {
        by_hand_run(connection, by_hand[i], ignored, sizeof ignored);
    }
    if (lk_open(url, &store, &error) != LK_OK) {
        bench_give_up("%s", error.text);
    }
    lk_close(store);
    (void)snprintf(sql, sizeof sql, "INSERT INTO queue (id) SELECT seq FROM seq_1_to_%d",
                   (int)bench_amount(ITEMS, ITEMS_SMOKE));
    by_hand_run(connection, sql, ignored, sizeof ignored);
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO lk_items (queue, id, arrival, state, due_us, needs, need_limits,"
                   " need_units, need_roots, has_value)"
                   " SELECT 'work', seq, seq, 'ready', 0, '', '', '', '', FALSE"
                   " FROM seq_1_to_%d",
                   (int)bench_amount(ITEMS, ITEMS_SMOKE));
    by_hand_run(connection, sql, ignored, sizeof ignored);
    by_hand_run(connection, "INSERT INTO lk_queues (path) VALUES ('work')", ignored,
                sizeof ignored);
    mysql_close(connection);
}

/* A hundred thousand expired requests, below the root of the first key, beside it. */
static void leave_dead(void) {
    MYSQL *connection = by_hand_connect();
    char ignored[64];

    by_hand_run(
        connection,
        "INSERT INTO lk_requests (part, path, unit_limit, units, root, owner, note, held, attended,"
        " fixed, wants_value, ticket, token, ttl_ms, deadline_us, identity, roots, part_count)"
        " SELECT 1, CONCAT('key0/', seq), 0, 0, 'key0', CONCAT('dead-', seq), '', TRUE, FALSE,"
        " FALSE, FALSE, seq, seq, 1000, 1000000000 + seq,"
        " UNHEX(SHA2(CONCAT('key0/', seq, '\\n', 'dead-', seq), 256)), 'key0', 1"
        " FROM seq_1_to_100000",
        ignored, sizeof ignored);
    by_hand_run(connection, "UPDATE lk_roots SET due_us = 1000000000 WHERE root = 'key0'", ignored,
                sizeof ignored);
    mysql_close(connection);
}

int main(int argc, char **argv) {
    static const struct database_round slots[] = {{1, 1, 0},
                                                  {8, 1, 0},
                                                  {25, 1, 0},
                                                  {1, DATABASE_KEYS, 0},
                                                  {8, DATABASE_KEYS, 0},
                                                  {25, DATABASE_KEYS, 0}};
    static const struct database_round peers[] = {{1, 1, 1.0},
                                                  {8, 1, 1.0},
                                                  {25, 1, 1.0},
                                                  {1, DATABASE_KEYS, 1.0},
                                                  {8, DATABASE_KEYS, 1.0},
                                                  {25, DATABASE_KEYS, 1.0}};
    static const struct database_round queues[] = {{1, 1, 0}, {4, 1, 0}, {16, 1, 0}};
    struct database_bench bench = {
        .only = argc > 1 ? argv[1] : "", .semaphore = semaphore_by_hand, .queue = queue_by_hand};
    struct database_bench beside_peer;

    bench.url = by_hand_url();
    bench_begin("bench-mysql", "A store in MariaDB, beside procedures and loops by hand");
    prepare(bench.url);
    database_semaphore_prepare();
    bench_title_print("Acquire + release of a counting semaphore");
    beside_peer = bench;
    beside_peer.semaphore = database_semaphore_pairs;
    beside_peer.semaphore_name = database_semaphore_name;
    database_semaphores(&beside_peer, peers, sizeof peers / sizeof peers[0]);
    database_semaphores(&bench, slots, sizeof slots / sizeof slots[0]);
    bench_title_print("Claim + completion of an item");
    database_queues(&bench, queues, sizeof queues / sizeof queues[0]);
    bench_title_print("Acquire + release among 100,000 expired requests");
    database_dead(&bench, leave_dead);
    return 0;
}
