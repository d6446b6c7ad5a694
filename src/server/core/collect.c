/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what decisions change, and closes it into a batch. */
#include "server/core/collect.h"

#include <assert.h>
#include <stdlib.h>

/* ---- making and resetting -------------------------------------------------------------------- */

bool lk_collection_init(struct lk_collection *collection) {
    memset(collection, 0, sizeof *collection);
    collection->open = calloc(1, sizeof *collection->open);
    collection->closed = calloc(1, sizeof *collection->closed);
    return collection->open != NULL && collection->closed != NULL;
}

static void batch_free(struct lk_batch *batch) {
    if (batch != NULL) {
        lk_arena_done(&batch->arena);
        free(batch);
    }
}

void lk_collection_done(struct lk_collection *collection) {
    batch_free(collection->open);
    batch_free(collection->closed);
    free(collection->dirty);
    free(collection->dirty_at);
    free(collection->queues);
}

static void batch_reset(struct lk_batch *batch) {
    struct lk_arena arena = batch->arena;

    lk_arena_reset(&arena);
    *batch = (struct lk_batch){.arena = arena};
}

static void forget_dirty(struct lk_collection *collection) {
    for (size_t i = 0; i < collection->dirty_count; i++) {
        if (collection->dirty[i].request != 0) {
            collection->dirty_at[collection->dirty[i].request] = 0;
        }
    }
    collection->dirty_count = 0;
    collection->queue_count = 0;
    collection->is_wanted = false;
}

void lk_collection_reset(struct lk_collection *collection, uint64_t first_new_id) {
    forget_dirty(collection);
    batch_reset(collection->open);
    collection->first_new_id = first_new_id;
    collection->is_incomplete = false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void *take(struct lk_collection *collection, size_t size) {
    void *taken = lk_arena_take(&collection->open->arena, size);

    collection->is_incomplete = collection->is_incomplete || taken == NULL;
    return taken;
}

static void copy(struct lk_collection *collection, struct lk_slice *bytes) {
    if (!lk_arena_copy(&collection->open->arena, *bytes, bytes)) {
        collection->is_incomplete = true;
    }
}

static void copy_path(struct lk_collection *collection, struct lk_path *path) {
    struct lk_slice bytes = {path->bytes, path->size};

    copy(collection, &bytes);
    path->bytes = bytes.bytes;
}

static void copy_parts(struct lk_collection *collection, struct lk_part *made,
                       const struct lk_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        made[i] = parts[i];
        copy_path(collection, &made[i].path);
    }
}

/* Copies a record up to its parts, without the text that they point to. */
static const struct lk_record *copy_request(struct lk_collection *collection,
                                            const struct lk_record *record) {
    size_t head = offsetof(struct lk_record, parts);
    struct lk_record *made = take(collection, head + record->part_count * sizeof record->parts[0]);

    if (made != NULL) {
        memcpy(made, record, head);
        copy(collection, &made->owner);
        copy(collection, &made->note);
        copy_parts(collection, made->parts, record->parts, record->part_count);
    }
    return made;
}

static const struct lk_item_record *copy_item(struct lk_collection *collection,
                                              const struct lk_item_record *record) {
    size_t head = offsetof(struct lk_item_record, needs);
    struct lk_item_record *made =
        take(collection, head + record->need_count * sizeof record->needs[0]);

    if (made != NULL) {
        memcpy(made, record, head);
        copy_path(collection, &made->queue);
        copy(collection, &made->id);
        copy(collection, &made->value);
        copy(collection, &made->last_failure.text);
        copy(collection, &made->progress);
        copy_parts(collection, made->needs, record->needs, record->need_count);
    }
    return made;
}

static void copy_target(struct lk_collection *collection, struct lk_target *target) {
    struct lk_part *parts = take(collection, target->part_count * sizeof *parts);

    copy(collection, &target->owner);
    target->batch = (struct lk_slice){NULL, 0};
    if (parts != NULL) {
        copy_parts(collection, parts, target->parts, target->part_count);
        target->parts = parts;
    }
}

