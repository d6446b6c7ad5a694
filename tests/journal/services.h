/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services on a shared store, each with a clock of the test's, so that no test waits for a lease. A
 * call that does not end as it must fails the test.
 */
#ifndef LK_TESTS_JOURNAL_SERVICES_H
#define LK_TESTS_JOURNAL_SERVICES_H

#include "server/core/core.h"
#include "server/store/store.h"

#define LEASE_US INT64_C(60000000)
#define HOUR_US INT64_C(3600000000)
#define SLACK_US INT64_C(30000000) /* of a slow machine */

struct service {
    struct lk_storage *storage;
    int64_t ahead_us; /* of its clock before that of this machine */
};

struct lk_times fixture_times_of(const struct service *service);

/* NULL: the outcome is not LK_OK, as expected. */
struct lk_core_snapshot *fixture_load(struct service *service, lk_outcome expected);
void fixture_load_only(struct service *service, lk_outcome expected);

/* It looks now, and takes over when it looks again after the time of the lease. */
struct lk_core_snapshot *fixture_take_over(struct service *service);
void fixture_only_take_over(struct service *service);

/* A held lease at PATH/ID, whose number, ticket and token are `id`. */
void fixture_fill_record(struct lk_record *record, uint64_t id, const char *path,
                         int64_t deadline_us);

/* Batches: of `count` such leases; of one; of the end of one; of nothing. */
lk_outcome fixture_write_leases(const struct service *service, uint64_t id, size_t count,
                                const char *path, int64_t left_ms);
lk_outcome fixture_write_lease(const struct service *service, uint64_t id);
lk_outcome fixture_write_end(const struct service *service, uint64_t id);
lk_outcome fixture_write_nothing(const struct service *service);

/* The live requests of the snapshot, which is freed. */
size_t fixture_count_of(struct lk_core_snapshot *snapshot);

lk_outcome fixture_resign(const struct service *service);

#endif
