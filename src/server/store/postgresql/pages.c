/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading: page by page, each in a transaction that first renews the lease. No other service can
 * have written meanwhile, because then the last page would fail: so all pages are of one state,
 * without a long transaction.
 */
#include "server/store/postgresql/pages.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/reply/reply.h"
#include "engine/sqlite/events.h"
#include "server/core/core.h"
#include "server/store/postgresql/store.h"

#define S "lockkeeper_service."
#define ROWS "10000" /* of a page */

enum { KEY_BYTES = LK_PATH_BYTES_MAX + 1, ROWS_MAX = 10000 };

const struct lk_pg_page lk_pg_pages[LK_PG_PAGES] = {
    [LK_PG_PAGE_LEADER] = {"lk_page_leader",
                           "SELECT draw_floor, last_event, watched_us, events_max, live_max,"
                           " live_per_owner_max, live_per_root_max, waiters_per_path_max,"
                           " (SELECT count(*) FROM " S "ended) FROM " S "leader",
                           0},
    [LK_PG_PAGE_VALUES] = {"lk_page_values",
                           "SELECT path, bytes, in_doubt FROM " S "value WHERE path > $1::text"
                           " ORDER BY path LIMIT " ROWS,
                           1},
    [LK_PG_PAGE_QUEUES] = {"lk_page_queues",
                           "SELECT path, pushed, duplicates, claims, steals, done, retried, parked"
                           " FROM " S "queue WHERE path > $1::text ORDER BY path LIMIT " ROWS,
                           1},
    [LK_PG_PAGE_ITEMS] = {"lk_page_items",
                          "SELECT queue, id, sequence, state, due_us, attempts, was_lost, priority,"
                          " value, needs, has_exit, last_exit, last_error FROM " S "item"
                          " WHERE (queue, id) > ($1::text, $2::text) ORDER BY queue, id"
                          " LIMIT " ROWS,
                          2},
    [LK_PG_PAGE_REQUESTS] =
        {"lk_page_requests",
         "SELECT id::text AS page_key, id, owner, note, state, revoked, attended, fixed, ticket,"
         " token, ttl_ms, expires_us, wants_value, is_claim, ask_number, max_attempts, parts,"
         " bound, service_user FROM " S "request"
         " AS r WHERE r.id > (CASE $1::text WHEN '' THEN '0' ELSE $1::text END)::bigint"
         " ORDER BY r.id"
         " LIMIT " ROWS,
         1},
    [LK_PG_PAGE_ENDED] = {"lk_page_ended",
                          "SELECT token, owner, parts, ended_us FROM " S "ended ORDER BY ended_us",
                          0},
    [LK_PG_PAGE_AUDIT] = {"lk_page_audit",
                          "SELECT at_unix_us, broken_by, reason, path, owner, note, ticket, token"
                          " FROM " S "audit ORDER BY number",
                          0},
    [LK_PG_PAGE_EVENTS] = {"lk_page_events", "SELECT * FROM " S "event ORDER BY sequence", 0},
};

struct loading {
    struct lk_store_pg *store;
    struct lk_core_snapshot *snapshot;
    int64_t here_us;
    struct lk_record record; /* these two are too large for a stack */
    struct lk_item_record item;
    PGresult *rows;
    int row;
    int column; /* the next one */
    lk_error *error;
};

/* ---- columns --------------------------------------------------------------------------------- */

static struct lk_slice next_text(struct loading *loading) {
    int column = loading->column++;

    return (struct lk_slice){PQgetvalue(loading->rows, loading->row, column),
                             (size_t)PQgetlength(loading->rows, loading->row, column)};
}

static int64_t next_number(struct loading *loading) {
    struct lk_slice bytes = next_text(loading);

    return bytes.size == sizeof(int64_t) ? lk_array_get64(bytes.bytes) : 0;
}

static bool next_truth(struct loading *loading) {
    struct lk_slice bytes = next_text(loading);

    return bytes.size == 1 && bytes.bytes[0] != 0;
}

static bool is_word(struct lk_slice text, const char *word) {
    return lk_slice_equal(text, lk_slice_of(word));
}

