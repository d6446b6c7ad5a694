/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work in a table costs (R17), beside the least that a hand-written program would do.
 *
 *     bench-table [FOLDER]       where the files go; the present folder unless named
 *
 * A row is claimed and completed in two transactions. The peer has columns for the owner of a claim
 * and its deadline: BEGIN IMMEDIATE, UPDATE ... RETURNING the first free row, COMMIT; BEGIN
 * IMMEDIATE, UPDATE the row if the claim is held, COMMIT. It has no finder, no queue, no locks
 * beside the claim, no counters. Lockkeeper runs lk_work() with a handler that does nothing. A
 * finder announces the rows meanwhile, which is counted in.
 */
#include <errno.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "table_share.h"

enum {
    ROWS_RELAXED = 4000,
    ROWS_DURABLE = 300,
    ROWS_SMOKE = 20,
    PATH_MAX_BYTES = 512,
    PROCESSES_MAX = 4
};

/* One side of the comparison, in one process of several; returns when all rows are done. */
typedef void side(const char *file, bool relaxed, bool is_finder);

static const char make_text[] =
    "PRAGMA journal_mode = WAL;"
    "CREATE TABLE work (id INTEGER PRIMARY KEY, done INTEGER NOT NULL DEFAULT 0, owner TEXT,"
    " until INTEGER NOT NULL DEFAULT 0);"
    "CREATE INDEX work_to_do ON work (id) WHERE done = 0;";

static void must_do(sqlite3 *database, const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) {
        bench_give_up("%s: %s", sql, sqlite3_errmsg(database));
    }
}

static sqlite3 *open_database(const char *file, bool relaxed) {
    sqlite3 *database = NULL;
    if (sqlite3_open(file, &database) != SQLITE_OK) {
        bench_give_up("%s: %s", file, sqlite3_errmsg(database));
    }
    sqlite3_busy_timeout(database, 60000);
    must_do(database, relaxed ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
    return database;
}

static void make_rows(const char *file, int rows) {
    char text[160];
    sqlite3 *database = open_database(file, true);
    must_do(database, make_text);
    snprintf(text, sizeof text,
             "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
             " INSERT INTO work (id) SELECT i FROM n",
             rows);
    must_do(database, text);
    sqlite3_close(database);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static sqlite3_stmt *prepare(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL)
        != SQLITE_OK) {
        bench_give_up("%s: %s", sql, sqlite3_errmsg(database));
    }
    return statement;
}

static void step(sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE || sqlite3_reset(statement) != SQLITE_OK) {
        bench_give_up("%s", sqlite3_errmsg(sqlite3_db_handle(statement)));
    }
}

static void hand_side(const char *file, bool relaxed, bool is_finder) {
    (void)is_finder;
    sqlite3 *database = open_database(file, relaxed);
    sqlite3_stmt *begin = prepare(database, "BEGIN IMMEDIATE");
    sqlite3_stmt *commit = prepare(database, "COMMIT");
    sqlite3_stmt *claim = prepare(
        database, "UPDATE work SET owner = ?1, until = ?2 + 60000000000 WHERE id ="
                  " (SELECT id FROM work WHERE done = 0 AND until <= ?2 ORDER BY id LIMIT 1)"
                  " RETURNING id");
    sqlite3_stmt *complete =
        prepare(database, "UPDATE work SET done = 1 WHERE id = ?1 AND owner = ?2 AND until > ?3");
    char owner[32];
    snprintf(owner, sizeof owner, "worker %ld", (long)getpid());
    bool found = true;
    while (found) {
        step(begin);
        sqlite3_bind_text(claim, 1, owner, -1, SQLITE_STATIC);
        sqlite3_bind_int64(claim, 2, bench_now_ns());
        found = sqlite3_step(claim) == SQLITE_ROW;
        sqlite3_bind_int64(complete, 1, sqlite3_column_int64(claim, 0));
        sqlite3_reset(claim);
        step(commit);
        if (found) {
            step(begin);
            sqlite3_bind_text(complete, 2, owner, -1, SQLITE_STATIC);
            sqlite3_bind_int64(complete, 3, bench_now_ns());
            step(complete);
            step(commit);
        }
    }
    sqlite3_finalize(begin);
    sqlite3_finalize(commit);
    sqlite3_finalize(claim);
    sqlite3_finalize(complete);
    sqlite3_close(database);
}

