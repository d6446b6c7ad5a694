/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking an item out of a queue (R16), in one transaction:
 *
 *     sweep what is overdue  -  make ready what is due  -  load candidates  -  step  -  write
 *
 * and the last three again, while nothing can be claimed and there are more candidates.
 *
 * A queue may have any number of ready items, of which mostly the first can be claimed. So they
 * are loaded in their order, in portions, each twice as large as the one before, and the model
 * decides after each. That is as good as loading all of them:
 *
 *   - Overdue claims of the queue are swept before, by a step of their own at the same instant, so
 *     that every item that they free is at its position in the queue.
 *   - The model claims the oldest item that can be locked among those loaded, and all older items
 *     have been loaded or skipped. A take that finds none changes nothing but what is overdue.
 *   - A request of another owner at or above the queue is in the way of each item: then no more
 *     items are loaded.
 *   - What blocks one item by its needs blocks all items that need the same: of these only the
 *     first is loaded. If it may be blocked itself, by a lock on its own path, or its row does not
 *     fit any more, all items from there on are loaded, so that the next one of these is, too.
 *   - An item is not loaded where another one is the head of one of its strict needs. The head may
 *     be refused by its needs, as others, but is loaded with each portion: it is one item.
 *   - Needs cannot be locked, by any item, when another owner's request conflicts with them or when
 *     the units held leave no room: items with exactly these needs are skipped then.
 */
#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/sqlite/changes.h"
#include "engine/sqlite/decide.h"
#include "engine/sqlite/source.h"
#include "sql/lines.h"

enum {
    PORTION_FIRST = 1,
    DROPPED_MAX = 256, /* items whose row does not fit any more, in one transaction */
};

/* The state of one take. */
struct taking {
    struct lk_sqlite_transaction *transaction;
    struct lk_command command;
    struct lk_closure closure;
    const struct lk_effects *effects; /* of the last step */
    struct lk_sql_place place;        /* of the last item that was read */
    size_t room;                      /* for candidates in this portion */
    bool has_more;                    /* there are candidates after it */
    bool reads_all;                   /* not only the first of those that need the same */
    bool reads_again;                 /* from the place on, since it reads all */
    struct lk_set needs;              /* of the candidates, as text */
    size_t needs_done;                /* of them, so many have been checked */
    struct lk_set refused;            /* those that cannot be locked */
    struct lk_sqlite_source *source;  /* R17; NULL: the queue is no table */
    struct lk_set dropped;            /* items whose row does not fit any more */
    bool has_dropped_enough;
};

static struct lk_slice queue_of(const struct taking *taking) {
    const struct lk_path *queue = &taking->command.take.queue;

    return (struct lk_slice){queue->bytes, queue->size};
}

/* ---- before ---------------------------------------------------------------------------------- */

