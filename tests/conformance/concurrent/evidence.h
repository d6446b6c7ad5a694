/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from actors' logs: the calls as they were made, and what must have been true at the
 * store, whatever happened inside it. A hold is *certain* from the answer that granted it to the
 * call that may end or weaken it, or to the deadline promised; it may have lasted longer, never
 * shorter.
 */
#ifndef CONFORMANCE_EVIDENCE_H
#define CONFORMANCE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lockkeeper/terms.h"

enum {
    EVIDENCE_PARTS_MAX = 4,
    EVIDENCE_PATH_MAX = 32,
    EVIDENCE_OWNER_MAX = 32,
    EVIDENCE_ROOTS_MAX = 64,
    EVIDENCE_GIVEN_MAX = 48,
};

#define EVIDENCE_NEVER INT64_MAX /* the instant of an answer that did not come */

struct evidence_part {
    char path[EVIDENCE_PATH_MAX];
    bool shared;
    uint32_t limit;
    uint32_t units; /* exclusive: 0 */
};

enum evidence_verb {
    VERB_ASK,
    VERB_RENEW,
    VERB_RELEASE,
    VERB_PUSH,
    VERB_CLAIM,
    VERB_DONE,
    VERB_RETRY
};

struct call {
    unsigned long number;
    int64_t called_us;
    int64_t answered_us; /* EVIDENCE_NEVER: unknown whether it took effect */
    int64_t ended_us;    /* when it returned, whatever it said; EVIDENCE_NEVER: it did not */
    char owner[EVIDENCE_OWNER_MAX];
    enum evidence_verb verb;
    int64_t ttl_us;
    int64_t promise_us; /* the ttl, less what the wall clock ran ahead */
    struct evidence_part parts[EVIDENCE_PARTS_MAX];
    size_t part_count;
    lk_outcome outcome;
    uint64_t ticket;
    uint64_t token;
    bool created;
    uint64_t named; /* the token that a call on work names, or a release puts as the value; or 0 */
    char given[EVIDENCE_GIVEN_MAX]; /* the value with a grant, the item of a claim; else empty */
};

/* A stretch of time in which an owner certainly held these parts, under one token. */
struct hold {
    const char *owner;
    int64_t from_us;
    int64_t to_us;
    uint64_t token;
    struct evidence_part parts[EVIDENCE_PARTS_MAX];
    /*
     * What the token was drawn for: R7c judged this; what became no stronger was not judged. Parts
     * without a path: it was granted unseen, and converted by the very call that showed it.
     */
    struct evidence_part drawn_for[EVIDENCE_PARTS_MAX];
    size_t part_count;
};

/* A ticket or token, and between which instants it was drawn. */
struct drawn {
    uint64_t value;
    char root[EVIDENCE_PATH_MAX];
    int64_t not_before_us;
    int64_t known_us;
    const struct call *seen; /* where it was seen first */
};

/* A request from its arrival to its first grant. */
struct arrival {
    const char *owner;
    uint64_t ticket;
    uint64_t token; /* of its first grant; 0: none was seen */
    int64_t called_us;
    int64_t grant_called_us; /* when the call began that was answered the grant */
    int64_t granted_us;
    bool same_parts; /* no ask before the grant named other modes */
    struct evidence_part parts[EVIDENCE_PARTS_MAX];
    size_t part_count;
};

/* When an owner may have held anything, at the longest. */
struct presence {
    const char *owner;
    uint64_t ticket;
    int64_t from_us;
    int64_t to_us;
};

/*
 * The store was away and has come back: what lived then lives longer for it, once (R11). A call
 * that ended before `gone_us` was decided before the restart, one that began after `back_us` behind
 * it. The store decided nothing between `down_us` and its return; up to `down_us` it may have, as
 * a kill takes its time. So what was promised beyond `down_us` certainly lived when the store went.
 *
 * A restart that forgets (a fail-over to a replica that had not received everything, a restored
 * backup) goes on from an earlier state. That state has all that was answered before `kept_us` and
 * nothing that was called after `taken_us`. So the effects of calls that were answered later may be
 * undone, until the store is back. Nothing else may: no number is drawn twice (R4), and what that
 * state has remains.
 */
