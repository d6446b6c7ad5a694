/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From calls to what must have been true. Follows each owner's requests (an owner and a set of
 * paths, R3) through its calls, which come one after the other, for an owner is one thread.
 */
#include "evidence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool call_locks(const struct call *call) {
    return call->verb <= VERB_RELEASE;
}

static bool contains(const char *outer, const char *inner) {
    size_t size = strlen(outer);
    return strncmp(outer, inner, size) == 0 && (inner[size] == '/' || inner[size] == '\0');
}

bool evidence_parts_conflict(const struct evidence_part *a, const struct evidence_part *b) {
    return (!a->shared || !b->shared) && (contains(a->path, b->path) || contains(b->path, a->path));
}

/* It is unknown whether it took effect. */
static bool is_unanswered(const struct call *call) {
    return call->answered_us == EVIDENCE_NEVER || call->outcome == LK_UNAVAILABLE;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static bool same_request(const struct call *a, const struct call *b) {
    if (a->part_count != b->part_count || strcmp(a->owner, b->owner) != 0
        || call_locks(a) != call_locks(b)) {
        return false;
    }
    for (size_t i = 0; i < a->part_count; i++) {
        if (strcmp(a->parts[i].path, b->parts[i].path) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- what is put down ------------------------------------------------------------------------ */

void followed_put_hold(struct evidence *evidence, const struct call *call,
                       const struct followed *followed, int64_t to_us) {
    to_us = least(to_us, followed->deadline_us);
    if (followed->forgotten_us != 0) {
        to_us = least(to_us, followed->forgotten_us);
    }
    if (!followed->held || to_us <= followed->from_us) {
        return;
    }
    struct hold *hold = &evidence->holds[evidence->hold_count++];
    *hold = (struct hold){.owner = call->owner,
                          .from_us = followed->from_us,
                          .to_us = to_us,
                          .token = followed->token,
                          .part_count = call->part_count};
    memcpy(hold->parts, followed->parts, sizeof hold->parts);
    memcpy(hold->drawn_for, followed->drawn_for, sizeof hold->drawn_for);
}

/* Whether the number was seen of this request already, before a restart that forgets. */
static bool was_seen(const struct evidence *evidence, const struct call *call, uint64_t value) {
    int64_t forgotten_us = 0; /* what was called before may have been answered before */
    for (size_t i = 0; i < evidence->restart_count; i++) {
        const struct restart *restart = &evidence->restarts[i];
        if (restart_forgets(restart) && call->ended_us > restart->gone_us) {
            forgotten_us = restart->back_us;
        }
    }
    for (size_t i = evidence->draw_count; forgotten_us != 0 && i > 0; i--) {
        const struct drawn *drawn = &evidence->draws[i - 1];
        if (drawn->value == value && drawn->seen->called_us <= forgotten_us
            && same_request(drawn->seen, call)) {
            return true;
        }
    }
    return false;
}

static void put_draws(struct evidence *evidence, const struct call *call, uint64_t value,
                      int64_t not_before_us) {
    if (was_seen(evidence, call, value)) {
        return;
    }
    for (size_t i = 0; i < call->part_count; i++) {
        struct drawn *drawn = &evidence->draws[evidence->draw_count];
        *drawn = (struct drawn){.value = value,
                                .not_before_us = not_before_us,
                                .known_us = call->answered_us,
                                .seen = call};
        size_t size = strcspn(call->parts[i].path, "/");
        memcpy(drawn->root, call->parts[i].path, size);
        bool again = i > 0 && strcmp(drawn->root, drawn[-1].root) == 0;
        evidence->draw_count += again ? 0 : 1;
    }
}

/* The latest deadline of what would have had this one, had the store been there all the time. */
static int64_t outlived(const struct evidence *evidence, int64_t deadline_us) {
    int64_t latest_us = deadline_us;
    for (size_t i = 0; i < evidence->restart_count; i++) {
        const struct restart *restart = &evidence->restarts[i];
        if ((restart_forgets(restart) ? restart->kept_us : restart->gone_us) <= deadline_us) {
            latest_us = greatest(latest_us, restart->back_us + evidence->ttl_max_us);
        }
    }
    return latest_us;
}

void followed_put_presence(struct evidence *evidence, const struct call *call,
                           const struct followed *followed, int64_t to_us) {
    if (followed->ticket != 0 || followed->may_stand) {
        evidence->presences[evidence->presence_count++] =
            (struct presence){.owner = call->owner,
                              .ticket = followed->ticket,
                              .from_us = followed->asked_us,
                              .to_us = least(to_us, outlived(evidence, followed->longest_us))};
    }
}

static void report_early(struct evidence *evidence, const struct call *call, const char *what) {
    evidence->lost_early++;
    printf("# violation lost-early: %s: %s (call %lu at %" PRId64 ") before its deadline\n",
           call->owner, what, call->number, call->called_us);
}

/* ---- one call -------------------------------------------------------------------------------- */

void followed_weaken(struct followed *followed, const struct call *call) {
    for (size_t i = 0; i < call->part_count; i++) {
        struct evidence_part *held = &followed->parts[i];
        held->shared = held->shared || call->parts[i].shared;
        held->units = held->units < call->parts[i].units ? held->units : call->parts[i].units;
    }
}

static bool same_modes(const struct evidence_part *a, const struct evidence_part *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (a[i].shared != b[i].shared || a[i].limit != b[i].limit || a[i].units != b[i].units) {
            return false;
        }
    }
    return true;
}

/*
 * Whether the lease must live still when the call is answered. A call that sets a deadline may be
 * sent twice, as answers can be slow or lost (R3): the second time comes behind the deadline that
 * the first has set.
 */
static bool is_promised(const struct followed *followed, const struct call *call) {
    int64_t set_us =
        call->verb == VERB_RELEASE ? EVIDENCE_NEVER : call->called_us + call->promise_us;
    return followed->held && !followed->disputed
           && least(followed->deadline_us, set_us) > call->answered_us;
}

/* The request is not the one that was followed any more, or is none. */
static void begin_anew(struct evidence *evidence, const struct call *call,
                       struct followed *followed) {
    int64_t put_there_us = followed->may_stand ? followed->asked_us : 0;
    followed_put_presence(evidence, call, followed, call->answered_us);
    *followed = (struct followed){.asked_us = call->created ? call->called_us : put_there_us,
                                  /* An answer that was lost put it there, it is unknown when. */
                                  .ungranted_us = call->created ? call->called_us : 0};
}

static void see_ticket(struct evidence *evidence, const struct call *call,
                       struct followed *followed) {
    if (call->ticket == followed->ticket) {
        return;
    }
    if (call->created || followed->ticket == 0 || followed->disputed) {
        begin_anew(evidence, call, followed);
    } else if (followed->arrival != NULL) {
        followed->arrival->same_parts = false; /* a stronger ask in the queue drew a new one, R9 */
    }
    /* Granted at some moment before this call: for what it had asked for by then. */
    bool granted_unseen = !call->created && call->token != 0;
    followed->ticket = call->ticket;
    /* A refused ask may have drawn it in the queue already, and said nothing of it. */
    put_draws(evidence, call, call->ticket, followed->ungranted_us);
    struct arrival *arrival = &evidence->arrivals[evidence->arrival_count++];
    *arrival = (struct arrival){.owner = call->owner,
                                .ticket = call->ticket,
                                .called_us = followed->asked_us,
                                .same_parts = !granted_unseen,
                                .part_count = call->part_count};
    memcpy(arrival->parts, call->parts, sizeof arrival->parts);
    followed->arrival = arrival;
}

static void see_grant(struct evidence *evidence, const struct call *call,
                      struct followed *followed) {
    bool drawn_for_these = followed->arrival == NULL || followed->arrival->same_parts;
    if (followed->arrival != NULL) {
        followed->arrival->token = call->token;
        followed->arrival->grant_called_us = call->called_us;
        followed->arrival->granted_us = call->answered_us;
        followed->arrival = NULL;
    }
    if (call->token != followed->token) {
        if (call->token != call->ticket) {
            put_draws(evidence, call, call->token,
                      followed->token != 0 && !followed->disputed ? call->called_us
                                                                  : followed->ungranted_us);
        }
        memset(followed->drawn_for, 0, sizeof followed->drawn_for);
        if (drawn_for_these) {
            memcpy(followed->drawn_for, call->parts, sizeof followed->drawn_for);
        }
        followed->token = call->token;
    }
    memcpy(followed->parts, call->parts, sizeof followed->parts);
    followed->held = true;
    followed->from_us = call->answered_us;
    followed->deadline_us = call->called_us + call->promise_us;
    followed->refreshed_us = call->called_us;
    followed->ttl_us = call->ttl_us;
    followed->disputed = false;
}

/* When its owner calls about the same request again. */
static int64_t next_call_us(const struct evidence *evidence, const struct call *call) {
    const struct call *end = evidence->calls + evidence->call_count;
    for (const struct call *next = call + 1; next < end; next++) {
        if (same_request(next, call)) {
            return next->called_us;
        }
    }
    return EVIDENCE_NEVER;
}

static void see_ask(struct evidence *evidence, const struct call *call, struct followed *followed) {
    bool promised = is_promised(followed, call);
    int64_t asked_deadline_us = call->called_us + call->promise_us;
    struct followed before = *followed;
    followed_put_hold(evidence, call, followed, call->called_us);
    if (followed->held) {
        followed->from_us = greatest(call->called_us, followed->from_us);
        followed_weaken(followed, call);
    }
    if (is_unanswered(call)) {
        followed->deadline_us = least(followed->deadline_us, asked_deadline_us);
        followed_put_hold(evidence, call, followed, next_call_us(evidence, call));
        followed->held = false;
        followed->disputed = true;
        followed->ungranted_us = 0;
        followed->longest_us = EVIDENCE_NEVER;
        followed->arrival = NULL;
        if (followed->ticket == 0 && !followed->may_stand) {
            followed->asked_us = call->called_us;
            followed->may_stand = true;
        }
        return;
    }
    if (followed->arrival != NULL
        && !same_modes(followed->arrival->parts, call->parts, call->part_count)) {
        followed->arrival->same_parts = false;
    }
    switch (call->outcome) {
    case LK_GRANTED:
        if (promised && call->created) {
            report_early(evidence, call, "a lease was made again");
        }
        followed_put_hold(evidence, call, followed, least(call->answered_us, asked_deadline_us));
        see_ticket(evidence, call, followed);
        see_grant(evidence, call, followed);
        followed->longest_us = call->answered_us + call->ttl_us;
        return;
    case LK_WAITING:
        if (promised) {
            report_early(evidence, call, "a lease was queued");
        }
        see_ticket(evidence, call, followed);
        followed->held = false;
        followed->disputed = false;
        followed->token = 0;
        followed->ungranted_us = call->called_us;
        followed->longest_us = call->answered_us + call->ttl_us;
        return;
    case LK_TIMEOUT:
        /* Queued still: it was there before, or an answer that was lost had put it there. */
        if (call->ticket != 0 && !followed->held) {
            see_ticket(evidence, call, followed);
        }
        break;
    case LK_BUSY:
    case LK_DEADLOCK:
        break;
    default:
        if (promised) {
            report_early(evidence, call, lk_outcome_name(call->outcome));
        }
        followed->held = false;
        return;
    }
    /* Refused: a lease is as it was; its deadline may have been moved. */
    if (followed->held) {
        followed_put_hold(evidence, call, followed, least(call->answered_us, asked_deadline_us));
        memcpy(followed->parts, before.parts, sizeof followed->parts);
        followed->from_us = greatest(call->answered_us, before.from_us);
        followed->deadline_us = least(before.deadline_us, asked_deadline_us);
        followed->ttl_us = least(before.ttl_us, call->ttl_us);
    }
    followed->longest_us = greatest(followed->longest_us, call->answered_us + call->ttl_us);
}

static void see_renewal(struct evidence *evidence, const struct call *call,
                        struct followed *followed) {
    int64_t renewed_us = call->called_us + call->promise_us;
    bool promised = is_promised(followed, call);
    if (is_unanswered(call)) {
        followed->deadline_us = least(followed->deadline_us, renewed_us);
        followed->ttl_us = least(followed->ttl_us, call->ttl_us);
        followed->longest_us = EVIDENCE_NEVER;
        return;
    }
    if (call->outcome == LK_OK) {
        followed->deadline_us = renewed_us;
        followed->refreshed_us = call->called_us;
        followed->ttl_us = call->ttl_us;
        followed->longest_us = call->answered_us + call->ttl_us;
    } else {
        if (promised) {
            report_early(evidence, call, "a renewal was refused");
        }
        followed_put_hold(evidence, call, followed, call->called_us);
        followed->held = false;
    }
}

static void see_release(struct evidence *evidence, const struct call *call,
                        struct followed *followed) {
    bool promised = is_promised(followed, call);
    if (!is_unanswered(call) && call->outcome != LK_OK && promised) {
        report_early(evidence, call, "a release was refused");
    }
    followed_put_hold(evidence, call, followed, call->called_us);
    followed_put_presence(evidence, call, followed,
                          call->outcome == LK_OK ? call->answered_us : EVIDENCE_NEVER);
    if (is_unanswered(call)) { /* it may be there still, with the numbers that it had */
        followed->held = false;
        followed->arrival = NULL;
        followed->longest_us = EVIDENCE_NEVER;
        return;
    }
    *followed = (struct followed){0};
}

/* ---- all calls ------------------------------------------------------------------------------- */

/*
 * The restart may have come between the decision and the answer: the numbers were drawn, and
 * nothing else is certain. They were drawn by this call if the store cannot have come back with
 * an earlier request for the same paths.
 */
static void see_doubtful(struct evidence *evidence, const struct call *call,
                         const struct followed *followed) {
    if (call->answered_us == EVIDENCE_NEVER || call->verb != VERB_ASK) {
        return;
    }
    bool is_drawn_here = call->created && followed->ticket == 0 && !followed->may_stand;
    int64_t not_before_us = is_drawn_here ? call->called_us : 0;
    if (call->ticket != 0) {
        put_draws(evidence, call, call->ticket, not_before_us);
    }
    if (call->token != 0 && call->token != call->ticket) {
        put_draws(evidence, call, call->token, not_before_us);
    }
}

/* Follows the request of calls[first] through all later calls of its owner. */
static void follow(struct evidence *evidence, size_t first, bool *seen) {
    struct followed followed = {0};
    struct restart_cursor cursor = {0};
    const struct call *last = &evidence->calls[first];
    for (size_t i = first; i < evidence->call_count; i++) {
        struct call *call = &evidence->calls[i];
        if (strcmp(call->owner, last->owner) != 0) {
            break;
        }
        if (seen[i] || !same_request(call, last)) {
            continue;
        }
        seen[i] = true;
        last = call;
        if (restarts_before(evidence, &cursor, call, &followed)) {
            see_doubtful(evidence, call, &followed);
            call->answered_us = EVIDENCE_NEVER;
        }
        switch (call->verb) {
        case VERB_ASK:
            see_ask(evidence, call, &followed);
            break;
        case VERB_RENEW:
            see_renewal(evidence, call, &followed);
            break;
        case VERB_RELEASE:
            see_release(evidence, call, &followed);
            break;
        default: /* about work: kept.c */
            break;
        }
        restarts_after(evidence, &cursor, call, &followed);
    }
    restarts_end(evidence, &cursor, last, &followed);
    followed_put_hold(evidence, last, &followed, EVIDENCE_NEVER);
    followed_put_presence(evidence, last, &followed, EVIDENCE_NEVER);
}

static void *take(size_t count, size_t size) {
    void *taken = calloc(count + 1, size);
    if (taken == NULL) {
        fputs("checker: out of memory\n", stderr);
        exit(2);
    }
    return taken;
}

void evidence_derive(struct evidence *evidence) {
    size_t calls = evidence->call_count;
    bool *seen = take(calls, sizeof *seen);
    /* No call puts down more than these; an arrival or two more for the last of a request. */
    evidence->holds = take(5 * calls, sizeof *evidence->holds);
    evidence->draws = take(2 * EVIDENCE_PARTS_MAX * calls, sizeof *evidence->draws);
    evidence->arrivals = take(calls, sizeof *evidence->arrivals);
    evidence->presences = take(3 * calls, sizeof *evidence->presences);
    for (size_t i = 0; i < calls; i++) {
        struct call *call = &evidence->calls[i];
        evidence->ttl_max_us = greatest(evidence->ttl_max_us, call->ttl_us);
        call->promise_us = greatest(0, call->ttl_us - evidence->clock_moved_us);
    }
    for (size_t i = 0; i < calls; i++) {
        if (!seen[i] && call_locks(&evidence->calls[i])) {
            follow(evidence, i, seen);
        }
    }
    free(seen);
}

void evidence_free(struct evidence *evidence) {
    free(evidence->calls);
    free(evidence->holds);
    free(evidence->draws);
    free(evidence->arrivals);
    free(evidence->presences);
    free(evidence->restarts);
    free(evidence->touches);
    free(evidence->faults);
}
