/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a batch, collected by their kind. Kinds that are about the same value or
 * item must be written in their order: when such a row arrives behind one of another kind, all that
 * is collected about values (or items) is sent first.
 */
#include <stdlib.h>

#include "server/store/tables/tables.h"

enum { ENDED_SLACK = 8192, KEYS_FIRST = 256 };

#define SWEEP_US INT64_C(1000000)

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t hash(uint64_t seed, struct lk_slice bytes) {
    for (size_t i = 0; i < bytes.size; i++) {
        seed = (seed ^ (unsigned char)bytes.bytes[i]) * UINT64_C(0x100000001b3);
    }
    seed = (seed ^ 0xff) * UINT64_C(0x100000001b3); /* the end, which is in no text */
    return seed | 1;                                /* never 0 */
}

static struct lk_tables_key *find_key(const struct lk_tables_keys *keys, uint64_t sought) {
    size_t at = (size_t)(sought >> 1) & (keys->capacity - 1);

    while (keys->slots[at].hash != 0 && keys->slots[at].hash != sought) {
        at = (at + 1) & (keys->capacity - 1);
    }
    return &keys->slots[at];
}

static void forget_keys(struct lk_tables_keys *keys) {
    if (keys->count > 0) {
        memset(keys->slots, 0, keys->capacity * sizeof *keys->slots);
        keys->count = 0;
    }
}

