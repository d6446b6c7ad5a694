/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that have no place yet: those that have not authenticated, and over HTTP those beyond
 * the bound of connections. They have a bound of their own, so that they cannot take the places of
 * others. When it is reached, in all or for one address, the oldest guest is dropped for the new
 * one. Wrong passwords are counted per address: each one is answered later than the one before.
 *
 * Each listener has one such list. Within src/server.
 */
#ifndef LK_SERVER_GUESTS_H
#define LK_SERVER_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct lk_guest_address;

/* Embedded in a connection; zeroed, the connection is no guest. */
struct lk_guest {
    struct lk_guest_address *address; /* NULL: it is no guest, or no longer */
    bool is_shielded;                 /* must not be dropped; then it is in neither list */
    TAILQ_ENTRY(lk_guest) all;        /* the oldest first */
    TAILQ_ENTRY(lk_guest) there;      /* ... of one address */
};

TAILQ_HEAD(lk_guest_list, lk_guest);
SLIST_HEAD(lk_guest_bucket, lk_guest_address);

enum { LK_GUEST_BUCKETS = 256 };

struct lk_guests {
    struct lk_guest_list all;
    uint32_t count;
    uint32_t count_max;
    uint32_t address_max; /* of one address */
    uint32_t address_count;
    uint64_t seed;
    struct lk_guest_bucket buckets[LK_GUEST_BUCKETS];
    void (*drop)(struct lk_guest *guest); /* called after the guest was removed: the connection
                                           * is to be closed */
};

/* `is_shared`: only the common bound applies, not the one per address. */
void lk_guests_begin(struct lk_guests *guests, uint32_t count_max, bool is_shared,
                     void (*drop)(struct lk_guest *guest));
void lk_guests_end(struct lk_guests *guests); /* after the last guest has left */

/*
 * Makes a connection a guest; another one may be dropped for it. false: there is no room, because
 * every guest is shielded, or no memory.
 */
bool lk_guest_enter(struct lk_guests *guests, struct lk_guest *guest, int socket);

/* The connection has got a place, or closes. No effect on a connection that is no guest. */
void lk_guest_leave(struct lk_guests *guests, struct lk_guest *guest);

/*
 * Protects a guest from being dropped while a request is under way. No effect on a connection that
 * is no guest.
 */
void lk_guest_shield(struct lk_guests *guests, struct lk_guest *guest, bool is_shielded);

/* Drops the oldest guest that is not shielded, if there is one. */
bool lk_guests_drop_one(struct lk_guests *guests);

/* Counts a wrong password from the socket's address: returns how long to hold its answer back. */
int64_t lk_guests_guessed_us(struct lk_guests *guests, int socket, int64_t now_us);

#endif
