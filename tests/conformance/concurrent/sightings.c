/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From calls to what must have been true. Follows each owner's requests (an owner and a set of
 * paths, R3) through its calls, which come one after the other, for an owner is one thread.
 */
#include "sightings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool contains(const char *outer, const char *inner) {
    size_t size = strlen(outer);
    return strncmp(outer, inner, size) == 0 && (inner[size] == '/' || inner[size] == '\0');
}

bool sighting_parts_conflict(const struct sighting_part *a, const struct sighting_part *b) {
    return (!a->shared || !b->shared) && (contains(a->path, b->path) || contains(b->path, a->path));
}

/* What is known of the request that is being followed. */
struct followed {
    bool held; /* certainly, from `from_us` on, until `deadline_us` at least */
    int64_t from_us;
    int64_t deadline_us;
    int64_t longest_us;   /* the latest deadline that it can have */
    int64_t asked_us;     /* of the first call about it */
    bool may_stand;       /* an ask about it was not answered, and may have put it there */
    int64_t ungranted_us; /* it had no token yet when a call that began then was decided */
    uint64_t ticket;
    uint64_t token;
    struct sighting_part parts[SIGHTING_PARTS_MAX];
    struct sighting_part drawn_for[SIGHTING_PARTS_MAX];
    struct arrival *arrival; /* NULL: not waiting for its first grant */
};

/* Nobody knows whether it took effect. */
static bool is_unanswered(const struct call *call) {
    return call->answered_us == SIGHTING_NEVER || call->outcome == LK_UNAVAILABLE;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* ---- what is put down ------------------------------------------------------------------------ */

/* The certain hold ends here at the latest, or goes on with other parts or another token. */
static void put_hold(struct sightings *sightings, const struct call *call,
                     struct followed *followed, int64_t to_us) {
    to_us = least(to_us, followed->deadline_us);
    if (!followed->held || to_us <= followed->from_us) {
        return;
    }
    struct hold *hold = &sightings->holds[sightings->hold_count++];
    *hold = (struct hold){.owner = call->owner,
                          .from_us = followed->from_us,
                          .to_us = to_us,
                          .token = followed->token,
                          .part_count = call->part_count};
    memcpy(hold->parts, followed->parts, sizeof hold->parts);
    memcpy(hold->drawn_for, followed->drawn_for, sizeof hold->drawn_for);
}

static void put_draws(struct sightings *sightings, const struct call *call, uint64_t value,
                      int64_t not_before_us) {
    for (size_t i = 0; i < call->part_count; i++) {
        struct drawn *drawn = &sightings->draws[sightings->draw_count];
        *drawn = (struct drawn){.value = value,
                                .not_before_us = not_before_us,
                                .known_us = call->answered_us,
                                .seen = call};
        size_t size = strcspn(call->parts[i].path, "/");
        memcpy(drawn->root, call->parts[i].path, size);
        bool again = i > 0 && strcmp(drawn->root, drawn[-1].root) == 0;
        sightings->draw_count += again ? 0 : 1;
    }
}

/* The latest deadline of what would have had this one, had the store been there all the time. */
static int64_t outlived(const struct sightings *sightings, int64_t deadline_us) {
    int64_t latest_us = deadline_us;
    for (size_t i = 0; i < sightings->restart_count; i++) {
        const struct restart *restart = &sightings->restarts[i];
        if (restart->gone_us <= deadline_us) {
            latest_us = greatest(latest_us, restart->back_us + sightings->ttl_max_us);
        }
    }
    return latest_us;
}

static void put_presence(struct sightings *sightings, const struct call *call,
                         const struct followed *followed, int64_t to_us) {
    if (followed->ticket != 0 || followed->may_stand) {
        sightings->presences[sightings->presence_count++] =
            (struct presence){.owner = call->owner,
                              .ticket = followed->ticket,
                              .from_us = followed->asked_us,
                              .to_us = least(to_us, outlived(sightings, followed->longest_us))};
    }
}

static void told_early(struct sightings *sightings, const struct call *call, const char *what) {
    sightings->lost_early++;
    printf("# violation lost-early: %s: %s (call %lu at %" PRId64 ") before its deadline\n",
           call->owner, what, call->number, call->called_us);
}

/* ---- one call -------------------------------------------------------------------------------- */

/* While an ask that may convert is under way, only the weaker of both modes is certain. */
static void weaken(struct followed *followed, const struct call *call) {
    for (size_t i = 0; i < call->part_count; i++) {
        struct sighting_part *held = &followed->parts[i];
        held->shared = held->shared || call->parts[i].shared;
        held->units = held->units < call->parts[i].units ? held->units : call->parts[i].units;
    }
}

static bool same_modes(const struct sighting_part *a, const struct sighting_part *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (a[i].shared != b[i].shared || a[i].limit != b[i].limit || a[i].units != b[i].units) {
            return false;
        }
    }
    return true;
}

