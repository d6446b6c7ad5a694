/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store in PostgreSQL costs, beside what one would write by hand, on the same server in the
 * same run, with commits that are flushed.
 *
 *     bench-postgresql [WORD]   starts itself anew beside a private server (tests/postgresql)
 *
 * WORD: only what is so called, "key" or "queue".
 *
 * (a) A counting semaphore of slot rows in stored procedures, taken with SKIP LOCKED: no queue, no
 *     tree, no fairness, no token memory. A pair is an acquire and a release.
 * (b) A queue table: SELECT ... FOR UPDATE SKIP LOCKED, claimed in one transaction and completed in
 *     another, one round trip each.
 * Each client is a thread with a connection of its own; the sides take turns.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "lockkeeper/lockkeeper.h"

enum { CLIENTS_MAX = 25, ROUNDS = 3, KEYS = 100, SLOTS = 30, ITEMS = 100000 };

#define ROUND_NS INT64_C(2000000000)

struct client {
    pthread_t thread;
    unsigned number;
    unsigned keys; /* used in turn, each client beginning at another */
    uint64_t done;
    void (*side)(struct client *client);
};

static atomic_llong end_ns;
static const char *only = "";

static bool is_time(void) {
    return bench_now_ns() < atomic_load(&end_ns);
}

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

static const char *url(void) {
    static char text[512];

    if (text[0] == '\0') {
        (void)snprintf(text, sizeof text, "postgresql://postgres@/postgres?host=%s",
                       getenv("LK_TEST_SERVER"));
    }
    return text;
}

static PGconn *connect_by_hand(void) {
    PGconn *connection = PQconnectdb(url());

    if (PQstatus(connection) != CONNECTION_OK) {
        bench_give_up("%s", PQerrorMessage(connection));
    }
    return connection;
}

