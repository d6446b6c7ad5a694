/* SPDX-License-Identifier: Apache-2.0 */
/* The reference's state, for the files of this folder only. */
#ifndef LK_TESTS_REFERENCE_INSIDE_H
#define LK_TESTS_REFERENCE_INSIDE_H

#include "reference.h"

/* R4: the last draw of a root. A root is never forgotten. */
struct root {
    struct lk_slice name;
    uint64_t last_draw;
};

/* R3: a token that a release named and ended. */
struct ended {
    struct lk_slice owner;
    struct lk_part parts[LK_PARTS_MAX];
    size_t part_count;
    uint64_t token;
    int64_t ended_us;
};

/* R13: `from` waits for `to`. */
struct edge {
    struct lk_slice from;
    struct lk_slice to;
};

/* Paths that the reference has put together itself, for it and its copies. */
struct texts {
    size_t references;
    char **at;
    size_t count;
};

struct lk_reference {
    struct lk_quotas quotas;
    uint64_t arrivals;
    int64_t now_us; /* of the last step */

    struct lk_reference_request *requests; /* the live ones, in the order of arrival */
    size_t request_count;
    struct root *roots;
    size_t root_count;
    struct ended *ended; /* oldest first */
    size_t ended_count;
    size_t ended_max;

    struct lk_reference_value *values;
    size_t value_count;
    struct lk_reference_item *items; /* by age */
    size_t item_count;
    struct lk_reference_queue *queues;
    size_t queue_count;
    size_t idle_queues_max;
    uint64_t removals; /* of items */
    struct texts *texts;

    struct lk_reference_answer answer;
    struct lk_reference_request *blockers;
    size_t blocker_count;
    struct edge *edges; /* as they were when a cycle was last looked for */
    size_t edge_count;
};

/* A ticket for a claim that comes after all that wait, and one for a claim that passes them. */
#define TICKET_NEWEST UINT64_MAX
#define TICKET_PASSES UINT64_C(0)

/* ---- grant_check.c: R5 to R8, R13, R20, on lists of requests ---- */

bool is_same_request(const struct lk_reference_request *request, struct lk_slice owner,
                     const struct lk_part *parts, size_t part_count); /* R3 */
bool is_stronger(const struct lk_reference_request *request, const struct lk_part *parts,
                 size_t part_count); /* R9 */

bool do_conflict(const struct lk_reference_request *a,
                 const struct lk_reference_request *b); /* R6 */

/* A claim is a request that may be in the list or not yet. */
bool conflicts_with_a_lease(const struct lk_reference *reference,
                            const struct lk_reference_request *claim); /* R7a */
bool conflicts_with_one_ahead(const struct lk_reference *reference,
                              const struct lk_reference_request *claim); /* R7b */
bool has_room(const struct lk_reference *reference,
              const struct lk_reference_request *claim); /* R7c */
bool is_covered(const struct lk_reference *reference,
                const struct lk_reference_request *claim); /* R8 */
bool may_be_granted(const struct lk_reference *reference,
                    const struct lk_reference_request *claim); /* R7, R8 */

void list_blockers(struct lk_reference *reference,
                   const struct lk_reference_request *claim); /* R20 */
bool closes_a_cycle(struct lk_reference *reference,
                    const struct lk_reference_request *request); /* R13 */

/* The part of the request at this very path; NULL: none. */
const struct lk_part *part_at(const struct lk_reference_request *request,
                              const struct lk_path *path);
bool contains(const struct lk_path *outer, const struct lk_path *inner); /* equal, or above */
bool is_same_path(const struct lk_path *a, const struct lk_path *b);

/* ---- step.c: what happens to requests ---- */

void give_answer(struct lk_reference *reference, lk_outcome outcome, uint64_t arrival);
void add_request(struct lk_reference *reference, const struct lk_reference_request *request);
void end_request(struct lk_reference *reference, uint64_t arrival);

/* R4: for a request of these parts; and keeping it. draw() does both. */
uint64_t next_draw(struct lk_reference *reference, const struct lk_part *parts, size_t part_count,
                   int64_t wall_us);
void keep_draw(struct lk_reference *reference, const struct lk_part *parts, size_t part_count,
               uint64_t number);
uint64_t draw(struct lk_reference *reference, const struct lk_part *parts, size_t part_count,
              int64_t wall_us);
void promote(struct lk_reference *reference, struct lk_times times); /* R7, R8, R12 */
void remember(struct lk_reference *reference, const struct lk_target *target,
              int64_t now_us); /* R3 */
bool recalls(const struct lk_reference *reference, const struct lk_target *target,
             int64_t now_us); /* R3 */

/* ---- validity.c: what is INVALID, and what is FULL (R22) ---- */

bool are_valid_parts(const struct lk_part *parts, size_t count);
bool are_valid_names(struct lk_slice owner, const struct lk_part *parts, size_t count);
bool is_valid_ttl(int64_t ttl_ms);
bool is_valid_ask(const struct lk_ask *ask, struct lk_times times);
bool is_valid_take(const struct lk_take *take);
bool is_full(const struct lk_reference *reference, const struct lk_reference_request *newcomer,
             bool waits);

/* ---- values.c: R15 ---- */

const struct lk_reference_value *value_at(const struct lk_reference *reference,
                                          const struct lk_path *path);
void write_value(struct lk_reference *reference, const struct lk_path *path, struct lk_slice bytes);
void doubt_values(struct lk_reference *reference, const struct lk_reference_request *request);
void step_put(struct lk_reference *reference, const struct lk_put *put);

/* ---- work.c: R16 ---- */

void forget_items(struct lk_reference *reference);
void forget_queues(struct lk_reference *reference);

void free_item(struct lk_reference *reference,
               uint64_t claim); /* its claim perished or was broken */
void step_push(struct lk_reference *reference, const struct lk_push *push, struct lk_times times);
void step_take(struct lk_reference *reference, const struct lk_take *take, struct lk_times times);
void step_finish(struct lk_reference *reference, const struct lk_finish *finish,
                 struct lk_times times);
void step_unpark(struct lk_reference *reference, const struct lk_unpark *unpark);
void step_drop(struct lk_reference *reference, const struct lk_drop *drop);

/* NULL: there is no item at this path. Else it is cancelled; *ret_claim: its claim; 0: it is to be
 * removed. */
struct lk_reference_item *cancel_item(struct lk_reference *reference, const struct lk_path *path,
                                      uint64_t *ret_claim);
void remove_item(struct lk_reference *reference, const struct lk_reference_item *item);

/* ---- reference.c ---- */

/* The live request that arrived as this one; NULL: none. */
struct lk_reference_request *find_arrival(const struct lk_reference *reference, uint64_t arrival);

/* realloc() that cannot fail. */
void *grown(void *old, size_t count, size_t size);

#endif