struct restart {
    int64_t gone_us;
    int64_t down_us;
    int64_t back_us;
    int64_t kept_us; /* EVIDENCE_NEVER: nothing is forgotten */
    int64_t taken_us;
    bool unnoticed; /* the store does not know of it, and gives nothing a longer life */
    char roots[EVIDENCE_ROOTS_MAX]; /* that went, each between blanks; empty: all */
};

/* A token was shown to a resource, which remembers the greatest. */
struct touch {
    int64_t begun_us;
    int64_t ended_us;
    char owner[EVIDENCE_OWNER_MAX];
    char path[EVIDENCE_PATH_MAX];
    uint64_t token;
    uint64_t before; /* what it remembered */
};

/* What was done to the store or the way to it. */
struct fault {
    int64_t begun_us;
    int64_t ended_us;
    char kind[EVIDENCE_GIVEN_MAX];
};

struct evidence {
    struct call *calls; /* in the order of each log; logs one after the other */
    size_t call_count;
    struct hold *holds;
    size_t hold_count;
    struct drawn *draws;
    size_t draw_count;
    struct arrival *arrivals;
    size_t arrival_count;
    struct presence *presences;
    size_t presence_count;
    struct restart *restarts;
    size_t restart_count;
    struct touch *touches;
    size_t touch_count;
    struct fault *faults;
    size_t fault_count;
    /* How far the wall clock, by which some count, ran ahead of the clock since boot, if that
     * is more than clocks may differ (R11): so much earlier leases end by the clients' clock. */
    int64_t clock_moved_us;
    int64_t drained_us;  /* all queues were empty after the last push; 0: it is not known */
    int64_t ttl_max_us;  /* of any call */
    size_t stood_count;  /* leases that certainly lived behind a restart */
    size_t graced_count; /* of these, those that it gave a longer life */
    size_t lost_early;   /* answered as lost, or gone, while it was promised */
};

/*
 * Reads one log and appends what is in it; all restarts are in one log, in their order.
 * False, with a line on stderr: it is no log.
 */
bool evidence_read(struct evidence *evidence, const char *path);

/* A log in a file of several: from its heading `== NAME` or `== NAME: KIND` up to the next one. */
struct evidence_case {
    char name[EVIDENCE_GIVEN_MAX];
    char kind[EVIDENCE_GIVEN_MAX]; /* of the violations in it; empty: there is none */
};

/*
 * Reads the next log of such a file. False: behind the last one, with feof(); else something there
 * is no log, with a line on stderr.
 */
bool evidence_read_case(struct evidence *evidence, FILE *in, struct evidence_case *ret_case);

/* Works out all the rest from the calls. Prints what was lost early. */
void evidence_derive(struct evidence *evidence);

void evidence_free(struct evidence *evidence);

/* An array with room for one more than `count`. Ends the program if there is no memory. */
void *evidence_grow(void *array, size_t count, size_t size);

/* Whether the store came back from it with an earlier state. */
bool restart_forgets(const struct restart *restart);

/* Whether it is about locks; the others are about items of work. */
bool call_locks(const struct call *call);

/* R5 and R6 for parts of different owners. */
bool evidence_parts_conflict(const struct evidence_part *a, const struct evidence_part *b);

/* ---- restarts.c: a request while its calls are followed, and over a restart of the store ----- */

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

/* ---- kept.c: what was kept by locks: whether any of it is lost, and whether all goes on ------ */

struct kept {
    /* violations */
    size_t value;    /* R15: an acknowledged value is missing, or one is there that was refused */
    size_t fence;    /* R4: a token lets one in where another holds the lease */
    size_t work;     /* R16: an item is lost, or claimed where it is claimed or done */
    size_t progress; /* behind the faults nothing is granted at a root, or work is left */
    size_t defect;   /* R23: INTERNAL */
    /* checked */
    size_t values;
    size_t touches;
    size_t refused; /* of the touches: the resource had seen a greater token */
    size_t items;
    size_t claims;
};

/* Prints the first violations of each kind. The evidence is derived. */
void kept_check(const struct evidence *evidence, struct kept *ret_kept);

#endif
