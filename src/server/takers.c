/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims that wait for work (R16), in the order of their arrival at each queue. They are looked at
 * when something of their queue, or a lock that may have kept it, has changed; and when the next
 * delayed item is due.
 */
#include <stdlib.h>

#include "server/inside.h"

/* By root: what is related to a queue (R5) is in its bucket. */
static struct lk_waiting_queue **bucket_of(struct lk_core *core, const struct lk_path *path) {
    struct lk_slice root = lk_path_root(path);
    uint64_t hash = core->config.hash_seed ^ UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < root.size; i++) {
        hash = (hash ^ (unsigned char)root.bytes[i]) * UINT64_C(0x100000001b3);
    }
    return &core->queues[(hash ^ hash >> 32) % LK_QUEUE_BUCKETS];
}

static struct lk_waiting_queue *find_queue(struct lk_core *core, const struct lk_path *path) {
    struct lk_waiting_queue *queue = *bucket_of(core, path);

    while (queue != NULL && !lk_path_equal(&queue->path, path)) {
        queue = queue->next;
    }
    return queue;
}

static bool find_need(void *context, lk_item_ref item) {
    struct lk_core *core = context;

    lk_model_item_record(core->model, item, &core->collection.item);
    return core->collection.item.need_count == 0;
}

static void heed_every_end(struct lk_core *core, struct lk_waiting_queue *queue) {
    if (!queue->heeds_every_end) {
        queue->heeds_every_end = true;
        core->heeding_queues++;
    }
}

/* NULL: memory is exhausted. */
static struct lk_waiting_queue *make_queue(struct lk_core *core, const struct lk_path *path) {
    struct lk_waiting_queue *queue = calloc(1, sizeof *queue);
    struct lk_waiting_queue **bucket = bucket_of(core, path);

    if (queue == NULL) {
        return NULL;
    }
    queue->timed = (struct lk_timed){.due_us = LK_NEVER, .is_queue = true};
    queue->path = *path;
    memcpy(queue->text, path->bytes, path->size);
    queue->path.bytes = queue->text;
    lk_link_init(&queue->blocked);
    core->waiting_queues++;
    queue->next = *bucket;
    *bucket = queue;
    core->collection.item.need_count = 0;
    lk_model_each_item(core->model, path, find_need, core);
    if (core->collection.item.need_count > 0) {
        heed_every_end(core, queue);
    }
    return queue;
}

/* What was due already and is delayed still is kept by a lock, whose end stirs the queue. */
static void set_due(struct lk_core *core, struct lk_waiting_queue *queue) {
    int64_t due_us = lk_model_next_due(core->model, &queue->path);

    lk_timed_set(core, &queue->timed, due_us > core->times.now_us ? due_us : LK_NEVER);
}

static char *keep(struct lk_slice *slice, char *at) {
    if (slice->size > 0) {
        memcpy(at, slice->bytes, slice->size);
    }
    slice->bytes = at;
    return at + slice->size;
}

bool lk_taker_block(struct lk_core *core, struct lk_session *session, const struct lk_call *call) {
    struct lk_waiting_queue *queue = find_queue(core, &call->take.queue);
    struct lk_blocked *blocked;
    char *at;

    if (queue == NULL) {
        queue = make_queue(core, &call->take.queue);
    }
    if (queue == NULL) {
        return false;
    }
    blocked = lk_blocked_new(core, session, call);
    blocked->take = call->take;
    at = keep(&blocked->take.owner, blocked->text);
    (void)keep(&blocked->take.note, at);
    blocked->take.queue = queue->path;
    blocked->queue = queue;
    lk_link_append(&queue->blocked, &blocked->in_line);
    lk_timed_set(core, &blocked->timed, blocked->until_us);
    set_due(core, queue);
    return true;
}

static void queue_free(struct lk_core *core, struct lk_waiting_queue *queue) {
    struct lk_waiting_queue **link = bucket_of(core, &queue->path);

    while (*link != queue) {
        link = &(*link)->next;
    }
    *link = queue->next;
    lk_timed_set(core, &queue->timed, LK_NEVER);
    core->heeding_queues -= queue->heeds_every_end;
    core->waiting_queues--;
    free(queue);
}

void lk_taker_leave(struct lk_core *core, struct lk_waiting_queue *queue) {
    /* One that is stirred goes when it is looked at. */
    if (lk_link_is_alone(&queue->blocked) && !queue->is_stirred) {
        queue_free(core, queue);
    }
}

/* ---- being stirred --------------------------------------------------------------------------- */

