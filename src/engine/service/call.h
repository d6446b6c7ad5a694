/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls to a service: a command there, its answer back, over one of a few connections.
 *
 * A connection that is free is used again, the last one first; there are as many as threads are at
 * it. A broken connection is made again within the caller's patience, and the command repeated
 * where that does no harm (R3). A service that says where its leader is is followed there.
 */
#ifndef LK_ENGINE_SERVICE_CALL_H
#define LK_ENGINE_SERVICE_CALL_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/service/command_builder.h"
#include "engine/service/link.h"
#include "engine/service/reader.h"

enum { LK_SERVICE_IDLE_MAX = 64 }; /* idle connections that are kept */

struct lk_service {
    struct lk_engine engine;
    struct lk_service_address home; /* of the URL */
    struct lk_service_login login;
    _Atomic uint64_t interruptions;    /* connections that broke or could not be made */
    pthread_mutex_t mutex;             /* guards what follows */
    struct lk_service_address address; /* where the leader was last known to be */
    uint64_t generation;               /* of place: connections of another one are not used again */
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
 * LK_CANCELLED, LK_DENIED, LK_INTERNAL by itself. *error is always set. The answer is to be ended
 * with lk_service_answer_done() in every case. The words are ended.
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

/* `status` of the engine. */
void lk_service_status(struct lk_engine *engine, struct lk_engine_status *status);

/* For answers that are no more than an outcome: a plain reply, or a map with `status`. */
lk_outcome lk_service_tell(struct lk_service *service, struct lk_words *words,
                           enum lk_service_repeat repeat, const struct lk_patience *patience,
                           lk_error *error);

/*
 * For answers that are a map, which is read into *record. LK_NONE: the answer is null. The words
 * are ended; what the record holds on failure is the caller's to free.
 */
lk_outcome lk_service_call_for_map(struct lk_service *service, struct lk_words *words,
                                   enum lk_service_repeat repeat,
                                   const struct lk_patience *patience, const struct lk_form *form,
                                   void *record, lk_error *error);

/* For answers that are a number, once: *ret_number is set on LK_OK. The words are ended. */
lk_outcome lk_service_call_for_number(struct lk_service *service, struct lk_words *words,
                                      const struct lk_patience *patience, int64_t *ret_number,
                                      lk_error *error);

/* What reading came to: LK_OK, or LK_INTERNAL and why in *error. */
lk_outcome lk_service_read_end(const struct lk_reader *reader, lk_error *error);

#endif
