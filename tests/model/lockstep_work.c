/* SPDX-License-Identifier: Apache-2.0 */
/* Values, items and queues of both sides: compared as states, as answers, as changes. */
#include <stdlib.h>

#include "base/minmax.h"
#include "lockstep.h"

/* ---- where values and queues may be ---- */

static void note_path(struct lockstep *lockstep, const struct lk_path *path) {
    struct lockstep_path *noted;

    for (size_t i = 0; i < lockstep->path_count; i++) {
        if (lk_path_equal(&lockstep->paths[i]->path, path)) {
            return;
        }
    }
    noted = lockstep_grown(NULL, 0, sizeof *noted);
    memcpy(noted->bytes, path->bytes, path->size);
    noted->path = *path;
    noted->path.bytes = noted->bytes;
    lockstep->paths =
        lockstep_grown(lockstep->paths, lockstep->path_count, sizeof *lockstep->paths);
    lockstep->paths[lockstep->path_count++] = noted;
}

static void note_puts(struct lockstep *lockstep, const struct lk_release *release) {
    for (size_t i = 0; i < release->put_count; i++) {
        if (release->puts[i].part < release->target.part_count) {
            note_path(lockstep, &release->target.parts[release->puts[i].part].path);
        }
    }
}

static void note_paths(struct lockstep *lockstep, const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_RELEASE:
        note_puts(lockstep, &command->release);
        break;
    case LK_COMMAND_PUT:
        note_path(lockstep, &command->put.path);
        break;
    case LK_COMMAND_PUSH:
        note_path(lockstep, &command->push.queue);
        break;
    case LK_COMMAND_TAKE:
        note_path(lockstep, &command->take.queue);
        break;
    case LK_COMMAND_FINISH:
        note_path(lockstep, &command->finish.queue);
        break;
    default:
        break;
    }
}

/* ---- before the step ---- */

static void *copied(void *old, const void *from, size_t count, size_t size) {
    if (count > 0) {
        old = lockstep_grown(old, count, size);
        memcpy(old, from, count * size);
    }
    return old;
}

void lockstep_work_keep(struct lockstep *lockstep, const struct lk_command *command) {
    struct lockstep_work *work = &lockstep->work;
    const struct lk_reference_value *values;
    const struct lk_reference_item *items;
    const struct lk_reference_queue *queues;

    note_paths(lockstep, command);
    values = lk_reference_values(lockstep->reference, &work->value_count);
    items = lk_reference_items(lockstep->reference, &work->item_count);
    queues = lk_reference_queues(lockstep->reference, &work->queue_count);
    work->values = copied(work->values, values, work->value_count, sizeof *values);
    work->items = copied(work->items, items, work->item_count, sizeof *items);
    work->queues = copied(work->queues, queues, work->queue_count, sizeof *queues);
}

void lockstep_work_done(struct lockstep *lockstep) {
    free(lockstep->work.values);
    free(lockstep->work.items);
    free(lockstep->work.queues);
    for (size_t i = 0; i < lockstep->path_count; i++) {
        free(lockstep->paths[i]);
    }
    free(lockstep->paths);
}

/* ---- lists ---- */

static const struct lk_reference_item *item_in(const struct lk_reference_item *items, size_t count,
                                               const struct lk_path *queue, struct lk_slice id) {
    for (size_t i = 0; i < count; i++) {
        if (lk_path_equal(&items[i].queue, queue) && lk_slice_equal(items[i].id, id)) {
            return &items[i];
        }
    }
    return NULL;
}

static const struct lk_reference_queue *queue_in(const struct lk_reference_queue *queues,
                                                 size_t count, const struct lk_path *path) {
    for (size_t i = 0; i < count; i++) {
        if (lk_path_equal(&queues[i].path, path)) {
            return &queues[i];
        }
    }
    return NULL;
}

/* ---- states ---- */

static bool has_same_needs(const struct lk_item_record *record,
                           const struct lk_reference_item *expected) {
    bool same = record->need_count == expected->need_count;

    for (size_t i = 0; same && i < record->need_count; i++) {
        same = lockstep_is_same_part(&record->needs[i], &expected->needs[i]);
    }
    return same;
}

