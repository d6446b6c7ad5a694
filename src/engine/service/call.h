/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls to a service: sends a command over a pooled connection, and receives its answer.
 *
 * Idle connections are used again, the last one first; there is one for each thread that calls.
 * Asks that are bound (R18) go over connections of their own: of a pool that stays open until the
 * engine is closed, as closing one would end its requests, or of a tie (ties.c). A call over a
 * broken connection is retried over a new one within the caller's patience, if the command may be
 * repeated (R3). A redirect (`-MOVED`) to the leader is followed, and checked (connections.c).
 * connections.h makes and keeps the connections, address.h says to which service.
 */
#ifndef LK_ENGINE_SERVICE_CALL_H
#define LK_ENGINE_SERVICE_CALL_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/service/address.h"
#include "engine/service/command_builder.h"
#include "engine/service/link.h"
#include "engine/service/reader.h"
#include "engine/service/steals.h"

enum { LK_SERVICE_IDLE_MAX = 64 }; /* idle connections that are kept */

struct lk_service_pool {
    struct lk_service_link *first;
    size_t count;
};

struct lk_service {
    struct lk_engine engine;
    struct lk_service_login login;
    struct lk_tls_context *tls;     /* of lks://; NULL: plain */
    _Atomic uint64_t interruptions; /* connections that broke or could not be made */
    atomic_bool is_known;           /* one of the addresses has led to a service */
    pthread_mutex_t mutex;          /* guards the fields below, except hosts.all, a constant */
    struct lk_service_hosts hosts;
    struct lk_service_address troubled; /* the named leader that could not be used last, */
    lk_error trouble;                   /* ... and why not; LK_OK: none */
    struct lk_service_pool idle;
    struct lk_service_pool bound; /* idle ones that requests end with */
    struct lk_service_steals steals;
};

static inline struct lk_service *lk_service_of(struct lk_engine *engine) {
    return (struct lk_service *)engine;
}

enum lk_service_repeat {
    LK_SERVICE_ONCE,              /* not repeated: an unknown outcome stays unknown */
    LK_SERVICE_AGAIN,             /* repeated: the answer is the same (R3), or the effect is */
    LK_SERVICE_AGAIN_UNLESS_LOST, /* the same, but LOST may be the effect of the first
                                     attempt: the outcome is then unknown */
};

/* An answer; it occupies its connection. Zeroed: none. */
struct lk_service_answer {
    struct lk_service *service;
    struct lk_service_link *link;
    struct lk_reader reader;   /* after the head */
    struct lk_resp_value head; /* the reply's first value; an error's text */
};

/*
 * LK_OK: the answer is no error. Otherwise the outcome that the error names; or LK_UNAVAILABLE,
 * LK_CANCELLED, LK_DENIED, LK_INTERNAL of the connection. *error is always set. The caller ends the
 * answer with lk_service_answer_done() in every case. The builder is freed, as by all calls below.
 */
lk_outcome lk_service_call(struct lk_service *service, struct lk_builder *builder,
                           enum lk_service_repeat repeat, const struct lk_patience *patience,
                           struct lk_service_answer *ret_answer, lk_error *error);
void lk_service_answer_done(struct lk_service_answer *answer);

/* A service that answered LK_UNAVAILABLE: of several services the next one is tried. */
void lk_service_answer_give_up(struct lk_service_answer *answer);

/*
 * Whether the answer, an error or none, says that another service leads (`MOVED 0 host:port`). Then
 * the next call goes there, and the answer is done.
 */
bool lk_service_answer_follow(struct lk_service_answer *answer);

/* Sends bytes once, and receives the first answer to them, of any kind but a redirect. */
lk_outcome lk_service_exchange(struct lk_service *service, struct lk_slice request,
                               enum lk_service_repeat repeat, const struct lk_patience *patience,
                               struct lk_service_answer *ret_answer, lk_error *error);

/* LK_OK, or the outcome that the answer names as an error, with its text. */
lk_outcome lk_service_answer_outcome(const struct lk_service_answer *answer, lk_error *error);

/*
 * A call that blocks in the service until it has an answer, or until the patience ends. It is not
 * repeated. An answer that is a map is read into *record (form NULL: it is not), which the caller
 * frees.
 */
lk_outcome lk_service_call_blocking(struct lk_service *service, struct lk_builder *builder,
                                    const struct lk_patience *patience, const struct lk_form *form,
                                    void *record);

/* `status` of the engine. */
void lk_service_status(struct lk_engine *engine, struct lk_engine_status *status);

/* For answers that are only an outcome: a plain reply, or a map with `status`. */
lk_outcome lk_service_call_for_outcome(struct lk_service *service, struct lk_builder *builder,
                                       enum lk_service_repeat repeat,
                                       const struct lk_patience *patience, lk_error *error);

/*
 * For answers that are a map, which is read into *record. LK_NONE: the answer is null. The caller
 * frees what the record holds, also on failure.
 */
lk_outcome lk_service_call_for_map(struct lk_service *service, struct lk_builder *builder,
                                   enum lk_service_repeat repeat,
                                   const struct lk_patience *patience, const struct lk_form *form,
                                   void *record, lk_error *error);

/* For answers that are a number; not repeated. *ret_number is set on LK_OK. */
lk_outcome lk_service_call_for_number(struct lk_service *service, struct lk_builder *builder,
                                      const struct lk_patience *patience, int64_t *ret_number,
                                      lk_error *error);

/* The result of reading an answer: LK_OK, or LK_INTERNAL with its message. */
lk_outcome lk_service_read_end(const struct lk_reader *reader, lk_error *error);

#endif
