/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pending connections, and what they do wrong.
 *
 * An address stands for a machine: the IPv4 address, or the IPv6 network (/64), since a machine has
 * all addresses of that network. It is remembered while a pending connection comes from there, and
 * after an offence. When too many addresses are remembered, those without pending connections
 * are forgotten.
 */
#include "server/connections/admission.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/minmax.h"
#include "base/random.h"

enum {
    ADDRESSES_MAX = 4096,
    ADDRESS_SHARE = 8, /* one address may have this fraction of all pending connections */
    ADDRESS_PENDING_MIN = 8,
    KEY_BYTES = 16,
    NETWORK_BYTES = 8, /* of an IPv6 address */
    DELAYED_MAX = 9,   /* offences counted; the delay does not grow beyond them */
    MALFORMED_FREE = 8 /* malformed requests before the first one that is delayed */
};

#define FIRST_DELAY_US INT64_C(10000) /* doubled by each further offence: at most 2.56 s */
#define FORGIVEN_US INT64_C(1000000)  /* after which one offence is forgotten */

struct offences {
    unsigned count;
    int64_t last_us;
};

struct lk_admission_address {
    SLIST_ENTRY(lk_admission_address) list;
    unsigned char key[KEY_BYTES];
    uint32_t count;
    struct lk_pending_list pending; /* those that may be evicted */
    struct offences offences[LK_OFFENCES];
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

uint64_t lk_admission_origin(const struct lk_admission *admission, int socket) {
    static const unsigned char none[KEY_BYTES];
    unsigned char key[KEY_BYTES];

    read_key(socket, key);
    return memcmp(key, none, KEY_BYTES) != 0
               ? lk_hash_bytes(admission->seed, (struct lk_slice){(const char *)key, KEY_BYTES}) | 1
               : 0;
}

static struct lk_admission_bucket *bucket_of(struct lk_admission *admission,
                                             const unsigned char *key) {
    const struct lk_slice bytes = {(const char *)key, KEY_BYTES};

    return &admission->buckets[lk_hash_bytes(admission->seed, bytes) % LK_ADMISSION_BUCKETS];
}

/* Forgets the addresses without pending connections. */
static void forget_addresses(struct lk_admission *admission) {
    for (size_t i = 0; i < LK_ADMISSION_BUCKETS; i++) {
        struct lk_admission_bucket kept = SLIST_HEAD_INITIALIZER(kept);
        struct lk_admission_bucket *bucket = &admission->buckets[i];

        while (!SLIST_EMPTY(bucket)) {
            struct lk_admission_address *address = SLIST_FIRST(bucket);
            SLIST_REMOVE_HEAD(bucket, list);
            if (address->count > 0) {
                SLIST_INSERT_HEAD(&kept, address, list);
            } else {
                free(address);
                admission->address_count--;
            }
        }
        *bucket = kept;
    }
}

/* The entry of the peer's address. NULL: no memory. */
static struct lk_admission_address *find_address(struct lk_admission *admission, int socket) {
    unsigned char key[KEY_BYTES];
    struct lk_admission_bucket *bucket;
    struct lk_admission_address *address;

