/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clients of a store saw, from many processes, and what must be true of it whatever the store
 * is made of: nobody holds what conflicts with what another holds, limits are kept, tokens rise.
 */
#ifndef LK_TESTS_SQLITE_WITNESS_H
#define LK_TESTS_SQLITE_WITNESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/part.h"

enum { LEASES_MAX = 1 << 16, LEASE_PARTS_MAX = 2, LEASE_PATH_MAX = 16 };

/* One lease as its holder saw it. Complete once `granted_us` is set. */
struct witnessed_part {
    char path[LEASE_PATH_MAX];
    bool shared;
    uint32_t limit;
    uint32_t units;
};

struct witnessed {
    int owner;
    size_t part_count;
    struct witnessed_part parts[LEASE_PARTS_MAX];
    uint64_t token;
    _Atomic int64_t granted_us; /* the reply was there; 0: not complete */
    _Atomic int64_t until_us;   /* promised so far: ask sent + ttl, or release sent */
};

/* In memory that all processes share. */
struct witness {
    atomic_size_t count;
    atomic_int lost; /* leases that the store denied while they were promised */
    struct witnessed leases[LEASES_MAX];
};

struct witness *witness_make(void); /* for this process and its children; never freed */

/* Room for one more lease. Ends the program when there is none. */
struct witnessed *witness_add(struct witness *witness);

/* Returns how many things are wrong, each said on stdout; *ret_leases: among how many leases. */
unsigned witness_judge(struct witness *witness, size_t *ret_leases);

#endif
