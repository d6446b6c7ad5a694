/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settling: one pass over waiting requests in the order of their tickets.
 *
 * One pass is enough: a grant never helps another owner's request, and the owner's own ones, which
 * it may cover now (R8), are looked at again. The pass merges sorted lists: at each touched node
 * the line of those at or below it, and at each of its parents the line of those exactly there.
 *
 * What keeps it short when many wait. Once an exclusive request at or above the touched node has
 * been seen, held or still waiting, it conflicts with everybody behind it there: that merge ends.
 * Once a shared one has been seen, the exclusive ones behind it are dropped. Where a limit has no
 * room for the widest asker, the other askers of that line are dropped. What is dropped could go
 * only by R8: the dropping owner's own requests, and those whose owner holds the place exclusively
 * and waits for a limit. So these two owners are looked at by themselves.
 */
#include "model/settle.h"

#include "model/lines.h"
#include "model/tree.h"

enum { CURSORS_PER_NODE = 2 * LK_PATH_DEPTH_MAX };

/* The lines that meet at one touched node. */
struct front {
    lk_id node;
    size_t count;
    lk_id places[CURSORS_PER_NODE]; /* where each list stands; 0: at its end, or dropped */
    bool has_dropped_exclusive;
};

struct pass {
    struct lk_model *model;
    struct lk_times times;
    uint32_t mark;
    lk_id first_owner; /* owners to look at by themselves, linked by next_owner */
    size_t front_count;
    struct front fronts[LK_PARTS_MAX];
};

void lk_touched_by(const struct lk_model *model, lk_id request, struct lk_touched *ret_touched) {
    ret_touched->count = 0;
    ret_touched->owner = 0;
    for (lk_id at = lk_request_at(model, request)->first_stake; at != 0;
         at = lk_stake_at(model, at)->next_stake) {
        ret_touched->nodes[ret_touched->count++] = lk_stake_at(model, at)->node;
    }
}

/* ---- granting ---- */

