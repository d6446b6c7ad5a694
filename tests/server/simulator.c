/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: simulator [--worlds N] [--from N] [--replay N] [--flaw 1|2|3|4]
 *
 * Runs N generated worlds, the first with a random seed unless LK_TEST_SEED or --from sets it. A
 * failure is printed with the command that replays it, event for event.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim.h"

enum { WORLDS = 500 };

struct options {
    uint64_t from;
    uint64_t worlds;
    enum sim_flaw flaw;
    bool talks;
};

static uint64_t scaled(uint64_t count) {
    const char *text = getenv("LK_TEST_SCALE");
    uint64_t percent = text != NULL ? strtoull(text, NULL, 10) : 100;
    uint64_t scaled_count = count * percent / 100;

    return scaled_count > 0 ? scaled_count : 1;
}

static struct options read_options(int argc, char **argv) {
    const char *said = getenv("LK_TEST_SEED");
    struct options options = {
        .from = said != NULL ? strtoull(said, NULL, 10) : lk_random_draw() >> 24,
        .worlds = scaled(WORLDS),
    };

    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t number = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--worlds") == 0) {
            options.worlds = number;
        } else if (strcmp(argv[i], "--from") == 0) {
            options.from = number;
        } else if (strcmp(argv[i], "--flaw") == 0) {
            options.flaw = (enum sim_flaw)number;
        } else if (strcmp(argv[i], "--replay") == 0) {
            options.from = number;
            options.worlds = 1;
            options.talks = true;
        }
    }
    return options;
}

static void empty(const char *directory) {
    static const char *const names[] = {"locks.db", "locks.db-wal", "locks.db-shm",
                                        "locks.db-served"};
    char path[256];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        (void)unlink(path);
    }
}

static void give_up(const char *what, const char *why) {
    (void)fprintf(stderr, "simulator: %s: %s\n", what, why);
    exit(1);
}

/* One file for all worlds, which begin with nothing in it. */
static void clear(const char *directory) {
    static const char *const statements =
        "BEGIN; DELETE FROM lk_request; DELETE FROM lk_part; DELETE FROM lk_value;"
        " DELETE FROM lk_queue; DELETE FROM lk_item; DELETE FROM lk_item_value;"
        " DELETE FROM lk_root;"
        " DELETE FROM lk_ended; DELETE FROM lk_audit; DELETE FROM lk_event; UPDATE lk_meta SET"
        " draw_floor = 0, last_event = 0, watched_until_us = 0; COMMIT";
    char path[256];
    sqlite3 *database;
    char *message = NULL;

    (void)snprintf(path, sizeof path, "%s/locks.db", directory);
    if (sqlite3_open(path, &database) != SQLITE_OK
        || sqlite3_exec(database, "PRAGMA synchronous = OFF", NULL, NULL, NULL) != SQLITE_OK
        || sqlite3_exec(database, statements, NULL, NULL, &message) != SQLITE_OK) {
        give_up("the store cannot be cleared", message != NULL ? message : "no reason given");
    }
    (void)sqlite3_close(database);
}

int main(int argc, char **argv) {
    const struct options options = read_options(argc, argv);
    const char *temporary = getenv("TMPDIR");
    struct sim *sim = calloc(1, sizeof *sim);
    uint64_t steps = 0;
    uint64_t crashes = 0;
    uint64_t failures = 0;
    uint64_t grants = 0;
    uint64_t events = 0;
    uint64_t gaps = 0;
    uint64_t wrong_count = 0;
    char directory[200];
    const struct lk_store_sqlite_options store_options = {.directory = directory,
                                                          .is_relaxed = true};
    struct lk_storage *store;
    lk_error error;

    (void)snprintf(directory, sizeof directory, "%s/lk-sim-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    if (sim == NULL || mkdtemp(directory) == NULL) {
        return 1;
    }
    sim->talks = options.talks;
    if (lk_store_sqlite_open(&store_options, &store, &error) != LK_OK) {
        give_up("the store cannot be opened", error.text);
    }
    (void)printf("# worlds %" PRIu64 " to %" PRIu64 "\n", options.from,
                 options.from + options.worlds - 1);
    for (uint64_t i = 0; i < options.worlds && wrong_count < 3; i++) {
        const char *wrong;

        clear(directory);
        wrong = sim_run(sim, options.from + i, options.flaw, store);
        steps += sim->steps;
        crashes += sim->crashes;
        failures += sim->failures;
        grants += sim->grants;
        events += sim->events_answered;
        gaps += sim->gaps_answered;
        if (wrong != NULL) {
            (void)printf("# world %" PRIu64 ": %s\n# again: %s --replay %" PRIu64 " --flaw %d\n",
                         options.from + i, wrong, argv[0], options.from + i, (int)options.flaw);
            wrong_count++;
        }
    }
    (void)printf("# %" PRIu64 " steps, %" PRIu64 " crashes, %" PRIu64 " failed writes, %" PRIu64
                 " grants answered, %" PRIu64 " events, %" PRIu64 " gaps\n",
                 steps, crashes, failures, grants, events, gaps);
    store->ops->close(store);
    empty(directory);
    (void)rmdir(directory);
    sim_done(sim);
    free(sim);
    if (options.flaw == SIM_SOUND) {
        (void)printf("%s 1 - no violation, and every client makes progress\n1..1\n",
                     wrong_count == 0 ? "ok" : "not ok");
        return wrong_count == 0 ? 0 : 1;
    }
    (void)printf("%s 1 - the flaw is seen\n1..1\n", wrong_count > 0 ? "ok" : "not ok");
    return wrong_count > 0 ? 0 : 1;
}
