/* SPDX-License-Identifier: Apache-2.0 */
/* Leading a store in a database, and loading it page by page. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "engine/reply/reply.h"
#include "engine/sqlite/changes.h"
#include "server/core/core.h"
#include "server/store/tables/tables.h"
#include "sql/format.h"

/* ---- leading --------------------------------------------------------------------------------- */

void lk_tables_init(struct lk_tables *tables, const struct lk_tables_options *options) {
    tables->lease_us = options->lease_us;
    (void)snprintf(tables->advertised, sizeof tables->advertised, "%s", options->address);
    (void)snprintf(tables->process, sizeof tables->process, "%016" PRIx64 "%016" PRIx64,
                   lk_random_draw(), lk_random_draw());
}

void lk_tables_done(struct lk_tables *tables) {
    free(tables->values.slots);
    free(tables->items.slots);
}

struct lk_patience lk_tables_patience(const struct lk_tables *tables) {
    return (struct lk_patience){.until_us = lk_clock_now_us() + tables->lease_us};
}

lk_outcome lk_tables_refuse_format(struct lk_tables *tables, int64_t format, lk_error *error) {
    atomic_store(&tables->storage.is_outdated, true);
    return lk_sql_format_refuse("the tables of services",
                                format > 0 ? format : LK_SQL_FORMAT_UNTOLD, LK_TABLES_FORMAT,
                                tables->name, error);
}

