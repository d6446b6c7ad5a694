/* SPDX-License-Identifier: Apache-2.0 */
/* The shared store in MySQL and MariaDB. */
#include "../procedures/service_database.h"

#include <stdio.h>
#include <stdlib.h>

#include "../support.h"
#include "engine/mysql/store.h"
#include "server/store/mysql/store_mysql.h"

#define PATIENCE_US INT64_C(60000000)

struct service_database {
    struct lk_mysql_address address;
    struct lk_mysql_link *link;
};

const struct service_words service_words = {
    .drop = "DROP TABLE IF EXISTS #request, #value, #item, #queue, #ended, #audit, #event, #leader,"
            " #sim_clock; DROP PROCEDURE IF EXISTS #clock; DROP PROCEDURE IF EXISTS #renew;"
            " DROP PROCEDURE IF EXISTS #lead; DROP PROCEDURE IF EXISTS #limits",
    .make_stranger = "DROP USER IF EXISTS stranger@localhost; CREATE USER stranger@localhost;"
                     " GRANT SELECT ON test.* TO stranger@localhost; DROP TABLE #leader",
    .begin_renew = "START TRANSACTION; CALL #renew(1, 0, 0, NULL, 1)",
    .hurry = "SET innodb_lock_wait_timeout = 1",
    .lead = "CALL #lead('x', 'x', 1, 1)",
    .freeze_clock =
        "CREATE TABLE #sim_clock (us BIGINT NOT NULL); INSERT INTO #sim_clock VALUES (0);"
        " DROP PROCEDURE #clock; CREATE PROCEDURE #clock(OUT ret_us BIGINT)"
        " SELECT us INTO ret_us FROM #sim_clock",
    .empty = "DELETE FROM #request; DELETE FROM #value; DELETE FROM #item; DELETE FROM #queue;"
             " DELETE FROM #ended; DELETE FROM #audit; DELETE FROM #event;",
    .lock_value = "START TRANSACTION; SELECT 1 FROM #value WHERE path = 'v/159' FOR UPDATE",
    .count_writing = "SELECT COUNT(*) FROM information_schema.PROCESSLIST"
                     " WHERE COMMAND <> 'Sleep' AND ID <> CONNECTION_ID()",
    .stop_clock = "DROP PROCEDURE #clock; CREATE PROCEDURE #clock(OUT ret_us BIGINT) BEGIN"
                  " DO GET_LOCK('clock', 60); DO RELEASE_LOCK('clock');"
                  " SET ret_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)); END;"
                  " DO GET_LOCK('clock', 60)",
    .go_on = "DO RELEASE_LOCK('clock')",
    .count_stopped =
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User lock'",
    .lock_leader = "SELECT 1 FROM #leader WHERE only_row = 1 FOR UPDATE NOWAIT",
};

static void write_url(const char *user, char *ret_url, size_t bytes) {
    (void)snprintf(ret_url, bytes, "mysql://%s@/test?socket=%s/socket", user,
                   getenv("LK_TEST_SERVER"));
}

struct service_database *service_database_connect(void) {
    const struct lk_patience patience = test_patience(PATIENCE_US);
    struct service_database *database = calloc(1, sizeof *database);
    char url[300];
    lk_error error;

    write_url("root", url, sizeof url);
    if (database == NULL || lk_libmariadb_load(&error) != LK_OK
        || lk_mysql_address_parse(lk_slice_of(strchr(url, ':') + 1), &database->address, &error)
               != LK_OK
        || lk_mysql_connect(&database->address, &patience, &database->link, &error) != LK_OK
        || lk_mysql_allow_texts(database->link, &patience, &error) != LK_OK) {
        test_die("%s: %s", url, error.text);
    }
    return database;
}

void service_database_close(struct service_database *database) {
    lk_mysql_disconnect(database->link);
    lk_mysql_address_done(&database->address);
    free(database);
}

static bool run(struct service_database *database, const char *sql, MYSQL_RES **ret_rows) {
    const struct lk_patience patience = test_patience(PATIENCE_US);
    char *text = service_database_sql(sql, "lk_service_");
    lk_error error;
    lk_outcome outcome =
        lk_mysql_query(database->link, lk_slice_of(text), &patience, ret_rows, &error);

    free(text);
    return outcome == LK_OK;
}

bool service_database_try(struct service_database *database, const char *sql) {
    MYSQL_RES *rows = NULL;

    if (!run(database, sql, &rows)) {
        return false;
    }
    mysql_free_result(rows);
    return true;
}

void service_database_run(struct service_database *database, const char *sql) {
    if (!service_database_try(database, sql)) {
        test_die("%s: %s", sql, mysql_error(database->link->mysql));
    }
}

int64_t service_database_number(struct service_database *database, const char *sql) {
    MYSQL_RES *rows = NULL;
    int64_t number;

    if (!run(database, sql, &rows)) {
        test_die("%s: %s", sql, mysql_error(database->link->mysql));
    }
    number = strtoll(mysql_fetch_row(rows)[0], NULL, 10);
    mysql_free_result(rows);
    return number;
}

lk_outcome service_database_open(const char *address, int64_t lease_us, bool is_stranger,
                                 struct lk_storage **ret_storage, lk_error *error) {
    struct lk_tables_options options = {.address = address, .lease_us = lease_us};
    char url[300];

    write_url(is_stranger ? "stranger" : "root", url, sizeof url);
    options.url = url;
    return lk_store_mysql_open(&options, ret_storage, error);
}

/* Each by its number. */
void service_database_cut(struct service_database *database) {
    int64_t other;
    char sql[40];

    while ((other = service_database_number(
                database, "SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST"
                          " WHERE ID <> CONNECTION_ID() AND USER = 'root' AND COMMAND <> 'Killed'"))
           != 0) {
        (void)snprintf(sql, sizeof sql, "KILL %lld", (long long)other);
        (void)service_database_try(database, sql);
    }
}
