/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two services on keys of an etcd cluster (LK_TEST_ETCD), each with a clock of the test's, so that
 * no test waits for a lease; and an operator, who looks at the keys and changes them. A call that
 * does not end as it must fails the test.
 */
#ifndef LK_TESTS_ETCD_FIXTURE_H
#define LK_TESTS_ETCD_FIXTURE_H

#include "../journal/services.h"
#include "server/store/etcd/client.h"
#include "server/store/etcd/store_etcd.h"
#include "server/store/journal/state.h"

enum { URL_BYTES = 200, PART_BYTES = 8192, PREFIX_BYTES = 32 };

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

#endif