/* The claimant of a claimed item. */
static bool has_same_claim(const struct lockstep *lockstep, const struct lk_item_record *record,
                           const struct lk_reference_item *expected) {
    struct lk_record claim;

    if (!lk_item_is_claimed(record->state)) {
        return true;
    }
    lk_model_record(lockstep->model, record->claim, &claim);
    return claim.is_claim && lockstep_arrival_of(lockstep, claim.id) == expected->claim;
}

/* What is delayed until then, and that has come. */
static bool has_become_due(const struct lockstep *lockstep, const struct lk_reference_item *item) {
    return item->state == LK_ITEM_DELAYED && item->due_us <= lockstep->seen_us;
}

static bool is_same_failure(const struct lk_item_failure *a, const struct lk_item_failure *b) {
    return a->has_exit == b->has_exit && a->exit_code == b->exit_code
           && lk_slice_equal(a->text, b->text);
}

static const char *compare_item(const struct lockstep *lockstep,
                                const struct lk_item_record *record,
                                const struct lk_reference_item *expected) {
    enum lk_item_state state = has_become_due(lockstep, expected) ? LK_ITEM_READY : expected->state;

    if (!lk_path_equal(&record->queue, &expected->queue)
        || !lk_slice_equal(record->id, expected->id)) {
        return "queue or id of an item";
    }
    if (record->state != state) {
        return "state of an item";
    }
    if (lk_item_has_due(state) && record->due_us != expected->due_us) {
        return "when an item is due";
    }
    if (record->attempts != expected->attempts) {
        return "attempts of an item";
    }
    if (record->is_head != expected->is_head) {
        return "whether an item is the head of its strict needs";
    }
    if (record->was_lost != expected->was_lost) {
        return "whether an item's claim was lost";
    }
    if (!lk_slice_equal(record->value, expected->value)) {
        return "value of an item";
    }
    if (record->priority != expected->priority) {
        return "priority of an item";
    }
    if (record->keep_ms != expected->keep_ms) {
        return "how long a result is kept";
    }
    if (!lk_slice_equal(record->progress, expected->progress)) {
        return "progress of an item";
    }
    if (!is_same_failure(&record->last_failure, &expected->last_failure)) {
        return "last failure of an item";
    }
    if (lockstep->is_exact && record->sequence != expected->sequence) {
        return "sequence of an item";
    }
    if (!has_same_needs(record, expected)) {
        return "what an item's work needs";
    }
    return has_same_claim(lockstep, record, expected) ? NULL : "claim of an item";
}

/* One walk over the items of a queue. */
struct queue_walk {
    const struct lockstep *lockstep;
    const struct lk_path *queue;
    struct lk_item_record record;
    struct lk_queue_counts now; /* only the five that count items */
    size_t count;
    const char *wrong;
};

static bool visit_item(void *context, lk_item_ref item) {
    struct queue_walk *walk = context;
    const struct lockstep *lockstep = walk->lockstep;
    const struct lk_reference_item *expected;
    size_t count;
    const struct lk_reference_item *items = lk_reference_items(lockstep->reference, &count);

    lk_model_item_record(lockstep->model, item, &walk->record);
    expected = item_in(items, count, walk->queue, walk->record.id);
    walk->wrong = expected == NULL ? "lists an item that is not there"
                                   : compare_item(lockstep, &walk->record, expected);
    if (lk_model_item(lockstep->model, walk->queue, walk->record.id) != item) {
        walk->wrong = "does not find an item that it lists";
    }
    walk->now.ready += walk->record.state == LK_ITEM_READY;
    walk->now.delayed += walk->record.state == LK_ITEM_DELAYED;
    walk->now.claimed += lk_item_is_claimed(walk->record.state);
    walk->now.parked_now += walk->record.state == LK_ITEM_PARKED;
    walk->now.done_now += walk->record.state == LK_ITEM_DONE;
    if (expected != NULL
        && (expected->state == LK_ITEM_READY || has_become_due(lockstep, expected))) {
        walk->now.oldest_ready_us = lk_min(walk->now.oldest_ready_us, expected->ready_us);
    }
    walk->count++;
    return walk->wrong == NULL;
}

