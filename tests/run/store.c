/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of the test's own, which takes the write lock or finds it taken. */
#include "store.h"

#include <signal.h>
#include <stdio.h>

/* Who runs is out of a transaction by then; who is stopped in one never is. */
enum { FREE_MS_MAX = 300 };

static sqlite3 *open_store(struct stage *stage, int patience_ms) {
    char path[sizeof stage->directory + sizeof "/locks.db"];
    sqlite3 *database;

    (void)snprintf(path, sizeof path, "%s/locks.db", stage->directory);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_busy_timeout(database, patience_ms);
    return database;
}

sqlite3 *store_take_away(struct stage *stage) {
    sqlite3 *database = open_store(stage, STAGE_BOUND_MS);

    assert_int_equal(sqlite3_exec(database, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    return database;
}

void store_give_back(sqlite3 *database) {
    assert_int_equal(sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static int count_requests(sqlite3 *database) {
    sqlite3_stmt *query = NULL;
    int count = 0;

    assert_int_equal(
        sqlite3_prepare_v2(database, "SELECT count(*) FROM requests", -1, &query, NULL), SQLITE_OK);
    if (sqlite3_step(query) == SQLITE_ROW) {
        count = sqlite3_column_int(query, 0);
    }
    assert_int_equal(sqlite3_finalize(query), SQLITE_OK);
    return count;
}

void store_await_requests(struct stage *stage, int count) {
    sqlite3 *database = open_store(stage, STAGE_BOUND_MS);
    int64_t until_ms = stage_now_ms() + STAGE_BOUND_MS;

    while (count_requests(database) < count) {
        assert_true(stage_now_ms() < until_ms);
        stage_breathe();
    }
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

bool store_is_free(struct stage *stage, int patience_ms) {
    sqlite3 *database = open_store(stage, patience_ms);
    int code = sqlite3_exec(database, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL);

    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    return code == SQLITE_OK;
}

void store_stop_outside(struct stage *stage, pid_t process) {
    kill(process, SIGSTOP);
    stage_await_stopped(process);
    while (!store_is_free(stage, FREE_MS_MAX)) {
        kill(process, SIGCONT);
        stage_breathe();
        kill(process, SIGSTOP);
        stage_await_stopped(process);
    }
}
