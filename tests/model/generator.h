/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates histories, line by line (history.h), from a number: the same number, the same history.
 * A line leans on what lives in the reference, so that most events meet something: conversions,
 * renewals and releases of what is there, tokens that are or were right, deadlines that fall on
 * the same instant. With work: values and items, too.
 */
#ifndef LK_TESTS_MODEL_GENERATOR_H
#define LK_TESTS_MODEL_GENERATOR_H

#include <inttypes.h>

#include "history.h"
#include "reference.h"

enum {
    GENERATOR_PATHS_MAX = 16,
    GENERATOR_ENDED_MAX = 8,
    GENERATOR_TARGET_MAX = 2048,
};

/* Something that had this token: `OWNER release PATH...` ends in a word more. */
struct generator_target {
    char owner[16];
    char paths[GENERATOR_TARGET_MAX];
    uint64_t token;
};

struct generator {
    uint64_t random;
    size_t owner_count;
    const char *paths[GENERATOR_PATHS_MAX];
    size_t path_count;
    /* The wall clock stops, falls back and leaps. Then no token is named: model and reference may
     * draw different numbers, in the same order. */
    bool has_odd_clock;
    bool is_hasty; /* most requests perish soon */
    bool has_limits;
    bool has_modes; /* exclusive and shared ones */
    struct lk_quotas quotas;
    uint32_t ended_max;
    struct generator_target targets[GENERATOR_ENDED_MAX]; /* tokens of requests seen lately */
    size_t target_count;
    bool has_work;
    struct generator_target finished[GENERATOR_ENDED_MAX]; /* of claims; the paths are `QUEUE ID` */
    size_t finished_count;
};

/* Decides owners, paths, quotas and manners of a whole history. */
void generator_open(struct generator *generator, uint64_t number);

/* The same with values and items: queues, pools that work needs, and locks beside them. */
void generator_open_work(struct generator *generator, uint64_t number);

/* The next line, for a history that has come this far. */
void generator_line(struct generator *generator, const struct lk_reference *reference,
                    struct lk_times times, char ret_line[HISTORY_LINE_MAX]);

/* A number from 0 to below - 1. */
uint64_t generator_below(struct generator *generator, uint64_t below);

/* ---- for generator.c and generator_work.c only ----------------------------------------------- */

struct line {
    char *bytes;
    size_t size;
};

bool chance(struct generator *generator, unsigned percent);
void put(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
void put_owner(struct generator *generator, struct line *line);

/* One of the live requests; NULL: there is none, or this time we do not want one. */
const struct lk_reference_request *
some_live(struct generator *generator, const struct lk_reference *reference, unsigned percent);

/* A line about values or items; whether this is to be one. */
bool put_work(struct generator *generator, struct line *line, const struct lk_reference *reference,
              struct lk_times times);

#endif
