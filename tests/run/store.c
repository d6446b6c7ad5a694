/* SPDX-License-Identifier: Apache-2.0 */
/* A separate connection to the store, which takes or probes SQLite's write lock. */
#include "store.h"

#include <signal.h>
#include <stdio.h>

/* Longer than any transaction of a running process; a stopped one never ends its transaction. */
enum { FREE_MS_MAX = 300 };

static sqlite3 *open_store(struct fixture *fixture, int patience_ms) {
    char path[sizeof fixture->directory + sizeof "/locks.db"];
    sqlite3 *database;

    (void)snprintf(path, sizeof path, "%s/locks.db", fixture->directory);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_busy_timeout(database, patience_ms);
    return database;
}

sqlite3 *store_lock(struct fixture *fixture) {
    sqlite3 *database = open_store(fixture, FIXTURE_BOUND_MS);

    assert_int_equal(sqlite3_exec(database, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    return database;
}

void store_unlock(sqlite3 *database) {
    assert_int_equal(sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static int count_requests(sqlite3 *database) {
    sqlite3_stmt *query = NULL;
    int count = 0;

    assert_int_equal(
        sqlite3_prepare_v2(database, "SELECT count(*) FROM lk_request", -1, &query, NULL),
        SQLITE_OK);
    if (sqlite3_step(query) == SQLITE_ROW) {
        count = sqlite3_column_int(query, 0);
    }
    assert_int_equal(sqlite3_finalize(query), SQLITE_OK);
    return count;
}

void store_await_requests(struct fixture *fixture, int count) {
    sqlite3 *database = open_store(fixture, FIXTURE_BOUND_MS);
    int64_t until_ms = fixture_now_ms() + FIXTURE_BOUND_MS;

    while (count_requests(database) < count) {
        assert_true(fixture_now_ms() < until_ms);
        fixture_pause();
    }
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

bool store_is_unlocked(struct fixture *fixture, int patience_ms) {
    sqlite3 *database = open_store(fixture, patience_ms);
    int code = sqlite3_exec(database, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL);

    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    return code == SQLITE_OK;
}

void store_stop_unlocked(struct fixture *fixture, pid_t process) {
    kill(process, SIGSTOP);
    fixture_await_stopped(process);
    while (!store_is_unlocked(fixture, FREE_MS_MAX)) {
        kill(process, SIGCONT);
        fixture_pause();
        kill(process, SIGSTOP);
        fixture_await_stopped(process);
    }
}
