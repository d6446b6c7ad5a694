/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections without a place, and wrong passwords.
 *
 * An address stands for a machine: the IPv4 address, or the IPv6 network (/64), since a machine has
 * all addresses of that network. It is remembered while a guest comes from there, and after a wrong
 * password. When too many addresses are remembered, those without guests are forgotten.
 */
#include "server/guests.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/random.h"
#include "server/complaints.h"

enum {
    ADDRESSES_MAX = 4096,
    ADDRESS_SHARE = 8, /* one address may have this fraction of all guests */
    ADDRESS_GUESTS_MIN = 8,
    KEY_BYTES = 16,
    NETWORK_BYTES = 8, /* of an IPv6 address */
    GUESSES_MAX = 9,   /* guesses counted; the delay does not grow beyond them */
};

#define FIRST_DELAY_US INT64_C(10000) /* doubled by each further guess: at most 2.56 s */
#define FORGIVEN_US INT64_C(1000000)  /* after which one guess is forgotten */

struct lk_guest_address {
    SLIST_ENTRY(lk_guest_address) list;
    unsigned char key[KEY_BYTES];
    uint32_t count;
    struct lk_guest_list guests; /* those that may be dropped */
    unsigned guesses;
    int64_t guessed_us;
};

/* ---- addresses ------------------------------------------------------------------------------- */

/* The address of a socket's peer; all peers of a Unix socket share one. */
static void read_key(int socket, unsigned char ret_key[KEY_BYTES]) {
    struct sockaddr_storage storage = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof storage;
    struct sockaddr_in four;
    struct sockaddr_in6 six;

    memset(ret_key, 0, KEY_BYTES);
    (void)getpeername(socket, (struct sockaddr *)&storage, &size);
    if (storage.ss_family == AF_INET) {
        memcpy(&four, &storage, sizeof four);
        ret_key[10] = ret_key[11] = 0xff; /* mapped to IPv6 */
        memcpy(ret_key + KEY_BYTES - sizeof four.sin_addr, &four.sin_addr, sizeof four.sin_addr);
    } else if (storage.ss_family == AF_INET6) {
        memcpy(&six, &storage, sizeof six);
        memcpy(ret_key, &six.sin6_addr,
               IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) ? KEY_BYTES : NETWORK_BYTES);
    }
}

static struct lk_guest_bucket *bucket_of(struct lk_guests *guests, const unsigned char *key) {
    const struct lk_slice bytes = {(const char *)key, KEY_BYTES};

    return &guests->buckets[lk_hash_bytes(guests->seed, bytes) % LK_GUEST_BUCKETS];
}

/* Forgets the addresses without guests. */
static void forget_addresses(struct lk_guests *guests) {
    for (size_t i = 0; i < LK_GUEST_BUCKETS; i++) {
        struct lk_guest_bucket kept = SLIST_HEAD_INITIALIZER(kept);
        struct lk_guest_bucket *bucket = &guests->buckets[i];

        while (!SLIST_EMPTY(bucket)) {
            struct lk_guest_address *address = SLIST_FIRST(bucket);
            SLIST_REMOVE_HEAD(bucket, list);
            if (address->count > 0) {
                SLIST_INSERT_HEAD(&kept, address, list);
            } else {
                free(address);
                guests->address_count--;
            }
        }
        *bucket = kept;
    }
}

/* The entry of the peer's address. NULL: no memory. */
static struct lk_guest_address *find_address(struct lk_guests *guests, int socket) {
    unsigned char key[KEY_BYTES];
    struct lk_guest_bucket *bucket;
    struct lk_guest_address *address;

