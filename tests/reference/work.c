/* SPDX-License-Identifier: Apache-2.0 */
/* The reference's work (R16): one list of items, by age, and the counts of queues. */
#include <stdlib.h>

#include "inside.h"
#include "model/sentences.h"

/* ---- paths of items ---- */

/* QUEUE/ID, checked as any path (R1). */
static bool join(struct lk_reference *reference, const struct lk_path *queue, struct lk_slice id,
                 struct lk_path *ret_path) {
    struct texts *texts = reference->texts;
    size_t size = queue->size + 1u + id.size;
    char *text = grown(NULL, size, 1);

    if (id.size == 0 || memchr(id.bytes, '/', id.size) != NULL) {
        free(text);
        return false;
    }
    memcpy(text, queue->bytes, queue->size);
    text[queue->size] = '/';
    memcpy(text + queue->size + 1, id.bytes, id.size);
    if (lk_path_parse((struct lk_slice){text, size}, ret_path, NULL) != LK_OK) {
        free(text);
        return false;
    }
    texts->at = grown(texts->at, texts->count, sizeof *texts->at);
    texts->at[texts->count++] = text;
    return true;
}

/* ---- the lists ---- */

static struct lk_reference_item *find_item(const struct lk_reference *reference,
                                           const struct lk_path *path) {
    for (size_t i = 0; i < reference->item_count; i++) {
        if (is_same_path(&reference->items[i].path, path)) {
            return &reference->items[i];
        }
    }
    return NULL;
}

static struct lk_reference_queue *queue_of(struct lk_reference *reference,
                                           const struct lk_path *path) {
    for (size_t i = 0; i < reference->queue_count; i++) {
        if (is_same_path(&reference->queues[i].path, path)) {
            return &reference->queues[i];
        }
    }
    reference->queues = grown(reference->queues, reference->queue_count, sizeof *reference->queues);
    reference->queues[reference->queue_count] = (struct lk_reference_queue){.path = *path};
    return &reference->queues[reference->queue_count++];
}

static struct lk_queue_counts *counts_of(struct lk_reference *reference,
                                         const struct lk_path *queue) {
    return &queue_of(reference, queue)->counts;
}

void remove_item(struct lk_reference *reference, const struct lk_reference_item *item) {
    size_t at = (size_t)(item - reference->items);

    queue_of(reference, &item->queue)->emptied = ++reference->removals;
    memmove(reference->items + at, reference->items + at + 1,
            (reference->item_count - at - 1) * sizeof *reference->items);
    reference->item_count--;
}

static bool is_forgotten_before(const struct lk_reference_item *a,
                                const struct lk_reference_item *b) {
    if (a->due_us != b->due_us) {
        return a->due_us < b->due_us;
    }
    return a->sequence != b->sequence
               ? a->sequence < b->sequence
               : lk_slice_compare((struct lk_slice){a->path.bytes, a->path.size},
                                  (struct lk_slice){b->path.bytes, b->path.size})
                     < 0;
}

/* R16: what is done goes when the time of its result is over. */
void forget_items(struct lk_reference *reference) {
    const struct lk_reference_item *first;

    do {
        first = NULL;
        for (size_t i = 0; i < reference->item_count; i++) {
            const struct lk_reference_item *item = &reference->items[i];
            if (item->state == LK_ITEM_DONE && item->due_us <= reference->now_us
                && (first == NULL || is_forgotten_before(item, first))) {
                first = item;
            }
        }
        if (first != NULL) {
            remove_item(reference, first);
        }
    } while (first != NULL);
}

static bool is_idle(const struct lk_reference *reference, const struct lk_reference_queue *queue) {
    for (size_t i = 0; i < reference->item_count; i++) {
        if (is_same_path(&reference->items[i].queue, &queue->path)) {
            return false;
        }
    }
    return true;
}

/* R16: beyond the bound, the counts of the queues that have been without an item longest go. */
void forget_queues(struct lk_reference *reference) {
    for (;;) {
        size_t idle = 0;
        size_t oldest = 0;

        for (size_t i = 0; i < reference->queue_count; i++) {
            if (is_idle(reference, &reference->queues[i])) {
                oldest =
                    idle == 0 || reference->queues[i].emptied < reference->queues[oldest].emptied
                        ? i
                        : oldest;
                idle++;
            }
        }
        if (idle <= reference->idle_queues_max) {
            break;
        }
        memmove(reference->queues + oldest, reference->queues + oldest + 1,
                (reference->queue_count - oldest - 1) * sizeof *reference->queues);
        reference->queue_count--;
    }
}

