/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what decisions change, and closes it into a batch. */
#include "server/core/collect.h"

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

static struct lk_row *add_row(struct lk_collection *collection, enum lk_row_kind kind) {
    struct lk_batch *batch = collection->open;
    struct lk_row *row = lk_arena_take(&batch->arena, sizeof *row);

    if (row == NULL) {
        collection->is_incomplete = true;
        return NULL;
    }
    memset(row, 0, sizeof *row);
    row->kind = kind;
    if (batch->last != NULL) {
        batch->last->next = row;
    } else {
        batch->first = row;
    }
    batch->last = row;
    batch->row_count++;
    return row;
}

static struct lk_slice copy(struct lk_collection *collection, struct lk_slice bytes) {
    struct lk_slice made = {NULL, 0};

    if (!lk_arena_copy(&collection->open->arena, bytes, &made)) {
        collection->is_incomplete = true;
    }
    return made;
}

static struct lk_path copy_path(struct lk_collection *collection, const struct lk_path *path) {
    struct lk_path made = *path;

    made.bytes = copy(collection, (struct lk_slice){path->bytes, path->size}).bytes;
    return made;
}

static const struct lk_part *copy_parts(struct lk_collection *collection,
                                        const struct lk_part *parts, size_t count) {
    struct lk_part *made =
        count > 0 ? lk_arena_take(&collection->open->arena, count * sizeof *made) : NULL;

    if (made == NULL) {
        collection->is_incomplete = collection->is_incomplete || count > 0;
        return NULL;
    }
    memcpy(made, parts, count * sizeof *made);
    for (size_t i = 0; i < count; i++) {
        made[i].path = copy_path(collection, &parts[i].path);
    }
    return made;
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

/* ---- values, items, queues ------------------------------------------------------------------- */

static void collect_value(struct lk_collection *collection, const struct lk_model *model,
                          const struct lk_change *change) {
    enum lk_row_kind kind = change->kind == LK_CHANGE_VALUE_PUT       ? LK_ROW_VALUE
                            : change->kind == LK_CHANGE_VALUE_DELETED ? LK_ROW_VALUE_GONE
                                                                      : LK_ROW_VALUE_DOUBT;
    struct lk_row *row = add_row(collection, kind);
    struct lk_value_record record;

    if (row == NULL) {
        return;
    }
    lk_model_value_record(model, change->value, &record);
    row->value.path = copy(collection, lk_slice_of(record.path));
    if (kind == LK_ROW_VALUE) {
        row->value.bytes = copy(collection, record.bytes);
    }
}

static void collect_item(struct lk_collection *collection, const struct lk_model *model,
                         const struct lk_change *change) {
    bool is_new = change->kind == LK_CHANGE_ITEM_PUSHED;
    struct lk_row *row =
        add_row(collection, is_new                                ? LK_ROW_ITEM_NEW
                            : change->kind == LK_CHANGE_ITEM_DONE ? LK_ROW_ITEM_GONE
                                                                  : LK_ROW_ITEM);
    const struct lk_item_record *record = &collection->item;

    if (row == NULL) {
        return;
    }
    lk_model_item_record(model, change->item, &collection->item);
    row->item = (struct lk_row_item){
        .queue = copy_path(collection, &record->queue),
        .id = copy(collection, record->id),
        .sequence = record->sequence,
        .state = record->state,
        .due_us = record->due_us,
        .attempts = record->attempts,
        .was_lost = record->was_lost,
    };
    if (is_new) {
        row->item.value = copy(collection, record->value);
        row->item.needs = copy_parts(collection, record->needs, record->need_count);
        row->item.need_count = record->need_count;
    }
    collection->open->has_work = true;
}

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

/* Goes before the counts of a new queue at this path, which are added when the batch closes. */
static void collect_forgotten(struct lk_collection *collection, const struct lk_model *model,
                              lk_queue_ref queue) {
    struct lk_row *row = add_row(collection, LK_ROW_QUEUE_GONE);
    struct lk_queue_counts counts;
    char path[LK_PATH_BYTES_MAX + 1];

    if (row != NULL) {
        lk_model_queue_record(model, queue, path, &counts);
        row->queue.path = copy(collection, lk_slice_of(path));
        collection->open->has_work = true;
    }
}

/* ---- ended tokens ---------------------------------------------------------------------------- */

static void remember(struct lk_collection *collection, const struct lk_target *target,
                     int64_t now_us) {
    struct lk_row *row = add_row(collection, LK_ROW_ENDED);

    if (row != NULL) {
        row->ended.target = (struct lk_target){
            .owner = copy(collection, target->owner),
            .parts = copy_parts(collection, target->parts, target->part_count),
            .part_count = target->part_count,
            .token = target->token,
        };
        row->ended.ended_us = now_us;
    }
}

/* R3: records the token that a call named and ended. A claim is recorded by its item's path. */
static void collect_ended(struct lk_collection *collection, const struct lk_command *command,
                          const struct lk_answer *answer) {
    char text[LK_PATH_BYTES_MAX + 1];
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    struct lk_target target;

    if (answer->outcome != LK_OK || (answer->request == 0 && answer->item == 0)) {
        return;
    }
    if (command->kind == LK_COMMAND_RELEASE && command->release.target.token != 0) {
        remember(collection, &command->release.target, command->times.now_us);
    } else if (command->kind == LK_COMMAND_FINISH && command->finish.token != 0) {
        const struct lk_finish *finish = &command->finish;
        size_t size = (size_t)finish->queue.size + 1 + finish->id.size;
        if (size > LK_PATH_BYTES_MAX) {
            return;
        }
        memcpy(text, finish->queue.bytes, finish->queue.size);
        text[finish->queue.size] = '/';
        memcpy(text + finish->queue.size + 1, finish->id.bytes, finish->id.size);
        if (lk_path_parse((struct lk_slice){text, size}, &part.path, NULL) == LK_OK) {
            target = (struct lk_target){
                .owner = finish->owner, .parts = &part, .part_count = 1, .token = finish->token};
            remember(collection, &target, command->times.now_us);
        }
    }
}

void lk_collect_audit(struct lk_collection *collection, const struct lk_audit_row *audit) {
    struct lk_row *row = add_row(collection, LK_ROW_AUDIT);

    if (row != NULL) {
        row->audit.at_unix_us = audit->at_unix_ms * 1000;
        row->audit.by = copy(collection, audit->by);
        row->audit.reason = copy(collection, audit->reason);
        row->audit.path = copy(collection, audit->path);
        row->audit.owner = copy(collection, audit->owner);
        row->audit.note = copy(collection, audit->note);
        row->audit.ticket = audit->ticket;
        row->audit.token = audit->token;
    }
}

/* ---- events and bounds ----------------------------------------------------------------------- */

void lk_collect_event(struct lk_collection *collection, const struct lk_stored_event *kept) {
    struct lk_row *row = add_row(collection, LK_ROW_EVENT);
    void *made = lk_arena_take(&collection->open->arena, lk_stored_event_bytes(kept));

    if (row == NULL || made == NULL) {
        collection->is_incomplete = true;
        return;
    }
    memcpy(made, kept, lk_stored_event_bytes(kept));
    row->event = made;
}

void lk_collect_mark(struct lk_collection *collection, int64_t watched_until_us) {
    collection->open->events.has_mark = true;
    collection->open->events.watched_until_us = watched_until_us;
}

void lk_collect_limits(struct lk_collection *collection, const struct lk_quotas *quotas,
                       uint64_t events_max) {
    struct lk_row *row = add_row(collection, LK_ROW_LIMITS);

    if (row != NULL) {
        row->limits.quotas = *quotas;
        row->limits.events_max = events_max;
    }
}

void lk_collect_probe(struct lk_collection *collection) {
    (void)add_row(collection, LK_ROW_PROBE);
}

/* ---- a step ---------------------------------------------------------------------------------- */

void lk_collect_step(struct lk_collection *collection, const struct lk_model *model,
                     const struct lk_command *command, const struct lk_effects *effects) {
    lk_ref asked = command->kind == LK_COMMAND_ASK ? effects->answer.request : 0;

    for (size_t i = 0; i < effects->change_count; i++) {
        const struct lk_change *change = &effects->changes[i];

        if (change->kind <= LK_CHANGE_BROKEN) {
            collect_request(collection, model, change, change->request == asked);
        } else if (change->kind <= LK_CHANGE_VALUE_DOUBTED) {
            collect_value(collection, model, change);
        } else if (change->kind < LK_CHANGE_QUEUE_COUNTED) {
            collect_item(collection, model, change);
        } else if (change->kind == LK_CHANGE_QUEUE_COUNTED) {
            collect_queue(collection, change->queue);
        } else {
            collect_forgotten(collection, model, change->queue);
        }
    }
    collect_ended(collection, command, &effects->answer);
    if (command->kind == LK_COMMAND_ASK && command->ask.wants_value) {
        collection->open->has_work = true;
    }
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

/* Copies a record without its text; the paths are copied one by one. */
static struct lk_record *copy_record(struct lk_collection *collection) {
    const struct lk_record *record = &collection->record;
    size_t head = offsetof(struct lk_record, parts);
    struct lk_record *made = lk_arena_take(&collection->open->arena,
                                           head + record->part_count * sizeof record->parts[0]);

    if (made == NULL) {
        collection->is_incomplete = true;
        return NULL;
    }
    memcpy(made, record, head);
    made->owner = copy(collection, record->owner);
    made->note = copy(collection, record->note);
    for (size_t i = 0; i < record->part_count; i++) {
        struct lk_part part = record->parts[i];
        part.path = copy_path(collection, &part.path);
        memcpy(&made->parts[i], &part, sizeof part);
    }
    return made;
}

static void close_request(struct lk_collection *collection, const struct lk_model *model,
                          const struct lk_dirty *dirty, const struct lk_times *times, bool bound) {
    struct lk_row *row;

    if (dirty->request == 0) {
        row =
            dirty->id < collection->first_new_id ? add_row(collection, LK_ROW_REQUEST_GONE) : NULL;
        if (row != NULL) {
            row->gone = dirty->id;
        }
        return;
    }
    row = add_row(collection, LK_ROW_REQUEST);
    if (row == NULL) {
        return;
    }
    lk_model_record(model, dirty->request, &collection->record);
    row->request = (struct lk_row_request){
        .record = copy_record(collection),
        .expires_unix_us = times->wall_us + collection->record.deadline_us - times->now_us,
        .has_parts = dirty->has_parts,
        .bound = bound,
    };
}

static void close_queue(struct lk_collection *collection, const struct lk_model *model,
                        lk_queue_ref queue) {
    struct lk_row *row = add_row(collection, LK_ROW_QUEUE);
    char path[LK_PATH_BYTES_MAX + 1];

    if (row != NULL) {
        lk_model_queue_record(model, queue, path, &row->queue.counts);
        row->queue.path = copy(collection, lk_slice_of(path));
    }
}

static int compare_queues(const void *a, const void *b) {
    lk_queue_ref first = *(const lk_queue_ref *)a;
    lk_queue_ref second = *(const lk_queue_ref *)b;

    return (first > second) - (first < second);
}

static void close_queues(struct lk_collection *collection, const struct lk_model *model) {
    if (collection->queue_count > 1) {
        qsort(collection->queues, collection->queue_count, sizeof *collection->queues,
              compare_queues);
    }
    for (size_t i = 0; i < collection->queue_count; i++) {
        if ((i == 0 || collection->queues[i] != collection->queues[i - 1])
            && lk_model_has_queue(model, collection->queues[i])) {
            close_queue(collection, model, collection->queues[i]);
        }
    }
}

struct lk_batch *lk_collection_close(struct lk_collection *collection, const struct lk_model *model,
                                     uint64_t number, const struct lk_times *times,
                                     lk_is_bound *is_bound, void *context) {
    struct lk_batch *batch = collection->open;

    for (struct lk_row *row = batch->first; row != NULL; row = row->next) {
        if (row->kind == LK_ROW_ITEM_NEW || row->kind == LK_ROW_ITEM) {
            row->item.due_unix_us = times->wall_us + row->item.due_us - times->now_us;
        }
    }
    for (size_t i = 0; i < collection->dirty_count; i++) {
        const struct lk_dirty *dirty = &collection->dirty[i];
        close_request(collection, model, dirty, times,
                      dirty->request != 0 && is_bound(context, dirty->request));
    }
    close_queues(collection, model);
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
