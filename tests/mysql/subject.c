/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores in the private MariaDB server, each a database. The clock is that of each session, set on
 * the one connection that each engine has while nothing else uses it.
 */
#include "../procedures/subject.h"

#include <inttypes.h>
#include <mysql.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../sqlite/ground.h"
#include "engine/mysql/mysql.h"
#include "engine/procedures/procedures.h"

enum { ENGINES_MAX = 8 };

struct subject {
    char database[SUBJECT_NAME_MAX];
    MYSQL *connection;
    struct lk_engine *engines[ENGINES_MAX];
    size_t engine_count;
};

static void run_sql(const struct subject *subject, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void run_sql(const struct subject *subject, const char *format, ...) {
    char sql[1024];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sql, sizeof sql, format, arguments);
    va_end(arguments);
    if (mysql_query(subject->connection, sql) != 0) {
        ground_fail("%s: %s", sql, mysql_error(subject->connection));
    }
    mysql_free_result(mysql_store_result(subject->connection));
}

static struct lk_engine *open_store(const struct subject *subject) {
    struct lk_patience patience = ground_patience(20000000);
    struct lk_engine *engine = NULL;
    char rest[512];
    lk_error error;

    (void)snprintf(rest, sizeof rest, "//root@/%s?socket=%s/socket", subject->database,
                   getenv("LK_TEST_SERVER"));
    if (lk_engine_mysql.open(lk_slice_of(rest), &patience, &engine, &error) != LK_OK) {
        ground_fail("cannot open the store: %s", error.text);
    }
    return engine;
}

struct subject *subject_new(const char *name, struct lk_engine **ret_engines, size_t count) {
    struct subject *subject = calloc(1, sizeof *subject);
    char socket[256];

    if (subject == NULL || count > ENGINES_MAX) {
        ground_fail("no memory for a store");
    }
    (void)snprintf(subject->database, sizeof subject->database, "%s", name);
    (void)snprintf(socket, sizeof socket, "%s/socket", getenv("LK_TEST_SERVER"));
    subject->connection = mysql_init(NULL);
    if (mysql_real_connect(subject->connection, NULL, "root", NULL, NULL, 0, socket, 0) == NULL) {
        ground_fail("%s", mysql_error(subject->connection));
    }
    run_sql(subject, "CREATE DATABASE %s", name);
    run_sql(subject, "USE %s", name);
    for (size_t i = 0; i < count; i++) {
        subject->engines[i] = ret_engines[i] = open_store(subject);
    }
    subject->engine_count = count;
    return subject;
}

void subject_set_clock(struct subject *subject, int64_t now_us) {
    struct lk_patience patience = ground_patience(20000000);
    char sql[96];

    (void)snprintf(sql, sizeof sql, "SET @lk_server_start = 1, timestamp = %" PRId64 ".%06" PRId64,
                   now_us / 1000000, now_us % 1000000);
    for (size_t i = 0; i < subject->engine_count; i++) {
        struct lk_rows *rows = NULL;
        lk_error error;
        if (lk_procedures_ask_sql(lk_procedures_of(subject->engines[i]), sql, &patience, &rows,
                                  &error)
            != LK_OK) {
            ground_fail("%s: %s", sql, error.text);
        }
        lk_rows_free(rows);
    }
    run_sql(subject, "%s", sql);
}

void subject_tick(struct subject *subject) {
    run_sql(subject, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    run_sql(subject, "CALL lk_tick(NULL)");
}

void subject_free(struct subject *subject) {
    for (size_t i = 0; i < subject->engine_count; i++) {
        ground_close(subject->engines[i]);
    }
    run_sql(subject, "DROP DATABASE %s", subject->database);
    mysql_close(subject->connection);
    free(subject);
}
