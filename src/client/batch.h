/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Split requests (R14): their roots live at several nodes of a store, which cannot decide about
 * them together. The client takes their parts node by node, in the byte order of the roots, all or
 * none.
 *
 * A request that is not split goes to the engine unchanged, so callers use these functions in place
 * of the engine's. In a split request the node of the first part has the token that a call names;
 * the calls to the others name theirs where the caller knows them, as a lease does. A conversion
 * (R9) that one node refuses remains in force at the nodes that were asked before.
 */
#ifndef LK_CLIENT_BATCH_H
#define LK_CLIENT_BATCH_H

#include "client/wait_entry.h"

/*
 * As the engine's decide(), with the same blocking, patience and ownership of *ret_decision. A
 * split ask is lk_batch_ask(). A split renewal or release: every node is called, even if another
 * fails; LK_LOST when one is lost.
 */
lk_outcome lk_batch_decide(struct lk_engine *engine, const struct lk_command *command,
                           const struct lk_patience *patience, struct lk_decision *ret_decision);

/*
 * The state of a call for a split request: for each group of parts that live at one node, in the
 * byte order of their roots, the request at that node. Zeroed at the start but for the first four;
 * every ask of the call uses it again.
 */
struct lk_leftovers;
struct lk_asking;

struct lk_batch_progress {
    int64_t began_us;               /* before the first ask was sent */
    bool is_owner_made;             /* for this call: what its owner has, the call has made */
    struct lk_leftovers *leftovers; /* for what cannot be released, as its node does not answer */
    const struct lk_asking *asking; /* NULL: no other call asks for the same */
    struct lk_batch_entry {
        struct lk_wait_entry wait;
        uint64_t token;     /* of the grant; 0: there is none */
        bool is_ours;       /* this call made the request there */
        bool is_judged;     /* an answer has said who made it */
        bool is_in_doubt;   /* an ask without an answer may have made it */
        bool is_unanswered; /* the last ask had no answer: it may still be on its way */
    } entries[LK_PARTS_MAX];
    size_t held;       /* so many nodes have granted their parts; the wait is queued at the next */
    bool was_requeued; /* a node had lost its request, and the wait has made a new one there */
};

/*
 * A split ask: goes node by node. GRANTED when every node has granted its parts; else the answer of
 * the node that refused, and what this call was granted is released again. LK_QUEUE is
 * LK_UNSUPPORTED. One of the style LK_WAIT enters the queue of the first node that does not grant
 * at once, and keeps what the nodes before it have granted: LK_WAITING, and the decision's wait
 * cursor is for that node. The caller asks again, and bounds the time for which it holds a part of
 * the request: see lk_batch_withdraw(). After every outcome but LK_GRANTED, LK_WAITING,
 * LK_UNAVAILABLE and LK_CANCELLED no node has a request of this call.
 */
lk_outcome lk_batch_ask(struct lk_engine *engine, const struct lk_command *command,
                        const struct lk_patience *patience, struct lk_batch_progress *progress,
                        struct lk_decision *ret_decision);

/*
 * Releases the requests that this call has made, held or queued, and resets *progress. One without
 * an answer is released if its age shows that it is younger than the call (leftover.h). Where a
 * node does not answer, this is left to the thread of the leftovers.
 */
void lk_batch_withdraw(struct lk_engine *engine, const struct lk_ask *ask,
                       struct lk_batch_progress *progress);

#endif
