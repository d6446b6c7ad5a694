/* SPDX-License-Identifier: Apache-2.0 */
/* The reference's step: what each event does to the list of live requests. */
#include <stdlib.h>

#include "inside.h"

/* ---- the list ---- */

/* R3, which does not know claims (R16). */
static struct lk_reference_request *find(const struct lk_reference *reference,
                                         struct lk_slice owner, const struct lk_part *parts,
                                         size_t part_count) {
    for (size_t i = 0; i < reference->request_count; i++) {
        if (!reference->requests[i].is_claim
            && is_same_request(&reference->requests[i], owner, parts, part_count)) {
            return &reference->requests[i];
        }
    }
    return NULL;
}

void add_request(struct lk_reference *reference, const struct lk_reference_request *request) {
    reference->requests =
        grown(reference->requests, reference->request_count, sizeof *reference->requests);
    reference->requests[reference->request_count++] = *request;
}

void end_request(struct lk_reference *reference, uint64_t arrival) {
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

/* The greater of the wall clock and the last draw + 1, over all roots. */
uint64_t next_draw(struct lk_reference *reference, const struct lk_part *parts, size_t part_count,
                   int64_t wall_us) {
    uint64_t number = wall_us > 0 ? (uint64_t)wall_us : 0;

    for (size_t i = 0; i < part_count; i++) {
        uint64_t next = root_of(reference, &parts[i].path)->last_draw + 1;
        number = next > number ? next : number;
    }
    return number;
}

/* Each root remembers what was drawn in it; what is refused as a deadlock has drawn nothing. */
void keep_draw(struct lk_reference *reference, const struct lk_part *parts, size_t part_count,
               uint64_t number) {
    for (size_t i = 0; i < part_count; i++) {
        root_of(reference, &parts[i].path)->last_draw = number;
    }
}

uint64_t draw(struct lk_reference *reference, const struct lk_part *parts, size_t part_count,
              int64_t wall_us) {
    uint64_t number = next_draw(reference, parts, part_count, wall_us);

    keep_draw(reference, parts, part_count, number);
    return number;
}

/* ---- grants ---- */

/* A promotion draws a new token (R4); a grant to a blocked wait sets the deadline (R10). */
static void grant(struct lk_reference *reference, struct lk_reference_request *request,
                  struct lk_times times) {
    request->state = LK_STATE_HELD;
    request->token = draw(reference, request->parts, request->part_count, times.wall_us);
    if (request->attended && !request->fixed) {
        request->deadline_us = times.now_us + request->ttl_ms * 1000;
    }
}

/*
 * Grants the waiting request with the smallest ticket that R7 or R8 allows, until there is none.
 * R11: whose deadline is this very moment is dead already, and nothing revives it.
 */
void promote(struct lk_reference *reference, struct lk_times times) {
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

/* It ends, and its holder has not said how far it had come (R15, R16). */
static void lose(struct lk_reference *reference, uint64_t arrival) {
    doubt_values(reference, find_arrival(reference, arrival));
    free_item(reference, arrival);
    end_request(reference, arrival);
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
        lose(reference, first->arrival);
        promote(reference, moment);
    }
}

/* ---- answers ---- */

void give_answer(struct lk_reference *reference, lk_outcome outcome, uint64_t arrival) {
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
        give_answer(reference, LK_GRANTED, arrival);
        for (size_t i = 0; ask->wants_value && i < ask->part_count; i++) { /* R15 */
            reference->answer.values[i] = value_at(reference, &ask->parts[i].path);
            reference->answer.value_count++;
        }
    } else {
        give_answer(reference, ask->style == LK_TRY ? LK_BUSY : LK_WAITING, arrival); /* R10 */
        explain(reference, request);
    }
}

/* ---- the ask ---- */