/* R4: whatever the numbers, the items of a queue have the reference's order. */
static bool is_same_order(const struct lockstep *lockstep, const struct lk_path *queue) {
    size_t count;
    const struct lk_reference_item *items = lk_reference_items(lockstep->reference, &count);
    uint64_t greatest = 0;

    for (size_t i = 0; i < count; i++) {
        if (lk_path_equal(&items[i].queue, queue)) {
            struct lk_item_record record;
            lk_model_item_record(lockstep->model,
                                 lk_model_item(lockstep->model, queue, items[i].id), &record);
            if (record.sequence <= greatest) {
                return false;
            }
            greatest = record.sequence;
        }
    }
    return true;
}

static const char *compare_counts(const struct lockstep *lockstep, const struct queue_walk *walk) {
    size_t count;
    const struct lk_reference_queue *queues = lk_reference_queues(lockstep->reference, &count);
    const struct lk_reference_queue *queue = queue_in(queues, count, walk->queue);
    struct lk_queue_counts expected = queue != NULL ? queue->counts : walk->now;
    struct lk_queue_counts counts;

    lk_model_queue_counts(lockstep->model, walk->queue, &counts);
    expected.ready = walk->now.ready;
    expected.delayed = walk->now.delayed;
    expected.claimed = walk->now.claimed;
    expected.parked_now = walk->now.parked_now;
    expected.done_now = walk->now.done_now;
    expected.oldest_ready_us = walk->now.oldest_ready_us;
    return memcmp(&counts, &expected, sizeof counts) == 0 ? NULL : "counts of a queue";
}

static int64_t next_due(const struct lockstep *lockstep, const struct lk_path *queue) {
    size_t count;
    const struct lk_reference_item *items = lk_reference_items(lockstep->reference, &count);
    int64_t next_us = LK_NEVER;

    for (size_t i = 0; i < count; i++) {
        if (lk_path_equal(&items[i].queue, queue) && items[i].state == LK_ITEM_DELAYED
            && !has_become_due(lockstep, &items[i]) && items[i].due_us < next_us) {
            next_us = items[i].due_us;
        }
    }
    return next_us;
}

static const char *compare_queue(const struct lockstep *lockstep, const struct lk_path *queue) {
    struct queue_walk walk = {
        .lockstep = lockstep, .queue = queue, .now = {.oldest_ready_us = LK_NEVER}};
    size_t count;
    const struct lk_reference_item *items = lk_reference_items(lockstep->reference, &count);
    size_t expected_count = 0;

    for (size_t i = 0; i < count; i++) {
        expected_count += lk_path_equal(&items[i].queue, queue);
    }
    lk_model_each_item(lockstep->model, queue, visit_item, &walk);
    if (walk.wrong != NULL) {
        return walk.wrong;
    }
    if (walk.count != expected_count) {
        return "number of items";
    }
    if (!is_same_order(lockstep, queue)) {
        return "order of items";
    }
    if (lk_model_next_due(lockstep->model, queue) != next_due(lockstep, queue)) {
        return "when the next item of a queue is due";
    }
    return compare_counts(lockstep, &walk);
}

const char *lockstep_work_compare(struct lockstep *lockstep) {
    const char *wrong = lockstep_values_compare_lists(lockstep, NULL);

    for (size_t i = 0; i < lockstep->path_count && wrong == NULL; i++) {
        const struct lk_path *path = &lockstep->paths[i]->path;
        wrong = lockstep_values_compare(lockstep, path);
        wrong = wrong != NULL ? wrong : lockstep_values_compare_lists(lockstep, path);
        if (wrong == NULL) {
            wrong = compare_queue(lockstep, path);
        }
    }
    return wrong;
}

/* ---- answers ---- */

static bool needs_text(lk_outcome outcome) {
    return outcome == LK_INVALID || outcome == LK_FULL || outcome == LK_BUSY || outcome == LK_LOST;
}

const char *lockstep_work_compare_answer(const struct lockstep *lockstep,
                                         const struct lk_command *command,
                                         const struct lk_answer *answer,
                                         const struct lk_reference_answer *expected) {
    struct lk_item_record record;

    if ((answer->item != 0) != expected->has_item) {
        return "whether the answer is about an item";
    }
    if (answer->item != 0) {
        lk_model_item_record(lockstep->model, answer->item, &record);
        if (record.state == LK_ITEM_GONE || expected->item.state == LK_ITEM_GONE
                ? record.state != expected->item.state
                      || !lk_slice_equal(record.id, expected->item.id)
                : compare_item(lockstep, &record, &expected->item) != NULL) {
            return "the item that an answer is about";
        }
    }
    if (command->kind >= LK_COMMAND_PUT && needs_text(answer->outcome) && answer->text[0] == '\0') {
        return "no text that says why";
    }
    return lockstep_values_compare_answer(lockstep, answer, expected);
}