/* The first column of the first row, or "". */
static void run(PGconn *connection, const char *sql, int count, const char *const *values,
                char *ret_text, size_t size) {
    PGresult *result = PQexecParams(connection, sql, count, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK) {
        bench_give_up("%s: %s", sql, PQerrorMessage(connection));
    }
    (void)snprintf(ret_text, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
}

static void execute(const char *sql) {
    PGconn *connection = connect_by_hand();
    PGresult *result = PQexec(connection, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        bench_give_up("%.60s: %s", sql, PQerrorMessage(connection));
    }
    PQclear(result);
    PQfinish(connection);
}

static void semaphore_by_hand(struct client *client) {
    PGconn *connection = connect_by_hand();
    char who[32];
    char key[32];
    char token[64];
    char ignored[64];

    (void)snprintf(who, sizeof who, "worker-%u", client->number);
    for (unsigned at = client->number * 7; is_time(); at++) {
        (void)snprintf(key, sizeof key, "key%u", at % client->keys);
        run(connection, "CALL by_hand.acquire($1, $2, 30, 60000)", 2,
            (const char *const[]){key, who}, token, sizeof token);
        if (token[0] != '\0') {
            run(connection, "CALL by_hand.release($1, $2)", 2, (const char *const[]){key, token},
                ignored, sizeof ignored);
            client->done++;
        }
    }
    PQfinish(connection);
}

static void queue_by_hand(struct client *client) {
    PGconn *connection = connect_by_hand();
    char id[64];
    char ignored[64];

    while (is_time()) {
        run(connection,
            "UPDATE by_hand.queue SET state = 'claimed', expires = now() + interval '60 s'"
            " WHERE id = (SELECT q.id FROM by_hand.queue AS q WHERE q.state = 'ready'"
            " ORDER BY q.id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id",
            0, NULL, id, sizeof id);
        if (id[0] == '\0') {
            bench_give_up("the queue by hand is empty: more ITEMS are needed");
        }
        run(connection, "DELETE FROM by_hand.queue WHERE id = $1 AND expires > now()", 1,
            (const char *const[]){id}, ignored, sizeof ignored);
        client->done++;
    }
    PQfinish(connection);
}

/* ---- by the library -------------------------------------------------------------------------- */

static lk_store *open_store(void) {
    lk_store *store;
    lk_error error;

    if (lk_open(url(), &store, &error) != LK_OK) {
        bench_give_up("%s", error.text);
    }
    return store;
}

static void semaphore_by_library(struct client *client) {
    lk_store *store = open_store();
    char who[32];
    char part[64];
    const char *const parts[] = {part};

    (void)snprintf(who, sizeof who, "worker-%u", client->number);
    for (unsigned at = client->number * 7; is_time(); at++) {
        lk_request request = lk_request_init(parts, 1);
        lk_result *result = NULL;
        lk_error error;
        (void)snprintf(part, sizeof part, "key%u/now?limit=%d", at % client->keys, SLOTS);
        request.owner = who;
        request.style = LK_TRY;
        if (lk_ask(store, &request, &result, &error) != LK_GRANTED
            || lk_release(store, &request, result->token, NULL, &error) != LK_OK) {
            bench_give_up("%s", error.text);
        }
        lk_result_free(result);
        client->done++;
    }
    lk_close(store);
}

static void queue_by_library(struct client *client) {
    lk_store *store = open_store();
    char who[32];

    (void)snprintf(who, sizeof who, "worker-%u", client->number);
    while (is_time()) {
        lk_claim_request request = {.size = sizeof request, .queue = "work", .owner = who};
        lk_claim_info *claim = NULL;
        lk_error error;
        if (lk_claim_next(store, &request, &claim, &error) != LK_GRANTED
            || lk_done(store, "work", claim->id, who, claim->token, &error) != LK_OK) {
            bench_give_up("%s", error.text);
        }
        lk_claim_free(claim);
        client->done++;
    }
    lk_close(store);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void *run_client(void *context) {
    struct client *client = context;

    client->side(client);
    return NULL;
}

static double play(void (*side)(struct client *client), unsigned count, unsigned keys) {
    struct client clients[CLIENTS_MAX] = {{.number = 0}};
    int64_t begun_ns = bench_now_ns();
    uint64_t done = 0;

    atomic_store(&end_ns, begun_ns + ROUND_NS);
    for (unsigned i = 0; i < count; i++) {
        clients[i] = (struct client){.number = i, .keys = keys, .side = side};
        if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]) != 0) {
            bench_give_up("no thread");
        }
    }
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        done += clients[i].done;
    }
    return (double)done * 1e9 / (double)(bench_now_ns() - begun_ns);
}

static void compare(const char *what, void (*hand)(struct client *),
                    void (*library)(struct client *), unsigned count, unsigned keys, double bar) {
    double by_hands[ROUNDS];
    double by_library[ROUNDS];
    double ratios[ROUNDS];
    char text[128];

    if (strstr(what, only) == NULL) {
        return;
    }
    bench_progress("%s, %u clients", what, count);
    for (unsigned i = 0; i < ROUNDS; i++) {
        by_hands[i] = play(hand, count, keys);
        by_library[i] = play(library, count, keys);
        ratios[i] = by_library[i] / by_hands[i];
    }
    (void)snprintf(text, sizeof text, "%s, %2u clients: by hand", what, count);
    bench_figure_print(text, bench_median(by_hands, ROUNDS), "/s");
    (void)snprintf(text, sizeof text, "%s, %2u clients: Lockkeeper", what, count);
    bench_figure_print(text, bench_median(by_library, ROUNDS), "/s");
    bench_at_least_print("  ratio", bench_median(ratios, ROUNDS), bar, "times");
}

/* A hundred thousand requests that have perished, below the root of the first key, beside it. */
static void leave_dead(void) {
    execute("INSERT INTO lockkeeper.requests (identity, owner, note, held, attended, fixed, ticket,"
            " token, ttl_ms, deadline_us, wants_value, root, roots)"
            " SELECT sha256(n::text::bytea), 'dead-' || n, '', true, false, false, n, n, 1000,"
            " 1000000000 + n, false, 'key0', '{key0}' FROM generate_series(1, 100000) AS n");
    execute("INSERT INTO lockkeeper.parts (request, position, path, unit_limit, units)"
            " SELECT r.id, 1, 'key0/' || r.ticket, 0, 0 FROM lockkeeper.requests AS r"
            " WHERE r.deadline_us < 2000000000");
    execute("UPDATE lockkeeper.roots SET due_us = 1000000000 WHERE root = 'key0'");
    execute("ANALYZE");
}

