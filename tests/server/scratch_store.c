/* SPDX-License-Identifier: Apache-2.0 */
/* One file for all worlds; nothing of it is flushed. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "worlds.h"

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
    (void)fprintf(stderr, "scratch store: %s: %s\n", what, why);
    exit(1);
}

void scratch_store_clear(const struct scratch_store *scratch) {
    static const char *const statements =
        "BEGIN; DELETE FROM lk_request; DELETE FROM lk_part; DELETE FROM lk_value;"
        " DELETE FROM lk_queue; DELETE FROM lk_item; DELETE FROM lk_item_value;"
        " DELETE FROM lk_root;"
        " DELETE FROM lk_ended; DELETE FROM lk_audit; DELETE FROM lk_event; UPDATE lk_meta SET"
        " draw_floor = 0, last_event = 0, watched_until_us = 0; COMMIT";
    char path[256];
    sqlite3 *database;
    char *message = NULL;

    (void)snprintf(path, sizeof path, "%s/locks.db", scratch->directory);
    if (sqlite3_open(path, &database) != SQLITE_OK
        || sqlite3_exec(database, "PRAGMA synchronous = OFF", NULL, NULL, NULL) != SQLITE_OK
        || sqlite3_exec(database, statements, NULL, NULL, &message) != SQLITE_OK) {
        give_up("the store cannot be cleared", message != NULL ? message : "no reason given");
    }
    (void)sqlite3_close(database);
}

void scratch_store_open(struct scratch_store *scratch) {
    const char *temporary = getenv("TMPDIR");
    const struct lk_store_sqlite_options options = {.directory = scratch->directory,
                                                    .is_relaxed = true};
    lk_error error = {.text = "no temporary directory"};

    (void)snprintf(scratch->directory, sizeof scratch->directory, "%s/lk-sim-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(scratch->directory) == NULL
        || lk_store_sqlite_open(&options, &scratch->storage, &error) != LK_OK) {
        give_up("the store cannot be opened", error.text);
    }
}

void scratch_store_close(struct scratch_store *scratch) {
    scratch->storage->ops->close(scratch->storage);
    empty(scratch->directory);
    (void)rmdir(scratch->directory);
}
