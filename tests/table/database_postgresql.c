/* SPDX-License-Identifier: Apache-2.0 */
/* The table of killed_workers.c in a private PostgreSQL server (tests/postgresql). */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "../sqlite/fixture.h"
#include "database.h"

struct database {
    PGconn *connection;
    const char *url;
};

static PGresult *run(PGconn *connection, const char *sql) {
    PGresult *result = PQexec(connection, sql);

    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK) {
        test_die("%.80s: %s", sql, PQerrorMessage(connection));
    }
    return result;
}

static void make_table(PGconn *connection, int rows) {
    char text[1024];

    (void)snprintf(text, sizeof text,
                   "CREATE TABLE \"jobs to do\" (\"the id\" bigint PRIMARY KEY, state text);"
                   "CREATE TABLE log (job integer, token bigint, attempt integer);"
                   "CREATE VIEW finish AS SELECT 1 AS job, 1::bigint AS token, 1 AS attempt;"
                   "CREATE FUNCTION finished() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                   " UPDATE \"jobs to do\" SET state = 'done' WHERE \"the id\" = NEW.job;"
                   " INSERT INTO log VALUES (NEW.job, NEW.token, NEW.attempt);"
                   " RETURN NEW; END $$;"
                   "CREATE TRIGGER finished INSTEAD OF INSERT ON finish FOR EACH ROW"
                   " EXECUTE FUNCTION finished();"
                   "INSERT INTO \"jobs to do\" SELECT i, 'new' FROM generate_series(1, %d) AS i;"
                   "ANALYZE; SET search_path = public, lockkeeper",
                   rows);
    PQclear(run(connection, text));
}

struct database *database_make(int rows, const char *url) {
    const char *server = getenv("LK_TEST_SERVER");
    struct database *database = calloc(1, sizeof *database);
    char direct[PATH_MAX];

    if (database == NULL || server == NULL || url == NULL) {
        test_die("no memory, no server, or no URL");
    }
    database->url = url;
    (void)snprintf(direct, sizeof direct, "postgresql://postgres@/postgres?host=%s", server);
    database->connection = PQconnectdb(direct);
    if (PQstatus(database->connection) != CONNECTION_OK) {
        test_die("no server: %s", PQerrorMessage(database->connection));
    }
    make_table(database->connection, rows);
    return database;
}

void database_remove(struct database *database) {
    PQfinish(database->connection); /* the rest goes with the server */
    free(database);
}

const char *database_url(const struct database *database) {
    return database->url;
}

/* The store's tables, by the names that SQLite's have. */
static void name_tables(const struct database *database) {
    PQclear(run(database->connection,
                "CREATE OR REPLACE VIEW public.lk_item AS SELECT * FROM lockkeeper.items;"
                "CREATE OR REPLACE VIEW public.lk_queue AS SELECT * FROM lockkeeper.queues;"
                "CREATE OR REPLACE VIEW public.lk_done_row AS SELECT * FROM lockkeeper.done_rows"));
}

int64_t database_number(const struct database *database, const char *query) {
    name_tables(database);
    PGresult *result = run(database->connection, query);
    int64_t number = PQntuples(result) > 0 ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;

    PQclear(result);
    return number;
}

void database_each_line(const struct database *database, database_visit_line *visit,
                        void *context) {
    PGresult *result = run(database->connection, "SELECT job, token, attempt FROM log");

    for (int line = 0; line < PQntuples(result); line++) {
        visit(context, atoi(PQgetvalue(result, line, 0)),
              strtoull(PQgetvalue(result, line, 1), NULL, 10),
              (uint32_t)strtoul(PQgetvalue(result, line, 2), NULL, 10));
    }
    PQclear(result);
}
