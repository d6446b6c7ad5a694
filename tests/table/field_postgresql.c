/* SPDX-License-Identifier: Apache-2.0 */
/* The labour's table in a private PostgreSQL server (tests/postgresql/with_server.sh). */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "../sqlite/fixture.h"
#include "field.h"

struct field {
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

struct field *field_make(int rows, const char *url) {
    const char *server = getenv("LK_TEST_SERVER");
    struct field *field = calloc(1, sizeof *field);
    char direct[PATH_MAX];

    if (field == NULL || server == NULL || url == NULL) {
        test_die("no memory, no server, or no URL");
    }
    field->url = url;
    (void)snprintf(direct, sizeof direct, "postgresql://postgres@/postgres?host=%s", server);
    field->connection = PQconnectdb(direct);
    if (PQstatus(field->connection) != CONNECTION_OK) {
        test_die("no server: %s", PQerrorMessage(field->connection));
    }
    make_table(field->connection, rows);
    return field;
}

void field_remove(struct field *field) {
    PQfinish(field->connection); /* the rest goes with the server */
    free(field);
}

const char *field_url(const struct field *field) {
    return field->url;
}

int64_t field_number(const struct field *field, const char *query) {
    PGresult *result = run(field->connection, query);
    int64_t number = PQntuples(result) > 0 ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;

    PQclear(result);
    return number;
}

void field_each_line(const struct field *field, field_visit_line *visit, void *context) {
    PGresult *result = run(field->connection, "SELECT job, token, attempt FROM log");

    for (int line = 0; line < PQntuples(result); line++) {
        visit(context, atoi(PQgetvalue(result, line, 0)),
              strtoull(PQgetvalue(result, line, 1), NULL, 10),
              (uint32_t)strtoul(PQgetvalue(result, line, 2), NULL, 10));
    }
    PQclear(result);
}
