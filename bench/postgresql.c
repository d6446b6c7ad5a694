/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store in PostgreSQL costs, beside what one would write by hand, on the same server in the
 * same run, with commits that are flushed.
 *
 *     tests/postgresql/with_server.sh --durable bench-postgresql [WORD]
 *
 * WORD: only this part, "key", "queue" or "dead".
 *
 * On both sides a client has a connection of its own, and has done a few pairs on it before the
 * clock starts: what a new connection costs is not in these figures.
 *
 * (a) A counting semaphore of slot rows in stored procedures, taken with SKIP LOCKED: no queue, no
 *     tree, no fairness, no token memory. A pair is an acquire and a release.
 * (b) A queue table: SELECT ... FOR UPDATE SKIP LOCKED, claimed in one transaction and completed in
 *     another, one round trip each.
 *
 * Its statements are prepared, as the library's are. (c) The queues of two libraries for Node.js.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "by_hand_postgresql.h"
#include "database.h"
#include "lockkeeper/lockkeeper.h"

enum { ITEMS = 2000000, ITEMS_SMOKE = 10000 };

/* ---- by hand --------------------------------------------------------------------------------- */

static const char by_hand[] =
    "SET client_min_messages = error; DROP SCHEMA IF EXISTS by_hand CASCADE;"
    "CREATE SCHEMA by_hand;"
    "CREATE TABLE by_hand.slots (key text, slot int, holder text, token bigint,"
    " expires timestamptz NOT NULL DEFAULT '-infinity', PRIMARY KEY (key, slot));"
    "CREATE SEQUENCE by_hand.tokens;"
    "CREATE PROCEDURE by_hand.acquire(the_key text, who text, most int, ttl_ms bigint,"
    " INOUT got bigint DEFAULT NULL) LANGUAGE plpgsql AS $$ BEGIN"
    " UPDATE by_hand.slots SET holder = who, token = nextval('by_hand.tokens'),"
    " expires = clock_timestamp() + ttl_ms * interval '1 ms'"
    " WHERE (key, slot) = (SELECT s.key, s.slot FROM by_hand.slots AS s WHERE s.key = the_key"
    " AND s.slot <= most AND s.expires < clock_timestamp() LIMIT 1 FOR UPDATE SKIP LOCKED)"
    " RETURNING token INTO got; END $$;"
    "CREATE PROCEDURE by_hand.release(the_key text, the_token bigint,"
    " INOUT done boolean DEFAULT NULL) LANGUAGE plpgsql AS $$ BEGIN"
    " UPDATE by_hand.slots SET expires = '-infinity' WHERE key = the_key AND token = the_token"
    " AND expires > clock_timestamp(); done := FOUND; END $$;"
    "CREATE TABLE by_hand.queue (id bigserial PRIMARY KEY, state text NOT NULL DEFAULT 'ready',"
    " worker text, expires timestamptz);"
    "CREATE INDEX ON by_hand.queue (id) WHERE state = 'ready'";

static void semaphore_by_hand(struct database_client *client) {
    PGconn *connection = by_hand_connect();
    char who[32];
    char key[32];
    char token[64];
    char ignored[64];

    (void)snprintf(who, sizeof who, "worker-%u", client->number);
    by_hand_prepare(connection, "acquire", "CALL by_hand.acquire($1, $2, 30, 60000)");
    by_hand_prepare(connection, "release", "CALL by_hand.release($1, $2)");
    for (unsigned at = client->number * 7; database_is_time(client); at++) {
        (void)snprintf(key, sizeof key, "key%u", at % client->keys);
        by_hand_run(connection, "acquire", 2, (const char *const[]){key, who}, token, sizeof token);
        if (token[0] != '\0') {
            by_hand_run(connection, "release", 2, (const char *const[]){key, token}, ignored,
                        sizeof ignored);
            client->done++;
        }
    }
    PQfinish(connection);
}

