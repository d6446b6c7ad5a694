/* SPDX-License-Identifier: Apache-2.0 */
/* The reference's step: what each event does to the list of live requests. */
#include <stdlib.h>

#include "inside.h"

/* ---- the list ---- */

static struct lk_reference_request *find(const struct lk_reference *reference,
                                         struct lk_slice owner, const struct lk_part *parts,
                                         size_t part_count) {
    for (size_t i = 0; i < reference->request_count; i++) {
        if (is_same_request(&reference->requests[i], owner, parts, part_count)) {
            return &reference->requests[i];
        }
    }
    return NULL;
}

static void add(struct lk_reference *reference, const struct lk_reference_request *request) {
    reference->requests =
        grown(reference->requests, reference->request_count, sizeof *reference->requests);
    reference->requests[reference->request_count++] = *request;
}

static void end(struct lk_reference *reference, uint64_t arrival) {
    size_t kept = 0;

    for (size_t i = 0; i < reference->request_count; i++) {
        if (reference->requests[i].arrival != arrival) {
            reference->requests[kept++] = reference->requests[i];
        }
    }
    reference->request_count = kept;
}

/* ---- R4: draws ---- */

static struct root *root_of(struct lk_reference *reference, const struct lk_path *path) {
    struct lk_slice name = lk_path_segment(path, 0);

    for (size_t i = 0; i < reference->root_count; i++) {
        if (lk_slice_equal(reference->roots[i].name, name)) {
            return &reference->roots[i];
        }
    }
    reference->roots = grown(reference->roots, reference->root_count, sizeof *reference->roots);
    reference->roots[reference->root_count] = (struct root){.name = name, .last_draw = 0};
    return &reference->roots[reference->root_count++];
}

/* The greater of the wall clock and the last draw + 1, over all roots, remembered by each. */
static uint64_t draw(struct lk_reference *reference, const struct lk_reference_request *request,
                     int64_t wall_us) {
    uint64_t number = wall_us > 0 ? (uint64_t)wall_us : 0;

    for (size_t i = 0; i < request->part_count; i++) {
        uint64_t next = root_of(reference, &request->parts[i].path)->last_draw + 1;
        number = next > number ? next : number;
    }
    for (size_t i = 0; i < request->part_count; i++) {
        root_of(reference, &request->parts[i].path)->last_draw = number;
    }
    return number;
}

/* ---- grants ---- */

/* A promotion draws a new token (R4); a grant to a blocked wait sets the deadline (R10). */
static void grant(struct lk_reference *reference, struct lk_reference_request *request,
                  struct lk_times times) {
    request->state = LK_STATE_HELD;
    request->token = draw(reference, request, times.wall_us);
    if (request->attended && !request->fixed) {
        request->deadline_us = times.now_us + request->ttl_ms * 1000;
    }
}

/*
 * Grants the waiting request with the smallest ticket that R7 or R8 allows, until there is none.
 * R11: whose deadline is this very moment is dead already, and nothing revives it.
 */
static void promote(struct lk_reference *reference, struct lk_times times) {
    for (;;) {
        struct lk_reference_request *first = NULL;
        for (size_t i = 0; i < reference->request_count; i++) {
            struct lk_reference_request *request = &reference->requests[i];
            if (request->state == LK_STATE_WAITING && request->deadline_us > times.now_us
                && may_be_granted(reference, request)
                && (first == NULL || request->ticket < first->ticket)) {
                first = request;
            }
        }
        if (first == NULL) {
            return;
        }
        grant(reference, first, times);
    }
}

/* The request whose deadline comes first, among equals the one with the smallest ticket. */
static const struct lk_reference_request *first_to_perish(const struct lk_reference *reference) {
    const struct lk_reference_request *first = NULL;

    for (size_t i = 0; i < reference->request_count; i++) {
        const struct lk_reference_request *request = &reference->requests[i];
        if (first == NULL || request->deadline_us < first->deadline_us
            || (request->deadline_us == first->deadline_us && request->ticket < first->ticket)) {
            first = request;
        }
    }
    return first;
}

