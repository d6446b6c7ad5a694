/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of the tables. The epoch is checked after a page was read, in a transaction of its own: if
 * it is still the present one then, no other service had written before. So no lock waits for a
 * client that reads slowly.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/store/mysql/store.h"

enum { PIECE_BYTES = 512 }; /* of a query, between its keys */

#define LIMIT " LIMIT 10000" /* LK_TABLES_PAGE_ROWS */

/* $1, $2: the page begins behind these keys, which are the first columns. */
static const char *const pages[LK_TABLES_PAGES] = {
    [LK_TABLES_PAGE_LEADER] =
        "SELECT draw_floor, last_event, watched_us, events_max, live_max, live_per_owner_max,"
        " live_per_root_max, waiters_per_path_max, (SELECT COUNT(*) FROM lk_service_ended)"
        " FROM lk_service_leader",
    [LK_TABLES_PAGE_VALUES] = "SELECT path, bytes, in_doubt FROM lk_service_value WHERE path > $1"
                              " ORDER BY path" LIMIT,
    [LK_TABLES_PAGE_QUEUES] =
        "SELECT path, pushed, duplicates, claims, steals, done, retried, parked"
        " FROM lk_service_queue WHERE path > $1 ORDER BY path" LIMIT,
    [LK_TABLES_PAGE_ITEMS] =
        "SELECT queue, id, sequence, state, due_us, attempts, was_lost, priority, value, needs,"
        " has_exit, last_exit, last_error FROM lk_service_item"
        " WHERE queue > $1 OR (queue = $1 AND id > $2) ORDER BY queue, id" LIMIT,
    [LK_TABLES_PAGE_REQUESTS] =
        "SELECT id AS page_key, id, owner, note, state, revoked, attended, fixed, ticket, token,"
        " ttl_ms, expires_us, wants_value, is_claim, ask_number, max_attempts, parts, bound"
        " FROM lk_service_request WHERE id > CAST($1 AS SIGNED)"
        " ORDER BY id" LIMIT,
    [LK_TABLES_PAGE_ENDED] = "SELECT token, owner, parts, ended_us FROM lk_service_ended"
                             " ORDER BY ended_us",
    [LK_TABLES_PAGE_AUDIT] = "SELECT at_unix_us, broken_by, reason, path, owner, note, ticket,"
                             " token FROM lk_service_audit ORDER BY number",
    [LK_TABLES_PAGE_EVENTS] =
        "SELECT sequence, at_unix_us, event, refusal, parts, owner, note, ticket, token, attempt,"
        " is_of_item, is_deletion, broken_by, reason FROM lk_service_event ORDER BY sequence",
};

static void put_query(const struct lk_store_mysql *store, const char *sql, const char *const *keys,
                      struct lk_buffer *text) {
    char piece[PIECE_BYTES];
    const char *key;

    while ((key = strchr(sql, '$')) != NULL) {
        (void)snprintf(piece, sizeof piece, "%.*s", (int)(key - sql), sql);
        lk_store_mysql_put(store, text, piece);
        lk_store_mysql_put_literal(text, lk_slice_of(keys[key[1] - '1']));
        sql = key + 2;
    }
    lk_store_mysql_put(store, text, sql);
}

lk_outcome lk_store_mysql_fetch(struct lk_tables *tables, enum lk_tables_page page,
                                const char *const *keys, lk_error *error) {
    struct lk_store_mysql *store = lk_store_mysql_of(tables);
    const struct lk_patience patience = lk_tables_patience(tables);
    struct lk_buffer *text = &store->text;

    put_query(store, pages[page], keys, text);
    lk_buffer_add_text(text, ";START TRANSACTION;");
    lk_store_mysql_put_renew(store, text, 0, 0, NULL);
    lk_buffer_add_text(text, "COMMIT");
    return lk_store_mysql_run(store, text, &patience, &store->rows, error);
}

bool lk_store_mysql_next(struct lk_tables *tables) {
    struct lk_store_mysql *store = lk_store_mysql_of(tables);

    store->row = store->rows != NULL ? mysql_fetch_row(store->rows) : NULL;
    store->sizes = store->row != NULL ? mysql_fetch_lengths(store->rows) : NULL;
    return store->row != NULL;
}

struct lk_slice lk_store_mysql_cell(const struct lk_tables *tables, int column) {
    const struct lk_store_mysql *store = (const struct lk_store_mysql *)tables;

    return (struct lk_slice){store->row[column], store->sizes[column]};
}

/* Cells end with a 0 that is not part of them. No column can be NULL. */
int64_t lk_store_mysql_number(struct lk_slice cell) {
    return cell.bytes != NULL ? strtoll(cell.bytes, NULL, 10) : 0;
}

bool lk_store_mysql_truth(struct lk_slice cell) {
    return lk_store_mysql_number(cell) != 0;
}

void lk_store_mysql_fetched(struct lk_tables *tables) {
    struct lk_store_mysql *store = lk_store_mysql_of(tables);

    mysql_free_result(store->rows);
    store->rows = NULL;
    store->row = NULL;
}