/* ---- changes ---- */

static bool is_of_item(enum lk_change_kind kind) {
    return kind >= LK_CHANGE_ITEM_PUSHED && kind <= LK_CHANGE_ITEM_PROGRESSED;
}

static const struct lk_change *change_of_item(const struct lockstep *lockstep,
                                              const struct lk_path *queue, struct lk_slice id) {
    for (size_t i = lockstep->effects->change_count; i-- > 0;) {
        const struct lk_change *change = &lockstep->effects->changes[i];
        struct lk_item_record record;
        if (is_of_item(change->kind)) {
            lk_model_item_record(lockstep->model, change->item, &record);
            if (lk_path_equal(&record.queue, queue) && lk_slice_equal(record.id, id)) {
                return change;
            }
        }
    }
    return NULL;
}

static size_t changes_of_queue(const struct lockstep *lockstep, enum lk_change_kind kind,
                               const struct lk_path *queue) {
    size_t changes = 0;

    for (size_t i = 0; i < lockstep->effects->change_count; i++) {
        const struct lk_change *change = &lockstep->effects->changes[i];
        struct lk_queue_counts counts;
        char path[LK_PATH_BYTES_MAX + 1];
        if (change->kind == kind) {
            lk_model_queue_record(lockstep->model, change->queue, path, &counts);
            changes +=
                lk_slice_equal(lk_slice_of(path), (struct lk_slice){queue->bytes, queue->size});
        }
    }
    return changes;
}

static bool is_item_unchanged(const struct lk_reference_item *a,
                              const struct lk_reference_item *b) {
    return a->state == b->state && a->due_us == b->due_us && a->attempts == b->attempts
           && a->was_lost == b->was_lost && a->is_head == b->is_head && a->claim == b->claim
           && a->sequence == b->sequence && a->priority == b->priority && a->keep_ms == b->keep_ms
           && lk_slice_equal(a->progress, b->progress) && lk_slice_equal(a->value, b->value);
}

static bool is_unclaimed(const struct lk_reference_item *item) {
    return item->state == LK_ITEM_READY || item->state == LK_ITEM_DELAYED;
}

/* Whether a change of this kind leaves an item like this one. */
static bool fits(enum lk_change_kind kind, const struct lk_reference_item *before,
                 const struct lk_reference_item *after) {
    switch (kind) {
    case LK_CHANGE_ITEM_CLAIMED:
    case LK_CHANGE_ITEM_STOLEN:
        return after != NULL && after->state == LK_ITEM_CLAIMED;
    case LK_CHANGE_ITEM_DONE:
        return after == NULL || after->state == LK_ITEM_DONE
               || (before != NULL && before->state == LK_ITEM_AGAIN && is_unclaimed(after));
    case LK_CHANGE_ITEM_REPLACED:
        return after != NULL && (after->state == LK_ITEM_AGAIN || is_unclaimed(after));
    case LK_CHANGE_ITEM_DROPPED:
    case LK_CHANGE_ITEM_FORGOTTEN:
        return after == NULL;
    case LK_CHANGE_ITEM_PROGRESSED:
        return after != NULL && lk_item_is_claimed(after->state);
    case LK_CHANGE_ITEM_CANCELLED:
        return after != NULL && after->state == LK_ITEM_CANCELLED;
    case LK_CHANGE_ITEM_PARKED:
        return after != NULL && after->state == LK_ITEM_PARKED;
    default:
        return after != NULL && is_unclaimed(after)
               && (after->state == LK_ITEM_READY || kind != LK_CHANGE_ITEM_UNPARKED);
    }
}

static bool has_counted_a_steal(const struct lockstep *lockstep, const struct lk_path *path) {
    size_t count;
    const struct lk_reference_queue *queues = lk_reference_queues(lockstep->reference, &count);
    const struct lk_reference_queue *before =
        queue_in(lockstep->work.queues, lockstep->work.queue_count, path);
    const struct lk_reference_queue *after = queue_in(queues, count, path);

    return after->counts.steals != before->counts.steals;
}