/* R11: deadlines take effect in their order, each with the grants that it makes possible. */
static void perish(struct lk_reference *reference, struct lk_times times) {
    const struct lk_reference_request *first;

    while ((first = first_to_perish(reference)) != NULL && first->deadline_us <= times.now_us) {
        struct lk_times moment = {.now_us = first->deadline_us, .wall_us = times.wall_us};
        end(reference, first->arrival);
        promote(reference, moment);
    }
}

/* ---- answers ---- */

static void answer(struct lk_reference *reference, lk_outcome outcome, uint64_t arrival) {
    reference->answer = (struct lk_reference_answer){.outcome = outcome, .arrival = arrival};
}

static void explain(struct lk_reference *reference, const struct lk_reference_request *claim) {
    list_blockers(reference, claim);
    reference->answer.blockers = reference->blockers;
    reference->answer.blocker_count = reference->blocker_count;
}

static void answer_as_it_stands(struct lk_reference *reference, const struct lk_ask *ask,
                                uint64_t arrival) {
    const struct lk_reference_request *request = find_arrival(reference, arrival);

    if (request->state == LK_STATE_HELD) {
        answer(reference, LK_GRANTED, arrival);
    } else {
        answer(reference, ask->style == LK_TRY ? LK_BUSY : LK_WAITING, arrival); /* R10 */
        explain(reference, request);
    }
}

/* ---- INVALID: R2, R11, R19 ---- */

static bool are_sound_parts(const struct lk_part *parts, size_t count) {
    if (count < 1 || count > LK_PARTS_MAX) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct lk_part *part = &parts[i];
        bool sound = part->mode == LK_EXCLUSIVE
                         ? part->limit == 0 && part->units == 0
                         : part->units >= 1 && part->limit <= LK_LIMIT_MAX
                               && part->units <= (part->limit != 0 ? part->limit : 1);
        for (size_t j = 0; j < i; j++) {
            sound = sound && !is_same_path(&part->path, &parts[j].path);
        }
        if (!sound) {
            return false;
        }
    }
    return true;
}

static bool are_sound_names(struct lk_slice owner, const struct lk_part *parts, size_t count) {
    return owner.size >= 1 && owner.size <= LK_OWNER_BYTES_MAX && are_sound_parts(parts, count);
}

static bool is_sound_ttl(int64_t ttl_ms) {
    return ttl_ms == 0 || (ttl_ms >= LK_TTL_MIN_MS && ttl_ms <= LK_TTL_MAX_MS);
}

static bool is_sound_until(int64_t until_us, int64_t wall_us) {
    return until_us == 0 || (until_us > wall_us && until_us - wall_us <= LK_TTL_MAX_MS * 1000);
}

static bool is_sound_ask(const struct lk_ask *ask, struct lk_times times) {
    return are_sound_names(ask->owner, ask->parts, ask->part_count) && is_sound_ttl(ask->ttl_ms)
           && is_sound_until(ask->until_us, times.wall_us)
           && (!ask->note_given || ask->note.size <= LK_NOTE_BYTES_MAX);
}

/* ---- FULL: R22 ---- */

static bool has_part_under(const struct lk_reference_request *request, struct lk_slice root) {
    for (size_t i = 0; i < request->part_count; i++) {
        if (lk_slice_equal(lk_path_segment(&request->parts[i].path, 0), root)) {
            return true;
        }
    }
    return false;
}

static bool is_reached(uint64_t bound, uint64_t count) {
    return bound != 0 && count >= bound;
}

