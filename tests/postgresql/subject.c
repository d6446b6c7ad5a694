/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores in the private PostgreSQL server, each a schema. The clock is a table of one row that the
 * schema's function now_us() reads instead.
 */
#include "../procedures/subject.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../sqlite/ground.h"
#include "engine/postgresql/postgresql.h"

enum { ENGINES_MAX = 8 };

struct subject {
    char schema[SUBJECT_NAME_MAX];
    PGconn *connection;
    struct lk_engine *engines[ENGINES_MAX];
    size_t engine_count;
};

static void run_sql(const struct subject *subject, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void run_sql(const struct subject *subject, const char *format, ...) {
    char sql[1024];
    va_list arguments;
    PGresult *result;

    va_start(arguments, format);
    (void)vsnprintf(sql, sizeof sql, format, arguments);
    va_end(arguments);
    result = PQexec(subject->connection, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        ground_fail("%s: %s", sql, PQerrorMessage(subject->connection));
    }
    PQclear(result);
}

static struct lk_engine *open_store(const struct subject *subject) {
    struct lk_patience patience = ground_patience(20000000);
    struct lk_engine *engine = NULL;
    char rest[512];
    lk_error error;

    (void)snprintf(rest, sizeof rest, "//postgres@/postgres?host=%s&schema=%s&listen=no",
                   getenv("LK_TEST_SERVER"), subject->schema);
    if (lk_engine_postgresql.open(lk_slice_of(rest), &patience, &engine, &error) != LK_OK) {
        ground_fail("cannot open the store: %s", error.text);
    }
    return engine;
}

struct subject *subject_new(const char *name, struct lk_engine **ret_engines, size_t count) {
    struct subject *subject = calloc(1, sizeof *subject);
    char url[512];

    if (subject == NULL || count > ENGINES_MAX) {
        ground_fail("no memory for a store");
    }
    (void)snprintf(subject->schema, sizeof subject->schema, "%s", name);
    (void)snprintf(url, sizeof url, "postgresql://postgres@/postgres?host=%s",
                   getenv("LK_TEST_SERVER"));
    subject->connection = PQconnectdb(url);
    for (size_t i = 0; i < count; i++) {
        subject->engines[i] = ret_engines[i] = open_store(subject);
    }
    subject->engine_count = count;
    run_sql(subject, "CREATE TABLE %s.test_clock (now_us bigint)", name);
    run_sql(subject, "INSERT INTO %s.test_clock VALUES (0)", name);
    run_sql(subject,
            "CREATE OR REPLACE FUNCTION %s.now_us() RETURNS bigint LANGUAGE sql VOLATILE AS"
            " 'SELECT c.now_us FROM %s.test_clock AS c'",
            name, name);
    return subject;
}

void subject_set_clock(struct subject *subject, int64_t now_us) {
    run_sql(subject, "UPDATE %s.test_clock SET now_us = %" PRId64, subject->schema, now_us);
}

void subject_tick(struct subject *subject) {
    run_sql(subject, "CALL %s.lk_tick(NULL)", subject->schema);
}

void subject_free(struct subject *subject) {
    for (size_t i = 0; i < subject->engine_count; i++) {
        ground_close(subject->engines[i]);
    }
    run_sql(subject, "SET client_min_messages = error; DROP SCHEMA %s CASCADE", subject->schema);
    PQfinish(subject->connection);
    free(subject);
}
