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

#include "base/clock.h"

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

struct lk_times fixture_times_of(const struct service *service) {
    return (struct lk_times){.now_us = lk_clock_now_us() + service->ahead_us,
                             .wall_us = lk_clock_wall_us()};
}

/* NULL: the outcome is not LK_OK. */
struct lk_core_snapshot *fixture_load(struct service *service, lk_outcome expected) {
    const struct lk_model_config config = {.hash_seed = 1};
    const struct lk_times times = fixture_times_of(service);
    struct lk_core_snapshot *snapshot = NULL;
    lk_error error = {.text = ""};
    lk_outcome outcome =
        service->storage->ops->load(service->storage, &config, &times, &snapshot, &error);

    if (outcome != expected) {
        fail_msg("%s instead of %s: %s", lk_outcome_name(outcome), lk_outcome_name(expected),
                 error.text);
    }
    return snapshot;
}

void fixture_load_only(struct service *service, lk_outcome expected) {
    lk_core_snapshot_free(fixture_load(service, expected));
}

/* It looks now, and takes over when it looks again after the time of the lease. */
struct lk_core_snapshot *fixture_take_over(struct service *service) {
    fixture_load_only(service, LK_BUSY);
    service->ahead_us += LEASE_US;
    return fixture_load(service, LK_OK);
}

void fixture_only_take_over(struct service *service) {
    lk_core_snapshot_free(fixture_take_over(service));
}

/* A lease at PATH/ID. */
void fixture_fill_record(struct lk_record *record, uint64_t id, const char *path,
                         int64_t deadline_us) {
    *record = (struct lk_record){.id = id,
                                 .owner = lk_slice_of("owner"),
                                 .state = LK_STATE_HELD,
                                 .ticket = id,
                                 .token = id,
                                 .ttl_ms = 2 * HOUR_US / 1000,
                                 .deadline_us = deadline_us,
                                 .part_count = 1};
    (void)snprintf(record->text, sizeof record->text, "%s/%u", path, (unsigned)id);
    (void)lk_path_parse(lk_slice_of(record->text), &record->parts[0].path, NULL);
}

/* `count` leases. */
lk_outcome fixture_write_leases(const struct service *service, uint64_t id, size_t count,
                                const char *path, int64_t left_ms) {
    struct lk_record *records = calloc(count, sizeof *records);
    struct lk_row *rows = calloc(count, sizeof *rows);
    struct lk_batch batch = {.times = fixture_times_of(service), .first = rows, .row_count = count};
    lk_outcome outcome;

    for (size_t i = 0; i < count; i++) {
        fixture_fill_record(&records[i], id + i, path, batch.times.now_us + left_ms * 1000);
        rows[i] = (struct lk_row){.kind = LK_ROW_REQUEST,
                                  .next = i + 1 < count ? &rows[i + 1] : NULL,
                                  .request = {.record = &records[i], .has_parts = true}};
    }
    batch.draw_floor = id + count - 1;
    outcome = service->storage->ops->write(service->storage, &batch, NULL);
    free(records);
    free(rows);
    return outcome;
}

lk_outcome fixture_write_lease(const struct service *service, uint64_t id) {
    return fixture_write_leases(service, id, 1, "a", 2 * HOUR_US / 1000);
}

lk_outcome fixture_write_end(const struct service *service, uint64_t id) {
    struct lk_row row = {.kind = LK_ROW_REQUEST_GONE, .gone = id};
    const struct lk_batch batch = {
        .times = fixture_times_of(service), .first = &row, .row_count = 1};

    return service->storage->ops->write(service->storage, &batch, NULL);
}

lk_outcome fixture_write_nothing(const struct service *service) {
    const struct lk_batch batch = {.times = fixture_times_of(service)};

    return service->storage->ops->write(service->storage, &batch, NULL);
}

size_t fixture_count_of(struct lk_core_snapshot *snapshot) {
    struct lk_model_stats stats;

    lk_model_stats(snapshot->model, &stats);
    lk_core_snapshot_free(snapshot);
    return (size_t)stats.live;
}

lk_outcome fixture_resign(const struct service *service) {
    return service->storage->ops->resign(service->storage, NULL);
}
