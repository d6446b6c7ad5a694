/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission control. A connection is pending until it is admitted, which means that it counts
 * towards the bound of connections. Pending are connections that have not authenticated, and over
 * HTTP those beyond the bound. They have a bound of their own, so that they cannot keep others out.
 * When it is reached, in all or for one address, the oldest pending connection is evicted for the
 * new one. Wrong passwords and malformed requests are counted per address: each one is answered
 * later than the one before.
 *
 * Each listener has one such list. Within src/server.
 */
#ifndef LK_SERVER_CONNECTIONS_ADMISSION_H
#define LK_SERVER_CONNECTIONS_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct lk_admission_address;

/* What a client that has not authenticated is made to wait for. */
enum lk_offence { LK_OFFENCE_PASSWORD, LK_OFFENCE_MALFORMED, LK_OFFENCES };

/* Embedded in a connection; zeroed: the connection is not pending. */
struct lk_pending {
    struct lk_admission_address *address; /* NULL: not pending, or no longer */
    bool is_protected;                    /* must not be evicted; then it is in neither list */
    TAILQ_ENTRY(lk_pending) all;          /* the oldest first */
    TAILQ_ENTRY(lk_pending) there;        /* ... of one address */
};

TAILQ_HEAD(lk_pending_list, lk_pending);
SLIST_HEAD(lk_admission_bucket, lk_admission_address);

enum {
    LK_ADMISSION_BUCKETS = 256,
    LK_ACCEPTED_PER_TURN_MAX =
        1, /* at a listener: answers do not wait for a flood of connections */
};

struct lk_admission {
    struct lk_pending_list all;
    uint32_t count;
    uint32_t count_max;
    uint32_t address_max; /* of one address */
    uint32_t address_count;
    uint64_t seed;
    struct lk_admission_bucket buckets[LK_ADMISSION_BUCKETS];
    /* Closes an evicted connection, after its removal. */
    void (*evict)(struct lk_pending *pending);
};

/* `is_shared`: only the common bound applies, not the one per address. */
void lk_admission_begin(struct lk_admission *admission, uint32_t count_max, bool is_shared,
                        void (*evict)(struct lk_pending *pending));
/* Other bounds; connections that are pending beyond them stay. */
void lk_admission_bound(struct lk_admission *admission, uint32_t count_max, bool is_shared);
void lk_admission_end(struct lk_admission *admission); /* after the last one was removed */

/*
 * Makes a connection pending; another one may be evicted for it. false: there is no room, because
 * every pending connection is protected, or no memory.
 */
bool lk_admission_add(struct lk_admission *admission, struct lk_pending *pending, int socket);

/* The connection is admitted, or closes. No effect on a connection that is not pending. */
void lk_admission_remove(struct lk_admission *admission, struct lk_pending *pending);

/*
 * Protects a pending connection from eviction while a request is under way. No effect on a
 * connection that is not pending.
 */
void lk_admission_protect(struct lk_admission *admission, struct lk_pending *pending,
                          bool is_protected);

/* Evicts the oldest pending connection that is not protected, if there is one. */
bool lk_admission_evict_one(struct lk_admission *admission);

/*
 * A number of the address of a socket's peer, by which what one address does is bounded; 0: it is a
 * Unix socket, whose peers are all of this machine.
 */
uint64_t lk_admission_origin(const struct lk_admission *admission, int socket);

/*
 * Counts an offence from the socket's address: returns how long to hold its answer back. 0 for the
 * first malformed requests: a program in development or a probe of a port sends some.
 */
int64_t lk_admission_penalty_us(struct lk_admission *admission, int socket, enum lk_offence offence,
                                int64_t now_us);

/* ---- pace ------------------------------------------------------------------------------------ */

/*
 * How often the service accepts. To accept a connection and to close it again costs the loop as
 * much as two calls. So a flood of connections would take all of its time, and clients that have
 * theirs would wait. Behind a burst one connection is accepted in each period, at whichever
 * listener; the others wait in the system's backlog. A connection counts until it has made a call
 * that it may make: so short connections of honest clients are accepted as they come.
 *
 * A listener rests behind a connection of its own. One that has not accepted for a while does not,
 * whatever the others accept: a flood at a port does not close the Unix socket.
 */
enum {
    LK_PACE_PERIOD_US = 500,
    LK_PACE_BURST = 64, /* as many are accepted at once, after a time without */
};

/* Zeroed: nothing was accepted yet. */
struct lk_pace {
    int64_t full_us; /* when the whole burst is free again */
};

/* One was accepted. Returns how long it is until the next one may be; 0: at once. */
int64_t lk_pace_note(struct lk_pace *pace, int64_t now_us);

/* A connection that was accepted does not count any more. */
void lk_pace_forget(struct lk_pace *pace);

#endif
