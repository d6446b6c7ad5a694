/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of the tables: each is read in a transaction that first renews the lease. */

#include "server/store/postgresql/store.h"

#define S "lockkeeper_service."
#define ROWS "10000" /* LK_TABLES_PAGE_ROWS */

const struct lk_pg_page lk_pg_pages[LK_TABLES_PAGES] = {
    [LK_TABLES_PAGE_LEADER] = {"lk_page_leader",
                               "SELECT draw_floor, last_event, watched_us, events_max, live_max,"
                               " live_per_owner_max, live_per_root_max, waiters_per_path_max,"
                               " (SELECT count(*) FROM " S "ended) FROM " S "leader"},
    [LK_TABLES_PAGE_VALUES] = {"lk_page_values",
                               "SELECT path, bytes, in_doubt FROM " S "value WHERE path > $1::text"
                               " ORDER BY path LIMIT " ROWS},
    [LK_TABLES_PAGE_QUEUES] =
        {"lk_page_queues", "SELECT path, pushed, duplicates, claims, steals, done, retried, parked"
                           " FROM " S "queue WHERE path > $1::text ORDER BY path LIMIT " ROWS},
    [LK_TABLES_PAGE_ITEMS] =
        {"lk_page_items", "SELECT queue, id, sequence, state, due_us, attempts, was_lost, is_head,"
                          " priority, keep_ms, value, needs, has_exit, last_exit, last_error,"
                          " progress FROM " S "item"
                          " WHERE (queue, id) > ($1::text, $2::text) ORDER BY queue, id"
                          " LIMIT " ROWS},
    [LK_TABLES_PAGE_REQUESTS] =
        {"lk_page_requests",
         "SELECT id::text AS page_key, id, owner, note, state, revoked, attended, fixed, ticket,"
         " token, ttl_ms, expires_us, wants_value, is_claim, ask_number, max_attempts, parts,"
         " bound FROM " S "request"
         " AS r WHERE r.id > (CASE $1::text WHEN '' THEN '0' ELSE $1::text END)::bigint"
         " ORDER BY r.id"
         " LIMIT " ROWS},
    [LK_TABLES_PAGE_ENDED] = {"lk_page_ended", "SELECT token, owner, parts, ended_us FROM " S
                                               "ended ORDER BY ended_us"},
    [LK_TABLES_PAGE_AUDIT] =
        {"lk_page_audit", "SELECT at_unix_us, broken_by, reason, path, owner, note, ticket, token"
                          " FROM " S "audit ORDER BY number"},
    [LK_TABLES_PAGE_EVENTS] = {"lk_page_events", "SELECT * FROM " S "event ORDER BY sequence"},
};

lk_outcome lk_pg_fetch(struct lk_tables *tables, enum lk_tables_page page, const char *const *keys,
                       lk_error *error) {
    struct lk_store_pg *store = lk_store_pg_of(tables);
    const struct lk_patience patience = lk_tables_patience(tables);
    const char *renew[LK_PG_RENEW_PARAMETERS];
    char epoch[LK_PG_NUMBER_BYTES];
    bool is_sent;

    lk_pg_renew_only(tables->epoch, epoch, renew);
    is_sent =
        lk_pg_begin(store, renew)
        && lk_pg_send(store, lk_pg_pages[page].name, lk_tables_page_keys(page), keys, NULL, NULL);
    store->row = -1;
    return lk_pg_commit(store, is_sent, &patience, &store->rows, error);
}

bool lk_pg_next(struct lk_tables *tables) {
    struct lk_store_pg *store = lk_store_pg_of(tables);

    return ++store->row < PQntuples(store->rows);
}

struct lk_slice lk_pg_cell(const struct lk_tables *tables, int column) {
    const struct lk_store_pg *store = (const struct lk_store_pg *)tables;

    return (struct lk_slice){PQgetvalue(store->rows, store->row, column),
                             (size_t)PQgetlength(store->rows, store->row, column)};
}

int64_t lk_pg_number(struct lk_slice cell) {
    return cell.size == sizeof(int64_t) ? lk_array_get64(cell.bytes) : 0;
}

bool lk_pg_truth(struct lk_slice cell) {
    return cell.size == 1 && cell.bytes[0] != 0;
}

void lk_pg_fetched(struct lk_tables *tables) {
    struct lk_store_pg *store = lk_store_pg_of(tables);

    PQclear(store->rows);
    store->rows = NULL;
}
