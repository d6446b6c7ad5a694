/* SPDX-License-Identifier: Apache-2.0 */
/* The table of killed_workers.c in an SQLite file that the store shares. */
#include <stdio.h>
#include <stdlib.h>

#include "../sqlite/fixture.h"
#include "database.h"

struct database {
    struct fixture fixture;
    char url[PATH_MAX];
};

static sqlite3 *open_file(const struct database *database) {
    sqlite3 *handle = NULL;

    if (sqlite3_open(database->fixture.file, &handle) != SQLITE_OK) {
        test_die("no database: %s", sqlite3_errmsg(handle));
    }
    return handle;
}

struct database *database_make(int rows, const char *url) {
    struct database *database = calloc(1, sizeof *database);
    char text[1024];
    sqlite3 *handle;

    (void)url;
    if (database == NULL) {
        test_die("no memory");
    }
    database->fixture = fixture_make();
    (void)snprintf(database->url, sizeof database->url, "sqlite:%s?durability=relaxed&share=yes",
                   database->fixture.file);
    (void)snprintf(text, sizeof text,
                   "CREATE TABLE \"jobs to do\" (\"the id\" INTEGER PRIMARY KEY, state TEXT);"
                   "CREATE TABLE log (job INTEGER, token INTEGER, attempt INTEGER);"
                   "CREATE VIEW finish AS SELECT 1 AS job, 1 AS token, 1 AS attempt;"
                   "CREATE TRIGGER finished INSTEAD OF INSERT ON finish BEGIN"
                   " UPDATE \"jobs to do\" SET state = 'done' WHERE \"the id\" = NEW.job;"
                   " INSERT INTO log VALUES (NEW.job, NEW.token, NEW.attempt); END;"
                   "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                   " INSERT INTO \"jobs to do\" SELECT i, 'new' FROM n;",
                   rows);
    handle = open_file(database);
    if (sqlite3_exec(handle, text, NULL, NULL, NULL) != SQLITE_OK) {
        test_die("no table: %s", sqlite3_errmsg(handle));
    }
    (void)sqlite3_close(handle);
    return database;
}

void database_remove(struct database *database) {
    fixture_remove(&database->fixture);
    free(database);
}

const char *database_url(const struct database *database) {
    return database->url;
}

int64_t database_number(const struct database *database, const char *query) {
    return fixture_sql(database->fixture.file, query);
}

void database_each_line(const struct database *database, database_visit_line *visit,
                        void *context) {
    sqlite3 *handle = open_file(database);
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(handle, "SELECT job, token, attempt FROM log", -1, &statement, NULL)
        != SQLITE_OK) {
        test_die("no log: %s", sqlite3_errmsg(handle));
    }
    while (sqlite3_step(statement) == SQLITE_ROW) {
        visit(context, sqlite3_column_int(statement, 0),
              (uint64_t)sqlite3_column_int64(statement, 1),
              (uint32_t)sqlite3_column_int64(statement, 2));
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(handle);
}
