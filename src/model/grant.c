/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants waiting requests: one pass over them in the order of their tickets.
 *
 * One pass is enough: a grant never helps another owner's request, and the owner's own requests,
 * which it may cover now (R8), are checked again. The pass merges sorted lists: at each released
 * node the lists of those at or below it, and at each of its parents the lists of those exactly
 * there.
 *
 * The pass stays short when many requests wait. Once it has seen an exclusive request at or above
 * the released node, held or still waiting, all requests behind it there conflict with it, and that
 * merge ends. Once it has seen a shared one, the exclusive ones behind it are dropped. Where a
 * limit has no room for the widest waiter, the other limited waiters of that list are dropped. A
 * dropped request could be granted only by R8: it belongs to the owner that caused the drop, which
 * is checked separately. Where an exclusive lease is held at or above the released node, only its
 * owner's requests are checked.
 */
#include "model/grant.h"

#include "model/tree.h"
#include "model/wait_queue.h"

enum { CURSORS_PER_NODE = 2 * LK_PATH_DEPTH_MAX };

/* The lists of wait queues that meet at one released node. */
struct front {
    lk_id node;
    size_t count;
    lk_id positions[CURSORS_PER_NODE]; /* the position in each list; 0: at its end, or dropped */
    bool has_dropped_exclusive;
};

struct pass {
    struct lk_model *model;
    struct lk_times times;
    uint32_t mark;
    lk_id first_owner; /* owners to check separately, linked by next_owner */
    size_t front_count;
    struct front fronts[LK_PARTS_MAX];
};

void lk_released_nodes_of(const struct lk_model *model, lk_id request,
                          struct lk_released_nodes *ret_released) {
    ret_released->count = 0;
    ret_released->owner = 0;
    for (lk_id at = lk_request_at(model, request)->first_entry; at != 0;
         at = lk_part_entry_at(model, at)->next_entry) {
        assert(ret_released->count < LK_PARTS_MAX);
        ret_released->nodes[ret_released->count++] = lk_part_entry_at(model, at)->node;
    }
}

/* ---- granting ---- */

/* Schedules a check of all the waiting requests of an owner, from the first. */
static void schedule_owner(struct pass *pass, lk_id id) {
    struct lk_waits *waits;

    if (lk_owner_waiting(pass->model, id) == 0) {
        return;
    }
    waits = lk_waits_of(pass->model, id);
    if (waits->mark != pass->mark) {
        waits->mark = pass->mark;
        waits->next_owner = pass->first_owner;
        pass->first_owner = id;
    }
    waits->next_request = waits->first;
}

/*
 * A grant past a smaller ticket at the same path (R7c: it names a wider limit) is the only grant
 * that makes a request wait for a new holder without an ask of either owner. It may close a cycle
 * unnoticed.
 */
static void note_overtaking(struct lk_model *model, const struct lk_model_request *request) {
    for (lk_id at = request->first_entry; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
        const struct lk_part_entry *entry = lk_part_entry_at(model, at);
        lk_id queue = lk_node_at(model, entry->node)->queue;
        lk_id first = queue != 0 ? lk_wait_queue_at(model, queue)->lists[LK_HERE_SHARED].first : 0;
        if (first != 0
            && lk_queue_entry_ticket(model, lk_queue_entry_at(model, first)) < request->ticket) {
            model->may_hide_cycle = true;
        }
    }
}

static void grant(struct pass *pass, lk_id id) {
    struct lk_model *model = pass->model;
    struct lk_model_request *request = lk_request_at(model, id);

    assert(request->state == LK_STATE_WAITING && request->token == 0);
    lk_request_detach(model, id);
    request->token = lk_request_draw(model, id, pass->times.wall_us);
    assert(request->token > request->ticket); /* R4: its ticket is a draw of these roots, too */
    lk_request_attach(model, id, LK_STATE_HELD);
    if (request->attended && !request->fixed) { /* R10: the wait has kept it alive until now */
        lk_deadlines_move(model, id, pass->times.now_us + lk_request_ttl(request) * 1000);
    }
    lk_change_add(model, LK_CHANGE_GRANTED, id);
    note_overtaking(model, request);
    schedule_owner(pass, request->owner); /* R8: it may cover others of them */
}

/*
 * Records at the wait queue that no request with the same or a smaller limit can be granted in this
 * pass.
 */