/* The request is not the one that was followed any more, or is none. */
static void begin_anew(struct sightings *sightings, const struct call *call,
                       struct followed *followed) {
    int64_t put_there_us = followed->may_stand ? followed->asked_us : 0;
    put_presence(sightings, call, followed, call->answered_us);
    *followed = (struct followed){.asked_us = call->created ? call->called_us : put_there_us,
                                  /* An answer that was lost put it there, nobody knows when. */
                                  .ungranted_us = call->created ? call->called_us : 0};
}

static void see_ticket(struct sightings *sightings, const struct call *call,
                       struct followed *followed) {
    if (call->ticket == followed->ticket) {
        return;
    }
    if (call->created || followed->ticket == 0) {
        begin_anew(sightings, call, followed);
    } else if (followed->arrival != NULL) {
        followed->arrival->same_parts = false; /* a stronger ask in line drew a new one, R9 */
    }
    /* Granted in line at some moment before this call: for what it had asked for by then. */
    bool granted_unseen = !call->created && call->token != 0 && call->token != call->ticket;
    followed->ticket = call->ticket;
    /* A refused ask may have drawn it in line already, and said nothing of it. */
    put_draws(sightings, call, call->ticket, followed->ungranted_us);
    struct arrival *arrival = &sightings->arrivals[sightings->arrival_count++];
    *arrival = (struct arrival){.owner = call->owner,
                                .ticket = call->ticket,
                                .called_us = followed->asked_us,
                                .same_parts = !granted_unseen,
                                .part_count = call->part_count};
    memcpy(arrival->parts, call->parts, sizeof arrival->parts);
    followed->arrival = arrival;
}

