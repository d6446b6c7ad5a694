/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R14: requests whose roots live in different places of a store that cannot decide about them
 * together. Their parts are taken place by place, in the byte order of the roots, all or nothing.
 *
 * What is not split goes straight to the engine: these calls stand in for the engine's own. In a
 * split request the first part's place has the token that a call names; the others name none. A
 * conversion (R9) that one place refuses stays in those that were asked before.
 */
#ifndef LK_KEEPER_BATCH_H
#define LK_KEEPER_BATCH_H

#include "engine/engine.h"

/* Whether the parts live in more than one place. */
bool lk_batch_is_split(struct lk_engine *engine, const struct lk_part *parts, size_t count);

/*
 * Of a split request: GRANTED when every place has granted its own; else what the refused one said,
 * and what this call got is given back. It never stands in line: a queue is LK_UNSUPPORTED, a wait
 * a try, LK_WAITING when it is refused.
 */
lk_outcome lk_batch_ask(struct lk_engine *engine, const struct lk_ask *ask,
                        const struct lk_patience *patience, lk_result *result,
                        struct lk_stand *ret_stand);

/* LK_LOST when one is lost; the others are renewed all the same. */
lk_outcome lk_batch_renew(struct lk_engine *engine, const struct lk_renew *renew,
                          const struct lk_patience *patience, lk_result *result);

/* Each one, also when another one fails. */
lk_outcome lk_batch_release(struct lk_engine *engine, const struct lk_release *release,
                            const struct lk_patience *patience, lk_result *result);

#endif
