/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A naive reference of the rules: quadratic, slow, meant to be compared with docs/rules.md by
 * reading, sentence by sentence. It takes the events of model/model.h and shares its structs and
 * the parsing of paths, but not one decision: relations, conflicts, covers, limits, cycles and
 * everything above them are written again here.
 *
 * Ownership: names, paths and notes in events are borrowed for the reference's whole life, not
 * only for the call. Memory: what cannot be allocated aborts; this is for tests only.
 */
#ifndef LK_TESTS_REFERENCE_H
#define LK_TESTS_REFERENCE_H

#include "model/model.h"

struct lk_reference;

/* A live request, or one in the way of an answer. */
struct lk_reference_request {
    uint64_t arrival; /* 1, 2, 3, ... in the order of arrival; names the request */
    struct lk_slice owner;
    struct lk_part parts[LK_PARTS_MAX]; /* in the order of its first ask */
    size_t part_count;
    enum lk_state state;
    bool revoked;
    bool attended; /* the last ask was LK_WAIT */
    bool fixed;    /* the deadline came from `until` */
    uint64_t ticket;
    uint64_t token; /* 0 while waiting */
    int64_t ttl_ms;
    int64_t deadline_us;
    struct lk_slice note;
};

struct lk_reference_answer {
    lk_outcome outcome;
    uint64_t arrival; /* of the live request that the event was about; 0: none is left */
    bool created;
    uint64_t in_use;
    size_t broken;
    const struct lk_reference_request *blockers; /* all of them (D8): holders, then by ticket */
    size_t blocker_count;
};

struct lk_reference *lk_reference_new(const struct lk_quotas *quotas, size_t ended_max);
void lk_reference_free(struct lk_reference *reference);
struct lk_reference *lk_reference_copy(const struct lk_reference *reference);

/* The answer is valid until the next step. */
const struct lk_reference_answer *lk_reference_step(struct lk_reference *reference,
                                                    const struct lk_event *event);

/* LK_NEVER if nothing lives. */
int64_t lk_reference_next_deadline(const struct lk_reference *reference);

/* The live requests, in the order of arrival. Valid until the next step. */
const struct lk_reference_request *lk_reference_live(const struct lk_reference *reference,
                                                     size_t *ret_count);

/*
 * R13: whether these owners, the asker first, were a cycle when the last step answered DEADLOCK:
 * each waited for the next one, and the last one for the first.
 */
bool lk_reference_is_cycle(const struct lk_reference *reference, const struct lk_slice *owners,
                           size_t count);

/* What is in the way of a waiting request (R20), as in an answer. Valid until the next call. */
const struct lk_reference_request *lk_reference_blockers(struct lk_reference *reference,
                                                         uint64_t arrival, size_t *ret_count);

uint64_t lk_reference_units_held(const struct lk_reference *reference, const struct lk_path *path);

/*
 * What must hold at rest, computed from the list alone: no conflicting leases of two owners (R6),
 * one request for an owner and its paths (R3), nobody in line who may go (R7, R8), nothing past
 * its deadline (R11). NULL, or a sentence that says what is wrong.
 */
const char *lk_reference_check(const struct lk_reference *reference);

#endif
