/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores in the private MariaDB server beside the model (tests/histories), each a database. The
 * clock is that of each session, set on the one connection that each engine has while nothing else
 * uses it.
 */
#include <inttypes.h>
#include <mysql.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../histories/history.h"
#include "engine/mysql/mysql.h"
#include "engine/procedures/procedures.h"

enum { HISTORIES = 2, STEPS = 100 };

struct database {
    char name[32];
    MYSQL *connection;
};

static void run_sql(const struct database *database, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void run_sql(const struct database *database, const char *format, ...) {
    char sql[1024];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sql, sizeof sql, format, arguments);
    va_end(arguments);
    if (mysql_query(database->connection, sql) != 0) {
        test_die("%s: %s", sql, mysql_error(database->connection));
    }
    mysql_free_result(mysql_store_result(database->connection));
}

static struct lk_engine *open_store(const struct database *database) {
    struct lk_patience patience = test_patience(20000000);
    struct lk_engine *engine = NULL;
    char rest[512];
    lk_error error;

    (void)snprintf(rest, sizeof rest, "//root@/%s?socket=%s/socket", database->name,
                   getenv("LK_TEST_SERVER"));
    if (lk_engine_mysql.open(lk_slice_of(rest), &patience, &engine, &error) != LK_OK) {
        test_die("cannot open the store: %s", error.text);
    }
    return engine;
}

static void *open_database(const struct variant *variant, struct lk_engine **ret_engines) {
    static unsigned opened;
    struct database *database = calloc(1, sizeof *database);
    char socket[256];

    (void)variant;
    if (database == NULL) {
        test_die("no memory for a store");
    }
    (void)snprintf(database->name, sizeof database->name, "d%u", opened++);
    (void)snprintf(socket, sizeof socket, "%s/socket", getenv("LK_TEST_SERVER"));
    database->connection = mysql_init(NULL);
    if (mysql_real_connect(database->connection, NULL, "root", NULL, NULL, 0, socket, 0) == NULL) {
        test_die("%s", mysql_error(database->connection));
    }
    run_sql(database, "CREATE DATABASE %s", database->name);
    run_sql(database, "USE %s", database->name);
    run_sql(database, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        ret_engines[i] = open_store(database);
    }
    return database;
}

static void close_database(void *store, struct lk_engine **engines) {
    struct database *database = store;

    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        engines[i]->ops->close(engines[i]);
    }
    run_sql(database, "DROP DATABASE %s", database->name);
    mysql_close(database->connection);
    free(database);
}

static void set_clock(void *store, struct lk_engine **engines, const struct lk_times *times) {
    struct lk_patience patience = test_patience(20000000);
    char sql[96];

    (void)snprintf(sql, sizeof sql, "SET @lk_server_start = 1, timestamp = %" PRId64 ".%06" PRId64,
                   times->wall_us / 1000000, times->wall_us % 1000000);
    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        struct lk_rows *rows = NULL;
        lk_error error;
        if (lk_procedures_ask_sql(lk_procedures_of(engines[i]), sql, &patience, &rows, &error)
            != LK_OK) {
            test_die("%s: %s", sql, error.text);
        }
        lk_rows_free(rows);
    }
    run_sql(store, "%s", sql);
}

static void tick(void *store, struct lk_engine **engines) {
    (void)engines;
    run_sql(store, "CALL lk_tick(NULL)");
}

int main(void) {
    static const struct store_ops mysql = {
        .name = "mysql",
        .engine = &lk_engine_mysql,
        .laziness = LAZY_ALWAYS,
        .takes_have_one_ttl = true,
        .open = open_database,
        .close = close_database,
        .set_clock = set_clock,
        .tick = tick,
    };

    histories_run(&mysql, HISTORIES, STEPS);
    return histories_end();
}