static bool is_full(const struct lk_reference *reference,
                    const struct lk_reference_request *newcomer, bool waits) {
    const struct lk_quotas *quotas = &reference->quotas;
    uint64_t of_owner = 0;

    for (size_t i = 0; i < reference->request_count; i++) {
        of_owner += lk_slice_equal(reference->requests[i].owner, newcomer->owner);
    }
    if (is_reached(quotas->live_max, reference->request_count)
        || is_reached(quotas->live_per_owner_max, of_owner)) {
        return true;
    }
    for (size_t i = 0; i < newcomer->part_count; i++) {
        const struct lk_path *path = &newcomer->parts[i].path;
        uint64_t under_root = 0;
        uint64_t waiting_here = 0;
        for (size_t j = 0; j < reference->request_count; j++) {
            const struct lk_reference_request *request = &reference->requests[j];
            under_root += has_part_under(request, lk_path_segment(path, 0));
            waiting_here += request->state == LK_STATE_WAITING && part_at(request, path) != NULL;
        }
        if (is_reached(quotas->live_per_root_max, under_root)
            || (waits && is_reached(quotas->waiters_per_path_max, waiting_here))) {
            return true;
        }
    }
    return false;
}

/* ---- the ask ---- */

/* R11: now + ttl, or a fixed instant, which nothing moves from then on. */
static void refresh(struct lk_reference_request *request, const struct lk_ask *ask,
                    struct lk_times times) {
    request->attended = ask->style == LK_WAIT;
    if (ask->note_given) {
        request->note = ask->note; /* R19 */
    }
    if (request->fixed) {
        return;
    }
    if (ask->until_us != 0) {
        int64_t left_us = ask->until_us - times.wall_us;
        request->fixed = true;
        request->ttl_ms = (left_us + 999) / 1000;
        request->deadline_us = times.now_us + left_us;
    } else {
        request->ttl_ms = ask->ttl_ms != 0 ? ask->ttl_ms : LK_TTL_DEFAULT_MS;
        request->deadline_us = times.now_us + request->ttl_ms * 1000;
    }
}

/* R9: other modes, limits and units at the same paths. */
static void convert(struct lk_reference_request *request, const struct lk_ask *ask) {
    for (size_t i = 0; i < request->part_count; i++) {
        for (size_t j = 0; j < ask->part_count; j++) {
            if (is_same_path(&request->parts[i].path, &ask->parts[j].path)) {
                request->parts[i].mode = ask->parts[j].mode;
                request->parts[i].limit = ask->parts[j].limit;
                request->parts[i].units = ask->parts[j].units;
            }
        }
    }
}

/* R7, R10, R22, R13: an ask for what its owner does not have yet. */
static void ask_new(struct lk_reference *reference, const struct lk_ask *ask,
                    struct lk_times times) {
    struct lk_reference_request request = {.owner = ask->owner,
                                           .part_count = ask->part_count,
                                           .state = LK_STATE_WAITING,
                                           .ticket = TICKET_NEWEST};
    bool granted;

    memcpy(request.parts, ask->parts, ask->part_count * sizeof *ask->parts);
    granted = may_be_granted(reference, &request);
    if (!granted && ask->style == LK_TRY) {
        answer(reference, LK_BUSY, 0); /* R10: nothing new stays in line */
        explain(reference, &request);
        return;
    }
    if (is_full(reference, &request, !granted)) {
        answer(reference, LK_FULL, 0);
        return;
    }
    request.arrival = ++reference->arrivals;
    request.ticket = draw(reference, &request, times.wall_us);
    if (granted) {
        request.state = LK_STATE_HELD;
        request.token = request.ticket; /* R4: an immediate grant */
    }
    refresh(&request, ask, times);
    add(reference, &request);
    if (closes_a_cycle(reference, &request)) {
        end(reference, request.arrival);
        answer(reference, LK_DEADLOCK, 0);
        return;
    }
    promote(reference, times);
    answer_as_it_stands(reference, ask, request.arrival);
    reference->answer.created = true;
}