/* R11: now + ttl, or a fixed instant, which nothing moves from then on. */
static void refresh(struct lk_reference_request *request, const struct lk_ask *ask,
                    struct lk_times times) {
    request->wants_value = request->wants_value || ask->wants_value;
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
        give_answer(reference, LK_BUSY, 0); /* R10: nothing new stays queued */
        explain(reference, &request);
        return;
    }
    if (is_full(reference, &request, !granted)) {
        give_answer(reference, LK_FULL, 0);
        return;
    }
    request.arrival = ++reference->arrivals;
    request.ticket = next_draw(reference, request.parts, request.part_count, times.wall_us);
    if (granted) {
        request.state = LK_STATE_HELD;
        request.token = request.ticket; /* R4: an immediate grant */
    }
    refresh(&request, ask, times);
    add_request(reference, &request);
    if (closes_a_cycle(reference, &request)) {
        end_request(reference, request.arrival);
        give_answer(reference, LK_DEADLOCK, 0);
        return;
    }
    keep_draw(reference, request.parts, request.part_count, request.ticket);
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
        give_answer(reference, LK_BUSY, lease->arrival);
        explain(reference, &wanted);
        return;
    }
    convert(lease, ask);
    lease->token = next_draw(reference, lease->parts, lease->part_count, times.wall_us);
    if (closes_a_cycle(reference, lease)) {
        *lease = former;
        give_answer(reference, LK_DEADLOCK, lease->arrival);
        return;
    }
    keep_draw(reference, lease->parts, lease->part_count, lease->token);
    refresh(lease, ask, times);
    promote(reference, times);
    answer_as_it_stands(reference, ask, former.arrival);
}

/* R3, R9: an ask for what its owner holds. */
static void ask_lease(struct lk_reference *reference, struct lk_reference_request *lease,
                      const struct lk_ask *ask, struct lk_times times) {
    uint64_t arrival = lease->arrival;

    if (lease->revoked) {
        give_answer(reference, LK_LOST, arrival); /* R12 */
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
        waiter->ticket = draw(reference, waiter->parts, waiter->part_count, times.wall_us);
    }
    refresh(waiter, ask, times);
    promote(reference, times);
    if (closes_a_cycle(reference, find_arrival(reference, arrival))) {
        end_request(reference, arrival); /* R13: leaves nothing queued */
        promote(reference, times);
        give_answer(reference, LK_DEADLOCK, 0);
        return;
    }
    answer_as_it_stands(reference, ask, arrival);
}

