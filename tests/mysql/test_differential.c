/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores in the private MariaDB server beside the model (tests/histories), each a database. The
 * clock is that of each session, set on the one connection that each engine has while nothing else
 * uses it: its procedures are made without what corrects the time where a session has moved it.
 *
 * usage: mysql_differential [people]
 *
 * `people`: by the procedures for people (people.h) instead of the library's.
 */
#include <inttypes.h>
#include <mysql.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../histories/history.h"
#include "engine/mysql/mysql.h"
#include "engine/mysql/script.h"
#include "engine/procedures/procedures.h"
#include "people.h"
#include "sql/store_name.h"

enum { HISTORIES = 2, STEPS = 100 };

struct database {
    char name[32];
    MYSQL *connection;
    struct people people;
};

static bool plays_people;
static unsigned counts[sizeof((struct people *)NULL)->counts / sizeof(unsigned)];
static unsigned stale_counts[2];
static struct lk_random decoys;

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

static MYSQL *connect_to(const char *socket, const char *name) {
    MYSQL *connection = mysql_init(NULL);

    (void)mysql_options(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(connection, NULL, "root", NULL, name, 0, socket, CLIENT_MULTI_RESULTS)
        == NULL) {
        test_die("%s", mysql_error(connection));
    }
    if (mysql_query(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED") != 0) {
        test_die("%s", mysql_error(connection));
    }
    return connection;
}

static void make_store(const struct database *database) {
    static const char passed[] = "TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))";
    char *script = lk_sql_schema_with_prefix("lk_");
    struct lk_slice rest;
    struct lk_slice statement;

    for (char *at = script; (at = strstr(at, passed)) != NULL; at++) {
        memset(at, ' ', sizeof passed - 1);
        *at = '0';
    }
    rest = lk_slice_of(script);
    while (lk_mysql_script_next(&rest, &statement)) {
        if (mysql_real_query(database->connection, statement.bytes, statement.size) != 0) {
            test_die("%.*s: %s", 80, statement.bytes, mysql_error(database->connection));
        }
        mysql_free_result(mysql_store_result(database->connection));
        while (mysql_next_result(database->connection) == 0) {
            mysql_free_result(mysql_store_result(database->connection));
        }
    }
    free(script);
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
    database->connection = connect_to(socket, NULL);
    run_sql(database, "CREATE DATABASE %s", database->name);
    run_sql(database, "USE %s", database->name);
    if (plays_people) {
        database->people = (struct people){.connection = connect_to(socket, database->name),
                                           .stale = connect_to(socket, database->name),
                                           .random = decoys};
        decoys.state++;
    }
    make_store(database);
    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        ret_engines[i] = open_store(database);
        if (plays_people) {
            people_engine_turn(&database->people, ret_engines[i]);
        }
    }
    return database;
}

/* Whatever a history has left behind, each ready item is looked at, or behind one that is. */
static void expect_sound(struct lk_engine *engine) {
    const struct lk_patience patience = test_patience(60000000);
    lk_report *report = NULL;
    lk_error error;

    if (engine->ops->examine(engine, &patience, &report, &error) != LK_OK) {
        test_die("after a history: %s", error.text);
    }
    if (strstr(report->warnings, "behind none") != NULL) {
        test_die("after a history: %s", report->warnings);
    }
    lk_report_free(report);
}

static void close_database(void *store, struct lk_engine **engines) {
    struct database *database = store;

    expect_sound(engines[0]);
    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        engines[i]->ops->close(engines[i]);
    }
    if (plays_people) {
        mysql_close(database->people.connection);
        mysql_close(database->people.stale); /* its transaction may have used the tables */
    }
    run_sql(database, "DROP DATABASE %s", database->name);
    mysql_close(database->connection);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        counts[i] += database->people.counts[i];
    }
    for (size_t i = 0; i < 2; i++) {
        stale_counts[i] += database->people.stale_counts[i];
    }
    free(database);
}

static void set_clock(void *store, struct lk_engine **engines, const struct lk_times *times) {
    struct lk_patience patience = test_patience(20000000);
    char sql[128];

    (void)snprintf(sql, sizeof sql,
                   "SET @lk_server_start = 1, @lk_has_clock = TRUE, timestamp = %" PRId64
                   ".%06" PRId64,
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
    if (plays_people
        && (mysql_query(((struct database *)store)->people.connection, sql) != 0
            || mysql_query(((struct database *)store)->people.stale, sql) != 0)) {
        test_die("%s", sql);
    }
}

static void tick(void *store, struct lk_engine **engines) {
    (void)engines;
    run_sql(store, "CALL lk_tick(NULL)");
}

int main(int argc, char **argv) {
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

    struct store_ops people = mysql;

    plays_people = argc > 1 && strcmp(argv[1], "people") == 0;
    people.name = "people";
    people.blocks = true; /* nothing waits in a transaction */
    decoys = plays_people ? test_random() : decoys;
    histories_run(plays_people ? &people : &mysql, plays_people ? 1 : HISTORIES, STEPS);
    if (plays_people) {
        (void)printf(
            "# %u decisions by autocommit, %u in transactions; %u decoys rolled back; %u left"
            " to the library\n",
            counts[0], counts[1], counts[2], counts[3]);
        (void)printf(
            "# in transactions that began before: %u decisions as in new ones, %u refused\n",
            stale_counts[0], stale_counts[1]);
    }
    return histories_end();
}