/* R9, R13: more of what its owner holds. Those waiting are passed; it never waits. */
static void strengthen_lease(struct lk_reference *reference, struct lk_reference_request *lease,
                             const struct lk_ask *ask, struct lk_times times) {
    struct lk_reference_request former = *lease;
    struct lk_reference_request wanted = *lease;

    wanted.ticket = TICKET_PASSES;
    convert(&wanted, ask);
    if (conflicts_with_a_lease(reference, &wanted) || !has_room(reference, &wanted)) {
        refresh(lease, ask, times); /* it stays as it was, with its deadline refreshed */
        answer(reference, LK_BUSY, lease->arrival);
        explain(reference, &wanted);
        return;
    }
    convert(lease, ask);
    lease->token = draw(reference, lease, times.wall_us);
    if (closes_a_cycle(reference, lease)) {
        *lease = former;
        answer(reference, LK_DEADLOCK, lease->arrival);
        return;
    }
    refresh(lease, ask, times);
    promote(reference, times);
    answer_as_it_stands(reference, ask, former.arrival);
}

/* R3, R9: an ask for what its owner holds. */
static void ask_lease(struct lk_reference *reference, struct lk_reference_request *lease,
                      const struct lk_ask *ask, struct lk_times times) {
    uint64_t arrival = lease->arrival;

    if (lease->revoked) {
        answer(reference, LK_LOST, arrival); /* R12 */
        return;
    }
    if (is_stronger(lease, ask->parts, ask->part_count)) {
        strengthen_lease(reference, lease, ask, times);
        return;
    }
    convert(lease, ask);
    refresh(lease, ask, times);
    promote(reference, times); /* R9: others may now come in */
    answer_as_it_stands(reference, ask, arrival);
}

/* R3, R9, R10, R13: an ask for what its owner waits for. */
static void ask_waiter(struct lk_reference *reference, struct lk_reference_request *waiter,
                       const struct lk_ask *ask, struct lk_times times) {
    uint64_t arrival = waiter->arrival;
    struct lk_reference_request wanted = *waiter;

    wanted.ticket = TICKET_NEWEST;
    convert(&wanted, ask);
    if (!is_stronger(waiter, ask->parts, ask->part_count)) {
        convert(waiter, ask); /* R9: keeps its place */
    } else if (ask->style != LK_TRY || may_be_granted(reference, &wanted)) {
        convert(waiter, ask);
        waiter->ticket = draw(reference, waiter, times.wall_us);
    }
    refresh(waiter, ask, times);
    promote(reference, times);
    if (closes_a_cycle(reference, find_arrival(reference, arrival))) {
        end(reference, arrival); /* R13: leaves nothing in line */
        promote(reference, times);
        answer(reference, LK_DEADLOCK, 0);
        return;
    }
    answer_as_it_stands(reference, ask, arrival);
}

static void step_ask(struct lk_reference *reference, const struct lk_ask *ask,
                     struct lk_times times) {
    struct lk_reference_request *present;

    if (!is_sound_ask(ask, times)) {
        answer(reference, LK_INVALID, 0);
        return;
    }
    present = find(reference, ask->owner, ask->parts, ask->part_count);
    if (present == NULL) {
        ask_new(reference, ask, times);
    } else if (present->state == LK_STATE_HELD) {
        ask_lease(reference, present, ask, times);
    } else {
        ask_waiter(reference, present, ask, times);
    }
    reference->answer.in_use = lk_reference_units_held(reference, &ask->parts[0].path);
}

/* ---- renewing and ending ---- */

/* R11: only what is held and not revoked. */
static void step_renew(struct lk_reference *reference, const struct lk_renew *renew,
                       struct lk_times times) {
    const struct lk_target *target = &renew->target;
    struct lk_reference_request *lease;

    if (!are_sound_names(target->owner, target->parts, target->part_count)
        || !is_sound_ttl(renew->ttl_ms)) {
        answer(reference, LK_INVALID, 0);
        return;
    }
    lease = find(reference, target->owner, target->parts, target->part_count);
    if (lease == NULL || lease->state != LK_STATE_HELD || lease->revoked
        || (target->token != 0 && target->token != lease->token)) {
        answer(reference, LK_LOST, 0);
        return;
    }
    if (!lease->fixed) {
        lease->ttl_ms = renew->ttl_ms != 0 ? renew->ttl_ms : lease->ttl_ms;
        lease->deadline_us = times.now_us + lease->ttl_ms * 1000;
    }
    answer(reference, LK_OK, lease->arrival);
}