static void answer_about(struct lk_reference *reference, lk_outcome outcome, uint64_t arrival,
                         const struct lk_reference_item *item) {
    give_answer(reference, outcome, arrival);
    reference->answer.has_item = true;
    reference->answer.item = *item;
}

/* What a claim of the item locks, all or nothing: the item itself, and what its work needs. */
static size_t list_parts(const struct lk_path *path, const struct lk_part *needs, size_t need_count,
                         struct lk_part parts[LK_PARTS_MAX]) {
    parts[0] = (struct lk_part){.path = *path, .mode = LK_EXCLUSIVE};
    for (size_t i = 0; i < need_count; i++) {
        parts[1 + i] = needs[i];
    }
    return 1 + need_count;
}

/* ---- push ---- */

static bool is_valid_delay(int64_t delay_ms) {
    return delay_ms >= 0 && delay_ms <= LK_TTL_MAX_MS;
}

/* Delayed until the delay is over; an empty one is none. */
static void make_ready(struct lk_reference_item *item, int64_t delay_ms, int64_t now_us) {
    item->state = delay_ms > 0 ? LK_ITEM_DELAYED : LK_ITEM_READY;
    item->due_us = delay_ms > 0 ? now_us + delay_ms * 1000 : 0;
    item->ready_us = now_us + delay_ms * 1000;
}

static bool is_valid_keep(int64_t keep_ms) {
    return keep_ms >= 0 && keep_ms <= LK_TTL_MAX_MS;
}

static bool is_valid_push(struct lk_reference *reference, const struct lk_push *push,
                          struct lk_path *ret_path) {
    struct lk_part parts[LK_PARTS_MAX];

    return push->value.size <= LK_VALUE_BYTES_MAX && is_valid_delay(push->delay_ms)
           && is_valid_keep(push->keep_ms) && push->priority >= LK_PRIORITY_MIN
           && push->priority <= LK_PRIORITY_MAX && push->need_count <= LK_NEEDS_MAX
           && join(reference, &push->queue, push->id, ret_path)
           && are_valid_parts(parts, list_parts(ret_path, push->needs, push->need_count, parts));
}

static void give_needs(struct lk_reference_item *item, const struct lk_push *push) {
    if (push->need_count > 0) {
        memcpy(item->needs, push->needs, push->need_count * sizeof *push->needs);
    }
    item->need_count = push->need_count;
}

/* Moves an item to the end of the list, as the youngest. */
static struct lk_reference_item *make_youngest(struct lk_reference *reference,
                                               struct lk_reference_item *item) {
    struct lk_reference_item moved = *item;
    struct lk_reference_item *last = &reference->items[reference->item_count - 1];

    memmove(item, item + 1, (size_t)(last - item) * sizeof *item);
    *last = moved;
    return last;
}

/* The item has what the push says. A claimed one is ready, or due, when its claim ends. */
static struct lk_reference_item *replace(struct lk_reference *reference, const struct lk_push *push,
                                         struct lk_reference_item *item, struct lk_times times) {
    struct lk_part queue = {.path = push->queue, .mode = LK_EXCLUSIVE};

    item->value = push->value;
    item->priority = push->priority;
    item->keep_ms = push->keep_ms;
    item->is_head = false;
    give_needs(item, push);
    if (!lk_item_is_claimed(item->state)) {
        int64_t ready_us = item->ready_us;
        bool stays_ready = push->delay_ms == 0 && lk_reference_is_due(reference, item);

        item->attempts = 0;
        make_ready(item, push->delay_ms, times.now_us);
        item->ready_us = stays_ready ? ready_us : item->ready_us;
        return item;
    }
    if (item->state != LK_ITEM_AGAIN) {
        item->sequence = draw(reference, &queue, 1, times.wall_us);
        item->state = LK_ITEM_AGAIN;
        item = make_youngest(reference, item);
    }
    item->due_us = times.now_us + push->delay_ms * 1000;
    return item;
}

