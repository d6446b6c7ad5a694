/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work in a table of the application: the rows that match a condition are worked on, each by one
 * worker at a time, and are marked in the same transaction that ends their claim.
 *
 *     cc table.c $(pkg-config --cflags --libs lockkeeper sqlite3) && ./a.out sqlite:orders.db
 *
 * Run it several times at once: each order is claimed by one worker at a time, and the order of a
 * worker that dies is claimed by another. The application uses its database as before.
 */
#include <lockkeeper/lockkeeper.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 2 };

/* Orders to be sent, in an application's database. `sent` is the time, and NULL until then. */
static const char more_orders[] =
    "PRAGMA busy_timeout = 10000;" /* other processes write to the file, too */
    "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, address TEXT, sent TEXT);"
    "INSERT INTO orders (address) VALUES ('ana'), ('ben'), ('eve');";

static const char mark_sent[] = "UPDATE orders SET sent = datetime('now') WHERE id = :id";
static const char orders_left[] = "SELECT id FROM orders WHERE sent IS NULL";

static int note_row(void *context, int column_count, char **texts, char **names) {
    (void)column_count;
    (void)texts;
    (void)names;
    *(bool *)context = true;
    return 0;
}

/* Runs SQL as the application would. Returns whether there was a row. */
static bool run(const char *file, const char *sql) {
    bool has_row = false;
    sqlite3 *database = NULL;

    if (sqlite3_open(file, &database) != SQLITE_OK
        || sqlite3_exec(database, sql, note_row, &has_row, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", file, sqlite3_errmsg(database));
        exit(EXIT_FAILURE);
    }
    sqlite3_close(database);
    return has_row;
}

/* Runs in a worker's thread, while the claim on the row is kept alive in the background. */
static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
    (void)context;
    printf("order %s is sent, under token %llu\n", claim->row_id,
           (unsigned long long)lk_lease_token(lease));
    return lk_lease_is_lost(lease) ? 1 : 0; /* 0: `done` below is run, if the claim is still held */
}

static lk_outcome work(const char *url, lk_error *error) {
    const lk_work_table table = {.size = sizeof table,
                                 .name = "orders",
                                 .where = "sent IS NULL",
                                 .order = "id",
                                 .done = mark_sent};
    const lk_work_options options = {.size = sizeof options,
                                     .table = &table,
                                     .handle = handle,
                                     .workers = WORKERS,
                                     .drain = true};
    lk_store *store;
    lk_outcome outcome = lk_open(url, &store, error);

    if (outcome == LK_OK) {
        outcome = lk_work(store, &options, NULL, error);
        lk_close(store);
    }
    return outcome;
}

int main(int argc, char **argv) {
    static const char scheme[] = "sqlite:";
    const char *store = argc > 1 ? argv[1] : "sqlite:orders.db";
    char url[4096];
    lk_error error;

    if (strncmp(store, scheme, strlen(scheme)) != 0) {
        fprintf(stderr, "usage: %s [sqlite:FILE]\n", argv[0]);
        return EXIT_FAILURE;
    }
    const char *file = store + strlen(scheme);
    run(file, more_orders);
    snprintf(url, sizeof url, "%s?share=yes", store); /* the store shares the file of the orders */
    if (work(url, &error) != LK_OK) {
        fprintf(stderr, "%s: %s\n", lk_outcome_text(error.outcome), error.text);
        return EXIT_FAILURE;
    }
    if (run(file, orders_left)) {
        fprintf(stderr, "an order was left\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