static void note_exhaustion(struct pass *pass, const struct lk_probed_part *part) {
    struct lk_wait_queue *queue =
        lk_wait_queue_at(pass->model, lk_node_at(pass->model, part->node)->queue);

    assert(part->limit != 0 && queue->limited_here > 0);
    if (part->limit >= queue->limit_bound) {
        queue->exhausted_pass = pass->mark;
    }
}

static void check_and_grant(struct pass *pass, lk_id id) {
    struct lk_probe probe;
    size_t part;
    enum lk_verdict verdict;

    if (lk_request_deadline(pass->model, lk_request_at(pass->model, id)) <= pass->times.now_us) {
        return; /* R11: dead at this instant; nothing revives it */
    }
    lk_probe_of_request(pass->model, id, &probe);
    probe.pass = pass->mark;
    verdict = lk_probe_check(pass->model, &probe, &part);
    if (verdict == LK_VERDICT_GRANT) {
        grant(pass, id);
    } else if (verdict == LK_VERDICT_LIMIT) {
        note_exhaustion(pass, &probe.parts[part]);
    }
}

/* ---- fronts ---- */

static void add_list(struct pass *pass, struct front *front, lk_id queue, enum lk_list_kind kind) {
    lk_id queue_entry = lk_wait_queue_at(pass->model, queue)->lists[kind].first;

    if (queue_entry != 0) {
        assert(front->count < CURSORS_PER_NODE);
        front->positions[front->count++] = queue_entry;
    }
}

static void open_front(struct pass *pass, lk_id node) {
    struct lk_model *model = pass->model;
    struct front *front = &pass->fronts[pass->front_count];
    lk_id queue = lk_node_at(model, node)->queue;

    assert(pass->front_count < LK_PARTS_MAX);
    front->node = node;
    front->count = 0;
    front->has_dropped_exclusive = false;
    if (queue != 0) {
        add_list(pass, front, queue, LK_BELOW_EXCLUSIVE);
        add_list(pass, front, queue, LK_BELOW_SHARED);
    }
    for (node = lk_node_parent(lk_node_at(model, node)); node != 0;
         node = lk_node_parent(lk_node_at(model, node))) {
        queue = lk_node_at(model, node)->queue;
        if (queue != 0) {
            add_list(pass, front, queue, LK_HERE_EXCLUSIVE);
            add_list(pass, front, queue, LK_HERE_SHARED);
        }
    }
    pass->front_count += front->count > 0;
}

static bool is_exclusive_list(uint8_t list) {
    return list == LK_HERE_EXCLUSIVE || list == LK_BELOW_EXCLUSIVE;
}

static void drop_lists(const struct pass *pass, struct front *front, bool all) {
    for (size_t i = 0; i < front->count; i++) {
        if (front->positions[i] != 0
            && (all
                || is_exclusive_list(lk_queue_entry_at(pass->model, front->positions[i])->list))) {
            front->positions[i] = 0;
        }
    }
}

/* Whether every shared waiter of this list has a limit that has been found to have no room. */
static bool is_exhausted(const struct pass *pass, lk_id node, uint8_t list) {
    const struct lk_wait_queue *queue =
        lk_wait_queue_at(pass->model, lk_node_at(pass->model, node)->queue);
    uint32_t shared = list == LK_HERE_SHARED ? queue->shared_here : queue->shared_below;

    return queue->exhausted_pass == pass->mark && queue->limited_here == shared;
}

/* A request at or above the front's node blocks those behind it: drops their lists. */
static void close_way(struct pass *pass, struct front *front, lk_id owner, bool exclusive) {
    if (exclusive) {
        drop_lists(pass, front, true);
        schedule_owner(pass, owner);
    } else if (!front->has_dropped_exclusive) {
        front->has_dropped_exclusive = true;
        drop_lists(pass, front, false);
        schedule_owner(pass, owner);
    }
}

/* ---- the merge ---- */