static void see_grant(struct sightings *sightings, const struct call *call,
                      struct followed *followed) {
    bool drawn_for_these = followed->arrival == NULL || followed->arrival->same_parts;
    if (followed->arrival != NULL) {
        followed->arrival->token = call->token;
        followed->arrival->granted_us = call->answered_us;
        followed->arrival = NULL;
    }
    if (call->token != followed->token) {
        if (call->token != call->ticket) {
            put_draws(sightings, call, call->token,
                      followed->token != 0 ? call->called_us : followed->ungranted_us);
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
    followed->deadline_us = call->called_us + call->ttl_us;
}

static void see_ask(struct sightings *sightings, const struct call *call,
                    struct followed *followed) {
    bool promised = followed->held && followed->deadline_us > call->answered_us;
    int64_t asked_deadline_us = call->called_us + call->ttl_us;
    struct followed before = *followed;
    put_hold(sightings, call, followed, call->called_us);
    if (followed->held) {
        followed->from_us = greatest(call->called_us, followed->from_us);
        weaken(followed, call);
    }
    if (is_unanswered(call)) {
        followed->deadline_us = least(followed->deadline_us, asked_deadline_us);
        put_hold(sightings, call, followed, SIGHTING_NEVER);
        followed->held = false;
        followed->longest_us = SIGHTING_NEVER;
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
            told_early(sightings, call, "a lease was made anew");
        }
        put_hold(sightings, call, followed, least(call->answered_us, asked_deadline_us));
        see_ticket(sightings, call, followed);
        see_grant(sightings, call, followed);
        followed->longest_us = call->answered_us + call->ttl_us;
        return;
    case LK_WAITING:
        if (promised) {
            told_early(sightings, call, "a lease was put in line");
        }
        see_ticket(sightings, call, followed);
        followed->held = false;
        followed->token = 0;
        followed->ungranted_us = call->called_us;
        followed->longest_us = call->answered_us + call->ttl_us;
        return;
    case LK_TIMEOUT:
        /* In line still: it stood before, or an answer that was lost had put it there. */
        if (call->ticket != 0 && !followed->held) {
            see_ticket(sightings, call, followed);
        }
        break;
    case LK_BUSY:
    case LK_DEADLOCK:
        break;
    default:
        if (promised) {
            told_early(sightings, call, lk_outcome_name(call->outcome));
        }
        followed->held = false;
        return;
    }
    /* Refused: a lease is as it was; its deadline may have been moved. */
    if (followed->held) {
        put_hold(sightings, call, followed, least(call->answered_us, asked_deadline_us));
        memcpy(followed->parts, before.parts, sizeof followed->parts);
        followed->from_us = greatest(call->answered_us, before.from_us);
        followed->deadline_us = least(before.deadline_us, asked_deadline_us);
    }
    followed->longest_us = greatest(followed->longest_us, call->answered_us + call->ttl_us);
}

static void see_renewal(struct sightings *sightings, const struct call *call,
                        struct followed *followed) {
    int64_t renewed_us = call->called_us + call->ttl_us;
    bool promised = followed->held && followed->deadline_us > call->answered_us;
    if (is_unanswered(call)) {
        followed->deadline_us = least(followed->deadline_us, renewed_us);
        followed->longest_us = SIGHTING_NEVER;
        return;
    }
    if (call->outcome == LK_OK) {
        followed->deadline_us = renewed_us;
        followed->longest_us = call->answered_us + call->ttl_us;
    } else {
        if (promised) {
            told_early(sightings, call, "a renewal was refused");
        }
        put_hold(sightings, call, followed, call->called_us);
        followed->held = false;
    }
}

static void see_release(struct sightings *sightings, const struct call *call,
                        struct followed *followed) {
    bool promised = followed->held && followed->deadline_us > call->answered_us;
    if (!is_unanswered(call) && call->outcome != LK_OK && promised) {
        told_early(sightings, call, "a release was refused");
    }
    put_hold(sightings, call, followed, call->called_us);
    put_presence(sightings, call, followed,
                 call->outcome == LK_OK ? call->answered_us : SIGHTING_NEVER);
    if (is_unanswered(call)) { /* it may be there still, with the numbers that it had */
        followed->held = false;
        followed->arrival = NULL;
        followed->longest_us = SIGHTING_NEVER;
        return;
    }
    *followed = (struct followed){0};
}

/* ---- all calls ------------------------------------------------------------------------------- */

static bool same_request(const struct call *a, const struct call *b) {
    if (a->part_count != b->part_count || strcmp(a->owner, b->owner) != 0) {
        return false;
    }
    for (size_t i = 0; i < a->part_count; i++) {
        if (strcmp(a->parts[i].path, b->parts[i].path) != 0) {
            return false;
        }
    }
    return true;
}

/* Follows the request of calls[first] through all later calls of its owner. */
static void follow(struct sightings *sightings, size_t first, bool *seen) {
    struct followed followed = {0};
    const struct call *last = &sightings->calls[first];
    for (size_t i = first; i < sightings->call_count; i++) {
        const struct call *call = &sightings->calls[i];
        if (strcmp(call->owner, last->owner) != 0) {
            break;
        }
        if (seen[i] || !same_request(call, last)) {
            continue;
        }
        seen[i] = true;
        last = call;
        switch (call->verb) {
        case VERB_ASK:
            see_ask(sightings, call, &followed);
            break;
        case VERB_RENEW:
            see_renewal(sightings, call, &followed);
            break;
        case VERB_RELEASE:
            see_release(sightings, call, &followed);
            break;
        }
    }
    put_hold(sightings, last, &followed, SIGHTING_NEVER);
    put_presence(sightings, last, &followed, SIGHTING_NEVER);
}

static void *take(size_t count, size_t size) {
    void *taken = calloc(count + 1, size);
    if (taken == NULL) {
        fputs("checker: out of memory\n", stderr);
        exit(2);
    }
    return taken;
}

void sightings_derive(struct sightings *sightings) {
    size_t calls = sightings->call_count;
    bool *seen = take(calls, sizeof *seen);
    /* No call puts down more than these; an arrival or two more for the last of a request. */
    sightings->holds = take(4 * calls, sizeof *sightings->holds);
    sightings->draws = take(2 * SIGHTING_PARTS_MAX * calls, sizeof *sightings->draws);
    sightings->arrivals = take(calls, sizeof *sightings->arrivals);
    sightings->presences = take(2 * calls, sizeof *sightings->presences);
    for (size_t i = 0; i < calls; i++) {
        sightings->ttl_max_us = greatest(sightings->ttl_max_us, sightings->calls[i].ttl_us);
    }
    for (size_t i = 0; i < calls; i++) {
        if (!seen[i]) {
            follow(sightings, i, seen);
        }
    }
    free(seen);
}

void sightings_free(struct sightings *sightings) {
    free(sightings->calls);
    free(sightings->holds);
    free(sightings->draws);
    free(sightings->arrivals);
    free(sightings->presences);
    free(sightings->restarts);
}