static void queue_by_hand(struct database_client *client) {
    PGconn *connection = by_hand_connect();
    char id[64];
    char ignored[64];

    by_hand_prepare(connection, "claim",
                    "UPDATE by_hand.queue SET state = 'claimed', expires = now() + interval '60 s'"
                    " WHERE id = (SELECT q.id FROM by_hand.queue AS q WHERE q.state = 'ready'"
                    " ORDER BY q.id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id");
    by_hand_prepare(connection, "complete",
                    "DELETE FROM by_hand.queue WHERE id = $1 AND expires > now()");
    while (database_is_time(client)) {
        by_hand_run(connection, "claim", 0, NULL, id, sizeof id);
        if (id[0] == '\0') {
            bench_give_up("the queue by hand is empty: more ITEMS are needed");
        }
        by_hand_run(connection, "complete", 1, (const char *const[]){id}, ignored, sizeof ignored);
        client->done++;
    }
    PQfinish(connection);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void fill_queues(void) {
    lk_store *store;
    lk_error error;
    char sql[256];

    if (lk_open(by_hand_url(), &store, &error) != LK_OK) {
        bench_give_up("%s", error.text);
    }
    lk_close(store);
    (void)snprintf(sql, sizeof sql, "INSERT INTO by_hand.queue SELECT FROM generate_series(1, %d)",
                   (int)bench_amount(ITEMS, ITEMS_SMOKE));
    by_hand_execute(sql);
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO lockkeeper.items (queue, id, sequence, state, due_us, need_paths,"
                   " need_limits, need_units, need_roots)"
                   " SELECT 'work', n::text, n, 'ready', 0, '{}', '{}', '{}', '{}'"
                   " FROM generate_series(1, %d) AS n",
                   (int)bench_amount(ITEMS, ITEMS_SMOKE));
    by_hand_execute(sql);
    by_hand_execute("INSERT INTO lockkeeper.queue_counts (path) VALUES ('work')");
}

/* A hundred thousand expired requests, below the root of the first key, beside it. */
static void leave_dead(void) {
    by_hand_execute(
        "INSERT INTO lockkeeper.requests (identity, owner, note, held, attended, fixed, ticket,"
        " token, ttl_ms, deadline_us, wants_value, root, roots)"
        " SELECT sha256(n::text::bytea), 'dead-' || n, '', true, false, false, n, n, 1000,"
        " 1000000000 + n, false, 'key0', '{key0}' FROM generate_series(1, 100000) AS n");
    by_hand_execute(
        "INSERT INTO lockkeeper.parts (request, position, path, held, ticket, unit_limit,"
        " units) SELECT r.id, 1, 'key0/' || r.ticket, true, r.ticket, 0, 0"
        " FROM lockkeeper.requests AS r WHERE r.deadline_us < 2000000000");
    by_hand_execute("UPDATE lockkeeper.roots SET due_us = 1000000000 WHERE root = 'key0'");
    by_hand_execute("ANALYZE");
}

/* The flush made longer, as on a disk that is slow. */
static void semaphores(const struct database_bench *bench, int flush_us, double contended) {
    const struct database_round rounds[] = {{1, 1, 0.5},
                                            {8, 1, contended},
                                            {25, 1, contended},
                                            {1, DATABASE_KEYS, 0.7},
                                            {8, DATABASE_KEYS, 0.7},
                                            {25, DATABASE_KEYS, 0.7}};
    char sql[96];

    bench_title_print(flush_us > 0 ? "Acquire + release of a counting semaphore, commit_delay 2 ms"
                                   : "Acquire + release of a counting semaphore");
    (void)snprintf(sql, sizeof sql, "ALTER SYSTEM SET commit_delay = %d", flush_us);
    by_hand_execute(sql);
    by_hand_execute("ALTER SYSTEM SET commit_siblings = 0");
    by_hand_execute("SELECT pg_reload_conf()");
    database_semaphores(bench, rounds, sizeof rounds / sizeof rounds[0]);
}

/* Beside a library for Node.js, if it is installed (tools/install-deps). */
static void beside_node(const struct database_bench *bench, const char *library, double bar,
                        double batch_bar) {
    const struct database_round rounds[] = {{1, 1, bar}, {4, 1, bar}, {16, 1, bar}};
    const char *const words[] = {"node", NODE_PEERS "/work.mjs", library, getenv("LK_TEST_SERVER"),
                                 NULL};
    struct companion peer;
    char why[BENCH_TEXT_BYTES];

    if (strstr("1 queue, in batches", bench->only) == NULL) {
        return;
    }
    if (!companion_start(&peer, words, why)) {
        bench_missing_print("1 queue", library, why);
        return;
    }
    database_queues_beside(bench, &peer, library, rounds, sizeof rounds / sizeof rounds[0],
                           batch_bar);
    companion_stop(&peer);
}

int main(int argc, char **argv) {
    static const struct database_round by_hand_queues[] = {{1, 1, 0}, {4, 1, 0}, {16, 1, 0}};
    struct database_bench bench = {
        .only = argc > 1 ? argv[1] : "", .semaphore = semaphore_by_hand, .queue = queue_by_hand};

    bench.url = by_hand_url();
    bench_begin("bench-postgresql", "A store in PostgreSQL, beside procedures and loops by hand");
    by_hand_execute(by_hand);
    by_hand_execute("INSERT INTO by_hand.slots (key, slot) SELECT 'key' || k, s"
                    " FROM generate_series(0, 99) AS k, generate_series(1, 30) AS s");
    fill_queues();
    semaphores(&bench, 0, 0.25);
    semaphores(&bench, 2000, 0.5);
    by_hand_execute("ALTER SYSTEM RESET commit_delay");
    by_hand_execute("SELECT pg_reload_conf()");
    bench_title_print("Claim + completion of an item");
    database_queues(&bench, by_hand_queues, sizeof by_hand_queues / sizeof by_hand_queues[0]);
    beside_node(&bench, "graphile-worker", 1.0, 5.0);
    beside_node(&bench, "pg-boss", 1.0, 0);
    bench_title_print("Acquire + release among 100,000 expired requests");
    database_dead(&bench, leave_dead);
    return 0;
}