/* Also where the item before it with this id was cancelled or done, and went in the same step. */
static bool is_new_item(const struct lk_reference_item *before,
                        const struct lk_reference_item *after) {
    return before == NULL
           || ((before->state == LK_ITEM_CANCELLED || before->state == LK_ITEM_DONE)
               && after != NULL && after->state != LK_ITEM_AGAIN
               && after->sequence != before->sequence);
}

static const char *check_item(const struct lockstep *lockstep,
                              const struct lk_reference_item *before,
                              const struct lk_reference_item *after) {
    const struct lk_reference_item *item = after != NULL ? after : before;
    const struct lk_change *change = change_of_item(lockstep, &item->queue, item->id);
    struct lk_record claim;

    if (before != NULL && after != NULL && is_item_unchanged(before, after)) {
        return NULL;
    }
    if (change == NULL) {
        return "no change names an item that is different now";
    }
    if (!fits(change->kind, before, after)
        || is_new_item(before, after) != (change->kind == LK_CHANGE_ITEM_PUSHED)) {
        return "a change of an item that says something else";
    }
    if (change->kind == LK_CHANGE_ITEM_CLAIMED || change->kind == LK_CHANGE_ITEM_STOLEN) {
        lk_model_record(lockstep->model, change->request, &claim);
        if (lockstep_arrival_of(lockstep, claim.id) != after->claim
            || (change->kind == LK_CHANGE_ITEM_STOLEN)
                   != has_counted_a_steal(lockstep, &item->queue)) {
            return "a claim that the change does not tell";
        }
    }
    return NULL;
}

static const char *check_items(const struct lockstep *lockstep) {
    const struct lockstep_work *work = &lockstep->work;
    size_t count;
    const struct lk_reference_item *items = lk_reference_items(lockstep->reference, &count);
    const char *wrong = NULL;

    for (size_t i = 0; i < work->item_count && wrong == NULL; i++) {
        wrong = check_item(lockstep, &work->items[i],
                           item_in(items, count, &work->items[i].queue, work->items[i].id));
    }
    for (size_t i = 0; i < count && wrong == NULL; i++) {
        if (item_in(work->items, work->item_count, &items[i].queue, items[i].id) == NULL) {
            wrong = check_item(lockstep, NULL, &items[i]);
        }
    }
    return wrong;
}

static const char *check_queues(const struct lockstep *lockstep) {
    const struct lockstep_work *work = &lockstep->work;
    size_t count;
    const struct lk_reference_queue *queues = lk_reference_queues(lockstep->reference, &count);

    for (size_t i = 0; i < count; i++) {
        const struct lk_reference_queue *before =
            queue_in(work->queues, work->queue_count, &queues[i].path);
        size_t changes = changes_of_queue(lockstep, LK_CHANGE_QUEUE_COUNTED, &queues[i].path);
        bool differs = before == NULL
                       || memcmp(&before->counts, &queues[i].counts, sizeof before->counts) != 0;
        if (changes > 1 || (differs && changes == 0)) {
            return "a queue that has counted is not named exactly once";
        }
    }
    for (size_t i = 0; i < work->queue_count; i++) {
        const struct lk_path *path = &work->queues[i].path;

        if (queue_in(queues, count, path) == NULL
            && changes_of_queue(lockstep, LK_CHANGE_QUEUE_FORGOTTEN, path) != 1) {
            return "a queue that is forgotten is not named exactly once";
        }
    }
    return NULL;
}

/* R4: the sequence of an item is a draw as any other. */
static const char *check_sequences(struct lockstep *lockstep) {
    for (size_t i = 0; i < lockstep->effects->change_count; i++) {
        const struct lk_change *change = &lockstep->effects->changes[i];
        struct lk_item_record record;
        if (change->kind == LK_CHANGE_ITEM_PUSHED) {
            lk_model_item_record(lockstep->model, change->item, &record);
            if (!lockstep_rises(lockstep, &record.queue, record.sequence)) {
                return "R4: a sequence that is not greater than all before";
            }
        }
    }
    return NULL;
}

const char *lockstep_work_check_changes(struct lockstep *lockstep) {
    const char *wrong = lockstep_values_check_changes(lockstep);

    wrong = wrong != NULL ? wrong : check_items(lockstep);
    wrong = wrong != NULL ? wrong : check_queues(lockstep);
    return wrong != NULL ? wrong : check_sequences(lockstep);
}
