/* SPDX-License-Identifier: Apache-2.0 */
/* Two services on an etcd cluster, and an operator. */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SNAPSHOT_BYTES_MIN = 4096 };

/* ---- an operator ----------------------------------------------------------------------------- */

/* A transaction that compares nothing. */
static void change(const struct fixture *fixture, struct lk_buffer *operations) {
    const struct lk_slice message = {operations->bytes, operations->size};
    struct lk_slice answer;
    lk_error error;

    if (lk_etcd_call(fixture->operator, LK_ETCD_TXN, message, NULL, &answer, &error) != LK_OK) {
        fail_msg("%s", error.text);
    }
    lk_buffer_done(operations);
}

void fixture_put(const struct fixture *fixture, const char *name, struct lk_slice value) {
    struct lk_buffer operations = {.max = 0};
    char key[64];

    (void)snprintf(key, sizeof key, "%s%s", fixture->prefix, name);
    lk_etcd_add_put(&operations, key, value);
    change(fixture, &operations);
}

void fixture_remove_keys(const struct fixture *fixture, const char *from, const char *to) {
    struct lk_buffer operations = {.max = 0};
    char first[64];
    char last[64];

    (void)snprintf(first, sizeof first, "%s%s", fixture->prefix, from);
    (void)snprintf(last, sizeof last, "%s%s", fixture->prefix, to);
    lk_etcd_add_delete(&operations, first, last);
    change(fixture, &operations);
}

/* How many keys there are whose names begin so, up to a thousand. */
size_t fixture_count_keys(const struct fixture *fixture, const char *name) {
    struct lk_buffer answer = {.max = 0};
    char from[64];
    char to[64];
    size_t count;

    (void)snprintf(from, sizeof from, "%s%s/", fixture->prefix, name);
    (void)snprintf(to, sizeof to, "%s%s0", fixture->prefix, name); /* behind the slash */
    assert_int_equal(lk_etcd_range(fixture->operator, from, to, 1000, &answer, NULL), LK_OK);
    count = lk_etcd_count_rows((struct lk_slice){answer.bytes, answer.size});
    lk_buffer_done(&answer);
    return count;
}

/* ---- services -------------------------------------------------------------------------------- */

lk_outcome fixture_open_store(const struct fixture *fixture, const char *address,
                              struct lk_storage **ret_storage, lk_error *error) {
    const struct lk_store_etcd_options options = {.url = fixture->url,
                                                  .address = address,
                                                  .lease_us = LEASE_US,
                                                  .part_bytes = fixture->part_bytes,
                                                  .snapshot_bytes_min = SNAPSHOT_BYTES_MIN,
                                                  .history_max = fixture->history_max};

    return lk_store_etcd_open(&options, ret_storage, error);
}

/* Each test has a prefix of its own. */
int fixture_begin(void **state) {
    static unsigned count;
    struct fixture *fixture = calloc(1, sizeof *fixture);

    fixture->part_bytes = PART_BYTES;
    (void)snprintf(fixture->prefix, sizeof fixture->prefix, "test%u/", ++count);
    (void)snprintf(fixture->url, sizeof fixture->url, "etcd://%s/test%u", getenv("LK_TEST_ETCD"),
                   count);
    *state = fixture;
    assert_int_equal(lk_etcd_client_new(fixture->url, LEASE_US, &fixture->operator, NULL), LK_OK);
    assert_int_equal(fixture_open_store(fixture, "one:7420", &fixture->first.storage, NULL), LK_OK);
    assert_int_equal(fixture_open_store(fixture, "two:7420", &fixture->second.storage, NULL),
                     LK_OK);
    return 0;
}

int fixture_end(void **state) {
    struct fixture *fixture = *state;

    fixture->first.storage->ops->close(fixture->first.storage);
    fixture->second.storage->ops->close(fixture->second.storage);
    lk_etcd_client_free(fixture->operator);
    free(fixture);
    return 0;
}