/* Room for one key more. false: memory is exhausted. */
static bool reserve_key(struct lk_tables_keys *keys) {
    struct lk_tables_keys grown = {.capacity = keys->capacity > 0 ? keys->capacity * 2 : KEYS_FIRST,
                                   .count = keys->count};

    if (keys->count * 2 < keys->capacity) {
        return true;
    }
    grown.slots = calloc(grown.capacity, sizeof *grown.slots);
    if (grown.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < keys->capacity; i++) {
        if (keys->slots[i].hash != 0) {
            *find_key(&grown, keys->slots[i].hash) = keys->slots[i];
        }
    }
    free(keys->slots);
    *keys = grown;
    return true;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Kinds that are about the same things follow each other in the enumeration. */
static bool flush_from(struct lk_tables *tables, enum lk_tables_kind first,
                       enum lk_tables_kind last) {
    for (int kind = (int)first; kind <= (int)last; kind++) {
        if (!tables->ops->flush(tables, (enum lk_tables_kind)kind)) {
            return false;
        }
    }
    return true;
}

/* Before a row of this kind about this key. false: as lk_tables_send_rows(). */
static bool keep_order(struct lk_tables *tables, struct lk_tables_keys *keys,
                       enum lk_tables_kind kind, uint64_t key) {
    bool is_of_values = keys == &tables->values;
    struct lk_tables_key *slot;

    if (!reserve_key(keys)) {
        return false;
    }
    slot = find_key(keys, key);
    if (slot->hash != 0 && slot->kind != kind) {
        forget_keys(keys);
        if (!flush_from(tables, is_of_values ? LK_TABLES_VALUE : LK_TABLES_ITEM_NEW,
                        is_of_values ? LK_TABLES_VALUE_GONE : LK_TABLES_ITEM_GONE)) {
            return false;
        }
        slot = find_key(keys, key);
    }
    keys->count += slot->hash == 0;
    *slot = (struct lk_tables_key){.hash = key, .kind = kind};
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Adds the fields of a row, one after another. */
struct cursor {
    struct lk_tables *tables;
    enum lk_tables_kind kind;
    int column; /* the next one */
};

static struct cursor add_row(struct lk_tables *tables, enum lk_tables_kind kind) {
    tables->ops->add_row(tables, kind);
    return (struct cursor){tables, kind, 0};
}

static void number(struct cursor *cursor, int64_t value) {
    cursor->tables->ops->add_number(cursor->tables, cursor->kind, cursor->column++, value);
}

static void left(struct cursor *cursor, int64_t left_us) {
    cursor->tables->ops->add_left(cursor->tables, cursor->kind, cursor->column++, left_us);
}

static void truth(struct cursor *cursor, bool value) {
    cursor->tables->ops->add_truth(cursor->tables, cursor->kind, cursor->column++, value);
}

static void text(struct cursor *cursor, struct lk_slice bytes) {
    cursor->tables->ops->add_bytes(cursor->tables, cursor->kind, cursor->column++, bytes);
}

static void parts(struct cursor *cursor, const struct lk_part *list, size_t count) {
    char written[LK_PARTS_MAX * LK_PART_TEXT_MAX];
    size_t size = count > 0 ? lk_parts_write(list, count, written) : 0;

    text(cursor, (struct lk_slice){written, size});
}

static struct lk_slice path_of(const struct lk_path *path) {
    return (struct lk_slice){path->bytes, path->size};
}

static void add_request(struct lk_tables *tables, const struct lk_row *row, int64_t now_us) {
    const struct lk_record *record = row->request.record;
    struct cursor cursor = add_row(tables, LK_TABLES_REQUEST);

    number(&cursor, (int64_t)record->id);
    text(&cursor, record->owner);
    text(&cursor, record->note);
    text(&cursor, lk_slice_of(record->state == LK_STATE_HELD ? "held" : "waiting"));
    truth(&cursor, record->revoked);
    truth(&cursor, record->attended);
    truth(&cursor, record->fixed);
    number(&cursor, (int64_t)record->ticket);
    number(&cursor, (int64_t)record->token);
    number(&cursor, record->ttl_ms);
    left(&cursor, record->deadline_us - now_us);
    truth(&cursor, record->wants_value);
    truth(&cursor, record->is_claim);
    number(&cursor, (int64_t)record->ask_number);
    number(&cursor, record->max_attempts);
    parts(&cursor, record->parts, record->part_count);
    truth(&cursor, row->request.bound);
}

static bool add_value(struct lk_tables *tables, const struct lk_row *row,
                      enum lk_tables_kind kind) {
    struct cursor cursor;

    if (!keep_order(tables, &tables->values, kind, hash(1, row->value.path))) {
        return false;
    }
    cursor = add_row(tables, kind);
    text(&cursor, row->value.path);
    if (kind == LK_TABLES_VALUE) {
        text(&cursor, row->value.bytes);
    }
    return true;
}

static struct lk_slice state_name(enum lk_item_state state) {
    static const char *const names[] = {
        [LK_ITEM_READY] = "ready",         [LK_ITEM_DELAYED] = "delayed",
        [LK_ITEM_CLAIMED] = "claimed",     [LK_ITEM_PARKED] = "parked",
        [LK_ITEM_CANCELLED] = "cancelled", [LK_ITEM_AGAIN] = "again",
        [LK_ITEM_DONE] = "done",           [LK_ITEM_GONE] = "ready"};

    return lk_slice_of(names[state]);
}

static void failure(struct cursor *cursor, const struct lk_item_failure *last) {
    truth(cursor, last->has_exit);
    number(cursor, last->exit_code);
    text(cursor, last->text);
}

static bool add_item(struct lk_tables *tables, const struct lk_row *row, enum lk_tables_kind kind,
                     int64_t now_us) {
    const struct lk_item_record *record = row->item.record;
    int64_t left_us = lk_item_has_due(record->state) ? record->due_us - now_us : 0;
    uint64_t key = hash(hash(1, path_of(&record->queue)), record->id);
    struct cursor cursor;

    if (!keep_order(tables, &tables->items, kind, key)) {
        return false;
    }
    cursor = add_row(tables, kind);
    text(&cursor, path_of(&record->queue));
    text(&cursor, record->id);
    if (kind == LK_TABLES_ITEM_NEW) {
        number(&cursor, (int64_t)record->sequence);
    }
    if (kind != LK_TABLES_ITEM_GONE) {
        text(&cursor, state_name(record->state));
        left(&cursor, left_us);
        number(&cursor, record->attempts);
        truth(&cursor, record->was_lost);
        truth(&cursor, record->is_head);
    }
    if (kind == LK_TABLES_ITEM_NEW) {
        number(&cursor, record->priority);
        number(&cursor, record->keep_ms);
        text(&cursor, record->value);
        parts(&cursor, record->needs, record->need_count);
    }
    if (kind != LK_TABLES_ITEM_GONE) {
        failure(&cursor, &record->last_failure);
        text(&cursor, record->progress);
    }
    return true;
}

static void add_queue(struct lk_tables *tables, const struct lk_row *row) {
    const struct lk_queue_counts *counts = &row->queue.counts;
    struct cursor cursor = add_row(tables, LK_TABLES_QUEUE);

    text(&cursor, row->queue.path);
    number(&cursor, (int64_t)counts->pushed);
    number(&cursor, (int64_t)counts->duplicates);
    number(&cursor, (int64_t)counts->claims);
    number(&cursor, (int64_t)counts->steals);
    number(&cursor, (int64_t)counts->done);
    number(&cursor, (int64_t)counts->retried);
    number(&cursor, (int64_t)counts->parked);
}

static void add_ended(struct lk_tables *tables, const struct lk_row *row, int64_t now_us) {
    const struct lk_target *target = &row->ended.target;
    struct cursor cursor = add_row(tables, LK_TABLES_ENDED);

    number(&cursor, (int64_t)target->token);
    text(&cursor, target->owner);
    parts(&cursor, target->parts, target->part_count);
    left(&cursor, row->ended.ended_us - now_us);
    tables->ended_count++;
}

static void add_audit(struct lk_tables *tables, const struct lk_audit_row *audit) {
    struct cursor cursor = add_row(tables, LK_TABLES_AUDIT);

    number(&cursor, audit->at_unix_us);
    text(&cursor, audit->by);
    text(&cursor, audit->reason);
    text(&cursor, audit->path);
    text(&cursor, audit->owner);
    text(&cursor, audit->note);
    number(&cursor, (int64_t)audit->ticket);
    number(&cursor, (int64_t)audit->token);
}

static void add_event(struct lk_tables *tables, const struct lk_sql_event *event) {
    struct cursor cursor = add_row(tables, LK_TABLES_EVENT);

    number(&cursor, (int64_t)event->sequence);
    number(&cursor, event->at_unix_us);
    text(&cursor, event->event);
    text(&cursor, event->refusal);
    text(&cursor, event->parts);
    text(&cursor, event->owner);
    text(&cursor, event->note);
    number(&cursor, (int64_t)event->ticket);
    number(&cursor, (int64_t)event->token);
    number(&cursor, event->attempt);
    truth(&cursor, event->is_of_item);
    truth(&cursor, event->is_deletion);
    text(&cursor, event->by);
    text(&cursor, event->reason);
}

static void add_limits(struct lk_tables *tables, const struct lk_row *row) {
    const struct lk_quotas *quotas = &row->limits.quotas;
    struct cursor cursor = add_row(tables, LK_TABLES_LIMITS);

    number(&cursor, (int64_t)row->limits.events_max);
    number(&cursor, (int64_t)quotas->live_max);
    number(&cursor, (int64_t)quotas->live_per_owner_max);
    number(&cursor, (int64_t)quotas->live_per_root_max);
    number(&cursor, (int64_t)quotas->waiters_per_path_max);
}

static bool add(struct lk_tables *tables, const struct lk_row *row, int64_t now_us) {
    struct cursor cursor;

    switch (row->kind) {
    case LK_ROW_REQUEST:
        add_request(tables, row, now_us);
        return true;
    case LK_ROW_REQUEST_GONE:
        cursor = add_row(tables, LK_TABLES_REQUEST_GONE);
        number(&cursor, (int64_t)row->gone);
        return true;
    case LK_ROW_VALUE:
        return add_value(tables, row, LK_TABLES_VALUE);
    case LK_ROW_VALUE_DOUBT:
        return add_value(tables, row, LK_TABLES_VALUE_DOUBT);
    case LK_ROW_VALUE_GONE:
        return add_value(tables, row, LK_TABLES_VALUE_GONE);
    case LK_ROW_ITEM_NEW:
        return add_item(tables, row, LK_TABLES_ITEM_NEW, now_us);
    case LK_ROW_ITEM:
        return add_item(tables, row, LK_TABLES_ITEM, now_us);
    case LK_ROW_ITEM_GONE:
        return add_item(tables, row, LK_TABLES_ITEM_GONE, now_us);
    case LK_ROW_QUEUE: /* made when the batch was closed: behind all that are gone */
        add_queue(tables, row);
        return true;
    case LK_ROW_QUEUE_GONE:
        cursor = add_row(tables, LK_TABLES_QUEUE_GONE);
        text(&cursor, row->queue.path);
        return true;
    case LK_ROW_ENDED:
        add_ended(tables, row, now_us);
        return true;
    case LK_ROW_AUDIT:
        add_audit(tables, &row->audit);
        return true;
    case LK_ROW_EVENT:
        add_event(tables, &row->event);
        return true;
    case LK_ROW_LIMITS:
        add_limits(tables, row);
        return true;
    case LK_ROW_PROBE: /* the commit is all that it wants */
        return true;
    }
    return false;
}

/* ---- what is too old ------------------------------------------------------------------------- */

static bool send_sweeps(struct lk_tables *tables, const struct lk_batch *batch) {
    int64_t now_us = batch->times.now_us;

    if (batch->events.forgotten > tables->forgotten) {
        tables->forgotten = batch->events.forgotten;
        if (!tables->ops->sweep(tables, LK_TABLES_FORGET, tables->forgotten)) {
            return false;
        }
    }
    if (tables->ended_count > LK_TABLES_ENDED_MAX + ENDED_SLACK) {
        tables->ended_count = LK_TABLES_ENDED_MAX;
        if (!tables->ops->sweep(tables, LK_TABLES_ENDED_BOUND, 0)) {
            return false;
        }
    }
    if (now_us >= tables->sweep_after_us) {
        tables->sweep_after_us = now_us + SWEEP_US;
        return tables->ops->sweep(tables, LK_TABLES_ENDED_SWEEP, 0);
    }
    return true;
}

bool lk_tables_send_rows(struct lk_tables *tables, const struct lk_batch *batch) {
    bool is_well = true;

    for (int kind = 0; kind < LK_TABLES_KINDS; kind++) {
        tables->ops->clear(tables, (enum lk_tables_kind)kind);
    }
    forget_keys(&tables->values);
    forget_keys(&tables->items);
    for (const struct lk_row *row = batch->first; row != NULL && is_well; row = row->next) {
        is_well = add(tables, row, batch->times.now_us);
    }
    return is_well && flush_from(tables, LK_TABLES_REQUEST, LK_TABLES_LIMITS)
           && send_sweeps(tables, batch);
}