/* The waiting request with the smallest ticket that the pass has not checked; 0: none. */
static lk_id next_candidate(const struct pass *pass) {
    const struct lk_model *model = pass->model;
    lk_id best = 0;
    uint64_t best_ticket = UINT64_MAX;

    for (size_t f = 0; f < pass->front_count; f++) {
        const struct front *front = &pass->fronts[f];
        for (size_t i = 0; i < front->count; i++) {
            const struct lk_queue_entry *queue_entry;
            if (front->positions[i] == 0) {
                continue;
            }
            queue_entry = lk_queue_entry_at(model, front->positions[i]);
            if (best == 0 || lk_queue_entry_ticket(model, queue_entry) < best_ticket) {
                best = lk_queue_entry_request(model, queue_entry);
                best_ticket = lk_request_at(model, best)->ticket;
            }
        }
    }
    for (lk_id o = pass->first_owner; o != 0; o = lk_waits_of(model, o)->next_owner) {
        lk_id request = lk_waits_of(model, o)->next_request;
        if (request != 0 && (best == 0 || lk_request_at(model, request)->ticket < best_ticket)) {
            best = request;
            best_ticket = lk_request_at(model, best)->ticket;
        }
    }
    return best;
}

/* Advances one list past its first entry. true: the entry is at or above the front's node. */
static bool step_list(const struct pass *pass, const struct front *front, lk_id *at,
                      bool *ret_exclusive, lk_id *ret_node, uint8_t *ret_list) {
    const struct lk_model *model = pass->model;
    const struct lk_queue_entry *queue_entry = lk_queue_entry_at(model, *at);
    const struct lk_part_entry *entry = lk_part_entry_at(model, queue_entry->entry);

    *ret_exclusive = lk_part_entry_is_exclusive(entry);
    *ret_node = queue_entry->node;
    *ret_list = queue_entry->list;
    *at = queue_entry->next;
    return queue_entry->list <= LK_HERE_SHARED || entry->node == front->node;
}

/* Advances a front past `request`. Returns what that request closes there, for after its check. */
static void step_front(struct pass *pass, struct front *front, lk_id request, bool *ret_closes,
                       bool *ret_exclusive) {
    *ret_closes = false;
    *ret_exclusive = false;
    for (size_t i = 0; i < front->count; i++) {
        while (front->positions[i] != 0
               && lk_queue_entry_request(pass->model,
                                         lk_queue_entry_at(pass->model, front->positions[i]))
                      == request) {
            bool exclusive;
            lk_id node;
            uint8_t list;
            if (step_list(pass, front, &front->positions[i], &exclusive, &node, &list)) {
                *ret_closes = true;
                *ret_exclusive = *ret_exclusive || exclusive;
            }
        }
    }
}

/* After the check: drops each shared list that has been exhausted. */
static void drop_exhausted(const struct pass *pass, struct front *front) {
    for (size_t i = 0; i < front->count; i++) {
        if (front->positions[i] != 0) {
            const struct lk_queue_entry *queue_entry =
                lk_queue_entry_at(pass->model, front->positions[i]);
            if (!is_exclusive_list(queue_entry->list)
                && is_exhausted(pass, queue_entry->node, queue_entry->list)) {
                front->positions[i] = 0;
            }
        }
    }
}

static void step_owner(const struct pass *pass, lk_id owner, lk_id request) {
    struct lk_waits *waits = lk_waits_of(pass->model, owner);

    if (waits->mark == pass->mark && waits->next_request == request) {
        lk_id next = lk_request_at(pass->model, request)->next;
        waits->next_request = next != waits->first ? next : 0;
    }
}

static void visit(struct pass *pass, lk_id request) {
    lk_id owner = lk_request_at(pass->model, request)->owner;
    bool closes[LK_PARTS_MAX];
    bool exclusive[LK_PARTS_MAX];

    assert(lk_request_at(pass->model, request)->state == LK_STATE_WAITING);
    for (size_t f = 0; f < pass->front_count; f++) {
        step_front(pass, &pass->fronts[f], request, &closes[f], &exclusive[f]);
    }
    step_owner(pass, owner, request);
    check_and_grant(pass, request);
    for (size_t f = 0; f < pass->front_count; f++) {
        if (closes[f]) {
            close_way(pass, &pass->fronts[f], owner, exclusive[f]);
        }
        drop_exhausted(pass, &pass->fronts[f]);
    }
}

/* The owner of an exclusive lease here or above; 0: there is none. All of them have this owner. */
static lk_id exclusive_holder(const struct lk_model *model, lk_id node) {
    for (; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        lk_id first = lk_node_at(model, node)->holders;
        if (first != 0 && lk_part_entry_is_exclusive(lk_part_entry_at(model, first))) {
            return lk_part_entry_owner(model, lk_part_entry_at(model, first));
        }
    }
    return 0;
}