    read_key(socket, key);
    bucket = bucket_of(admission, key);
    SLIST_FOREACH(address, bucket, list) {
        if (memcmp(address->key, key, KEY_BYTES) == 0) {
            return address;
        }
    }
    if (admission->address_count >= ADDRESSES_MAX) {
        forget_addresses(admission);
    }
    address = calloc(1, sizeof *address);
    if (address != NULL) {
        memcpy(address->key, key, KEY_BYTES);
        TAILQ_INIT(&address->pending);
        SLIST_INSERT_HEAD(bucket, address, list);
        admission->address_count++;
    }
    return address;
}

/* ---- pending connections --------------------------------------------------------------------- */

void lk_admission_bound(struct lk_admission *admission, uint32_t count_max, bool is_shared) {
    uint32_t share = count_max / ADDRESS_SHARE;

    share = share > ADDRESS_PENDING_MIN ? share : ADDRESS_PENDING_MIN;
    admission->count_max = count_max;
    admission->address_max = is_shared || share > count_max ? count_max : share;
}

void lk_admission_begin(struct lk_admission *admission, uint32_t count_max, bool is_shared,
                        void (*evict)(struct lk_pending *pending)) {
    *admission = (struct lk_admission){.evict = evict, .seed = lk_random_draw()};
    lk_admission_bound(admission, count_max, is_shared);
    TAILQ_INIT(&admission->all);
    for (size_t i = 0; i < LK_ADMISSION_BUCKETS; i++) {
        SLIST_INIT(&admission->buckets[i]);
    }
}

void lk_admission_end(struct lk_admission *admission) {
    forget_addresses(admission);
}

static void list(struct lk_admission *admission, struct lk_pending *pending) {
    TAILQ_INSERT_TAIL(&admission->all, pending, all);
    TAILQ_INSERT_TAIL(&pending->address->pending, pending, there);
}

static void unlist(struct lk_admission *admission, struct lk_pending *pending) {
    TAILQ_REMOVE(&admission->all, pending, all);
    TAILQ_REMOVE(&pending->address->pending, pending, there);
}

static bool evict(struct lk_admission *admission, struct lk_pending *pending) {
    if (pending == NULL) {
        return false;
    }
    lk_admission_remove(admission, pending);
    admission->evict(pending);
    return true;
}

bool lk_admission_evict_one(struct lk_admission *admission) {
    return evict(admission, TAILQ_FIRST(&admission->all));
}

bool lk_admission_add(struct lk_admission *admission, struct lk_pending *pending, int socket) {
    struct lk_admission_address *address = find_address(admission, socket);

    if (address == NULL) {
        return false;
    }
    if (address->count >= admission->address_max
        && !evict(admission, TAILQ_FIRST(&address->pending))) {
        return false;
    }
    if (admission->count >= admission->count_max && !lk_admission_evict_one(admission)) {
        return false;
    }
    pending->address = address;
    pending->is_protected = false;
    address->count++;
    admission->count++;
    list(admission, pending);
    return true;
}

void lk_admission_remove(struct lk_admission *admission, struct lk_pending *pending) {
    if (pending->address == NULL) {
        return;
    }
    if (!pending->is_protected) {
        unlist(admission, pending);
    }
    pending->address->count--;
    admission->count--;
    pending->address = NULL;
}

void lk_admission_protect(struct lk_admission *admission, struct lk_pending *pending,
                          bool is_protected) {
    if (pending->address == NULL || pending->is_protected == is_protected) {
        return;
    }
    if (is_protected) {
        unlist(admission, pending);
    } else {
        list(admission, pending);
    }
    pending->is_protected = is_protected;
}

/* ---- offences -------------------------------------------------------------------------------- */

int64_t lk_admission_penalty_us(struct lk_admission *admission, int socket, enum lk_offence offence,
                                int64_t now_us) {
    unsigned free_count = offence == LK_OFFENCE_MALFORMED ? MALFORMED_FREE : 0;
    struct lk_admission_address *address = find_address(admission, socket);
    struct offences *offences;
    int64_t forgiven;

    if (address == NULL) {
        return FIRST_DELAY_US;
    }
    offences = &address->offences[offence];
    forgiven = (now_us - offences->last_us) / FORGIVEN_US;
    offences->count =
        forgiven < (int64_t)offences->count ? offences->count - (unsigned)forgiven : 0;
    offences->count += offences->count < free_count + DELAYED_MAX;
    offences->last_us = now_us;
    return offences->count > free_count ? FIRST_DELAY_US << (offences->count - free_count - 1) : 0;
}

/* ---- pace: a bucket whose content is reckoned from one instant ------------------------------- */

int64_t lk_pace_note(struct lk_pace *pace, int64_t now_us) {
    int64_t burst_us = INT64_C(1) * LK_PACE_BURST * LK_PACE_PERIOD_US;

    pace->full_us = lk_max(pace->full_us, now_us) + LK_PACE_PERIOD_US;
    return lk_max(pace->full_us + LK_PACE_PERIOD_US - burst_us - now_us, 0);
}

void lk_pace_forget(struct lk_pace *pace) {
    pace->full_us -= LK_PACE_PERIOD_US;
}