static void stir(struct lk_core *core, struct lk_waiting_queue *queue) {
    if (!queue->is_stirred) {
        queue->is_stirred = true;
        queue->stirred = core->stirred;
        core->stirred = queue;
    }
}

static void stir_related(struct lk_core *core, const struct lk_path *path) {
    for (struct lk_waiting_queue *queue = *bucket_of(core, path); queue != NULL;
         queue = queue->next) {
        if (lk_path_related(&queue->path, path)) {
            stir(core, queue);
        }
    }
}

/* A request has ended or become weaker: what it locked may be what keeps a claim. */
static void heed_lock(struct lk_core *core, lk_ref request) {
    struct lk_record *record = &core->record;

    lk_model_record(core->model, request, record);
    for (size_t i = 0; i < record->part_count; i++) {
        stir_related(core, &record->parts[i].path);
    }
    for (size_t i = 0; core->heeding_queues > 0 && i < LK_QUEUE_BUCKETS; i++) {
        for (struct lk_waiting_queue *queue = core->queues[i]; queue != NULL; queue = queue->next) {
            if (queue->heeds_every_end) {
                stir(core, queue);
            }
        }
    }
}

static void heed_item(struct lk_core *core, lk_item_ref item) {
    struct lk_item_record *record = &core->collection.item;
    struct lk_waiting_queue *queue;

    lk_model_item_record(core->model, item, record);
    queue = find_queue(core, &record->queue);
    if (queue != NULL) {
        if (record->need_count > 0) {
            heed_every_end(core, queue);
        }
        stir(core, queue);
    }
}

void lk_takers_heed(struct lk_core *core, const struct lk_change *change) {
    switch (change->kind) {
    case LK_CHANGE_RELEASED:
    case LK_CHANGE_WITHDRAWN:
    case LK_CHANGE_PERISHED:
    case LK_CHANGE_BROKEN:
    case LK_CHANGE_CONVERTED:
        heed_lock(core, change->request);
        break;
    case LK_CHANGE_ITEM_PUSHED:
    case LK_CHANGE_ITEM_RETRIED:
    case LK_CHANGE_ITEM_FREED:
    case LK_CHANGE_ITEM_UNPARKED:
        heed_item(core, change->item);
        break;
    default:
        break;
    }
}

void lk_queue_due(struct lk_core *core, struct lk_waiting_queue *queue) {
    lk_timed_set(core, &queue->timed, LK_NEVER);
    stir(core, queue);
}

/* ---- claiming -------------------------------------------------------------------------------- */

/* The first in line tries. Whether the next one may have better luck. */
static bool try_first(struct lk_core *core, struct lk_waiting_queue *queue) {
    struct lk_blocked *blocked = LK_LINK_ITEM(queue->blocked.next, struct lk_blocked, in_line);
    struct lk_session *session = blocked->session;
    struct lk_event event = {.kind = LK_EVENT_TAKE, .take = blocked->take};
    const struct lk_effects *effects;
    uint64_t tag = blocked->tag;

    if (blocked->is_bound && !lk_ties_reserve(core)) {
        return false;
    }
    effects = lk_core_step(core, &event);
    if (effects == NULL || effects->answer.outcome == LK_BUSY) {
        return false;
    }
    if (effects->answer.outcome == LK_GRANTED && blocked->is_bound) {
        lk_core_bind(core, session, effects->answer.request);
    }
    /* Kept while it is looked at: the last to leave does not take the queue along. */
    queue->is_stirred = true;
    lk_blocked_free(core, blocked);
    queue->is_stirred = false;
    lk_core_answer(core, session, tag, LK_CALL_TAKE, &effects->answer);
    return true;
}

void lk_takers_forget(struct lk_core *core) {
    while (core->stirred != NULL) {
        struct lk_waiting_queue *queue = core->stirred;
        core->stirred = queue->stirred;
        queue_free(core, queue);
    }
}

void lk_takers_drain(struct lk_core *core) {
    while (core->stirred != NULL) {
        struct lk_waiting_queue *queue = core->stirred;
        uint64_t generation = core->generation;

        core->stirred = queue->stirred;
        queue->is_stirred = false;
        while (!lk_link_is_alone(&queue->blocked)) {
            if (!try_first(core, queue)) {
                break;
            }
        }
        if (core->generation != generation) {
            return; /* the model was given up, and nobody waits any more */
        }
        if (!lk_link_is_alone(&queue->blocked)) {
            set_due(core, queue);
        } else if (!queue->is_stirred) {
            queue_free(core, queue);
        }
    }
}
