/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log of leases as their holders in many processes saw them, and a check of it that knows nothing
 * of the store: no conflicting leases at the same time, limits are kept, tokens rise.
 */
#ifndef LK_TESTS_SQLITE_LEASE_LOG_H
#define LK_TESTS_SQLITE_LEASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/part.h"

enum { LEASES_MAX = 1 << 16, LEASE_PARTS_MAX = 2, LEASE_PATH_MAX = 16 };

/* One lease as its holder saw it. Complete once `granted_us` is set. */
struct logged_part {
    char path[LEASE_PATH_MAX];
    bool shared;
    uint32_t limit;
    uint32_t units;
};

struct logged_lease {
    int owner;
    size_t part_count;
    struct logged_part parts[LEASE_PARTS_MAX];
    uint64_t token;
    _Atomic int64_t granted_us; /* the reply was there; 0: not complete */
    _Atomic int64_t until_us;   /* promised so far: ask sent + ttl, or release sent */
};

/* In memory that all processes share. */
struct lease_log {
    atomic_size_t count;
    atomic_int lost; /* leases that the store denied while they were promised */
    struct logged_lease leases[LEASES_MAX];
};

struct lease_log *lease_log_make(void); /* for this process and its children; never freed */

/* Returns a new entry. Aborts the program if the log is full. */
struct logged_lease *lease_log_add(struct lease_log *log);

/* Prints each violation on stdout. Returns their number, and the number of leases checked. */
unsigned lease_log_check(struct lease_log *log, size_t *ret_leases);

#endif