/* Looks at all the waiting requests of an owner again, from the first. */
static void look_at_owner(struct pass *pass, lk_id id) {
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
 * A grant past a smaller ticket at the same path (R7c: it names a wider limit) is the only one that
 * makes somebody wait for a new holder without an ask of either: it may close a cycle unnoticed.
 */
static void note_overtaking(struct lk_model *model, const struct lk_request *request) {
    for (lk_id at = request->first_stake; at != 0; at = lk_stake_at(model, at)->next_stake) {
        const struct lk_stake *stake = lk_stake_at(model, at);
        lk_id line = lk_node_at(model, stake->node)->line;
        lk_id first = line != 0 ? lk_line_at(model, line)->lists[LK_HERE_SHARED].first : 0;
        if (first != 0 && lk_place_ticket(model, lk_place_at(model, first)) < request->ticket) {
            model->may_hide_cycle = true;
        }
    }
}

static void grant(struct pass *pass, lk_id id) {
    struct lk_model *model = pass->model;
    struct lk_request *request = lk_request_at(model, id);

    lk_request_detach(model, id);
    request->token = lk_request_draw(model, id, pass->times.wall_us);
    lk_request_attach(model, id, LK_STATE_HELD);
    if (request->attended && !request->fixed) { /* R10: the wait has kept it alive until now */
        lk_deadlines_move(model, id, pass->times.now_us + request->ttl_ms * 1000);
    }
    lk_change_add(model, LK_CHANGE_GRANTED, id);
    note_overtaking(model, request);
    look_at_owner(pass, request->owner); /* R8: it may cover others of them */
}

/* Notes at the line that nobody whose limit is not wider can go in this pass. */
static void note_exhaustion(struct pass *pass, const struct lk_demanded *part) {
    struct lk_line *line = lk_line_at(pass->model, lk_node_at(pass->model, part->node)->line);

    if (part->limit >= line->limit_bound) {
        line->exhausted_pass = pass->mark;
    }
}

static void judge(struct pass *pass, lk_id id) {
    struct lk_demand demand;
    size_t part;
    enum lk_verdict verdict;

    if (lk_request_deadline(pass->model, lk_request_at(pass->model, id)) <= pass->times.now_us) {
        return; /* R11: dead at this very moment, and nothing revives it */
    }
    lk_demand_of_request(pass->model, id, &demand);
    demand.pass = pass->mark;
    verdict = lk_demand_judge(pass->model, &demand, &part);
    if (verdict == LK_VERDICT_GRANT) {
        grant(pass, id);
    } else if (verdict == LK_VERDICT_LIMIT) {
        note_exhaustion(pass, &demand.parts[part]);
    }
}

/* ---- fronts ---- */

static void add_list(struct pass *pass, struct front *front, lk_id line, enum lk_list_kind kind) {
    lk_id place = lk_line_at(pass->model, line)->lists[kind].first;

    if (place != 0) {
        front->places[front->count++] = place;
    }
}

static void open_front(struct pass *pass, lk_id node) {
    struct lk_model *model = pass->model;
    struct front *front = &pass->fronts[pass->front_count];
    lk_id line = lk_node_at(model, node)->line;

    front->node = node;
    front->count = 0;
    front->has_dropped_exclusive = false;
    if (line != 0) {
        add_list(pass, front, line, LK_BELOW_EXCLUSIVE);
        add_list(pass, front, line, LK_BELOW_SHARED);
    }
    for (node = lk_node_parent(lk_node_at(model, node)); node != 0;
         node = lk_node_parent(lk_node_at(model, node))) {
        line = lk_node_at(model, node)->line;
        if (line != 0) {
            add_list(pass, front, line, LK_HERE_EXCLUSIVE);
            add_list(pass, front, line, LK_HERE_SHARED);
        }
    }
    pass->front_count += front->count > 0;
}

static bool is_exclusive_list(uint8_t list) {
    return list == LK_HERE_EXCLUSIVE || list == LK_BELOW_EXCLUSIVE;
}

static void drop_lists(const struct pass *pass, struct front *front, bool all) {
    for (size_t i = 0; i < front->count; i++) {
        if (front->places[i] != 0
            && (all || is_exclusive_list(lk_place_at(pass->model, front->places[i])->list))) {
            front->places[i] = 0;
        }
    }
}

/* Whether every shared waiter of this list has a limit that has been found to have no room. */
static bool is_exhausted(const struct pass *pass, lk_id node, uint8_t list) {
    const struct lk_line *line = lk_line_at(pass->model, lk_node_at(pass->model, node)->line);
    uint32_t shared = list == LK_HERE_SHARED ? line->shared_here : line->shared_below;

    return line->exhausted_pass == pass->mark && line->limited_here == shared;
}

/* What has been seen at or above the front's node closes the way for those behind it. */
static void close_way(struct pass *pass, struct front *front, lk_id owner, bool exclusive) {
    if (exclusive) {
        drop_lists(pass, front, true);
        look_at_owner(pass, owner);
    } else if (!front->has_dropped_exclusive) {
        front->has_dropped_exclusive = true;
        drop_lists(pass, front, false);
        look_at_owner(pass, owner);
    }
}

/* ---- the merge ---- */

/* The waiting request with the smallest ticket that the pass has not looked at; 0: none. */
static lk_id next_candidate(const struct pass *pass) {
    const struct lk_model *model = pass->model;
    lk_id best = 0;
    uint64_t best_ticket = UINT64_MAX;

    for (size_t f = 0; f < pass->front_count; f++) {
        const struct front *front = &pass->fronts[f];
        for (size_t i = 0; i < front->count; i++) {
            const struct lk_place *place;
            if (front->places[i] == 0) {
                continue;
            }
            place = lk_place_at(model, front->places[i]);
            if (best == 0 || lk_place_ticket(model, place) < best_ticket) {
                best = lk_place_request(model, place);
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

/* One step of one list behind `request`. true: what it passed stands at or above the node. */
static bool step_list(const struct pass *pass, const struct front *front, lk_id *at,
                      bool *ret_exclusive, lk_id *ret_node, uint8_t *ret_list) {
    const struct lk_model *model = pass->model;
    const struct lk_place *place = lk_place_at(model, *at);
    const struct lk_stake *stake = lk_stake_at(model, place->stake);

    *ret_exclusive = lk_stake_is_exclusive(stake);
    *ret_node = place->node;
    *ret_list = place->list;
    *at = place->next;
    return place->list <= LK_HERE_SHARED || stake->node == front->node;
}

/* Moves a front behind `request`; returns what that request closes there, for after judging. */
static void step_front(struct pass *pass, struct front *front, lk_id request, bool *ret_closes,
                       bool *ret_exclusive) {
    *ret_closes = false;
    *ret_exclusive = false;
    for (size_t i = 0; i < front->count; i++) {
        while (front->places[i] != 0
               && lk_place_request(pass->model, lk_place_at(pass->model, front->places[i]))
                      == request) {
            bool exclusive;
            lk_id node;
            uint8_t list;
            if (step_list(pass, front, &front->places[i], &exclusive, &node, &list)) {
                *ret_closes = true;
                *ret_exclusive = *ret_exclusive || exclusive;
            }
        }
    }
}

/* After judging: drops what of each shared list has been exhausted. */
static void drop_exhausted(const struct pass *pass, struct front *front) {
    for (size_t i = 0; i < front->count; i++) {
        if (front->places[i] != 0) {
            const struct lk_place *place = lk_place_at(pass->model, front->places[i]);
            if (!is_exclusive_list(place->list) && is_exhausted(pass, place->node, place->list)) {
                front->places[i] = 0;
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

static void look_at(struct pass *pass, lk_id request) {
    lk_id owner = lk_request_at(pass->model, request)->owner;
    bool closes[LK_PARTS_MAX];
    bool exclusive[LK_PARTS_MAX];

    for (size_t f = 0; f < pass->front_count; f++) {
        step_front(pass, &pass->fronts[f], request, &closes[f], &exclusive[f]);
    }
    step_owner(pass, owner, request);
    judge(pass, request);
    for (size_t f = 0; f < pass->front_count; f++) {
        if (closes[f]) {
            close_way(pass, &pass->fronts[f], owner, exclusive[f]);
        }
        drop_exhausted(pass, &pass->fronts[f]);
    }
}

/*
 * R8: the owner of an exclusive lease here or above passes all who wait here; if he waits here
 * himself it is for a limit, which may have room now, whoever closes the way.
 */
static void look_at_coverer(struct pass *pass, lk_id node) {
    const struct lk_model *model = pass->model;
    lk_id line = lk_node_at(model, node)->line;

    if (line == 0 || lk_line_at(model, line)->limited_here == 0) {
        return;
    }
    for (; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        lk_id first = lk_node_at(model, node)->holders;
        if (first != 0 && lk_stake_is_exclusive(lk_stake_at(model, first))) {
            look_at_owner(pass, lk_stake_owner(model, lk_stake_at(model, first)));
            return; /* all exclusive leases on the way up are his */
        }
    }
}

void lk_settle(struct lk_model *model, const struct lk_touched *touched, struct lk_times times) {
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
    for (size_t i = 0; i < touched->count; i++) {
        open_front(&pass, touched->nodes[i]);
        look_at_coverer(&pass, touched->nodes[i]);
    }
    if (touched->owner != 0) {
        look_at_owner(&pass, touched->owner);
    }
    while ((candidate = next_candidate(&pass)) != 0) {
        look_at(&pass, candidate);
    }
    model->mark++; /* sums and marks of this pass mean nothing from here on */
}

/* ---- everything ---- */

bool lk_settle_reserve(struct lk_model *model, size_t extra) {
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

static bool goes_before(const struct lk_model *model, lk_ref a, lk_ref b) {
    return lk_request_at(model, a)->ticket < lk_request_at(model, b)->ticket;
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

static void sort_by_ticket(const struct lk_model *model, lk_ref *refs, size_t count) {
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

void lk_settle_all(struct lk_model *model, struct lk_times times) {
    size_t count = collect_waiting(model);
    size_t at = 0;
    struct pass pass = {.model = model, .times = times, .mark = ++model->mark};

    sort_by_ticket(model, model->scratch, count);
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
        look_at(&pass, id);
    }
    model->mark++;
}
