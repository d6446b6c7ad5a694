/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the embedded store costs, beside bare SQLite transactions of the same durability on the
 * same disk in the same run.
 *
 *     bench-sqlite [FOLDER]      where the files go; the present folder unless named
 *
 * A pair is an acquire and a release of an uncontended path through liblockkeeper: two durable
 * transactions that find, decide, write and answer. Its peer is the least that two transactions can
 * be: BEGIN IMMEDIATE, one row inserted, COMMIT; BEGIN IMMEDIATE, the row deleted, COMMIT. Both
 * sides take turns, so that a disk's moods meet both.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "lockkeeper/lockkeeper.h"

enum {
    PROCESSES_MAX = 4,
    ROUND_MS = 1000,
    PATH_MAX_BYTES = 512,
    KEYS = 1000,
    FLUSHES = 200,
};

/* What the processes of one round share. */
struct round {
    int64_t begin_ns; /* all begin then */
    int64_t end_ns;
    uint64_t pairs[PROCESSES_MAX];
};

/* One side of the comparison, in one process of several. */
typedef uint64_t side(const char *folder, bool relaxed, unsigned process,
                      const struct round *round);

static void sleep_until(int64_t until_ns) {
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                             .tv_nsec = (long)(until_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

/* ---- bare SQLite ----------------------------------------------------------------------------- */

static void must_do(sqlite3 *database, const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) {
        bench_give_up("%s: %s", sql, sqlite3_errmsg(database));
    }
}

static sqlite3 *bare_open(const char *folder, bool relaxed) {
    char path[PATH_MAX_BYTES];
    sqlite3 *database = NULL;
    snprintf(path, sizeof path, "%s/bare.db", folder);
    if (sqlite3_open(path, &database) != SQLITE_OK) {
        bench_give_up("%s: %s", path, sqlite3_errmsg(database));
    }
    sqlite3_busy_timeout(database, 60000);
    must_do(database, "PRAGMA journal_mode = WAL");
    must_do(database, relaxed ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
    must_do(database, "CREATE TABLE IF NOT EXISTS requests (path TEXT PRIMARY KEY, owner TEXT, "
                      "deadline INTEGER) WITHOUT ROWID");
    return database;
}

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

static uint64_t bare_side(const char *folder, bool relaxed, unsigned process,
                          const struct round *round) {
    sqlite3 *database = bare_open(folder, relaxed);
    sqlite3_stmt *begin = prepare(database, "BEGIN IMMEDIATE");
    sqlite3_stmt *commit = prepare(database, "COMMIT");
    sqlite3_stmt *insert = prepare(database, "INSERT INTO requests VALUES (?, ?, ?)");
    sqlite3_stmt *delete = prepare(database, "DELETE FROM requests WHERE path = ?");
    uint64_t pairs = 0;
    sleep_until(round->begin_ns);
    do { /* one at least, however long it took to open */
        char path[64];
        snprintf(path, sizeof path, "bench%u/table/%llu", process,
                 (unsigned long long)pairs % KEYS);
        step(begin);
        sqlite3_bind_text(insert, 1, path, -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 2, "owner", -1, SQLITE_STATIC);
        sqlite3_bind_int64(insert, 3, bench_now_ns());
        step(insert);
        step(commit);
        step(begin);
        sqlite3_bind_text(delete, 1, path, -1, SQLITE_STATIC);
        step(delete);
        step(commit);
        pairs++;
    } while (bench_now_ns() < round->end_ns);
    sqlite3_finalize(begin);
    sqlite3_finalize(commit);
    sqlite3_finalize(insert);
    sqlite3_finalize(delete);
    sqlite3_close(database);
    return pairs;
}

/* ---- the library ----------------------------------------------------------------------------- */

static uint64_t library_side(const char *folder, bool relaxed, unsigned process,
                             const struct round *round) {
    char url[PATH_MAX_BYTES];
    char path[64];
    const char *parts[] = {path};
    lk_store *store = NULL;
    lk_error error = {0};
    uint64_t pairs = 0;
    snprintf(url, sizeof url, "sqlite:%s/lockkeeper.db%s", folder,
             relaxed ? "?durability=relaxed" : "");
    if (lk_open(url, &store, &error) != LK_OK) {
        bench_give_up("%s: %s", url, error.text);
    }
    lk_request request = lk_request_init(parts, 1);
    request.owner = "owner";
    request.style = LK_TRY;
    request.patience_ms = 60000;
    sleep_until(round->begin_ns);
    do { /* one at least, however long it took to open */
        snprintf(path, sizeof path, "bench%u/table/%llu", process,
                 (unsigned long long)pairs % KEYS);
        if (lk_ask(store, &request, NULL, &error) != LK_GRANTED
            || lk_release(store, &request, 0, NULL, &error) != LK_OK) {
            bench_give_up("%s: %s: %s", path, lk_outcome_name(error.outcome), error.text);
        }
        pairs++;
    } while (bench_now_ns() < round->end_ns);
    lk_close(store);
    return pairs;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Pairs per second of `processes` processes. */
static double play_round(side *which, const char *folder, bool relaxed, unsigned processes) {
    struct round *round =
        mmap(NULL, sizeof *round, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (round == MAP_FAILED) {
        bench_give_up("no shared memory");
    }
    round->begin_ns = bench_now_ns() + bench_round_ns(ROUND_MS) / 10;
    round->end_ns = round->begin_ns + bench_round_ns(ROUND_MS);
    fflush(stdout);
    for (unsigned i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child < 0) {
            bench_give_up("no process: %s", strerror(errno));
        }
        if (child == 0) {
            round->pairs[i] = which(folder, relaxed, i, round);
            _exit(0);
        }
    }
    double pairs = 0;
    for (unsigned i = 0; i < processes; i++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0) {
            bench_give_up("a process failed");
        }
    }
    for (unsigned i = 0; i < processes; i++) {
        pairs += (double)round->pairs[i];
    }
    munmap(round, sizeof *round);
    return pairs / ((double)bench_round_ns(ROUND_MS) / 1e9);
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

    return play_round(bare_side, duel->folder, duel->relaxed, duel->processes);
}

static void compare(const char *folder, bool relaxed, unsigned processes) {
    struct duel duel = {folder, relaxed, processes};
    char what[96];

    snprintf(what, sizeof what, "durability %s, %u process%s", relaxed ? "relaxed" : "FULL",
             processes, processes == 1 ? "" : "es");
    bench_duel(&(struct bench_duel){.what = what,
                                    .peer = "bare SQLite transactions",
                                    .unit = "pairs/s",
                                    .ours = play_ours,
                                    .theirs = play_theirs,
                                    .context = &duel});
}

/*
 * What one flush costs here, of a block that is there already, as a log that is used again has
 * them: without it the figures below cannot be interpreted.
 */
static void measure_disk(const char *folder) {
    char path[PATH_MAX_BYTES];
    char block[4096] = {1};
    snprintf(path, sizeof path, "%s/flush", folder);
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) {
        bench_give_up("%s: %s", path, strerror(errno));
    }
    double flushes_us[FLUSHES];
    for (size_t i = 0; i < FLUSHES; i++) {
        int64_t started_ns = bench_now_ns();
        if (pwrite(file, block, sizeof block, 0) != sizeof block || fdatasync(file) != 0) {
            bench_give_up("%s: %s", path, strerror(errno));
        }
        flushes_us[i] = (double)(bench_now_ns() - started_ns) / 1000;
    }
    close(file);
    bench_figure_print("this disk: 4 KiB overwritten and flushed, median",
                       bench_median(flushes_us, FLUSHES), "us");
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

int main(int argc, char **argv) {
    char folder[PATH_MAX_BYTES - 64];
    char title[64];
    snprintf(folder, sizeof folder, "%s/bench-sqlite-XXXXXX", argc > 1 ? argv[1] : ".");
    if (mkdtemp(folder) == NULL) {
        bench_give_up("%s: %s", folder, strerror(errno));
    }
    snprintf(title, sizeof title, "The embedded store, beside bare SQLite %s",
             sqlite3_libversion());
    bench_begin("bench-sqlite", title);
    bench_title_print("Acquire + release, uncontended, depth 3");
    measure_disk(folder);
    compare(folder, false, 1);
    compare(folder, false, 4);
    compare(folder, true, 1);
    compare(folder, true, 4);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