/*
 * An exclusive lease here or above conflicts with all that waits here, below and above. Only its
 * owner passes it (R8). So a long line costs nothing then.
 */
static void open_released(struct pass *pass, lk_id node) {
    lk_id holder = exclusive_holder(pass->model, node);

    if (holder != 0) {
        schedule_owner(pass, holder);
    } else {
        open_front(pass, node);
    }
}

void lk_grant_waiters(struct lk_model *model, const struct lk_released_nodes *released,
                      struct lk_times times) {
    struct pass pass;
    lk_id candidate;

    if (model->waiting == 0) {
        return;
    }
    pass.model = model;
    pass.times = times;
    pass.mark = ++model->mark;
    pass.first_owner = 0;
    pass.front_count = 0;
    for (size_t i = 0; i < released->count; i++) {
        open_released(&pass, released->nodes[i]);
    }
    if (released->owner != 0) {
        schedule_owner(&pass, released->owner);
    }
    while ((candidate = next_candidate(&pass)) != 0) {
        visit(&pass, candidate);
    }
    model->mark++; /* invalidates the sums and marks of this pass */
}

/* ---- everything ---- */

bool lk_grant_reserve(struct lk_model *model, size_t extra) {
    size_t capacity = model->scratch_capacity == 0 ? 16 : model->scratch_capacity;
    lk_ref *scratch;

    while (capacity < model->waiting + extra) {
        capacity *= 2;
    }
    if (capacity == model->scratch_capacity) {
        return true;
    }
    scratch = model->allocator->resize(model->allocator->context, model->scratch,
                                       capacity * sizeof *scratch);
    if (scratch == NULL) {
        return false;
    }
    model->scratch = scratch;
    model->scratch_capacity = capacity;
    return true;
}

static size_t collect_waiting(struct lk_model *model) {
    size_t count = 0;

    for (uint32_t i = 0; i < model->deadlines.count; i++) {
        lk_id id = model->deadlines.ids[i];
        if (lk_request_at(model, id)->state == LK_STATE_WAITING) {
            model->scratch[count++] = id;
        }
    }
    assert(count == model->waiting);
    return count;
}

/* Claims of one decision share a ticket (R16). */
static bool goes_before(const struct lk_model *model, lk_ref a, lk_ref b) {
    const struct lk_model_request *one = lk_request_at(model, a);
    const struct lk_model_request *other = lk_request_at(model, b);

    return one->ticket != other->ticket ? one->ticket < other->ticket : one->id < other->id;
}

/* A heap sort: no recursion, no memory, no context argument that qsort() lacks. */
static void sift(const struct lk_model *model, lk_ref *refs, size_t at, size_t count) {
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        lk_ref moved;
        if (child + 1 < count && goes_before(model, refs[child], refs[child + 1])) {
            child++;
        }
        if (!goes_before(model, refs[at], refs[child])) {
            return;
        }
        moved = refs[at];
        refs[at] = refs[child];
        refs[child] = moved;
        at = child;
    }
}

void lk_sort_by_ticket(const struct lk_model *model, lk_ref *refs, size_t count) {
    for (size_t i = count / 2; i-- > 0;) {
        sift(model, refs, i, count);
    }
    for (size_t end = count; end-- > 1;) {
        lk_ref last = refs[end];
        refs[end] = refs[0];
        refs[0] = last;
        sift(model, refs, 0, end);
    }
}

void lk_grant_all_waiters(struct lk_model *model, struct lk_times times) {
    size_t count = collect_waiting(model);
    size_t at = 0;
    struct pass pass = {.model = model, .times = times, .mark = ++model->mark};

    lk_sort_by_ticket(model, model->scratch, count);
    for (;;) {
        lk_id again = next_candidate(&pass);
        lk_id id;
        while (at < count && lk_request_at(model, model->scratch[at])->state != LK_STATE_WAITING) {
            at++;
        }
        id = at < count ? model->scratch[at] : 0;
        if (id == 0 && again == 0) {
            break;
        }
        if (again != 0 && (id == 0 || goes_before(model, again, id))) {
            id = again;
        }
        at += at < count && model->scratch[at] == id;
        visit(&pass, id);
    }
    model->mark++;
}