static void push_over(struct lk_reference *reference, const struct lk_push *push,
                      struct lk_reference_item *item, struct lk_times times) {
    enum lk_item_state was =
        lk_reference_is_due(reference, item) ? LK_ITEM_READY : (enum lk_item_state)item->state;
    bool waits = was == LK_ITEM_READY || was == LK_ITEM_DELAYED || was == LK_ITEM_AGAIN;
    bool is_replaced = push->kind == LK_PUSH_AGAIN || (push->kind == LK_PUSH_REPLACE && waits);
    bool is_another_run = is_replaced && (was == LK_ITEM_CLAIMED || was == LK_ITEM_CANCELLED);
    struct lk_queue_counts *counts = counts_of(reference, &push->queue);

    counts->pushed += is_another_run;
    counts->duplicates += !is_another_run; /* announced twice: harmless */
    if (is_replaced) {
        item = replace(reference, push, item, times);
    }
    answer_about(reference, LK_OK, 0, item);
    reference->answer.was = was;
    reference->answer.is_replaced = is_replaced;
}

void step_push(struct lk_reference *reference, const struct lk_push *push, struct lk_times times) {
    struct lk_reference_item item = {.queue = push->queue,
                                     .id = push->id,
                                     .value = push->value,
                                     .priority = push->priority,
                                     .keep_ms = push->keep_ms};
    struct lk_part queue = {.path = push->queue, .mode = LK_EXCLUSIVE};
    struct lk_reference_item *present;

    if (!is_valid_push(reference, push, &item.path)) {
        give_answer(reference, LK_INVALID, 0);
        return;
    }
    present = find_item(reference, &item.path);
    if (present != NULL) {
        push_over(reference, push, present, times);
        return;
    }
    counts_of(reference, &push->queue)->pushed++;
    give_needs(&item, push);
    item.sequence = draw(reference, &queue, 1, times.wall_us);
    make_ready(&item, push->delay_ms, times.now_us);
    reference->items = grown(reference->items, reference->item_count, sizeof *reference->items);
    reference->items[reference->item_count++] = item;
    answer_about(reference, LK_OK, 0, &item);
    reference->answer.created = true;
}

/* ---- take ---- */

/* R3: the claim that this ask got already. */
static struct lk_reference_request *find_repeated(const struct lk_reference *reference,
                                                  const struct lk_take *take,
                                                  struct lk_reference_item **ret_item) {
    for (size_t i = 0; i < reference->request_count && take->ask_number != 0; i++) {
        struct lk_reference_request *claim = &reference->requests[i];
        if (claim->is_claim && claim->ask_number == take->ask_number
            && lk_slice_equal(claim->owner, take->owner)) {
            *ret_item = find_item(reference, &claim->parts[0].path);
            if (is_same_path(&(*ret_item)->queue, &take->queue)) {
                return claim;
            }
        }
    }
    return NULL;
}

static struct lk_reference_request
make_claim(const struct lk_take *take, const struct lk_reference_item *item, int64_t now_us) {
    struct lk_reference_request claim = {.owner = take->owner,
                                         .state = LK_STATE_HELD,
                                         .ticket = TICKET_NEWEST,
                                         .is_claim = true,
                                         .ask_number = take->ask_number,
                                         .max_attempts = take->max_attempts};

    claim.part_count = list_parts(&item->path, item->needs, item->need_count, claim.parts);
    for (size_t i = 0; i < claim.part_count; i++) {
        claim.parts[i].strict = false; /* of the item, not of a request */
    }
    claim.ttl_ms = take->ttl_ms != 0 ? take->ttl_ms : LK_TTL_DEFAULT_MS;
    claim.deadline_us = now_us + claim.ttl_ms * 1000;
    if (take->note_given) {
        claim.note = take->note;
    }
    return claim;
}

static bool has_strict_need(const struct lk_reference_item *item) {
    bool found = false;

    for (size_t i = 0; i < item->need_count; i++) {
        found = found || item->needs[i].strict;
    }
    return found;
}

