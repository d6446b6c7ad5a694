/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of one request while its calls are followed, and what a restart of the store leaves
 * of that.
 */
#ifndef CONFORMANCE_RESTARTS_H
#define CONFORMANCE_RESTARTS_H

#include "evidence.h"

/* What is known of the request that is being followed. */
struct followed {
    bool held; /* certainly, from `from_us` on, until `deadline_us` at least */
    int64_t from_us;
    int64_t deadline_us;
    int64_t refreshed_us; /* when the call began that set it last, for certain */
    int64_t ttl_us;       /* by which it was set, at the least */
    int64_t forgotten_us; /* not 0: what is known may be undone then, by a restart that forgets */
    int64_t longest_us;   /* the latest deadline that it can have */
    int64_t asked_us;     /* of the first call about it */
    bool may_stand;       /* an ask about it was not answered, and may have put it there */
    bool disputed; /* it may have other numbers: an answer is lost, or a state of the store */
    int64_t ungranted_us; /* it had no token yet when a call that began then was decided */
    uint64_t ticket;
    uint64_t token;
    struct evidence_part parts[EVIDENCE_PARTS_MAX];
    struct evidence_part drawn_for[EVIDENCE_PARTS_MAX];
    struct arrival *arrival; /* NULL: not waiting for its first grant */
};

/* The certain hold ends here at the latest, or goes on with other parts or another token. */
void followed_put_hold(struct evidence *evidence, const struct call *call,
                       const struct followed *followed, int64_t to_us);

void followed_put_presence(struct evidence *evidence, const struct call *call,
                           const struct followed *followed, int64_t to_us);

/* While an ask that may convert is under way, only the weaker of both modes is certain. */
void followed_weaken(struct followed *followed, const struct call *call);

/* How far the calls of a request have come on the way over all restarts. Begins as zeros. */
struct restart_cursor {
    size_t next;     /* the restart that comes next, */
    bool is_crossed; /* or is crossed, but calls may have met the store on either side of it */
    bool has_baseline;
    bool has_lost;            /* calls that it may undo */
    struct followed baseline; /* what is certain in whichever state the store goes on from */
};

/*
 * Crosses the restarts that lie before the call. Returns whether the call may have met the store
 * on either side of one that forgets: then what it did may be undone although it was answered.
 */
bool restarts_before(struct evidence *evidence, struct restart_cursor *cursor,
                     const struct call *call, struct followed *followed);

/* What the call did, of which `followed` knows by now, may be undone. */
void restarts_after(const struct evidence *evidence, struct restart_cursor *cursor,
                    const struct call *call, struct followed *followed);

/* Crosses all restarts that are left, behind the last call. */
void restarts_end(struct evidence *evidence, struct restart_cursor *cursor, const struct call *last,
                  struct followed *followed);

#endif