/* ---- the library ----------------------------------------------------------------------------- */

static void library_side(const char *file, bool relaxed, bool is_finder) {
    char url[PATH_MAX_BYTES + 64];

    snprintf(url, sizeof url, "sqlite:%s?share=yes%s", file, relaxed ? "&durability=relaxed" : "");
    table_library_work(url, is_finder);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void check(const char *file, int rows) {
    sqlite3 *database = open_database(file, true);
    sqlite3_stmt *count = prepare(database, "SELECT count(*) FROM work WHERE done = 1");
    if (sqlite3_step(count) != SQLITE_ROW || sqlite3_column_int(count, 0) != rows) {
        bench_give_up("%s: not all rows are done", file);
    }
    sqlite3_finalize(count);
    sqlite3_close(database);
}

/* Rows per second of `processes` processes, from the first start to the last end. */
static double play_round(side *which, const char *folder, bool relaxed, unsigned processes) {
    const int rows = (int)bench_amount(relaxed ? ROWS_RELAXED : ROWS_DURABLE, ROWS_SMOKE);
    char file[PATH_MAX_BYTES];
    char beside[PATH_MAX_BYTES + 8];
    snprintf(file, sizeof file, "%s/work.db", folder);
    make_rows(file, rows);
    fflush(stdout);
    int64_t begun_ns = bench_now_ns();
    for (unsigned i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child < 0) {
            bench_give_up("no process: %s", strerror(errno));
        }
        if (child == 0) {
            which(file, relaxed, i == 0);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < processes; i++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0) {
            bench_give_up("a process failed");
        }
    }
    double seconds = (double)(bench_now_ns() - begun_ns) / 1e9;
    check(file, rows);
    unlink(file);
    snprintf(beside, sizeof beside, "%s-wal", file);
    unlink(beside);
    snprintf(beside, sizeof beside, "%s-shm", file);
    unlink(beside);
    return rows / seconds;
}

struct duel {
    const char *folder;
    bool relaxed;
    unsigned processes;
};

static double play_ours(void *context) {
    const struct duel *duel = context;

    return play_round(library_side, duel->folder, duel->relaxed, duel->processes);
}

static double play_theirs(void *context) {
    const struct duel *duel = context;

    return play_round(hand_side, duel->folder, duel->relaxed, duel->processes);
}

static void compare(const char *folder, bool relaxed, unsigned processes) {
    struct duel duel = {folder, relaxed, processes};
    char what[96];

    snprintf(what, sizeof what, "durability %s, %u process%s", relaxed ? "relaxed" : "FULL",
             processes, processes == 1 ? "" : "es");
    bench_duel(&(struct bench_duel){.what = what,
                                    .peer = "a loop by hand",
                                    .unit = "rows/s",
                                    .ours = play_ours,
                                    .theirs = play_theirs,
                                    .context = &duel});
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

int main(int argc, char **argv) {
    char folder[PATH_MAX_BYTES - 64];
    char title[96];
    snprintf(folder, sizeof folder, "%s/bench-table-XXXXXX", argc > 1 ? argv[1] : ".");
    if (mkdtemp(folder) == NULL) {
        bench_give_up("%s: %s", folder, strerror(errno));
    }
    snprintf(title, sizeof title, "Work in a table, beside a loop by hand over SQLite %s",
             sqlite3_libversion());
    bench_begin("bench-table", title);
    bench_title_print("A row claimed and completed");
    compare(folder, false, 1);
    compare(folder, false, PROCESSES_MAX);
    compare(folder, true, 1);
    compare(folder, true, PROCESSES_MAX);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
