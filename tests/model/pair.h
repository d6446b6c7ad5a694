/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model and the reference side by side: every event goes to both, and everything that can be
 * seen of them is compared. After each step, too: lk_model_check(), the reference's own invariants,
 * numbers that rise in each root (R4), and that the step's changes name every request that is
 * different now, so that a store which writes down only those has written enough.
 */
#ifndef LK_TESTS_MODEL_PAIR_H
#define LK_TESTS_MODEL_PAIR_H

#include "model/model.h"
#include "reference.h"

/* One request on both sides. */
struct pair_match {
    uint64_t id;      /* in the model */
    uint64_t arrival; /* in the reference */
};

struct pair_root {
    char name[LK_SEGMENT_BYTES_MAX + 1];
    uint64_t greatest; /* of the tickets and tokens seen there */
};

struct pair {
    struct lk_model *model;
    struct lk_reference *reference;
    /*
     * Whether tickets and tokens must be the same numbers on both sides: as long as the wall clock
     * has outrun all draws. Otherwise only their order within each root must be the same (R4).
     */
    bool is_exact;
    struct lk_times times; /* of the last step */
    const struct lk_effects *effects;

    struct pair_match *matches; /* live requests, in the order of arrival */
    size_t match_count;
    struct lk_reference_request *before; /* the live ones before the step */
    size_t before_count;
    char text[128]; /* what is wrong, where it takes more than fixed words */
    struct pair_root *roots;
    size_t root_count;
};

/* The allocator is the model's; NULL: the C library's. */
void pair_open(struct pair *pair, const struct lk_quotas *quotas, uint32_t ended_max,
               const struct lk_allocator *allocator);
void pair_close(struct pair *pair);

/* Steps both. NULL: they agree, and all that must hold does; otherwise what is wrong. */
const char *pair_step(struct pair *pair, const struct lk_event *event);

/* The same where the model has made its step already, with these effects. */
const char *pair_follow(struct pair *pair, const struct lk_event *event,
                        const struct lk_effects *effects);

/* Compares the states as they are, without a step. */
const char *pair_compare(struct pair *pair);

#endif
