/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores in the private PostgreSQL server beside the model (tests/histories), each a schema. The
 * clock is a table of one row that the schema's function now_us() reads instead.
 *
 * usage: postgresql_differential [people]
 *
 * `people`: by the functions for people (people.h) instead of the library's procedures.
 */
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../histories/history.h"
#include "engine/postgresql/postgresql.h"
#include "people.h"

enum { HISTORIES = 3, STEPS = 120 };

struct schema {
    char name[32];
    PGconn *connection;
    struct people people;
};

static bool plays_people;
static unsigned counts[sizeof((struct people *)NULL)->counts / sizeof(unsigned)];

static struct lk_random decoys;

static void run_sql(const struct schema *schema, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void run_sql(const struct schema *schema, const char *format, ...) {
    char sql[1024];
    va_list arguments;
    PGresult *result;

    va_start(arguments, format);
    (void)vsnprintf(sql, sizeof sql, format, arguments);
    va_end(arguments);
    result = PQexec(schema->connection, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        test_die("%s: %s", sql, PQerrorMessage(schema->connection));
    }
    PQclear(result);
}

static struct lk_engine *open_store(const struct schema *schema) {
    struct lk_patience patience = test_patience(20000000);
    struct lk_engine *engine = NULL;
    char rest[512];
    lk_error error;

    (void)snprintf(rest, sizeof rest, "//postgres@/postgres?host=%s&schema=%s&listen=no",
                   getenv("LK_TEST_SERVER"), schema->name);
    if (lk_engine_postgresql.open(lk_slice_of(rest), &patience, &engine, &error) != LK_OK) {
        test_die("cannot open the store: %s", error.text);
    }
    return engine;
}

static void *open_schema(const struct variant *variant, struct lk_engine **ret_engines) {
    static unsigned opened;
    struct schema *schema = calloc(1, sizeof *schema);
    char url[512];

    (void)variant;
    if (schema == NULL) {
        test_die("no memory for a store");
    }
    (void)snprintf(schema->name, sizeof schema->name, "d%u", opened++);
    (void)snprintf(url, sizeof url, "postgresql://postgres@/postgres?host=%s",
                   getenv("LK_TEST_SERVER"));
    schema->connection = PQconnectdb(url);
    if (plays_people) {
        schema->people = (struct people){
            .connection = PQconnectdb(url), .schema = schema->name, .random = decoys};
        decoys.state++;
    }
    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        ret_engines[i] = open_store(schema);
        if (plays_people) {
            ret_engines[i] = people_engine_open(&schema->people, ret_engines[i]);
        }
    }
    run_sql(schema, "CREATE TABLE %s.test_clock (now_us bigint)", schema->name);
    run_sql(schema, "INSERT INTO %s.test_clock VALUES (0)", schema->name);
    run_sql(schema,
            "CREATE OR REPLACE FUNCTION %s.now_us() RETURNS bigint LANGUAGE sql VOLATILE AS"
            " 'SELECT c.now_us FROM %s.test_clock AS c'",
            schema->name, schema->name);
    return schema;
}

static void close_schema(void *store, struct lk_engine **engines) {
    struct schema *schema = store;

    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        engines[i]->ops->close(engines[i]);
    }
    run_sql(schema, "SET client_min_messages = error; DROP SCHEMA %s CASCADE", schema->name);
    PQfinish(schema->connection);
    PQfinish(schema->people.connection);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        counts[i] += schema->people.counts[i];
    }
    free(schema);
}

static void set_clock(void *store, struct lk_engine **engines, const struct lk_times *times) {
    const struct schema *schema = store;

    (void)engines;
    run_sql(schema, "UPDATE %s.test_clock SET now_us = %" PRId64, schema->name, times->wall_us);
}

static void tick(void *store, struct lk_engine **engines) {
    struct schema *schema = store;

    (void)engines;
    people_commit(&schema->people);
    run_sql(schema, "CALL %s.lk_tick(NULL)", schema->name);
}

int main(int argc, char **argv) {
    static const struct store_ops postgresql = {
        .name = "postgresql",
        .engine = &lk_engine_postgresql,
        .laziness = LAZY_ALWAYS,
        .takes_have_one_ttl = true,
        .open = open_schema,
        .close = close_schema,
        .set_clock = set_clock,
        .tick = tick,
    };

    struct store_ops people = postgresql;

    plays_people = argc > 1 && strcmp(argv[1], "people") == 0;
    people.name = "people";
    people.blocks = true; /* nothing waits in a transaction */
    decoys = plays_people ? test_random() : decoys;
    histories_run(plays_people ? &people : &postgresql, HISTORIES, STEPS);
    if (plays_people) {
        (void)printf(
            "# %u decisions and their commit, %u and others before it; %u decoys rolled back;"
            " %u left to the library\n",
            counts[0], counts[1], counts[2], counts[3]);
    }
    return histories_end();
}