/* R3: the bounded memory of tokens that a release named and ended. */
static void remember(struct lk_reference *reference, const struct lk_target *target,
                     int64_t now_us) {
    struct ended ended = {.owner = target->owner,
                          .part_count = target->part_count,
                          .token = target->token,
                          .ended_us = now_us};

    memcpy(ended.parts, target->parts, target->part_count * sizeof *target->parts);
    reference->ended = grown(reference->ended, reference->ended_count, sizeof *reference->ended);
    reference->ended[reference->ended_count++] = ended;
    if (reference->ended_count > reference->ended_max) {
        reference->ended_count--;
        memmove(reference->ended, reference->ended + 1,
                reference->ended_count * sizeof *reference->ended);
    }
}

static bool recalls(const struct lk_reference *reference, const struct lk_target *target,
                    int64_t now_us) {
    for (size_t i = 0; i < reference->ended_count; i++) {
        const struct ended *ended = &reference->ended[i];
        struct lk_reference_request was = {.owner = ended->owner, .part_count = ended->part_count};
        memcpy(was.parts, ended->parts, ended->part_count * sizeof *ended->parts);
        if (ended->token == target->token && now_us - ended->ended_us < LK_ENDED_MEMORY_US
            && is_same_request(&was, target->owner, target->parts, target->part_count)) {
            return true;
        }
    }
    return false;
}

/* R12: release of a lease, withdrawal of a waiting request. */
static void step_release(struct lk_reference *reference, const struct lk_target *target,
                         struct lk_times times) {
    struct lk_reference_request *request;

    if (!are_sound_names(target->owner, target->parts, target->part_count)) {
        answer(reference, LK_INVALID, 0);
        return;
    }
    request = find(reference, target->owner, target->parts, target->part_count);
    if (request == NULL || (target->token != 0 && target->token != request->token)) {
        bool repeated = target->token != 0 && recalls(reference, target, times.now_us);
        answer(reference, repeated ? LK_OK : LK_LOST, 0);
        return;
    }
    if (target->token != 0) {
        remember(reference, target, times.now_us);
    }
    end(reference, request->arrival);
    promote(reference, times);
    answer(reference, LK_OK, 0);
}

/* R12: waiting requests at exactly this path are withdrawn, leases revoked, or ended at once. */
static void step_break(struct lk_reference *reference, const struct lk_break *broken,
                       struct lk_times times) {
    size_t count = 0;

    for (size_t i = reference->request_count; i-- > 0;) {
        struct lk_reference_request *request = &reference->requests[i];
        if (part_at(request, &broken->path) == NULL
            || (broken->owner.size > 0 && !lk_slice_equal(request->owner, broken->owner))) {
            continue;
        }
        if (request->state == LK_STATE_WAITING || broken->at_once) {
            count++;
            end(reference, request->arrival);
        } else if (!request->revoked) {
            count++;
            request->revoked = true;
        }
    }
    promote(reference, times);
    answer(reference, LK_OK, 0);
    reference->answer.broken = count;
}

/* ---- the door ---- */

const struct lk_reference_answer *lk_reference_step(struct lk_reference *reference,
                                                    const struct lk_event *event) {
    reference->now_us = event->times.now_us;
    perish(reference, event->times);
    switch (event->kind) {
    case LK_EVENT_ASK:
        step_ask(reference, &event->ask, event->times);
        break;
    case LK_EVENT_RENEW:
        step_renew(reference, &event->renew, event->times);
        break;
    case LK_EVENT_RELEASE:
        step_release(reference, &event->release.target, event->times);
        break;
    case LK_EVENT_BREAK:
        step_break(reference, &event->broken, event->times);
        break;
    case LK_EVENT_TICK:
        answer(reference, LK_OK, 0);
        break;
    default:
        answer(reference, LK_UNSUPPORTED, 0); /* values and items are no matter of requests */
        break;
    }
    return &reference->answer;
}
