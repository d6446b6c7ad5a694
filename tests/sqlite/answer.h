/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store answers to the events of a play, and to looks at it, beside what the model does:
 * functions return what differs, in words, or NULL. `is_lazy` is that of compare.h.
 */
#ifndef LK_TESTS_SQLITE_ANSWER_H
#define LK_TESTS_SQLITE_ANSWER_H

#include "play.h"

/* Of a store, to one event. */
struct answer {
    lk_result result;     /* to an ask, a renewal, a release */
    lk_claim_info *claim; /* to a take */
    lk_error error;       /* to the others, and a take */
    size_t broken;
    bool added;
};

struct answer answer_of(struct lk_engine *engine, const struct lk_event *event);
void answer_clear(struct answer *answer);

/* Beside the effects of play->event; a token that the model has drawn is one to name later. */
const char *answer_differs(struct play *play, const struct lk_effects *effects, bool is_lazy,
                           const struct answer *answer);

/* Everything at or below a path (NULL: everywhere); the requests at one; its value. */
const char *look_at_list(struct play *play, struct lk_engine *engine, bool is_lazy,
                         const struct lk_path *prefix);
const char *look_at_path(struct play *play, struct lk_engine *engine, bool is_lazy,
                         const struct lk_path *path);
const char *look_at_value(struct play *play, struct lk_engine *engine, const struct lk_path *path);

/* Some queue: its items, and what is counted of it. */
const char *look_at_queue(struct play *play, struct lk_engine *engine);

/* Fails the test, and says at which step. */
_Noreturn void play_differs(const struct play *play, const char *what);

#endif