/* Copies what the row borrows. The names of events are static. */
static void copy_content(struct lk_collection *collection, struct lk_row *row) {
    switch (row->kind) {
    case LK_ROW_REQUEST:
        row->request.record = copy_request(collection, row->request.record);
        break;
    case LK_ROW_VALUE:
    case LK_ROW_VALUE_DOUBT:
    case LK_ROW_VALUE_GONE:
        copy(collection, &row->value.path);
        copy(collection, &row->value.bytes);
        break;
    case LK_ROW_ITEM_NEW:
    case LK_ROW_ITEM:
    case LK_ROW_ITEM_GONE:
        row->item.record = copy_item(collection, row->item.record);
        break;
    case LK_ROW_QUEUE:
    case LK_ROW_QUEUE_GONE:
        copy(collection, &row->queue.path);
        break;
    case LK_ROW_ENDED:
        copy_target(collection, &row->ended.target);
        break;
    case LK_ROW_AUDIT:
        copy(collection, &row->audit.by);
        copy(collection, &row->audit.reason);
        copy(collection, &row->audit.path);
        copy(collection, &row->audit.owner);
        copy(collection, &row->audit.note);
        break;
    case LK_ROW_EVENT:
        copy(collection, &row->event.parts);
        copy(collection, &row->event.owner);
        copy(collection, &row->event.note);
        copy(collection, &row->event.by);
        copy(collection, &row->event.reason);
        break;
    case LK_ROW_REQUEST_GONE:
    case LK_ROW_LIMITS:
    case LK_ROW_PROBE:
        break;
    }
}

/* Adds a copy of the row and of all that it borrows. */
static void add(struct lk_collection *collection, const struct lk_row *row) {
    struct lk_batch *batch = collection->open;
    struct lk_row *made = take(collection, sizeof *made);

    if (made == NULL) {
        return;
    }
    assert((batch->first == NULL) == (batch->row_count == 0));
    assert(batch->last == NULL || batch->last->next == NULL);
    *made = *row;
    copy_content(collection, made);
    if (batch->last != NULL) {
        batch->last->next = made;
    } else {
        batch->first = made;
    }
    batch->last = made;
    batch->row_count++;
}