/* How much slower the dead make those who live. */
static void compare_with_dead(void) {
    double without[ROUNDS];
    double with[ROUNDS];

    if (strstr("1 key, the dead", only) == NULL) {
        return;
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        without[i] = play(semaphore_by_library, 1, 1);
    }
    leave_dead();
    for (unsigned i = 0; i < ROUNDS; i++) {
        with[i] = play(semaphore_by_library, 1, 1);
    }
    bench_title_print("Acquire + release among 100,000 requests that have perished");
    bench_figure_print("without them", bench_median(without, ROUNDS), "/s");
    bench_figure_print("with them", bench_median(with, ROUNDS), "/s");
    bench_at_most_print("  slower", bench_median(without, ROUNDS) / bench_median(with, ROUNDS), 1.5,
                        "times");
}

static void fill_queues(void) {
    lk_store *store = open_store();
    char sql[256];

    lk_close(store);
    (void)snprintf(sql, sizeof sql, "INSERT INTO by_hand.queue SELECT FROM generate_series(1, %d)",
                   ITEMS);
    execute(sql);
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO lockkeeper.items (queue, id, sequence, state, due_us, need_paths,"
                   " need_limits, need_units, need_roots)"
                   " SELECT 'work', n::text, n, 'ready', 0, '{}', '{}', '{}', '{}'"
                   " FROM generate_series(1, %d) AS n",
                   ITEMS);
    execute(sql);
    execute("INSERT INTO lockkeeper.queue_counts (path) VALUES ('work')");
}

int main(int argc, char **argv) {
    if (getenv("LK_TEST_SERVER") == NULL) {
        (void)execl(WITH_SERVER, WITH_SERVER, "--durable", argv[0], argv[1], (char *)NULL);
        bench_give_up("%s cannot be run", WITH_SERVER);
    }
    only = argc > 1 ? argv[1] : only;
    printf("A store in PostgreSQL, beside procedures and loops by hand\n");
    bench_machine_print();
    execute(by_hand);
    execute("INSERT INTO by_hand.slots (key, slot) SELECT 'key' || k, s"
            " FROM generate_series(0, 99) AS k, generate_series(1, 30) AS s");
    fill_queues();
    for (int flush_us = 0; flush_us <= 2000; flush_us += 2000) {
        char title[96];
        char sql[96];
        (void)snprintf(title, sizeof title, "Acquire + release of a counting semaphore%s",
                       flush_us > 0 ? ", commit_delay 2 ms" : "");
        bench_title_print(title);
        (void)snprintf(sql, sizeof sql, "ALTER SYSTEM SET commit_delay = %d", flush_us);
        execute(sql);
        execute("ALTER SYSTEM SET commit_siblings = 0");
        execute("SELECT pg_reload_conf()");
        compare("1 key", semaphore_by_hand, semaphore_by_library, 1, 1, 0.5);
        compare("1 key", semaphore_by_hand, semaphore_by_library, 8, 1, flush_us > 0 ? 0.5 : 0.25);
        compare("1 key", semaphore_by_hand, semaphore_by_library, 25, 1, flush_us > 0 ? 0.5 : 0.25);
        compare("100 keys", semaphore_by_hand, semaphore_by_library, 1, KEYS, 0.5);
        compare("100 keys", semaphore_by_hand, semaphore_by_library, 8, KEYS, 0.5);
        compare("100 keys", semaphore_by_hand, semaphore_by_library, 25, KEYS, 0.5);
    }
    execute("ALTER SYSTEM RESET commit_delay");
    execute("SELECT pg_reload_conf()");
    bench_title_print("Claim + completion of an item");
    compare("1 queue", queue_by_hand, queue_by_library, 1, 1, 1.0);
    compare("1 queue", queue_by_hand, queue_by_library, 4, 1, 1.0);
    compare("1 queue", queue_by_hand, queue_by_library, 16, 1, 1.0);
    compare_with_dead();
    return 0;
}