static void step_ask(struct lk_reference *reference, const struct lk_ask *ask,
                     struct lk_times times) {
    struct lk_reference_request *present;

    if (!is_valid_ask(ask, times)) {
        give_answer(reference, LK_INVALID, 0);
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
static bool may_be_renewed(const struct lk_reference_request *lease,
                           const struct lk_target *target) {
    return lk_slice_equal(lease->owner, target->owner) && lease->state == LK_STATE_HELD
           && !lease->revoked && (target->token == 0 || target->token == lease->token);
}

/* The lease of these paths (R3); or the claim of these, or of the item at this one (R16). */
static struct lk_reference_request *find_lease(const struct lk_reference *reference,
                                               const struct lk_target *target) {
    struct lk_reference_request *lease =
        find(reference, target->owner, target->parts, target->part_count);

    if (lease != NULL && may_be_renewed(lease, target)) {
        return lease;
    }
    for (size_t i = 0; i < reference->request_count; i++) {
        struct lk_reference_request *claim = &reference->requests[i];
        bool named = is_same_request(claim, target->owner, target->parts, target->part_count)
                     || (target->part_count == 1
                         && is_same_path(&claim->parts[0].path, &target->parts[0].path));
        if (claim->is_claim && named && may_be_renewed(claim, target)) {
            return claim;
        }
    }
    return NULL;
}

static void step_renew(struct lk_reference *reference, const struct lk_renew *renew,
                       struct lk_times times) {
    const struct lk_target *target = &renew->target;
    struct lk_reference_request *lease;

    if (!are_valid_names(target->owner, target->parts, target->part_count)
        || !is_valid_ttl(renew->ttl_ms)) {
        give_answer(reference, LK_INVALID, 0);
        return;
    }
    lease = find_lease(reference, target);
    if (lease == NULL) {
        give_answer(reference, LK_LOST, 0);
        return;
    }
    if (!lease->fixed) {
        lease->ttl_ms = renew->ttl_ms != 0 ? renew->ttl_ms : lease->ttl_ms;
        lease->deadline_us = times.now_us + lease->ttl_ms * 1000;
    }
    give_answer(reference, LK_OK, lease->arrival);
}

/* R3: the bounded memory of tokens that a release named and ended. */
void remember(struct lk_reference *reference, const struct lk_target *target, int64_t now_us) {
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

bool recalls(const struct lk_reference *reference, const struct lk_target *target, int64_t now_us) {
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

/* R15: an exclusive lease of every path whose value is to be written. */
static bool may_put(const struct lk_reference_request *lease, const struct lk_release *release) {
    for (size_t i = 0; i < release->put_count; i++) {
        const struct lk_path *path = &release->target.parts[release->puts[i].part].path;
        if (lease->state != LK_STATE_HELD || part_at(lease, path)->mode != LK_EXCLUSIVE) {
            return false;
        }
    }
    return true;
}

/* One value at most for each part, in their order, of a size that a value may have. */
static bool are_valid_puts(const struct lk_release *release) {
    for (size_t i = 0; i < release->put_count; i++) {
        if (release->puts[i].part >= release->target.part_count
            || (i > 0 && release->puts[i].part <= release->puts[i - 1].part)
            || release->puts[i].bytes.size > LK_VALUE_BYTES_MAX) {
            return false;
        }
    }
    return true;
}

/* R12: release of a lease, withdrawal of a waiting request. */
static void step_release(struct lk_reference *reference, const struct lk_release *release,
                         struct lk_times times) {
    const struct lk_target *target = &release->target;
    struct lk_reference_request *request;

    if (!are_valid_names(target->owner, target->parts, target->part_count)
        || !are_valid_puts(release)) {
        give_answer(reference, LK_INVALID, 0);
        return;
    }
    request = find(reference, target->owner, target->parts, target->part_count);
    if (request == NULL || (target->token != 0 && target->token != request->token)) {
        bool repeated = target->token != 0 && recalls(reference, target, times.now_us);
        give_answer(reference, repeated ? LK_OK : LK_LOST, 0);
        return;
    }
    if (!may_put(request, release)) {
        give_answer(reference, LK_LOST, 0); /* R15: nothing is written, nothing ends */
        return;
    }
    for (size_t i = 0; i < release->put_count; i++) {
        write_value(reference, &target->parts[release->puts[i].part].path, release->puts[i].bytes);
    }
    if (target->token != 0) {
        remember(reference, target, times.now_us);
    }
    end_request(reference, request->arrival);
    promote(reference, times);
    give_answer(reference, LK_OK, 0);
}

/* R16: the claim of these paths, or of the item at this one. */
static struct lk_reference_request *find_claim(const struct lk_reference *reference,
                                               const struct lk_target *target) {
    for (size_t i = 0; i < reference->request_count; i++) {
        struct lk_reference_request *claim = &reference->requests[i];
        bool named = is_same_request(claim, target->owner, target->parts, target->part_count)
                     || (target->part_count == 1 && lk_slice_equal(claim->owner, target->owner)
                         && is_same_path(&claim->parts[0].path, &target->parts[0].path));
        if (claim->is_claim && named && (target->token == 0 || target->token == claim->token)) {
            return claim;
        }
    }
    return NULL;
}

/* R18: as if its deadline were now; or R10: no wait keeps it alive any more. */
static void step_leave(struct lk_reference *reference, const struct lk_leave *leave,
                       struct lk_times times) {
    const struct lk_target *target = &leave->target;
    struct lk_reference_request *request;

    if (!are_valid_names(target->owner, target->parts, target->part_count)) {
        give_answer(reference, LK_INVALID, 0);
        return;
    }
    request = leave->is_claim ? find_claim(reference, target)
                              : find(reference, target->owner, target->parts, target->part_count);
    if (request == NULL || (target->token != 0 && target->token != request->token)) {
        give_answer(reference, LK_LOST, 0);
        return;
    }
    if (leave->is_of_wait) {
        request->attended = false;
        give_answer(reference, LK_OK, request->arrival);
        return;
    }
    lose(reference, request->arrival);
    promote(reference, times);
    give_answer(reference, LK_OK, 0);
}

/* R16: the item's claim is revoked or ended, and the item goes with it. */
static void step_cancel(struct lk_reference *reference, const struct lk_break *broken,
                        struct lk_times times) {
    uint64_t claim;
    struct lk_reference_item *item = cancel_item(reference, &broken->path, &claim);

    if (item == NULL) {
        give_answer(reference, LK_LOST, 0);
        return;
    }
    give_answer(reference, LK_OK, 0);
    reference->answer.has_item = true;
    reference->answer.item = *item;
    reference->answer.broken = claim != 0;
    if (claim == 0) {
        remove_item(reference, item);
    } else if (broken->at_once) {
        reference->answer.item.state = LK_ITEM_GONE;
        lose(reference, claim);
    } else {
        find_arrival(reference, claim)->revoked = true;
    }
    promote(reference, times);
}

/* R12: waiting requests at exactly this path are withdrawn, leases revoked, or ended at once. */
static void step_break(struct lk_reference *reference, const struct lk_break *broken,
                       struct lk_times times) {
    size_t count = 0;

    if (broken->cancels) {
        step_cancel(reference, broken, times);
        return;
    }
    for (size_t i = reference->request_count; i-- > 0;) {
        struct lk_reference_request *request = &reference->requests[i];
        if (part_at(request, &broken->path) == NULL
            || (broken->owner.size > 0 && !lk_slice_equal(request->owner, broken->owner))) {
            continue;
        }
        if (request->state == LK_STATE_WAITING || broken->at_once) {
            count++;
            lose(reference, request->arrival);
        } else if (!request->revoked) {
            count++;
            request->revoked = true;
        }
    }
    promote(reference, times);
    give_answer(reference, LK_OK, 0);
    reference->answer.broken = count;
}

/* ---- the entry point ---- */

const struct lk_reference_answer *lk_reference_step(struct lk_reference *reference,
                                                    const struct lk_command *command) {
    reference->now_us = command->times.now_us;
    perish(reference, command->times);
    forget_items(reference);
    forget_queues(reference);
    switch (command->kind) {
    case LK_COMMAND_ASK:
        step_ask(reference, &command->ask, command->times);
        break;
    case LK_COMMAND_RENEW:
        step_renew(reference, &command->renew, command->times);
        break;
    case LK_COMMAND_RELEASE:
        step_release(reference, &command->release, command->times);
        break;
    case LK_COMMAND_BREAK:
        step_break(reference, &command->broken, command->times);
        break;
    case LK_COMMAND_TICK:
        give_answer(reference, LK_OK, 0);
        break;
    case LK_COMMAND_PUT:
        step_put(reference, &command->put);
        break;
    case LK_COMMAND_PUSH:
        step_push(reference, &command->push, command->times);
        break;
    case LK_COMMAND_TAKE:
        step_take(reference, &command->take, command->times);
        break;
    case LK_COMMAND_FINISH:
        step_finish(reference, &command->finish, command->times);
        break;
    case LK_COMMAND_UNPARK:
        step_unpark(reference, &command->unpark);
        break;
    case LK_COMMAND_DROP:
        step_drop(reference, &command->drop);
        break;
    case LK_COMMAND_LEAVE:
        step_leave(reference, &command->leave, command->times);
        break;
    }
    return &reference->answer;
}
