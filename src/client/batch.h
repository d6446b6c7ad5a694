/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R14: requests whose roots live in different places of a store that cannot decide about them
 * together. Their parts are taken place by place, in the byte order of the roots, all or nothing.
 *
 * What is not split goes straight to the engine: these calls stand in for the engine's own. In a
 * split request the first part's place has the token that a call names; the others name none. A
 * conversion (R9) that one place refuses stays in those that were asked before.
 */
#ifndef LK_CLIENT_BATCH_H
#define LK_CLIENT_BATCH_H

#include "client/wait_entry.h"

/* Whether the parts live in more than one place. */
bool lk_batch_is_split(struct lk_engine *engine, const struct lk_part *parts, size_t count);

/*
 * As the engine's decide(). Of a split ask: GRANTED when every place has granted its own; else what
 * the refused one said, and what this call got is given back. It never stands in line: a queue is
 * LK_UNSUPPORTED; a wait is for lk_batch_stand_in_line(). Of a split renewal or release: every
 * place is called, also when another one fails; LK_LOST when one is lost.
 */
lk_outcome lk_batch_decide(struct lk_engine *engine, const struct lk_command *command,
                           const struct lk_patience *patience, struct lk_decision *ret_decision);

/*
 * How far a wait for a split request has come: for each place, in the byte order of their roots,
 * what stands there. Zeroed: nothing. The same ask uses it again and again.
 */
struct lk_batch_line {
    struct lk_batch_place {
        struct lk_wait_entry entry;
        bool is_ours; /* this wait put the request there */
    } places[LK_PARTS_MAX];
    size_t held;       /* so many places have granted theirs; the wait stands in line at the next */
    bool is_forgotten; /* a place had lost what stood there, and it was asked for again */
};

/*
 * Of a split ask: takes place after place as lk_batch_decide() does, but stands in line at the
 * first that does not grant at once, and holds those before: LK_WAITING, and the wait cursor is for
 * that place. The caller asks again, and does not hold what it has for ever
 * (lk_batch_leave_line()). After any outcome but LK_GRANTED, LK_WAITING, LK_UNAVAILABLE and
 * LK_CANCELLED nothing is left there.
 */
lk_outcome lk_batch_stand_in_line(struct lk_engine *engine, const struct lk_command *command,
                                  const struct lk_patience *patience, struct lk_batch_line *line,
                                  struct lk_decision *ret_decision);

/* Gives back what this wait has put there, held or in line, and forgets the rest. */
void lk_batch_leave_line(struct lk_engine *engine, const struct lk_ask *ask,
                         struct lk_batch_line *line);

#endif
