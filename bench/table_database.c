/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds in which workers by the library and those by hand take turns. The rows are announced
 * meanwhile, which is counted in. A worker is a process.
 */
#include "table_database.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "table_library.h"

enum { ROWS = 1500, ROUNDS = 3, WORKERS_MAX = 16 };

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
    int64_t begun_ns;
    double seconds;

    database->fill(ROWS);
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
    return ROWS / seconds;
}

static void compare(const struct table_database *database, unsigned workers) {
    double hand[ROUNDS];
    double library[ROUNDS];
    double ratios[ROUNDS];
    char what[64];

    bench_progress("%u workers", workers);
    for (size_t i = 0; i < ROUNDS; i++) {
        hand[i] = play(database, hand_side, workers);
        library[i] = play(database, library_side, workers);
        ratios[i] = library[i] / hand[i];
    }
    (void)snprintf(what, sizeof what, "%2u workers: by hand", workers);
    bench_figure_print(what, bench_median(hand, ROUNDS), "rows/s");
    (void)snprintf(what, sizeof what, "%2u workers: announce + claim + done", workers);
    bench_figure_print(what, bench_median(library, ROUNDS), "rows/s");
    bench_at_least_print("  ratio", bench_median(ratios, ROUNDS), 1.0, "times");
}

void table_database_compare(const struct table_database *database) {
    bench_machine_print();
    bench_title_print("A row claimed and completed");
    for (unsigned workers = 1; workers <= WORKERS_MAX; workers *= 4) {
        compare(database, workers);
    }
}
