/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls to a service: a command there, its answer back, over one of a few connections.
 *
 * A connection that is free is used again, the last one first; there are as many as threads are at
 * it. What breaks is made anew within the caller's patience, and the command repeated where that
 * does no harm (R3). A service that says where its leader is is followed there.
 */
#ifndef LK_ENGINE_SERVICE_CALL_H
#define LK_ENGINE_SERVICE_CALL_H

#include <pthread.h>

#include "engine/service/link.h"
#include "engine/service/reader.h"
#include "engine/service/words.h"

enum { LK_SERVICE_IDLE_MAX = 64 }; /* connections kept though nobody uses them */

struct lk_service {
    struct lk_engine engine;
    struct lk_service_place home; /* of the URL */
    struct lk_service_login login;
    pthread_mutex_t mutex;         /* guards what follows */
    struct lk_service_place place; /* where the leader was last known to be */
    uint64_t generation;           /* of place: connections of another one are not used again */
    struct lk_service_link *idle;
    size_t idle_count;
};

static inline struct lk_service *lk_service_of(struct lk_engine *engine) {
    return (struct lk_service *)engine;
}

enum lk_service_repeat {
    LK_SERVICE_ONCE,              /* a second time is something else: unknown is unknown */
    LK_SERVICE_AGAIN,             /* a second time is answered as the first (R3), or does no harm */
    LK_SERVICE_AGAIN_UNLESS_LOST, /* the same, but LOST the second time may be the first one's
                                     doing: then it is unknown what that came to */
};

/* An answer, which holds its connection. Zeroed: none. */
struct lk_service_answer {
    struct lk_service *service;
    struct lk_service_link *link;
    struct lk_reader reader;   /* behind the head */
    struct lk_resp_value head; /* the reply's first value; an error is its text */
};

/*
 * LK_OK: answered, and by no error. Otherwise what the error's first word says; or LK_UNAVAILABLE,
 * LK_CANCELLED, LK_DENIED, LK_INTERNAL by itself. *error is always set. To be ended with
 * lk_service_answer_done() in every case, and `words` with lk_words_done().
 */
lk_outcome lk_service_call(struct lk_service *service, struct lk_words *words,
                           enum lk_service_repeat repeat, const struct lk_patience *patience,
                           struct lk_service_answer *ret_answer, lk_error *error);
void lk_service_answer_done(struct lk_service_answer *answer);

/*
 * A call that blocks in the service until something has come of it, and no longer than until the
 * patience is over; without a repetition. The words are ended in any case.
 */
lk_outcome lk_service_block(struct lk_service *service, struct lk_words *words,
                            const struct lk_patience *patience);

/* For answers that are no more than an outcome: a plain reply, or a map with `status`. */
lk_outcome lk_service_tell(struct lk_service *service, struct lk_words *words,
                           enum lk_service_repeat repeat, const struct lk_patience *patience,
                           lk_error *error);

/* Of a lk_blocker_info. */
extern const struct lk_field lk_service_blocker_fields[];

/* What reading came to: LK_OK, or LK_INTERNAL and why in *error. */
lk_outcome lk_service_read_end(const struct lk_reader *reader, lk_error *error);

#endif
