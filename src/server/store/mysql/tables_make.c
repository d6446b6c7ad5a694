/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the tables and procedures, one service at a time. Each DDL statement commits by itself, and
 * the row of lk_service_leader is added last: without it all is made again. What cannot be
 * completed is removed.
 */
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "engine/mysql/script.h"
#include "server/store/mysql/store.h"
#include "sql/store_name.h"

enum { SQL_BYTES_MAX = 256 };

#define MAKING_US                                                                                  \
    INT64_C(60000000) /* at least, to make the tables or to wait for another service */

/* The name depends on database and prefix. */
#define LOCK "CONCAT('lockkeeper service ', LEFT(SHA2(CONCAT(DATABASE(), '.%s'), 256), 40))"

/* Runs one statement, whose rows are not of interest. */
static lk_outcome run(const struct lk_store_mysql *store, struct lk_slice sql,
                      const struct lk_patience *patience, lk_error *error) {
    MYSQL_RES *result = NULL;
    lk_outcome outcome = lk_mysql_query(store->link, sql, patience, &result, error);

    if (outcome == LK_INTERNAL) {
        return lk_store_mysql_explain(store, error);
    }
    if (outcome == LK_OK) {
        mysql_free_result(result);
    }
    return outcome;
}

/* *ret_format: -1 if there are no tables, or not all of them. */
static lk_outcome query_format(const struct lk_store_mysql *store,
                               const struct lk_patience *patience, long *ret_format,
                               lk_error *error) {
    char sql[SQL_BYTES_MAX];
    MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    lk_outcome outcome;

    *ret_format = -1;
    (void)snprintf(sql, sizeof sql, "SELECT format FROM %sservice_leader", store->address.prefix);
    outcome = lk_mysql_query(store->link, lk_slice_of(sql), patience, &result, error);
    if (outcome == LK_INTERNAL) {
        return mysql_errno(store->link->mysql) == ER_NO_SUCH_TABLE
                   ? LK_OK
                   : lk_store_mysql_explain(store, error);
    }
    if (outcome == LK_OK) {
        row = result != NULL ? mysql_fetch_row(result) : NULL;
        *ret_format = row != NULL && row[0] != NULL ? strtol(row[0], NULL, 10) : -1;
        mysql_free_result(result);
    }
    return outcome;
}

/* No service can have used what this part of the script has made. What cannot be removed stays. */
static void take_back(const struct lk_store_mysql *store, struct lk_slice script,
                      const struct lk_patience *patience) {
    struct lk_slice statement;
    struct lk_slice kind;
    struct lk_slice name;

    while (!store->link->is_lost && lk_mysql_script_next(&script, &statement)) {
        char sql[SQL_BYTES_MAX];

        if (lk_mysql_script_creates(statement, &kind, &name)) {
            (void)snprintf(sql, sizeof sql, "DROP %.*s IF EXISTS %.*s", (int)kind.size, kind.bytes,
                           (int)name.size, name.bytes);
            (void)run(store, lk_slice_of(sql), patience, NULL);
        }
    }
}

static lk_outcome run_script(const struct lk_store_mysql *store, const char *text,
                             const struct lk_patience *patience, lk_error *error) {
    struct lk_slice script = lk_slice_of(text);
    struct lk_slice statement;
    lk_outcome outcome = LK_OK;

    while (outcome == LK_OK && lk_mysql_script_next(&script, &statement)) {
        outcome = run(store, statement, patience, error);
    }
    if (outcome != LK_OK) {
        take_back(store, (struct lk_slice){text, (size_t)(statement.bytes - text)}, patience);
    }
    return outcome;
}

static lk_outcome make(const struct lk_store_mysql *store, const struct lk_patience *patience,
                       long *ret_format, lk_error *error) {
    char *script = lk_sql_schema_service_with_prefix(store->address.prefix);
    char sql[SQL_BYTES_MAX];
    lk_outcome outcome;

    if (script == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    (void)snprintf(sql, sizeof sql, "SELECT GET_LOCK(" LOCK ", 31536000)", store->address.prefix);
    outcome = run(store, lk_slice_of(sql), patience, error);
    if (outcome == LK_OK) {
        outcome = query_format(store, patience, ret_format, error);
    }
    if (outcome == LK_OK && *ret_format < 0) {
        outcome = run_script(store, script, patience, error);
    }
    free(script);
    if (outcome == LK_OK) {
        (void)snprintf(sql, sizeof sql, "DO RELEASE_LOCK(" LOCK ")", store->address.prefix);
        outcome = run(store, lk_slice_of(sql), patience, error);
    }
    return outcome == LK_OK ? query_format(store, patience, ret_format, error) : outcome;
}

lk_outcome lk_store_mysql_prepare(struct lk_store_mysql *store, const struct lk_patience *patience,
                                  lk_error *error) {
    const struct lk_patience longer = {
        .until_us = lk_max(patience->until_us, lk_clock_now_us() + MAKING_US)};
    long format = -1;
    lk_outcome outcome = query_format(store, patience, &format, error);

    if (outcome == LK_OK && format < 0) {
        outcome = make(store, &longer, &format, error);
    }
    return outcome == LK_OK && format != LK_TABLES_FORMAT
               ? lk_tables_refuse_format(&store->tables, format, error)
               : outcome;
}