    read_key(socket, key);
    bucket = bucket_of(guests, key);
    SLIST_FOREACH(address, bucket, list) {
        if (memcmp(address->key, key, KEY_BYTES) == 0) {
            return address;
        }
    }
    if (guests->address_count >= ADDRESSES_MAX) {
        forget_addresses(guests);
    }
    address = calloc(1, sizeof *address);
    if (address != NULL) {
        memcpy(address->key, key, KEY_BYTES);
        TAILQ_INIT(&address->guests);
        SLIST_INSERT_HEAD(bucket, address, list);
        guests->address_count++;
    }
    return address;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void tell_guess(const struct lk_guest_address *address) {
    static const unsigned char mapped[KEY_BYTES - 4] = {[10] = 0xff, [11] = 0xff};
    static const unsigned char nowhere[KEY_BYTES] = {0};
    bool is_four = memcmp(address->key, mapped, sizeof mapped) == 0;
    char text[INET6_ADDRSTRLEN] = "";

    (void)inet_ntop(is_four ? AF_INET : AF_INET6, address->key + (is_four ? sizeof mapped : 0),
                    text, sizeof text);
    if (memcmp(address->key, nowhere, KEY_BYTES) == 0) {
        (void)snprintf(text, sizeof text, "this machine");
    }
    lk_complain("wrong passwords", "one from %s", text);
}

/* ---- guests ---------------------------------------------------------------------------------- */

void lk_guests_begin(struct lk_guests *guests, uint32_t count_max, bool is_shared,
                     void (*drop)(struct lk_guest *guest)) {
    uint32_t share = count_max / ADDRESS_SHARE;

    *guests = (struct lk_guests){.count_max = count_max, .drop = drop, .seed = lk_random_draw()};
    share = share > ADDRESS_GUESTS_MIN ? share : ADDRESS_GUESTS_MIN;
    guests->address_max = is_shared || share > count_max ? count_max : share;
    TAILQ_INIT(&guests->all);
    for (size_t i = 0; i < LK_GUEST_BUCKETS; i++) {
        SLIST_INIT(&guests->buckets[i]);
    }
}

void lk_guests_end(struct lk_guests *guests) {
    forget_addresses(guests);
}

static void list(struct lk_guests *guests, struct lk_guest *guest) {
    TAILQ_INSERT_TAIL(&guests->all, guest, all);
    TAILQ_INSERT_TAIL(&guest->address->guests, guest, there);
}

static void unlist(struct lk_guests *guests, struct lk_guest *guest) {
    TAILQ_REMOVE(&guests->all, guest, all);
    TAILQ_REMOVE(&guest->address->guests, guest, there);
}

static bool drop(struct lk_guests *guests, struct lk_guest *guest) {
    if (guest == NULL) {
        return false;
    }
    lk_guest_leave(guests, guest);
    lk_complain("connections that had no place yet were ended for newer ones",
                "there is room for %" PRIu32, guests->count_max);
    guests->drop(guest);
    return true;
}

bool lk_guests_drop_one(struct lk_guests *guests) {
    return drop(guests, TAILQ_FIRST(&guests->all));
}

bool lk_guest_enter(struct lk_guests *guests, struct lk_guest *guest, int socket) {
    struct lk_guest_address *address = find_address(guests, socket);

    if (address == NULL) {
        return false;
    }
    if (address->count >= guests->address_max && !drop(guests, TAILQ_FIRST(&address->guests))) {
        return false;
    }
    if (guests->count >= guests->count_max && !lk_guests_drop_one(guests)) {
        return false;
    }
    guest->address = address;
    guest->is_shielded = false;
    address->count++;
    guests->count++;
    list(guests, guest);
    return true;
}

void lk_guest_leave(struct lk_guests *guests, struct lk_guest *guest) {
    if (guest->address == NULL) {
        return;
    }
    if (!guest->is_shielded) {
        unlist(guests, guest);
    }
    guest->address->count--;
    guests->count--;
    guest->address = NULL;
}

void lk_guest_shield(struct lk_guests *guests, struct lk_guest *guest, bool is_shielded) {
    if (guest->address == NULL || guest->is_shielded == is_shielded) {
        return;
    }
    if (is_shielded) {
        unlist(guests, guest);
    } else {
        list(guests, guest);
    }
    guest->is_shielded = is_shielded;
}

/* ---- guesses --------------------------------------------------------------------------------- */

int64_t lk_guests_guessed_us(struct lk_guests *guests, int socket, int64_t now_us) {
    struct lk_guest_address *address = find_address(guests, socket);
    int64_t forgiven;

    if (address == NULL) {
        return FIRST_DELAY_US;
    }
    forgiven = (now_us - address->guessed_us) / FORGIVEN_US;
    address->guesses =
        forgiven < (int64_t)address->guesses ? address->guesses - (unsigned)forgiven : 0;
    address->guesses += address->guesses < GUESSES_MAX;
    address->guessed_us = now_us;
    tell_guess(address);
    return FIRST_DELAY_US << (address->guesses - 1);
}