static bool need_the_same_strictly(const struct lk_reference_item *a,
                                   const struct lk_reference_item *b) {
    for (size_t i = 0; i < a->need_count; i++) {
        for (size_t j = 0; j < b->need_count; j++) {
            if (a->needs[i].strict && b->needs[j].strict
                && is_same_path(&a->needs[i].path, &b->needs[j].path)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether another item of the queue has begun that is to be finished before this one. */
static bool waits_for_a_head(const struct lk_reference *reference,
                             const struct lk_reference_item *item) {
    for (size_t i = 0; i < reference->item_count; i++) {
        const struct lk_reference_item *other = &reference->items[i];
        if (other != item && other->is_head && is_same_path(&other->queue, &item->queue)
            && need_the_same_strictly(item, other)) {
            return true;
        }
    }
    return false;
}

static void count_claim(struct lk_reference *reference, struct lk_reference_item *item,
                        const struct lk_reference_request *claim) {
    struct lk_queue_counts *counts = counts_of(reference, &item->queue);

    counts->claims++;
    counts->steals += item->was_lost;
    item->was_lost = false;
    item->is_head = has_strict_need(item);
    item->attempts++;
    item->progress = (struct lk_slice){NULL, 0};
    item->state = LK_ITEM_CLAIMED;
    item->due_us = 0;
    item->claim = claim->arrival;
    answer_about(reference, LK_GRANTED, claim->arrival, item);
    reference->answer.created = true;
}

/* R4: whether one of the roots has drawn a number after this one. */
static bool has_drawn_after(struct lk_reference *reference,
                            const struct lk_reference_request *claim, uint64_t token) {
    return next_draw(reference, claim->parts, claim->part_count, 0) > token + 1;
}

/* Whether the take ends here: this is the item that it gets, or would get. */
static bool take_item(struct lk_reference *reference, const struct lk_take *take,
                      struct lk_reference_item *item, struct lk_times times) {
    struct lk_reference_request claim = make_claim(take, item, times.now_us);

    if (waits_for_a_head(reference, item) || !may_be_granted(reference, &claim)) {
        return false; /* it is passed over */
    }
    if (is_full(reference, &claim, false)) {
        give_answer(reference, LK_FULL, 0);
        return true;
    }
    if (take->share_token != 0 && has_drawn_after(reference, &claim, take->share_token)) {
        give_answer(reference, LK_BUSY, 0);
        return true;
    }
    claim.arrival = ++reference->arrivals;
    claim.ticket = take->share_token != 0
                       ? take->share_token
                       : next_draw(reference, claim.parts, claim.part_count, times.wall_us);
    claim.token = claim.ticket;
    add_request(reference, &claim);
    if (closes_a_cycle(reference, &claim)) {
        end_request(reference, claim.arrival); /* R13: as an item that is not free */
        return false;
    }
    keep_draw(reference, claim.parts, claim.part_count, claim.ticket);
    count_claim(reference, item, &claim);
    return true;
}

/* Whether `a` is claimed before `b`: by priority, and then by age. */
static bool comes_first(const struct lk_reference_item *a, const struct lk_reference_item *b) {
    return a->priority != b->priority ? a->priority > b->priority : a < b;
}

/* The first item of the queue that is due and comes after this one, NULL: after none. */
static struct lk_reference_item *next_due(const struct lk_reference *reference,
                                          const struct lk_path *queue,
                                          const struct lk_reference_item *after) {
    struct lk_reference_item *first = NULL;

    for (size_t i = 0; i < reference->item_count; i++) {
        struct lk_reference_item *item = &reference->items[i];
        if (is_same_path(&item->queue, queue) && lk_reference_is_due(reference, item)
            && (after == NULL || comes_first(after, item))
            && (first == NULL || comes_first(item, first))) {
            first = item;
        }
    }
    return first;
}

void step_take(struct lk_reference *reference, const struct lk_take *take, struct lk_times times) {
    struct lk_reference_item *item;
    struct lk_reference_request *repeated;

    if (!is_valid_take(take)) {
        give_answer(reference, LK_INVALID, 0);
        return;
    }
    repeated = find_repeated(reference, take, &item);
    if (repeated != NULL) {
        if (!repeated->revoked) {
            repeated->ttl_ms = take->ttl_ms != 0 ? take->ttl_ms : LK_TTL_DEFAULT_MS;
            repeated->deadline_us = times.now_us + repeated->ttl_ms * 1000;
        }
        answer_about(reference, LK_GRANTED, repeated->arrival, item);
        return;
    }
    for (item = next_due(reference, &take->queue, NULL); item != NULL;
         item = next_due(reference, &take->queue, item)) {
        if (take_item(reference, take, item, times)) {
            return;
        }
    }
    give_answer(reference, LK_BUSY, 0);
}

/* ---- the end of a claim ---- */

/* The claim of an item that was pushed again has ended: it is new. */
static void begin_again(struct lk_reference_item *item, int64_t now_us) {
    item->claim = 0;
    item->attempts = 0;
    item->state = item->due_us > now_us ? LK_ITEM_DELAYED : LK_ITEM_READY;
    item->ready_us = item->due_us > now_us ? item->due_us : now_us;
    item->due_us = item->due_us > now_us ? item->due_us : 0;
}

/*
 * Ready again, after a delay; but parked, when the claimant says so, or when this claim counts and
 * was one too many. Or gone, if it was cancelled; or new, if it was pushed again.
 */
static void give_back(struct lk_reference *reference, struct lk_reference_item *item,
                      bool is_uncounted, bool parks, int64_t delay_ms, int64_t now_us) {
    uint32_t max_attempts = find_arrival(reference, item->claim)->max_attempts;

    if (item->state == LK_ITEM_AGAIN) {
        begin_again(item, now_us);
        return;
    }
    item->claim = 0;
    if (is_uncounted) {
        item->attempts -= item->attempts > 0;
    } else {
        parks = parks || (max_attempts > 0 && item->attempts >= max_attempts);
    }
    if (item->state == LK_ITEM_CANCELLED) {
        item->state = LK_ITEM_GONE;
    } else if (parks) {
        item->state = LK_ITEM_PARKED;
        item->due_us = 0;
        counts_of(reference, &item->queue)->parked++;
    } else {
        make_ready(item, delay_ms, now_us);
    }
}

void free_item(struct lk_reference *reference, uint64_t claim) {
    int64_t ended_us = find_arrival(reference, claim)->deadline_us;

    ended_us = ended_us < reference->now_us ? ended_us : reference->now_us;
    for (size_t i = reference->item_count; i-- > 0;) {
        struct lk_reference_item *item = &reference->items[i];
        if (lk_item_is_claimed(item->state) && item->claim == claim) {
            item->was_lost = true; /* the next claim is a steal */
            give_back(reference, item, false, false, 0, ended_us);
            if (item->state == LK_ITEM_GONE) {
                remove_item(reference, item);
                continue;
            }
            if (item->state == LK_ITEM_PARKED) {
                item->last_failure =
                    (struct lk_item_failure){.text = lk_slice_of(LK_TEXT_CLAIM_LOST)};
            }
        }
    }
}

/* Whether the item is claimed by whom the event names. */
static bool is_claimed_by(const struct lk_reference *reference,
                          const struct lk_reference_item *item, const struct lk_finish *finish) {
    const struct lk_reference_request *claim;

    if (item == NULL || !lk_item_is_claimed(item->state)) {
        return false;
    }
    claim = find_arrival(reference, item->claim);
    return lk_slice_equal(claim->owner, finish->owner)
           && (finish->token == 0 || finish->token == claim->token);
}

/* Removed, or kept with its result for the longer of two times. */
static void finish_done(struct lk_reference_item *item, const struct lk_finish *finish,
                        int64_t now_us) {
    int64_t keep_ms = item->keep_ms > finish->keep_ms ? item->keep_ms : finish->keep_ms;

    if (item->state == LK_ITEM_AGAIN) {
        begin_again(item, now_us);
    } else if (item->state == LK_ITEM_CANCELLED || keep_ms == 0) {
        item->state = LK_ITEM_GONE;
    } else {
        item->state = LK_ITEM_DONE;
        item->due_us = now_us + keep_ms * 1000;
        item->value = finish->result;
        item->progress = (struct lk_slice){NULL, 0};
        item->need_count = 0;
        item->is_head = false;
        item->claim = 0;
    }
}

static void finish_item(struct lk_reference *reference, struct lk_reference_item *item,
                        const struct lk_finish *finish, struct lk_times times) {
    uint64_t claim = item->claim;

    if (finish->kind == LK_FINISH_DONE) {
        counts_of(reference, &item->queue)->done++;
        finish_done(item, finish, times.now_us);
        answer_about(reference, LK_OK, 0, item);
        if (item->state == LK_ITEM_GONE) {
            remove_item(reference, item);
        }
    } else {
        counts_of(reference, &item->queue)->retried += item->state != LK_ITEM_CANCELLED;
        if (finish->failure.has_exit || finish->failure.text.size > 0) {
            item->last_failure = finish->failure;
        }
        give_back(reference, item, finish->is_uncounted, finish->parks, finish->delay_ms,
                  times.now_us);
        answer_about(reference, LK_OK, 0, item);
        if (item->state == LK_ITEM_GONE) {
            remove_item(reference, item);
        }
    }
    end_request(reference, claim);
    promote(reference, times);
}

void step_finish(struct lk_reference *reference, const struct lk_finish *finish,
                 struct lk_times times) {
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    struct lk_target target = {
        .owner = finish->owner, .parts = &part, .part_count = 1, .token = finish->token};
    struct lk_reference_item *item;

    if (!join(reference, &finish->queue, finish->id, &part.path)
        || !are_valid_names(finish->owner, &part, 1) || !is_valid_delay(finish->delay_ms)
        || (finish->parks && finish->delay_ms != 0)
        || finish->failure.text.size > LK_FAILURE_BYTES_MAX
        || finish->result.size > LK_VALUE_BYTES_MAX || !is_valid_keep(finish->keep_ms)
        || finish->progress.size > LK_FAILURE_BYTES_MAX) {
        give_answer(reference, LK_INVALID, 0);
        return;
    }
    item = find_item(reference, &part.path);
    if (!is_claimed_by(reference, item, finish)) {
        bool repeated = finish->kind != LK_FINISH_PROGRESS && finish->token != 0
                        && recalls(reference, &target, times.now_us);
        give_answer(reference, repeated ? LK_OK : LK_LOST, 0); /* R3 */
        return;
    }
    if (finish->kind == LK_FINISH_PROGRESS) {
        item->progress = finish->progress;
        answer_about(reference, LK_OK, 0, item);
        return;
    }
    if (finish->token != 0) {
        remember(reference, &target, times.now_us);
    }
    finish_item(reference, item, finish, times);
}

/* ---- unpark and drop ---- */

void step_unpark(struct lk_reference *reference, const struct lk_unpark *unpark) {
    struct lk_path path;
    struct lk_reference_item *item;

    if (!join(reference, &unpark->queue, unpark->id, &path)) {
        give_answer(reference, LK_INVALID, 0);
        return;
    }
    item = find_item(reference, &path);
    if (item == NULL || item->state != LK_ITEM_PARKED) {
        give_answer(reference, LK_LOST, 0);
        return;
    }
    make_ready(item, 0, reference->now_us);
    item->attempts = 0;
    item->was_lost = false;
    answer_about(reference, LK_OK, 0, item);
}

void step_drop(struct lk_reference *reference, const struct lk_drop *drop) {
    struct lk_path path;
    struct lk_reference_item *item;

    if (!join(reference, &drop->queue, drop->id, &path)) {
        give_answer(reference, LK_INVALID, 0);
        return;
    }
    item = find_item(reference, &path);
    if (item == NULL || lk_item_is_claimed(item->state)
        || (drop->only_parked && item->state != LK_ITEM_PARKED)) {
        give_answer(reference, LK_LOST, 0);
        return;
    }
    item->state = LK_ITEM_GONE;
    answer_about(reference, LK_OK, 0, item);
    remove_item(reference, item);
}

struct lk_reference_item *cancel_item(struct lk_reference *reference, const struct lk_path *path,
                                      uint64_t *ret_claim) {
    struct lk_reference_item *item = find_item(reference, path);

    *ret_claim = item != NULL && lk_item_is_claimed(item->state) ? item->claim : 0;
    if (item != NULL) {
        item->state = *ret_claim != 0 ? LK_ITEM_CANCELLED : LK_ITEM_GONE;
    }
    return item;
}
