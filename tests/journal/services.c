/* SPDX-License-Identifier: Apache-2.0 */
/* What a service does to its store, and batches for it. */
#include "services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"

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
