/* SPDX-License-Identifier: Apache-2.0 */
/* The shared store in PostgreSQL. */
#include "../procedures/service_database.h"

#include <stdio.h>
#include <stdlib.h>

#include "../support.h"
#include "engine/postgresql/store.h"
#include "server/store/postgresql/store_postgresql.h"

#define PATIENCE_US INT64_C(60000000)

struct service_database {
    PGconn *connection;
};

const struct service_words service_words = {
    .drop = "SET client_min_messages = error; DROP SCHEMA IF EXISTS lockkeeper_service CASCADE",
    .make_stranger = "DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN",
    .begin_renew = "BEGIN; SELECT #renew(1, 0, 0, NULL, 1)",
    .hurry = "SET lock_timeout = '200ms'",
    .lead = "SELECT * FROM #lead('x', 'x', 1, 1)",
    .freeze_clock =
        "CREATE TABLE #sim_clock (us bigint NOT NULL); INSERT INTO #sim_clock VALUES (0);"
        " CREATE OR REPLACE FUNCTION #now_us() RETURNS bigint LANGUAGE sql VOLATILE AS"
        " 'SELECT us FROM #sim_clock'",
    .empty = "SET client_min_messages = error;"
             " TRUNCATE #request, #value, #item, #queue, #ended, #audit, #event;",
    .lock_value = "BEGIN; SELECT 1 FROM #value WHERE path = 'v/159' FOR UPDATE",
    .count_writing = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
                     " AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
    .count_scans = "SELECT seq_scan FROM pg_stat_user_tables"
                   " WHERE schemaname = 'lockkeeper_service' AND relname = 'request'",
    .count_searches = "SELECT coalesce(idx_scan, 0) FROM pg_stat_user_tables"
                      " WHERE schemaname = 'lockkeeper_service' AND relname = 'request'",
};

static void write_url(const char *user, char *ret_url, size_t bytes) {
    (void)snprintf(ret_url, bytes, "postgresql://%s@/postgres?host=%s", user,
                   getenv("LK_TEST_SERVER"));
}

struct service_database *service_database_connect(void) {
    const struct lk_patience patience = test_patience(PATIENCE_US);
    struct service_database *database = calloc(1, sizeof *database);
    char url[300];
    lk_error error;

    write_url("postgres", url, sizeof url);
    if (database == NULL || lk_libpq_load(&error) != LK_OK
        || lk_postgresql_connect(url, &patience, &database->connection, &error) != LK_OK) {
        test_die("%s: %s", url, error.text);
    }
    return database;
}

void service_database_close(struct service_database *database) {
    PQfinish(database->connection);
    free(database);
}

static PGresult *run(struct service_database *database, const char *sql, lk_error *error) {
    const struct lk_patience patience = test_patience(PATIENCE_US);
    char *text = service_database_sql(sql, "lockkeeper_service.");
    PGresult *result = NULL;
    lk_outcome outcome =
        lk_postgresql_execute(database->connection, text, "", &patience, &result, error);

    free(text);
    return outcome == LK_OK ? result : NULL;
}

bool service_database_try(struct service_database *database, const char *sql) {
    PGresult *result = run(database, sql, NULL);
    bool is_well = result != NULL;

    PQclear(result);
    return is_well;
}

void service_database_run(struct service_database *database, const char *sql) {
    lk_error error = {.text = ""};
    PGresult *result = run(database, sql, &error);

    if (result == NULL) {
        test_die("%s: %s", sql, error.text);
    }
    PQclear(result);
}

int64_t service_database_number(struct service_database *database, const char *sql) {
    lk_error error = {.text = ""};
    PGresult *result = run(database, sql, &error);
    int64_t number;

    if (result == NULL) {
        test_die("%s: %s", sql, error.text);
    }
    number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return number;
}

lk_outcome service_database_open(const char *address, int64_t lease_us, bool is_stranger,
                                 struct lk_storage **ret_storage, lk_error *error) {
    struct lk_tables_options options = {.address = address, .lease_us = lease_us};
    char url[300];

    write_url(is_stranger ? "stranger" : "postgres", url, sizeof url);
    options.url = url;
    return lk_store_postgresql_open(&options, ret_storage, error);
}

void service_database_cut(struct service_database *database) {
    service_database_run(database,
                         "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                         " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
}
