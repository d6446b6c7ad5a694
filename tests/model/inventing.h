/* SPDX-License-Identifier: Apache-2.0 */
/* How lines are invented, for invent.c and invent_work.c only. */
#ifndef LK_TESTS_MODEL_INVENTING_H
#define LK_TESTS_MODEL_INVENTING_H

#include <inttypes.h>

#include "invent.h"

struct line {
    char *bytes;
    size_t size;
};

bool chance(struct invent *invent, unsigned percent);
void put(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
void put_owner(struct invent *invent, struct line *line);

/* One of the live requests; NULL: there is none, or this time we do not want one. */
const struct lk_reference_request *
some_live(struct invent *invent, const struct lk_reference *reference, unsigned percent);

/* A line about values or items; whether this is to be one. */
bool put_work(struct invent *invent, struct line *line, const struct lk_reference *reference,
              struct lk_times times);

#endif