static void add_change(struct lk_collection *collection, const struct lk_model *model,
                       const struct lk_change *change, const struct lk_times *times) {
    const struct lk_row row = lk_row_of_change(model, change, times, &collection->item);

    add(collection, &row);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Reserves room for one more entry, and for the reference. false: memory is exhausted. */
static bool reserve_dirty(struct lk_collection *collection, lk_ref request) {
    if (collection->dirty_count == collection->dirty_capacity) {
        size_t capacity = collection->dirty_capacity == 0 ? 256 : collection->dirty_capacity * 2;
        struct lk_dirty *dirty = realloc(collection->dirty, capacity * sizeof *dirty);
        if (dirty == NULL) {
            return false;
        }
        collection->dirty = dirty;
        collection->dirty_capacity = capacity;
    }
    if (request >= collection->dirty_at_capacity) {
        size_t capacity = collection->dirty_at_capacity == 0 ? 256 : collection->dirty_at_capacity;
        uint32_t *dirty_at;
        while (capacity <= request) {
            capacity *= 2;
        }
        dirty_at = realloc(collection->dirty_at, capacity * sizeof *dirty_at);
        if (dirty_at == NULL) {
            return false;
        }
        memset(dirty_at + collection->dirty_at_capacity, 0,
               (capacity - collection->dirty_at_capacity) * sizeof *dirty_at);
        collection->dirty_at = dirty_at;
        collection->dirty_at_capacity = capacity;
    }
    return true;
}

/* NULL: memory is exhausted. */
static struct lk_dirty *mark(struct lk_collection *collection, const struct lk_model *model,
                             lk_ref request) {
    struct lk_dirty *dirty;

    if (!reserve_dirty(collection, request)) {
        collection->is_incomplete = true;
        return NULL;
    }
    if (collection->dirty_at[request] != 0) {
        assert(collection->dirty_at[request] <= collection->dirty_count);
        assert(collection->dirty[collection->dirty_at[request] - 1].request == request);
        return &collection->dirty[collection->dirty_at[request] - 1];
    }
    dirty = &collection->dirty[collection->dirty_count++];
    *dirty = (struct lk_dirty){.request = request, .id = lk_model_request_id(model, request)};
    dirty->has_parts = dirty->id >= collection->first_new_id;
    collection->dirty_at[request] = (uint32_t)collection->dirty_count;
    return dirty;
}

void lk_collect_request(struct lk_collection *collection, const struct lk_model *model,
                        lk_ref request) {
    (void)mark(collection, model, request);
}

static bool is_end(enum lk_change_kind kind) {
    return kind == LK_CHANGE_RELEASED || kind == LK_CHANGE_WITHDRAWN || kind == LK_CHANGE_PERISHED
           || kind == LK_CHANGE_BROKEN;
}

/* `is_asked`: the command asked for this request, so its parts may be in another order. */
static void collect_request(struct lk_collection *collection, const struct lk_model *model,
                            const struct lk_change *change, bool is_asked) {
    struct lk_dirty *dirty = mark(collection, model, change->request);

    if (dirty == NULL) {
        return;
    }
    if (change->kind == LK_CHANGE_CONVERTED || is_asked) {
        dirty->has_parts = true;
    }
    if (is_end(change->kind)) {
        collection->dirty_at[change->request] = 0;
        dirty->request = 0;
    }
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void collect_queue(struct lk_collection *collection, lk_queue_ref queue) {
    /* Steps about one queue come one after another; other duplicates are removed when the batch
     * closes. */
    if (collection->queue_count > 0 && collection->queues[collection->queue_count - 1] == queue) {
        return;
    }
    if (collection->queue_count == collection->queue_capacity) {
        size_t capacity = collection->queue_capacity == 0 ? 64 : collection->queue_capacity * 2;
        lk_queue_ref *queues = realloc(collection->queues, capacity * sizeof *queues);
        if (queues == NULL) {
            collection->is_incomplete = true;
            return;
        }
        collection->queues = queues;
        collection->queue_capacity = capacity;
    }
    collection->queues[collection->queue_count++] = queue;
}

/* ---- ended tokens ---------------------------------------------------------------------------- */

/* R3: records the token that a call named and ended. */
static void collect_ended(struct lk_collection *collection, const struct lk_command *command,
                          const struct lk_answer *answer) {
    struct lk_row_named room;
    const struct lk_target *target = lk_row_named(command, &room);

    if (target != NULL && lk_row_has_ended(answer)) {
        add(collection,
            &(struct lk_row){.kind = LK_ROW_ENDED, .ended = {*target, command->times.now_us}});
    }
}

void lk_collect_audit(struct lk_collection *collection, const struct lk_audit_row *audit) {
    add(collection, &(struct lk_row){.kind = LK_ROW_AUDIT, .audit = *audit});
}

/* ---- events and bounds ----------------------------------------------------------------------- */

void lk_collect_event(struct lk_collection *collection, const struct lk_stored_event *kept) {
    struct lk_row row = {.kind = LK_ROW_EVENT};

    row.event = (struct lk_sql_event){
        .sequence = kept->sequence,
        .at_unix_us = kept->at_unix_us,
        .event = lk_slice_of(lk_watch_kind_name(kept->kind)),
        .refusal = lk_slice_of(kept->refusal != LK_OK ? lk_outcome_name(kept->refusal) : ""),
        .parts = lk_stored_event_parts(kept),
        .owner = lk_stored_event_owner(kept),
        .note = lk_stored_event_note(kept),
        .by = lk_stored_event_by(kept),
        .reason = lk_stored_event_reason(kept),
        .ticket = kept->ticket,
        .token = kept->token,
        .attempt = kept->attempt,
        .is_of_item = kept->is_of_item,
        .is_deletion = kept->is_deletion,
    };
    add(collection, &row);
}

void lk_collect_mark(struct lk_collection *collection, int64_t watched_until_us) {
    collection->open->events.has_mark = true;
    collection->open->events.watched_until_us = watched_until_us;
}

void lk_collect_limits(struct lk_collection *collection, const struct lk_quotas *quotas,
                       uint64_t events_max) {
    add(collection, &(struct lk_row){.kind = LK_ROW_LIMITS, .limits = {*quotas, events_max}});
}

void lk_collect_probe(struct lk_collection *collection) {
    add(collection, &(struct lk_row){.kind = LK_ROW_PROBE});
}

/* ---- a step ---------------------------------------------------------------------------------- */

void lk_collect_step(struct lk_collection *collection, const struct lk_model *model,
                     const struct lk_command *command, const struct lk_effects *effects) {
    lk_ref asked = command->kind == LK_COMMAND_ASK ? effects->answer.request : 0;

    for (size_t i = 0; i < effects->change_count; i++) {
        const struct lk_change *change = &effects->changes[i];

        if (change->kind <= LK_CHANGE_BROKEN) {
            collect_request(collection, model, change, change->request == asked);
        } else if (change->kind == LK_CHANGE_QUEUE_COUNTED) {
            collect_queue(collection, change->queue); /* the row is added when the batch closes */
        } else {
            add_change(collection, model, change, &command->times);
        }
    }
    collect_ended(collection, command, &effects->answer);
}

/* ---- closing --------------------------------------------------------------------------------- */

bool lk_collection_is_empty(const struct lk_collection *collection) {
    return collection->dirty_count == 0 && collection->queue_count == 0
           && collection->open->row_count == 0 && !collection->open->events.has_mark
           && !collection->is_wanted;
}

size_t lk_collection_bytes(const struct lk_collection *collection) {
    enum { DIRTY_BYTES = 512 }; /* of a copied request with one part and short names */

    return collection->open->arena.bytes + collection->dirty_count * DIRTY_BYTES;
}

static void close_request(struct lk_collection *collection, const struct lk_model *model,
                          const struct lk_dirty *dirty, const struct lk_times *times,
                          lk_describe_request *describe, void *context) {
    struct lk_row row = {.kind = LK_ROW_REQUEST_GONE, .gone = dirty->id};

    if (dirty->request != 0) {
        lk_model_record(model, dirty->request, &collection->record);
        row = (struct lk_row){
            .kind = LK_ROW_REQUEST,
            .request.record = &collection->record,
            .request.expires_unix_us = lk_times_unix_us(times, collection->record.deadline_us),
            .request.has_parts = dirty->has_parts,
        };
        describe(context, dirty->request, &row);
    } else if (dirty->id >= collection->first_new_id) {
        return;
    }
    add(collection, &row);
}

static int compare_queues(const void *a, const void *b) {
    lk_queue_ref first = *(const lk_queue_ref *)a;
    lk_queue_ref second = *(const lk_queue_ref *)b;

    return (first > second) - (first < second);
}

static void close_queues(struct lk_collection *collection, const struct lk_model *model,
                         const struct lk_times *times) {
    if (collection->queue_count > 1) {
        qsort(collection->queues, collection->queue_count, sizeof *collection->queues,
              compare_queues);
    }
    for (size_t i = 0; i < collection->queue_count; i++) {
        if ((i == 0 || collection->queues[i] != collection->queues[i - 1])
            && lk_model_has_queue(model, collection->queues[i])) {
            const struct lk_change change = {.kind = LK_CHANGE_QUEUE_COUNTED,
                                             .queue = collection->queues[i]};
            add_change(collection, model, &change, times);
        }
    }
}

struct lk_batch *lk_collection_close(struct lk_collection *collection, const struct lk_model *model,
                                     uint64_t number, const struct lk_times *times,
                                     lk_describe_request *describe, void *context) {
    struct lk_batch *batch = collection->open;

    for (size_t i = 0; i < collection->dirty_count; i++) {
        close_request(collection, model, &collection->dirty[i], times, describe, context);
    }
    close_queues(collection, model, times);
    if (collection->is_incomplete) {
        return NULL;
    }
    batch->number = number;
    batch->times = *times;
    batch->draw_floor = lk_model_greatest_draw(model);
    forget_dirty(collection);
    collection->first_new_id = lk_model_next_id(model);
    batch_reset(collection->closed);
    collection->open = collection->closed;
    collection->closed = batch;
    return batch;
}
