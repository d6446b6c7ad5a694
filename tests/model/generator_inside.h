/* SPDX-License-Identifier: Apache-2.0 */
/* How lines are generated, for generator.c and generator_work.c only. */
#ifndef LK_TESTS_MODEL_GENERATOR_INSIDE_H
#define LK_TESTS_MODEL_GENERATOR_INSIDE_H

#include <inttypes.h>

#include "generator.h"

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