static int prepare(struct taking *taking) {
    int code = lk_sqlite_sweep(taking->transaction, &taking->command.take.queue);

    if (code == SQLITE_OK) {
        code = lk_sql_items_ripen(&taking->transaction->store->sql, queue_of(taking),
                                  taking->transaction->times.now_us);
    }
    return code;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* R17: checks the row again in this transaction. An item whose row does not fit is dropped. */
static int check_row(struct taking *taking, const struct lk_sql_item *item, bool *ret_fits) {
    bool is_new;
    int code;

    *ret_fits = true;
    if (taking->source == NULL) {
        return SQLITE_OK;
    }
    code = lk_sqlite_source_fits(taking->transaction->store, taking->source, item->record.id,
                                 ret_fits);
    if (code == SQLITE_OK && !*ret_fits) {
        code = lk_set_add(&taking->dropped, item->record.id, &is_new) ? SQLITE_OK : SQLITE_NOMEM;
    }
    return code;
}

/* Whether a request may be in the way of the item itself, so that the next one is not behind it. */
static int is_locked_itself(struct taking *taking, const struct lk_sql_item *item,
                            bool *ret_locked) {
    struct lk_sql *sql = &taking->transaction->store->sql;
    struct lk_item_path made;
    struct lk_slice path;
    int64_t at = 0;
    int64_t below = 0;
    int code;

    if (lk_item_path_make(&item->record.queue, item->record.id, &made, NULL) != LK_OK) {
        return SQLITE_CORRUPT;
    }
    path = (struct lk_slice){made.path.bytes, made.path.size};
    code = lk_sql_count_at(sql, path, 1, &at);
    if (code == SQLITE_OK) {
        code = lk_sql_count_below(sql, path, 1, &below);
    }
    *ret_locked = at + below > 0;
    return code;
}

/* Whether another item is the head of one of its strict needs. */
static int check_heads(struct taking *taking, const struct lk_sql_item *item, bool *ret_waits) {
    const struct lk_item_record *record = &item->record;
    int code = SQLITE_OK;

    *ret_waits = false;
    for (size_t i = 0; i < record->need_count && !record->is_head && !*ret_waits; i++) {
        if (record->needs[i].strict) {
            code = lk_sql_strict_is_taken(&taking->transaction->store->sql, queue_of(taking),
                                          &record->needs[i].path, ret_waits);
        }
        if (code != SQLITE_OK) {
            break;
        }
    }
    return code;
}

/* The first of those that need the same: reads the others, too, if it cannot speak for them. */
static int check_first(struct taking *taking, const struct lk_sql_item *item) {
    bool is_locked = false;
    int code;

    if (taking->reads_all || item->needs.size == 0) {
        return SQLITE_OK;
    }
    code = is_locked_itself(taking, item, &is_locked);
    if (code == SQLITE_OK && is_locked) {
        taking->reads_all = taking->reads_again = true;
        code = SQLITE_DONE;
    }
    return code;
}

static int add_candidate(void *context, const struct lk_sql_item *item) {
    struct taking *taking = context;
    bool is_new;
    bool waits;
    bool fits;
    int code;

    taking->has_dropped_enough = taking->dropped.item_count >= DROPPED_MAX;
    if (taking->room == 0 || taking->has_dropped_enough) {
        taking->has_more = true;
        return SQLITE_DONE;
    }
    code = check_first(taking, item);
    if (code != SQLITE_OK) {
        return code;
    }
    taking->place = (struct lk_sql_place){item->record.priority, item->record.sequence};
    if (lk_set_has(&taking->refused, item->needs) && !item->record.is_head) {
        return SQLITE_OK;
    }
    code = check_heads(taking, item, &waits);
    if (code != SQLITE_OK || waits) {
        return code;
    }
    code = check_row(taking, item, &fits);
    if (code != SQLITE_OK) {
        return code;
    }
    if (!fits) {
        taking->reads_again = item->needs.size > 0 && !taking->reads_all;
        taking->reads_all |= taking->reads_again;
        return taking->reads_again ? SQLITE_DONE : SQLITE_OK;
    }
    taking->room--;
    if (item->needs.size > 0 && !lk_set_add(&taking->needs, item->needs, &is_new)) {
        return SQLITE_NOMEM;
    }
    return lk_closure_add_candidate(&taking->closure, item);
}

static int load_portion(struct taking *taking, size_t size) {
    struct lk_sqlite *store = taking->transaction->store;
    int code;

    taking->room = size;
    do {
        taking->has_more = taking->reads_again = false;
        code = (taking->reads_all ? lk_sql_items_each_ready : lk_sql_items_each_first)(
            &store->sql, queue_of(taking), taking->place, &store->item, add_candidate, taking);
    } while (code == SQLITE_OK && taking->reads_again);
    return code == SQLITE_OK ? lk_closure_follow(&taking->closure) : code;
}

/* ---- what is in the way ---------------------------------------------------------------------- */

/* A search for another owner's request that conflicts with a part (R6). */
struct search {
    const struct lk_model *model;
    struct lk_record *record; /* room */
    struct lk_slice owner;
    const struct lk_part *part;
    bool at_or_above; /* and is not below it */
    bool is_found;
};

static bool conflicts(const struct search *search, const struct lk_part *other) {
    return (search->part->mode == LK_EXCLUSIVE || other->mode == LK_EXCLUSIVE)
           && (lk_path_contains(&other->path, &search->part->path)
               || (!search->at_or_above && lk_path_contains(&search->part->path, &other->path)));
}

static bool check_request(void *context, lk_ref request) {
    struct search *search = context;
    const struct lk_record *record = search->record;

    lk_model_record(search->model, request, search->record);
    for (size_t i = 0; i < record->part_count && !search->is_found; i++) {
        search->is_found =
            !lk_slice_equal(record->owner, search->owner) && conflicts(search, &record->parts[i]);
    }
    return !search->is_found;
}

/* Whether a request, held or waiting, is in the way of a new one (R7a, b). */
static bool has_conflict(const struct taking *taking, const struct lk_part *part,
                         bool at_or_above) {
    struct search search = {
        .model = taking->closure.model,
        .record = &taking->transaction->store->request.record,
        .owner = taking->command.take.owner,
        .part = part,
        .at_or_above = at_or_above,
    };

    lk_model_each_related(search.model, &part->path, check_request, &search);
    return search.is_found;
}

/* Whether the queue is paused: something is in the way of every item. */
static bool is_paused(const struct taking *taking) {
    const struct lk_part part = {.path = taking->command.take.queue, .mode = LK_EXCLUSIVE};

    return has_conflict(taking, &part, true);
}

/* Whether these needs cannot be locked by any item. */
static bool is_refused(const struct taking *taking, struct lk_slice text) {
    struct lk_part needs[LK_NEEDS_MAX];
    size_t count = 0;
    bool refused = false;

    (void)lk_sql_needs_parse(text, needs, &count);
    for (size_t i = 0; i < count && !refused; i++) {
        const struct lk_part *need = &needs[i];
        refused =
            (need->limit != 0
             && lk_model_units_held(taking->closure.model, &need->path) + need->units > need->limit)
            || has_conflict(taking, need, false);
    }
    return refused;
}

static int note_refused(struct taking *taking) {
    while (taking->needs_done < taking->needs.item_count) {
        struct lk_slice text = lk_set_at(&taking->needs, taking->needs_done++);
        bool is_new;
        if (is_refused(taking, text) && !lk_set_add(&taking->refused, text, &is_new)) {
            return SQLITE_NOMEM;
        }
    }
    return SQLITE_OK;
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* One portion and one step. *ret_again: nothing was claimed, and there are more candidates. */
static int try_portion(struct taking *taking, size_t size, bool *ret_again) {
    struct lk_sqlite_transaction *transaction = taking->transaction;
    int code = load_portion(taking, size);

    *ret_again = false;
    if (code == SQLITE_OK) {
        code = lk_closure_count(&taking->closure, &transaction->meta.quotas,
                                taking->command.take.owner);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    taking->effects = lk_model_step(taking->closure.model, &taking->command);
    code = lk_sqlite_write(transaction, &taking->command, &taking->closure, taking->effects);
    if (code != SQLITE_OK || taking->effects->answer.outcome != LK_BUSY || !taking->has_more
        || taking->has_dropped_enough || is_paused(taking)) {
        return code;
    }
    *ret_again = true;
    return note_refused(taking);
}

/* They are ready and unclaimed: no other row refers to them. */
static int drop(struct taking *taking) {
    struct lk_item_record record = {.queue = taking->command.take.queue};
    int code = SQLITE_OK;

    for (size_t i = 0; i < taking->dropped.item_count && code == SQLITE_OK; i++) {
        record.id = lk_set_at(&taking->dropped, i);
        code = lk_sql_item_delete(&taking->transaction->store->sql, &record);
    }
    return code;
}

static int decide(struct taking *taking) {
    bool again = true;
    int code;

    taking->command.times = taking->transaction->times;
    code = prepare(taking);
    if (code == SQLITE_OK) {
        code = lk_closure_load(&taking->closure, taking->transaction, &taking->command, NULL);
    }
    for (size_t size = PORTION_FIRST; code == SQLITE_OK && again; size *= 2) {
        code = try_portion(taking, size, &again);
    }
    return code == SQLITE_OK ? drop(taking) : code;
}

/* ---- answering ------------------------------------------------------------------------------- */

static int copy_value(void *context, struct lk_slice bytes) {
    lk_claim_info *claim = context;

    claim->value = lk_text_copy(bytes);
    claim->value_size = bytes.size;
    return claim->value != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* R17: the id as the table has it. */
static int add_row_id(const struct taking *taking, lk_claim_info *claim) {
    struct lk_row_id id;

    if (taking->source == NULL || !lk_row_id_decode(lk_slice_of(claim->id), &id)) {
        return SQLITE_OK;
    }
    claim->row_id = lk_text_copy((struct lk_slice){id.bytes, id.size});
    return claim->row_id != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* The item's value, which the model did not need, and its row's id. */
static int complete_claim(const struct taking *taking, lk_claim_info *claim) {
    struct lk_sql *sql = &taking->transaction->store->sql;
    int code =
        lk_sql_item_value_load(sql, queue_of(taking), lk_slice_of(claim->id), copy_value, claim);

    return code == SQLITE_OK || code == SQLITE_EMPTY ? add_row_id(taking, claim) : code;
}

/* What lk_sqlite_await() has to know. */
static int fill_cursor(const struct taking *taking, struct lk_wait_cursor *cursor) {
    struct lk_sql_queue_probe probe = {.has_ready = false};
    int64_t deadline_us = lk_model_next_deadline(taking->closure.model);
    int code = lk_sql_queue_probe(&taking->transaction->store->sql, queue_of(taking), &probe);

    if (code == SQLITE_OK) {
        code = lk_sqlite_transaction_version(taking->transaction, &cursor->version);
    }
    cursor->in_the_way = probe.has_ready;
    cursor->due_us = probe.next_due_us < deadline_us ? probe.next_due_us : deadline_us;
    return code;
}

static void done(struct taking *taking) {
    lk_closure_done(&taking->closure);
    lk_set_done(&taking->needs);
    lk_set_done(&taking->refused);
    lk_set_done(&taking->dropped);
}

static int perform(struct taking *taking, const struct lk_source *text,
                   struct lk_decision *decision) {
    int code = SQLITE_OK;

    if (text != NULL) {
        code = lk_sqlite_source_get(taking->transaction->store, text, &taking->source);
    }
    if (code == SQLITE_OK) {
        code = decide(taking);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    if (!lk_decision_from_effects(taking->closure.model, taking->effects, &taking->command,
                                  decision)) {
        return SQLITE_NOMEM;
    }
    if (decision->claim != NULL) {
        code = complete_claim(taking, decision->claim);
    } else if (decision->error.outcome == LK_BUSY) {
        code = fill_cursor(taking, &decision->cursor);
    }
    return code;
}

static struct taking begin(struct lk_sqlite_transaction *transaction,
                           const struct lk_command *command) {
    return (struct taking){
        .transaction = transaction, .command = *command, .place = LK_SQL_PLACE_BEFORE_ALL};
}

int lk_sqlite_take_in(struct lk_sqlite_transaction *transaction, const struct lk_command *command,
                      struct lk_decision *decision) {
    struct taking taking = begin(transaction, command);
    int code = perform(&taking, NULL, decision);

    done(&taking);
    return code;
}

/* One transaction. *ret_again: many items were dropped, nothing was claimed, and there are more. */
static lk_outcome take_once(struct lk_sqlite *store, const struct lk_source *text,
                            const struct lk_command *command, const struct lk_patience *patience,
                            struct lk_decision *decision, bool *ret_again) {
    struct lk_sqlite_transaction transaction;
    struct taking taking = begin(&transaction, command);
    int code;
    lk_outcome outcome = lk_sqlite_transaction_begin(store, LK_SQLITE_WRITE, patience, &transaction,
                                                     &decision->error);

    *ret_again = false;
    if (outcome != LK_OK) {
        return outcome;
    }
    code = perform(&taking, text, decision);
    outcome = lk_sqlite_conclude(&transaction, taking.source, code, decision);
    *ret_again = outcome == LK_BUSY && taking.has_dropped_enough;
    done(&taking);
    return outcome;
}

lk_outcome lk_sqlite_take(struct lk_sqlite *store, const struct lk_source *text,
                          const struct lk_command *command, const struct lk_patience *patience,
                          struct lk_decision *decision) {
    bool again = false;
    lk_outcome outcome;

    do {
        lk_decision_begin(decision, command);
        outcome = take_once(store, text, command, patience, decision, &again);
    } while (again);
    return outcome;
}