static lk_outcome lead(struct lk_tables *tables, struct lk_tables_lead *ret_lead, lk_error *error) {
    struct lk_leader *leader = &tables->storage.leader;
    lk_outcome outcome = tables->ops->connect(tables, error);

    if (outcome == LK_OK) {
        outcome = tables->ops->lead(tables, ret_lead, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    *leader = (struct lk_leader){.epoch = ret_lead->epoch, .left_us = ret_lead->left_us};
    if (!ret_lead->leads) {
        (void)snprintf(leader->address, sizeof leader->address, "%s", ret_lead->address);
        return lk_error_set(error, LK_BUSY, "another service leads this store: %s",
                            leader->address);
    }
    return LK_OK;
}

static lk_outcome load_snapshot(struct lk_tables *tables, const struct lk_model_config *config,
                                int64_t here_us, struct lk_core_snapshot **ret_snapshot,
                                lk_error *error) {
    struct lk_core_snapshot *snapshot = lk_core_snapshot_new(config);
    struct lk_quotas quotas;
    lk_outcome outcome;

    if (snapshot == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_tables_load_pages(tables, snapshot, here_us, error);
    if (outcome != LK_OK) {
        lk_core_snapshot_free(snapshot);
        return outcome;
    }
    quotas = lk_quotas_over(&config->quotas, &snapshot->quotas);
    lk_model_set_quotas(snapshot->model, &quotas);
    *ret_snapshot = snapshot;
    return LK_OK;
}

/* Another service has taken over while this one read. LK_BUSY: who leads is told. */
static lk_outcome look_again(struct lk_tables *tables, lk_error *error) {
    struct lk_tables_lead found = {.leads = false};
    lk_outcome outcome = lead(tables, &found, error);

    return outcome == LK_OK ? lk_error_set(error, LK_UNAVAILABLE,
                                           "the store was led by another service for a moment")
                            : outcome;
}

/*
 * An instant of the database is one of `times` plus the time since: the longer the call took, the
 * later a deadline is reckoned here, never the earlier.
 */
lk_outcome lk_tables_load(struct lk_storage *storage, const struct lk_model_config *config,
                          const struct lk_times *times, struct lk_core_snapshot **ret_snapshot,
                          lk_error *error) {
    struct lk_tables *tables = lk_tables_of(storage);
    int64_t begun_us = lk_clock_now_us();
    struct lk_tables_lead found = {.leads = false};
    lk_outcome outcome = lead(tables, &found, error);
    bool is_foreign;
    int64_t now_us;

    if (outcome != LK_OK) {
        return outcome;
    }
    now_us = times->now_us + lk_clock_now_us() - begun_us;
    is_foreign = tables->is_foreign || found.epoch != tables->epoch + 1;
    tables->epoch = found.epoch;
    tables->is_foreign = is_foreign; /* also when this load fails */
    tables->forgotten = 0;
    tables->sweep_after_us = 0;
    outcome = tables->ops->led != NULL ? tables->ops->led(tables, error) : LK_OK;
    if (outcome == LK_OK) {
        outcome = load_snapshot(tables, config, now_us - found.at_us, ret_snapshot, error);
    }
    if (outcome == LK_OK) {
        (*ret_snapshot)->is_foreign = is_foreign;
        tables->is_foreign = false;
    }
    return outcome == LK_LOST ? look_again(tables, error) : outcome;
}

/* The address is told to the others when this service begins to lead. */
lk_outcome lk_tables_announce(struct lk_storage *storage, const char *address, lk_error *error) {
    struct lk_tables *tables = lk_tables_of(storage);

    (void)error;
    (void)snprintf(tables->advertised, sizeof tables->advertised, "%s", address);
    return LK_OK;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/*
 * Each is checked to be of the present epoch. No other service can have written meanwhile, because
 * then the last page would fail: so all pages are of one state, without a long transaction.
 */

enum { KEY_BYTES = LK_PATH_BYTES_MAX + 1, KEYS_MAX = 2 };

struct loading {
    struct lk_tables *tables;
    struct lk_core_snapshot *snapshot;
    int64_t here_us;
    struct lk_record record; /* these two are too large for a stack */
    struct lk_item_record item;
    int column; /* the next one */
    lk_error *error;
};

/* ---- columns --------------------------------------------------------------------------------- */

static struct lk_slice next_text(struct loading *loading) {
    return loading->tables->ops->cell(loading->tables, loading->column++);
}

static int64_t next_number(struct loading *loading) {
    return loading->tables->ops->number(next_text(loading));
}

static bool next_truth(struct loading *loading) {
    return loading->tables->ops->truth(next_text(loading));
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
                        "the tables in %s are damaged: %s cannot be together with "
                        "the other rows; restore them",
                        loading->tables->name, what);
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
    loading->tables->ended_count = next_number(loading);
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
    return is_word(text, "parked")      ? LK_ITEM_PARKED
           : is_word(text, "delayed")   ? LK_ITEM_DELAYED
           : is_word(text, "cancelled") ? LK_ITEM_CANCELLED
           : is_word(text, "again")     ? LK_ITEM_AGAIN
           : is_word(text, "done")      ? LK_ITEM_DONE
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
    item->is_head = next_truth(loading);
    item->priority = (int32_t)next_number(loading);
    item->keep_ms = next_number(loading);
    item->value = next_text(loading);
    needs = next_text(loading);
    item->last_failure.has_exit = next_truth(loading);
    item->last_failure.exit_code = (int32_t)next_number(loading);
    item->last_failure.text = next_text(loading);
    item->progress = next_text(loading);
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
    outcome = lk_parts_read(parts, record->parts, LK_PARTS_MAX, &record->part_count)
                  ? lk_model_restore(snapshot->model, record)
                  : LK_INVALID;
    if (outcome == LK_OK && is_bound && !lk_core_snapshot_add_bound(snapshot, record->id)) {
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

static const struct {
    lk_outcome (*load)(struct loading *loading); /* one row */
    int keys;
} kinds[LK_TABLES_PAGES] = {
    [LK_TABLES_PAGE_LEADER] = {load_leader, 0},    [LK_TABLES_PAGE_VALUES] = {load_value, 1},
    [LK_TABLES_PAGE_QUEUES] = {load_queue, 1},     [LK_TABLES_PAGE_ITEMS] = {load_item, 2},
    [LK_TABLES_PAGE_REQUESTS] = {load_request, 1}, [LK_TABLES_PAGE_ENDED] = {load_ended, 0},
    [LK_TABLES_PAGE_AUDIT] = {load_audit, 0},      [LK_TABLES_PAGE_EVENTS] = {load_event, 0},
};

int lk_tables_page_keys(enum lk_tables_page page) {
    return kinds[page].keys;
}

/* Of the last row of a page: the next page begins behind it. */
static void keep_keys(const struct loading *loading, int count, char keys[][KEY_BYTES]) {
    for (int i = 0; i < count; i++) {
        struct lk_slice cell = loading->tables->ops->cell(loading->tables, i);

        (void)snprintf(keys[i], KEY_BYTES, "%.*s", (int)cell.size, cell.bytes);
    }
}

/* All pages of one kind. */
static lk_outcome load_kind(struct loading *loading, enum lk_tables_page page) {
    struct lk_tables *tables = loading->tables;
    char keys[KEYS_MAX][KEY_BYTES] = {"", ""};
    const char *const behind[] = {keys[0], keys[1]};
    lk_outcome outcome;
    int count;

    do {
        outcome = tables->ops->fetch(tables, page, behind, loading->error);
        if (outcome != LK_OK) {
            return outcome;
        }
        for (count = 0; outcome == LK_OK && tables->ops->next(tables); count++) {
            loading->column = 0;
            outcome = kinds[page].load(loading);
            if (count == LK_TABLES_PAGE_ROWS - 1) {
                keep_keys(loading, kinds[page].keys, keys);
            }
        }
        tables->ops->fetched(tables);
    } while (outcome == LK_OK && kinds[page].keys > 0 && count == LK_TABLES_PAGE_ROWS);
    return outcome;
}

lk_outcome lk_tables_load_pages(struct lk_tables *tables, struct lk_core_snapshot *snapshot,
                                int64_t here_us, lk_error *error) {
    struct loading *loading = calloc(1, sizeof *loading);
    lk_outcome outcome = LK_OK;

    if (loading == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    loading->tables = tables;
    loading->snapshot = snapshot;
    loading->here_us = here_us;
    loading->error = error;
    for (int page = 0; page < LK_TABLES_PAGES && outcome == LK_OK; page++) {
        outcome = load_kind(loading, (enum lk_tables_page)page);
    }
    free(loading);
    return outcome;
}
