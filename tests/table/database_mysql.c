/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of killed_workers.c in a private MariaDB server (tests/mysql/with_server.sh). MariaDB
 * has no triggers on views: the statement inserts into a table, whose trigger marks the row.
 */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>

#include "../sqlite/fixture.h"
#include "database.h"

struct database {
    MYSQL *mysql;
    const char *url;
};

static MYSQL_RES *run(MYSQL *mysql, const char *sql) {
    if (mysql_query(mysql, sql) != 0) {
        test_die("%.80s: %s", sql, mysql_error(mysql));
    }
    return mysql_store_result(mysql);
}

static void make_table(MYSQL *mysql, int rows) {
    char text[320];

    mysql_free_result(run(mysql, "CREATE TABLE `jobs to do` (`the id` bigint PRIMARY KEY,"
                                 " state varchar(8) NOT NULL, KEY (state)) ENGINE = InnoDB"));
    mysql_free_result(run(mysql, "CREATE TABLE finish (row_id int, token bigint, attempt int)"
                                 " ENGINE = InnoDB"));
    mysql_free_result(run(mysql, "CREATE TRIGGER finished AFTER INSERT ON finish FOR EACH ROW"
                                 " UPDATE `jobs to do` SET state = 'done'"
                                 " WHERE `the id` = NEW.row_id"));
    mysql_free_result(run(mysql, "CREATE VIEW log AS SELECT row_id AS job, token, attempt"
                                 " FROM finish"));
    (void)snprintf(text, sizeof text,
                   "INSERT INTO `jobs to do` WITH RECURSIVE n (i) AS"
                   " (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)"
                   " SELECT 1 + a.i + 1000 * b.i, 'new' FROM n AS a CROSS JOIN n AS b"
                   " WHERE b.i <= %d AND 1 + a.i + 1000 * b.i <= %d",
                   rows / 1000, rows);
    mysql_free_result(run(mysql, text));
}

struct database *database_make(int rows, const char *url) {
    const char *server = getenv("LK_TEST_SERVER");
    struct database *database = calloc(1, sizeof *database);
    char socket[PATH_MAX];

    if (database == NULL || server == NULL || url == NULL) {
        test_die("no memory, no server, or no URL");
    }
    database->url = url;
    (void)snprintf(socket, sizeof socket, "%s/socket", server);
    database->mysql = mysql_init(NULL);
    if (database->mysql == NULL
        || mysql_real_connect(database->mysql, NULL, "root", NULL, "test", 0, socket, 0) == NULL) {
        test_die("no server: %s",
                 database->mysql != NULL ? mysql_error(database->mysql) : "memory");
    }
    mysql_free_result(run(database->mysql, "SET sql_mode = 'ANSI_QUOTES'"));
    make_table(database->mysql, rows);
    return database;
}

void database_remove(struct database *database) {
    mysql_close(database->mysql); /* the rest goes with the server */
    free(database);
}

const char *database_url(const struct database *database) {
    return database->url;
}

/* The store's tables, by the names that SQLite's have. */
static void name_tables(const struct database *database) {
    static const char *const names[] = {"item", "queue", "done_row"};
    char text[96];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(text, sizeof text, "CREATE OR REPLACE VIEW lk_%s AS SELECT * FROM lk_%ss",
                       names[i], names[i]);
        mysql_free_result(run(database->mysql, text));
    }
}

int64_t database_number(const struct database *database, const char *query) {
    name_tables(database);
    MYSQL_RES *result = run(database->mysql, query);
    MYSQL_ROW row = mysql_fetch_row(result);
    int64_t number = row != NULL && row[0] != NULL ? strtoll(row[0], NULL, 10) : 0;

    mysql_free_result(result);
    return number;
}

void database_each_line(const struct database *database, database_visit_line *visit,
                        void *context) {
    MYSQL_RES *result = run(database->mysql, "SELECT row_id, token, attempt FROM finish");
    MYSQL_ROW row;

    while ((row = mysql_fetch_row(result)) != NULL) {
        visit(context, atoi(row[0]), strtoull(row[1], NULL, 10),
              (uint32_t)strtoul(row[2], NULL, 10));
    }
    mysql_free_result(result);
}
