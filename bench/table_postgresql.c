/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work in a table of PostgreSQL's costs (R17), beside the loop that one would write by hand,
 * on the same table of the same server in the same run, with commits that are flushed.
 *
 *     bench-table-postgresql [WORKERS]
 *
 * Starts itself anew beside a private server (tests/postgresql). WORKERS: only so many.
 *
 * By hand: UPDATE the first free row (SELECT ... FOR UPDATE SKIP LOCKED) with who and until when;
 * and UPDATE it as done, if the claim is still held: two statements, two commits. It has no finder,
 * no line, no locks beside the claim, no counters. Lockkeeper's side is lk_work() with a handler
 * that does nothing; the rows are announced meanwhile, which is counted in. A worker is a process.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "lockkeeper/lockkeeper.h"

enum { ROWS = 1500, ROUNDS = 3, WORKERS_MAX = 16 };

/* One worker of a side; returns when all rows are done. */
typedef void side(unsigned number);

static const char *url(void) {
    static char text[512];

    if (text[0] == '\0') {
        (void)snprintf(text, sizeof text, "postgresql://postgres@/postgres?host=%s",
                       getenv("LK_TEST_SERVER"));
    }
    return text;
}

/* The first column of the first row, or "". */
static void run(PGconn *connection, const char *sql, int count, const char *const *values,
                char *ret_text, size_t size) {
    PGresult *result = PQexecParams(connection, sql, count, NULL, values, NULL, NULL, 0);

    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK) {
        bench_give_up("%.60s: %s", sql, PQerrorMessage(connection));
    }
    (void)snprintf(ret_text, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
}

static PGconn *open_database(void) {
    PGconn *connection = PQconnectdb(url());

    if (PQstatus(connection) != CONNECTION_OK) {
        bench_give_up("%s", PQerrorMessage(connection));
    }
    return connection;
}

/* ---- both sides ------------------------------------------------------------------------------ */

static void hand_side(unsigned number) {
    PGconn *connection = open_database();
    char who[32];
    char id[32];
    char ignored[32];

    (void)snprintf(who, sizeof who, "worker-%u", number);
    for (;;) {
        run(connection,
            "UPDATE work SET owner = $1, until = now() + interval '60 s' WHERE id ="
            " (SELECT w.id FROM work AS w WHERE w.done = 0 AND w.until < now()"
            "  ORDER BY w.id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id",
            1, (const char *const[]){who}, id, sizeof id);
        if (id[0] == '\0') {
            break;
        }
        run(connection, "UPDATE work SET done = 1 WHERE id = $1 AND owner = $2 AND until > now()",
            2, (const char *const[]){id, who}, ignored, sizeof ignored);
    }
    PQfinish(connection);
}

static int do_nothing(void *context, const lk_claim_info *claim, lk_lease *lease) {
    (void)context;
    (void)claim;
    (void)lease;
    return 0;
}

static void library_side(unsigned number) {
    const lk_work_table table = {
        .size = sizeof table,
        .name = "work",
        .where = "done = 0",
        .order = "id",
        .done = "UPDATE work SET done = 1 WHERE id = :id",
    };
    const lk_work_options options = {
        .size = sizeof options,
        .table = &table,
        .handle = do_nothing,
        .drain = true,
        .loops = number == 0 ? LK_WORK_ALL : LK_WORK_CLAIMS,
    };
    lk_store *store = NULL;
    lk_error error = {0};

    if (lk_open(url(), &store, &error) != LK_OK
        || lk_work(store, &options, NULL, &error) != LK_OK) {
        bench_give_up("%s", error.text);
    }
    lk_close(store);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void make_rows(void) {
    PGconn *connection = open_database();
    char sql[96];
    char ignored[32];

    run(connection, "TRUNCATE work", 0, NULL, ignored, sizeof ignored);
    (void)snprintf(sql, sizeof sql, "INSERT INTO work (id) SELECT generate_series(1, %d)", ROWS);
    run(connection, sql, 0, NULL, ignored, sizeof ignored);
    run(connection, "VACUUM ANALYZE work", 0, NULL, ignored, sizeof ignored);
    PQfinish(connection);
}

static void check(void) {
    PGconn *connection = open_database();
    char left[32];

    run(connection, "SELECT count(*) FROM work WHERE done = 0", 0, NULL, left, sizeof left);
    if (strcmp(left, "0") != 0) {
        bench_give_up("%s rows are not done", left);
    }
    PQfinish(connection);
}

/* Rows per second, from the first start to the last end. */
static double play(side *which, unsigned workers) {
    int64_t begun_ns;
    double seconds;

    make_rows();
    (void)fflush(stdout);
    begun_ns = bench_now_ns();
    for (unsigned i = 0; i < workers; i++) {
        pid_t child = fork();
        if (child < 0) {
            bench_give_up("no process");
        }
        if (child == 0) {
            which(i);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < workers; i++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0) {
            bench_give_up("a worker failed");
        }
    }
    seconds = (double)(bench_now_ns() - begun_ns) / 1e9;
    check();
    return ROWS / seconds;
}

static void compare(unsigned workers) {
    double hand[ROUNDS];
    double library[ROUNDS];
    double ratios[ROUNDS];
    char what[64];

    bench_progress("%u workers", workers);
    for (size_t i = 0; i < ROUNDS; i++) {
        hand[i] = play(hand_side, workers);
        library[i] = play(library_side, workers);
        ratios[i] = library[i] / hand[i];
    }
    (void)snprintf(what, sizeof what, "%2u workers: by hand", workers);
    bench_figure_print(what, bench_median(hand, ROUNDS), "rows/s");
    (void)snprintf(what, sizeof what, "%2u workers: announce + claim + done", workers);
    bench_figure_print(what, bench_median(library, ROUNDS), "rows/s");
    bench_at_least_print("  ratio", bench_median(ratios, ROUNDS), 1.0, "times");
}

int main(int argc, char **argv) {
    PGconn *connection;
    char ignored[32];

    if (getenv("LK_TEST_SERVER") == NULL) {
        (void)execl(WITH_SERVER, WITH_SERVER, "--durable", argv[0], argv[1], (char *)NULL);
        bench_give_up("%s cannot be run", WITH_SERVER);
    }
    printf("Work in a table of PostgreSQL's, beside a loop of one's own\n");
    bench_machine_print();
    connection = open_database();
    run(connection,
        "CREATE TABLE work (id bigint PRIMARY KEY, done integer NOT NULL DEFAULT 0, owner text,"
        " until timestamptz NOT NULL DEFAULT '-infinity')",
        0, NULL, ignored, sizeof ignored);
    run(connection, "CREATE INDEX work_to_do ON work (id) WHERE done = 0", 0, NULL, ignored,
        sizeof ignored);
    PQfinish(connection);
    bench_title_print("A row claimed and completed");
    for (unsigned workers = 1; workers <= WORKERS_MAX; workers *= 4) {
        if (argc < 2 || strtoul(argv[1], NULL, 10) == workers) {
            compare(workers);
        }
    }
    return 0;
}
