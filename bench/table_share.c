/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One worker at the table `work`, whose handler does nothing; and rounds in which such workers and
 * those by hand take turns. The rows are announced meanwhile, which is counted in. A worker is a
 * process.
 */
#include "table_share.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "lockkeeper/lockkeeper.h"

static int do_nothing(void *context, const lk_claim_info *claim, lk_lease *lease) {
    (void)context;
    (void)claim;
    (void)lease;
    return 0;
}

void table_library_work(const char *url, bool is_finder) {
    const lk_work_table table = {
        .size = sizeof table,
        .name = "work",
        .where = "done = 0",
        .order = "id",
        .done = "UPDATE work SET done = 1 WHERE id = :id",
    };
    const lk_work_options options = {
        .size = sizeof options,
        .table = &table,
        .handle = do_nothing,
        .drain = true,
        .loops = is_finder ? LK_WORK_ALL : LK_WORK_CLAIMS,
    };
    lk_store *store = NULL;
    lk_error error = {0};

    if (lk_open(url, &store, &error) != LK_OK || lk_work(store, &options, NULL, &error) != LK_OK) {
        bench_give_up("%s: %s", url, error.text);
    }
    lk_close(store);
}

enum { ROWS = 1500, ROWS_SMOKE = 20, WORKERS_MAX = 16, WORKERS_SMOKE = 1 };

/* One worker of a side; returns when all rows are done. */
typedef void side(const struct table_database *database, unsigned number);

static void hand_side(const struct table_database *database, unsigned number) {
    database->work(number);
}

static void library_side(const struct table_database *database, unsigned number) {
    table_library_work(database->url, number == 0);
}

/* Rows per second, from the first start to the last end. */
static double play(const struct table_database *database, side *which, unsigned workers) {
    int rows = (int)bench_amount(ROWS, ROWS_SMOKE);
    int64_t begun_ns;
    double seconds;

    database->fill(rows);
    (void)fflush(stdout);
    begun_ns = bench_now_ns();
    for (unsigned i = 0; i < workers; i++) {
        pid_t child = fork();
        if (child < 0) {
            bench_give_up("no process");
        }
        if (child == 0) {
            which(database, i);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < workers; i++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0) {
            bench_give_up("a worker failed");
        }
    }
    seconds = (double)(bench_now_ns() - begun_ns) / 1e9;
    if (database->left() != 0) {
        bench_give_up("not all rows are done");
    }
    return rows / seconds;
}

struct duel {
    const struct table_database *database;
    unsigned workers;
};

static double play_ours(void *context) {
    const struct duel *duel = context;

    return play(duel->database, library_side, duel->workers);
}

static double play_theirs(void *context) {
    const struct duel *duel = context;

    return play(duel->database, hand_side, duel->workers);
}

void table_database_compare(const struct table_database *database) {
    bench_title_print("A row announced, claimed and completed");
    for (unsigned workers = 1; workers <= bench_count(WORKERS_MAX, WORKERS_SMOKE); workers *= 4) {
        struct duel duel = {database, workers};
        char what[64];

        (void)snprintf(what, sizeof what, "%u worker%s", workers, workers == 1 ? "" : "s");
        bench_duel(&(struct bench_duel){.what = what,
                                        .peer = "a loop by hand",
                                        .unit = "rows/s",
                                        .ours = play_ours,
                                        .theirs = play_theirs,
                                        .context = &duel});
    }
}
