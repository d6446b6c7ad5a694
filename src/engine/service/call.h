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
#include <stdbool.h>
#include <stdint.h>

#include "engine/service/address.h"
#include "engine/service/command_builder.h"
#include "engine/service/link.h"
#include "engine/service/reader.h"

/* ---- steals ---------------------------------------------------------------------------------- */

/*
 * The last claims that a wait has made by a steal (R16). Only the answer that makes a claim says
 * that it is one. The take that follows the wait has the same ask number, so it is answered the
 * same item (R3). Guarded by the mutex of the service.
 */

enum { LK_SERVICE_STEALS = 64 }; /* of waits at the same time, of as many threads */

struct lk_service_steals {
    uint64_t numbers[LK_SERVICE_STEALS]; /* ask numbers; 0: none. The oldest one is replaced */
    unsigned next;
};

static inline void lk_service_steals_note(struct lk_service_steals *steals, uint64_t number) {
    steals->numbers[steals->next] = number;
    steals->next = (steals->next + 1) % LK_SERVICE_STEALS;
}

/* Whether the claim with this ask number is one of them; it is forgotten. */
static inline bool lk_service_steals_take(struct lk_service_steals *steals, uint64_t number) {
    for (unsigned i = 0; number != 0 && i < LK_SERVICE_STEALS; i++) {
        if (steals->numbers[i] == number) {
            steals->numbers[i] = 0;
            return true;
        }
    }
    return false;
}

/* ---- the service ----------------------------------------------------------------------------- */

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

/* ---- pages of long answers ------------------------------------------------------------------- */

/* Long answers, requested a page at a time: LIST, SHOW, ITEMS, AUDIT. */

struct lk_paged {
    const char *command;
    void (*add_path)(struct lk_builder *builder, const struct lk_path *path);
    const struct lk_form *form; /* of each record */
    int64_t count;              /* of records in a page */
    const char *keyword;        /* behind the path; NULL: none */
    struct lk_slice word;       /* that follows the keyword; empty: none */
    bool was_whole; /* services of older versions have no pages of it, and answer in one piece */
};

/*
 * Reads the page at *cursor (NULL: the first one), which becomes the cursor of the next page, "0":
 * there is none. The caller frees it. On failure *records has what was read before.
 */
lk_outcome lk_service_read_page(struct lk_service *service, const struct lk_paged *paged,
                                const struct lk_path *path, const struct lk_patience *patience,
                                struct lk_records *records, char **cursor, lk_error *error);

/* Reads all pages. On failure *records has what was read before. */
lk_outcome lk_service_read_pages(struct lk_service *service, const struct lk_paged *paged,
                                 const struct lk_path *path, const struct lk_patience *patience,
                                 struct lk_records *records, lk_error *error);

#endif
