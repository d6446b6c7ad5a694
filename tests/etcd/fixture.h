/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two services on keys of an etcd cluster (LK_TEST_ETCD), each with a clock of the test's, so that
 * no test waits for a lease; and an operator, who looks at the keys and changes them. A call that
 * does not end as it must fails the test.
 */
#ifndef LK_TESTS_ETCD_FIXTURE_H
#define LK_TESTS_ETCD_FIXTURE_H

#include "server/core/core.h"
#include "server/store/etcd/client.h"
#include "server/store/etcd/store_etcd.h"
#include "server/store/journal/state.h"

enum { URL_BYTES = 200, PART_BYTES = 8192, PREFIX_BYTES = 32 };

#define LEASE_US INT64_C(60000000)
#define HOUR_US INT64_C(3600000000)
#define SLACK_US INT64_C(30000000) /* of a slow machine */

struct service {
    struct lk_storage *storage;
    int64_t ahead_us; /* of its clock before that of this machine */
};

struct fixture {
    size_t part_bytes;    /* of the services that are opened next */
    uint64_t history_max; /* likewise; 0: the default */
    char url[URL_BYTES];
    char prefix[PREFIX_BYTES];
    struct lk_etcd_client *operator;
    struct service first;
    struct service second;
};

/* For cmocka: two services that are open, below a prefix of their own. */
int fixture_begin(void **state);
int fixture_end(void **state);
lk_outcome fixture_open_store(const struct fixture *fixture, const char *address,
                              struct lk_storage **ret_storage, lk_error *error);

/* ---- the operator; names are without the prefix ---------------------------------------------- */

void fixture_put(const struct fixture *fixture, const char *name, struct lk_slice value);
/* Those from `from` and before `to`. */
void fixture_remove_keys(const struct fixture *fixture, const char *from, const char *to);
/* How many keys there are below a name, up to a thousand. */
size_t fixture_count_keys(const struct fixture *fixture, const char *name);

/* ---- the services ---------------------------------------------------------------------------- */

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
