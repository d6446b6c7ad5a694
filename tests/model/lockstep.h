/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model and the reference side by side: every event goes to both, and everything that can be
 * seen of them is compared. After each step, too: lk_model_check(), the reference's own invariants,
 * numbers that rise in each root (R4), and that the step's changes name every request, value, item
 * and queue that is different now, so that a store which writes down only those has written enough.
 */
#ifndef LK_TESTS_MODEL_LOCKSTEP_H
#define LK_TESTS_MODEL_LOCKSTEP_H

#include "model/model.h"
#include "reference.h"

/* One request on both sides. */
struct lockstep_match {
    uint64_t id;      /* in the model */
    uint64_t arrival; /* in the reference */
};

struct lockstep_root {
    char name[LK_SEGMENT_BYTES_MAX + 1];
    uint64_t greatest; /* of the tickets and tokens seen there */
};

/* A path that an event has named: a value or a queue may be there. */
struct lockstep_path {
    char bytes[LK_PATH_BYTES_MAX];
    struct lk_path path;
};

/* Values, items and queues of the reference before the step. */
struct lockstep_work {
    struct lk_reference_value *values;
    size_t value_count;
    struct lk_reference_item *items;
    size_t item_count;
    struct lk_reference_queue *queues;
    size_t queue_count;
};

struct lockstep {
    struct lk_model *model;
    struct lk_reference *reference;
    /*
     * Whether tickets and tokens must be the same numbers on both sides: as long as the wall clock
     * has outrun all draws. Otherwise only their order within each root must be the same (R4).
     */
    bool is_exact;
    struct lk_times times; /* of the last step */
    int64_t seen_us; /* the time that the model goes by: of its last step, 0 before its first */
    const struct lk_effects *effects;

    struct lockstep_match *matches; /* live requests, in the order of arrival */
    size_t match_count;
    struct lk_reference_request *before; /* the live ones before the step */
    size_t before_count;
    char text[128]; /* what is wrong, where it takes more than fixed words */
    struct lockstep_root *roots;
    size_t root_count;
    struct lockstep_path **paths;
    size_t path_count;
    struct lockstep_work work;
};

/* The allocator is the model's; NULL: the C library's. */
void lockstep_open_with(struct lockstep *lockstep, const struct lk_quotas *quotas,
                        uint32_t ended_max, uint32_t idle_queues_max,
                        const struct lk_allocator *allocator);

static inline void lockstep_open(struct lockstep *lockstep, const struct lk_quotas *quotas,
                                 uint32_t ended_max, const struct lk_allocator *allocator) {
    lockstep_open_with(lockstep, quotas, ended_max, LK_IDLE_QUEUES_MAX_DEFAULT, allocator);
}

/* With so few idle queues that some are forgotten (R16). */
static inline void lockstep_open_forgetful(struct lockstep *lockstep,
                                           const struct lk_quotas *quotas, uint32_t ended_max,
                                           const struct lk_allocator *allocator) {
    lockstep_open_with(lockstep, quotas, ended_max, 1, allocator);
}
void lockstep_close(struct lockstep *lockstep);

/* Steps both. NULL: they agree, and all that must hold does; otherwise what is wrong. */
const char *lockstep_step(struct lockstep *lockstep, const struct lk_command *command);

/* The same where the model has made its step already, with these effects. */
const char *lockstep_follow(struct lockstep *lockstep, const struct lk_command *command,
                            const struct lk_effects *effects);

/* Compares the states as they are, without a step. */
const char *lockstep_compare(struct lockstep *lockstep);

/* ---- between lockstep.c and lockstep_work.c ---- */

void *lockstep_grown(void *old, size_t count, size_t size); /* realloc() that cannot fail */
bool lockstep_is_same_part(const struct lk_part *a, const struct lk_part *b);
uint64_t lockstep_arrival_of(const struct lockstep *lockstep,
                             uint64_t id); /* 0: not a live request's */

/* R4: the number is greater than all that were seen in this root, and is seen now. */
bool lockstep_rises(struct lockstep *lockstep, const struct lk_path *path, uint64_t number);

void lockstep_work_done(struct lockstep *lockstep);
void lockstep_work_keep(struct lockstep *lockstep,
                        const struct lk_command *command); /* before the step */
const char *lockstep_work_compare(struct lockstep *lockstep);
const char *lockstep_work_compare_answer(const struct lockstep *lockstep,
                                         const struct lk_command *command,
                                         const struct lk_answer *answer,
                                         const struct lk_reference_answer *expected);
const char *lockstep_work_check_changes(struct lockstep *lockstep);

/* ---- lockstep_lists.c ---- */

/* Everything is on exactly one page, in order, whatever the size and the bound of the walks. */
const char *lockstep_pages_compare(const struct lockstep *lockstep);

/* The listings of queues, at every prefix and from every one on, and of parked items. */
const char *lockstep_queues_compare(const struct lockstep *lockstep);

const char *lockstep_explain_compare(const struct lockstep *lockstep);

/* ---- lockstep_values.c ---- */

/* NULL, or what differs: the value at a path, those of an answer, the changes of the step. */
const char *lockstep_values_compare(const struct lockstep *lockstep, const struct lk_path *path);
const char *lockstep_values_compare_lists(const struct lockstep *lockstep,
                                          const struct lk_path *prefix);
const char *lockstep_values_compare_answer(const struct lockstep *lockstep,
                                           const struct lk_answer *answer,
                                           const struct lk_reference_answer *expected);
const char *lockstep_values_check_changes(const struct lockstep *lockstep);

#endif