/* What a row of such a table is, in a sentence; the model has rejected it. */
static lk_outcome judge(const struct loading *loading, lk_outcome outcome, const char *what) {
    if (outcome == LK_OK) {
        return LK_OK;
    }
    if (outcome == LK_INTERNAL) {
        return lk_error_set(loading->error, LK_INTERNAL, "memory is exhausted");
    }
    return lk_error_set(loading->error, LK_UNAVAILABLE,
                        "the tables in lockkeeper_service are damaged: %s cannot be together with "
                        "the other rows; restore them",
                        what);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static lk_outcome load_leader(struct loading *loading) {
    struct lk_core_snapshot *snapshot = loading->snapshot;
    struct lk_event_log_snapshot *event_log = &snapshot->event_log;
    int64_t watched_us;

    lk_model_restore_floor(snapshot->model, (uint64_t)next_number(loading));
    event_log->last = (uint64_t)next_number(loading);
    watched_us = next_number(loading);
    event_log->kept_max = (size_t)next_number(loading);
    event_log->is_continuous = event_log->kept_max > 0 || watched_us != 0;
    snapshot->quotas.live_max = (uint64_t)next_number(loading);
    snapshot->quotas.live_per_owner_max = (uint64_t)next_number(loading);
    snapshot->quotas.live_per_root_max = (uint64_t)next_number(loading);
    snapshot->quotas.waiters_per_path_max = (uint64_t)next_number(loading);
    loading->store->ended_count = next_number(loading);
    return LK_OK;
}

static lk_outcome load_value(struct loading *loading) {
    struct lk_slice text = next_text(loading);
    struct lk_slice bytes = next_text(loading);
    struct lk_path path;
    lk_outcome outcome = lk_path_parse(text, &path, NULL);

    if (outcome == LK_OK) {
        outcome =
            lk_model_restore_value(loading->snapshot->model, &path, bytes, next_truth(loading));
    }
    return judge(loading, outcome, "a value");
}

static lk_outcome load_queue(struct loading *loading) {
    struct lk_slice text = next_text(loading);
    struct lk_queue_counts counts = {.pushed = (uint64_t)next_number(loading)};
    struct lk_path path;
    lk_outcome outcome = lk_path_parse(text, &path, NULL);

    counts.duplicates = (uint64_t)next_number(loading);
    counts.claims = (uint64_t)next_number(loading);
    counts.steals = (uint64_t)next_number(loading);
    counts.done = (uint64_t)next_number(loading);
    counts.retried = (uint64_t)next_number(loading);
    counts.parked = (uint64_t)next_number(loading);
    if (outcome == LK_OK) {
        outcome = lk_model_restore_queue(loading->snapshot->model, &path, &counts);
    }
    return judge(loading, outcome, "a queue");
}

/* A claimed item is ready until its claim is restored. */
static enum lk_item_state read_state(struct lk_slice text) {
    return is_word(text, "parked")    ? LK_ITEM_PARKED
           : is_word(text, "delayed") ? LK_ITEM_DELAYED
                                      : LK_ITEM_READY;
}

static lk_outcome load_item(struct loading *loading) {
    struct lk_item_record *item = &loading->item;
    lk_outcome outcome = lk_path_parse(next_text(loading), &item->queue, NULL);
    struct lk_slice needs;

    item->id = next_text(loading);
    item->sequence = (uint64_t)next_number(loading);
    item->state = read_state(next_text(loading));
    item->due_us = next_number(loading) + loading->here_us;
    item->attempts = (uint32_t)next_number(loading);
    item->was_lost = next_truth(loading);
    item->priority = (int32_t)next_number(loading);
    item->value = next_text(loading);
    needs = next_text(loading);
    item->last_failure.has_exit = next_truth(loading);
    item->last_failure.exit_code = (int32_t)next_number(loading);
    item->last_failure.text = next_text(loading);
    if (!lk_parts_read(needs, item->needs, LK_NEEDS_MAX, &item->need_count)) {
        outcome = LK_INVALID;
    }
    if (outcome == LK_OK) {
        outcome = lk_model_restore_item(loading->snapshot->model, item);
    }
    return judge(loading, outcome, "an item");
}

static lk_outcome load_request(struct loading *loading) {
    struct lk_record *record = &loading->record;
    struct lk_core_snapshot *snapshot = loading->snapshot;
    struct lk_slice parts;
    struct lk_slice user;
    lk_outcome outcome;
    bool is_bound;

    loading->column++; /* the key of the page */
    record->id = (uint64_t)next_number(loading);
    record->owner = next_text(loading);
    record->note = next_text(loading);
    record->state = is_word(next_text(loading), "held") ? LK_STATE_HELD : LK_STATE_WAITING;
    record->revoked = next_truth(loading);
    record->attended = next_truth(loading);
    record->fixed = next_truth(loading);
    record->ticket = (uint64_t)next_number(loading);
    record->token = (uint64_t)next_number(loading);
    record->ttl_ms = next_number(loading);
    record->deadline_us = next_number(loading) + loading->here_us;
    record->wants_value = next_truth(loading);
    record->is_claim = next_truth(loading);
    record->ask_number = (uint64_t)next_number(loading);
    record->max_attempts = (uint32_t)next_number(loading);
    parts = next_text(loading);
    is_bound = next_truth(loading);
    user = next_text(loading);
    outcome = lk_parts_read(parts, record->parts, LK_PARTS_MAX, &record->part_count)
                  ? lk_model_restore(snapshot->model, record)
                  : LK_INVALID;
    if (outcome == LK_OK
        && ((is_bound && !lk_core_snapshot_add_bound(snapshot, record->id))
            || (user.size > 0 && loading->store->has_users
                && !lk_core_snapshot_add_belonging(snapshot, record->id, user)))) {
        outcome = LK_INTERNAL;
    }
    return judge(loading, outcome, "a request");
}

static lk_outcome load_ended(struct loading *loading) {
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_target target = {.token = (uint64_t)next_number(loading), .parts = parts};
    lk_outcome outcome = LK_INVALID;

    target.owner = next_text(loading);
    if (lk_parts_read(next_text(loading), parts, LK_PARTS_MAX, &target.part_count)) {
        outcome = lk_model_restore_ended(loading->snapshot->model, &target,
                                         next_number(loading) + loading->here_us);
    }
    return judge(loading, outcome, "an ended token");
}

static lk_outcome load_audit(struct loading *loading) {
    struct lk_audit_row row = {.at_unix_us = next_number(loading)};

    row.by = next_text(loading);
    row.reason = next_text(loading);
    row.path = next_text(loading);
    row.owner = next_text(loading);
    row.note = next_text(loading);
    row.ticket = (uint64_t)next_number(loading);
    row.token = (uint64_t)next_number(loading);
    return judge(loading, lk_audit_add(loading->snapshot->audit, &row) ? LK_OK : LK_INTERNAL,
                 "a break");
}

static lk_outcome load_event(struct loading *loading) {
    struct lk_sql_event row = {.sequence = (uint64_t)next_number(loading)};
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_event step_event;

    row.at_unix_us = next_number(loading);
    row.event = next_text(loading);
    row.refusal = next_text(loading);
    row.parts = next_text(loading);
    row.owner = next_text(loading);
    row.note = next_text(loading);
    row.ticket = (uint64_t)next_number(loading);
    row.token = (uint64_t)next_number(loading);
    row.attempt = (uint32_t)next_number(loading);
    row.is_of_item = next_truth(loading);
    row.is_deletion = next_truth(loading);
    row.by = next_text(loading);
    row.reason = next_text(loading);
    if (!lk_sqlite_event_read(&row, parts, &step_event)) {
        return judge(loading, LK_INVALID, "an event");
    }
    return judge(loading,
                 lk_event_ring_add(&loading->snapshot->event_log.ring,
                                   lk_stored_event_make(&step_event, row.sequence, row.at_unix_us))
                     ? LK_OK
                     : LK_INTERNAL,
                 "an event");
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Items come before the requests that claim them. */
static lk_outcome (*const loaders[LK_PG_PAGES])(struct loading *loading) = {
    [LK_PG_PAGE_LEADER] = load_leader,    [LK_PG_PAGE_VALUES] = load_value,
    [LK_PG_PAGE_QUEUES] = load_queue,     [LK_PG_PAGE_ITEMS] = load_item,
    [LK_PG_PAGE_REQUESTS] = load_request, [LK_PG_PAGE_ENDED] = load_ended,
    [LK_PG_PAGE_AUDIT] = load_audit,      [LK_PG_PAGE_EVENTS] = load_event,
};

static lk_outcome fetch(struct loading *loading, const struct lk_pg_page *page,
                        char keys[][KEY_BYTES]) {
    const struct lk_patience patience = lk_pg_patience(loading->store);
    const char *const behind[] = {keys[0], keys[1]};
    const char *renew[LK_PG_RENEW_PARAMETERS];
    char epoch[LK_PG_NUMBER_BYTES];
    bool is_sent;

    lk_pg_renew_only(loading->store->epoch, epoch, renew);
    is_sent = lk_pg_begin(loading->store, renew)
              && lk_pg_send(loading->store, page->name, page->keys, behind, NULL, NULL);
    return lk_pg_commit(loading->store, is_sent, &patience, &loading->rows, loading->error);
}

static void keep_keys(const struct loading *loading, const struct lk_pg_page *page,
                      char keys[][KEY_BYTES]) {
    for (int i = 0; i < page->keys; i++) {
        (void)snprintf(keys[i], KEY_BYTES, "%.*s",
                       PQgetlength(loading->rows, PQntuples(loading->rows) - 1, i),
                       PQgetvalue(loading->rows, PQntuples(loading->rows) - 1, i));
    }
}

/* All pages of one kind. */
static lk_outcome load_kind(struct loading *loading, int kind) {
    const struct lk_pg_page *page = &lk_pg_pages[kind];
    char keys[2][KEY_BYTES] = {"", ""};
    lk_outcome outcome;
    int count;

    do {
        outcome = fetch(loading, page, keys);
        if (outcome != LK_OK) {
            return outcome;
        }
        count = PQntuples(loading->rows);
        for (int i = 0; i < count && outcome == LK_OK; i++) {
            loading->row = i;
            loading->column = 0;
            outcome = loaders[kind](loading);
        }
        if (count > 0) {
            keep_keys(loading, page, keys);
        }
        PQclear(loading->rows);
    } while (outcome == LK_OK && page->keys > 0 && count == ROWS_MAX);
    return outcome;
}

lk_outcome lk_pg_load_pages(struct lk_store_pg *store, struct lk_core_snapshot *snapshot,
                            int64_t here_us, lk_error *error) {
    struct loading *loading = calloc(1, sizeof *loading);
    lk_outcome outcome = LK_OK;

    if (loading == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    loading->store = store;
    loading->snapshot = snapshot;
    loading->here_us = here_us;
    loading->error = error;
    for (int kind = 0; kind < LK_PG_PAGES && outcome == LK_OK; kind++) {
        outcome = load_kind(loading, kind);
    }
    free(loading);
    return outcome;
}
