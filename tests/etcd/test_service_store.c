/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of services that share an etcd cluster: which of two services leads, what the one that
 * was replaced can still do, and what is loaded. Each service has a clock of the test's, so no test
 * waits for a lease.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"
#include "server/core/core.h"
#include "server/store/etcd/store.h"
#include "server/store/etcd/store_etcd.h"

enum { URL_BYTES = 200, PART_BYTES = 8192, SNAPSHOT_BYTES_MIN = 4096, PREFIX_BYTES = 32 };
enum { LIVE = 40, ITEMS = 50, TURNS_MAX = 60, VALUE_BYTES = 16, PART_BYTES_SMALL = 300 };

#define LEASE_US INT64_C(60000000)
#define HOUR_US INT64_C(3600000000)
#define SLACK_US INT64_C(30000000) /* of a slow machine */

struct service {
    struct lk_storage *storage;
    int64_t ahead_us; /* of its clock before that of this machine */
};

struct fixture {
    size_t part_bytes; /* of the services that are opened next */
    char url[URL_BYTES];
    char prefix[PREFIX_BYTES];
    struct lk_etcd_client *operator;
    struct service first;
    struct service second;
};

/* ---- an operator ----------------------------------------------------------------------------- */

static void call(const struct fixture *fixture, const char *path, struct lk_buffer *body) {
    json_t *answer = NULL;
    lk_error error;

    if (lk_etcd_call(fixture->operator, path, (struct lk_slice){body->bytes, body->size}, NULL,
                     &answer, &error)
        != LK_OK) {
        fail_msg("%s: %s", path, error.text);
    }
    json_decref(answer);
    lk_buffer_done(body);
}

static void put(const struct fixture *fixture, const char *name, struct lk_slice value) {
    struct lk_buffer body = {.max = 0};
    char key[64];

    (void)snprintf(key, sizeof key, "%s%s", fixture->prefix, name);
    lk_buffer_add_text(&body, "{");
    lk_etcd_add_text(&body, "key", key);
    lk_buffer_add_text(&body, ",");
    lk_etcd_add_bytes(&body, "value", value);
    lk_buffer_add_text(&body, "}");
    call(fixture, "/v3/kv/put", &body);
}

static void remove_keys(const struct fixture *fixture, const char *from, const char *to) {
    struct lk_buffer body = {.max = 0};
    char key[64];

    lk_buffer_add_text(&body, "{");
    (void)snprintf(key, sizeof key, "%s%s", fixture->prefix, from);
    lk_etcd_add_text(&body, "key", key);
    lk_buffer_add_text(&body, ",");
    (void)snprintf(key, sizeof key, "%s%s", fixture->prefix, to);
    lk_etcd_add_text(&body, "range_end", key);
    lk_buffer_add_text(&body, "}");
    call(fixture, "/v3/kv/deleterange", &body);
}

/* How many keys there are whose names begin so, up to a thousand. */
static size_t count_keys(const struct fixture *fixture, const char *name) {
    json_t *rows = NULL;
    char from[64];
    char to[64];
    size_t count;

    (void)snprintf(from, sizeof from, "%s%s/", fixture->prefix, name);
    (void)snprintf(to, sizeof to, "%s%s0", fixture->prefix, name); /* behind the slash */
    assert_int_equal(lk_etcd_range(fixture->operator, from, to, 1000, &rows, NULL), LK_OK);
    count = json_array_size(rows);
    json_decref(rows);
    return count;
}

/* ---- services -------------------------------------------------------------------------------- */

static lk_outcome open_store(const struct fixture *fixture, const char *address,
                             struct lk_storage **ret_storage, lk_error *error) {
    const struct lk_store_etcd_options options = {.url = fixture->url,
                                                  .address = address,
                                                  .lease_us = LEASE_US,
                                                  .part_bytes = fixture->part_bytes,
                                                  .snapshot_bytes_min = SNAPSHOT_BYTES_MIN};

    return lk_store_etcd_open(&options, ret_storage, error);
}

/* Each test has a prefix of its own. */
static int begin(void **state) {
    static unsigned count;
    struct fixture *fixture = calloc(1, sizeof *fixture);

    fixture->part_bytes = PART_BYTES;
    (void)snprintf(fixture->prefix, sizeof fixture->prefix, "test%u/", ++count);
    (void)snprintf(fixture->url, sizeof fixture->url, "etcd://%s/test%u", getenv("LK_TEST_ETCD"),
                   count);
    *state = fixture;
    assert_int_equal(lk_etcd_client_new(fixture->url, LEASE_US, &fixture->operator, NULL), LK_OK);
    assert_int_equal(open_store(fixture, "one:7420", &fixture->first.storage, NULL), LK_OK);
    assert_int_equal(open_store(fixture, "two:7420", &fixture->second.storage, NULL), LK_OK);
    return 0;
}

static int end(void **state) {
    struct fixture *fixture = *state;

    fixture->first.storage->ops->close(fixture->first.storage);
    fixture->second.storage->ops->close(fixture->second.storage);
    lk_etcd_client_free(fixture->operator);
    free(fixture);
    return 0;
}

static struct lk_times times_of(const struct service *service) {
    return (struct lk_times){.now_us = lk_clock_now_us() + service->ahead_us,
                             .wall_us = lk_clock_wall_us()};
}

/* NULL: the outcome is not LK_OK. */
static struct lk_core_snapshot *load(struct service *service, lk_outcome expected) {
    const struct lk_model_config config = {.hash_seed = 1};
    const struct lk_times times = times_of(service);
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

static void load_only(struct service *service, lk_outcome expected) {
    lk_core_snapshot_free(load(service, expected));
}

/* It looks now, and takes over when it looks again after the time of the lease. */
static struct lk_core_snapshot *take_over(struct service *service) {
    load_only(service, LK_BUSY);
    service->ahead_us += LEASE_US;
    return load(service, LK_OK);
}

static void only_take_over(struct service *service) {
    lk_core_snapshot_free(take_over(service));
}

/* A lease at PATH/ID. */
static void fill_record(struct lk_record *record, uint64_t id, const char *path,
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
static lk_outcome write_leases(const struct service *service, uint64_t id, size_t count,
                               const char *path, int64_t left_ms) {
    struct lk_record *records = calloc(count, sizeof *records);
    struct lk_row *rows = calloc(count, sizeof *rows);
    struct lk_batch batch = {.times = times_of(service), .first = rows, .row_count = count};
    lk_outcome outcome;

    for (size_t i = 0; i < count; i++) {
        fill_record(&records[i], id + i, path, batch.times.now_us + left_ms * 1000);
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

static lk_outcome write_lease(const struct service *service, uint64_t id) {
    return write_leases(service, id, 1, "a", 2 * HOUR_US / 1000);
}

static lk_outcome write_end(const struct service *service, uint64_t id) {
    struct lk_row row = {.kind = LK_ROW_REQUEST_GONE, .gone = id};
    const struct lk_batch batch = {.times = times_of(service), .first = &row, .row_count = 1};

    return service->storage->ops->write(service->storage, &batch, NULL);
}

static lk_outcome write_nothing(const struct service *service) {
    const struct lk_batch batch = {.times = times_of(service)};

    return service->storage->ops->write(service->storage, &batch, NULL);
}

static size_t count_of(struct lk_core_snapshot *snapshot) {
    struct lk_model_stats stats;

    lk_model_stats(snapshot->model, &stats);
    lk_core_snapshot_free(snapshot);
    return (size_t)stats.live;
}

static lk_outcome resign(const struct service *service) {
    return service->storage->ops->resign(service->storage, NULL);
}

/* ---- which one leads ------------------------------------------------------------------------- */

static void the_second_is_told_who_leads(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture->first.storage->leader.epoch, 1);
    load_only(&fixture->second, LK_BUSY);
    assert_string_equal(fixture->second.storage->leader.address, "one:7420");
    assert_int_equal(fixture->second.storage->leader.epoch, 1);
    assert_int_equal(fixture->second.storage->leader.left_us, LEASE_US);
}

/* Each transaction renews the lease, also one of nothing. */
static void a_leader_that_writes_stays(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    load_only(&fixture->second, LK_BUSY);
    assert_int_equal(write_nothing(&fixture->first), LK_OK);
    fixture->second.ahead_us += LEASE_US;
    load_only(&fixture->second, LK_BUSY);
    fixture->second.ahead_us += LEASE_US - SLACK_US;
    load_only(&fixture->second, LK_BUSY);
    assert_int_equal(write_lease(&fixture->first, 1), LK_OK);
    fixture->second.ahead_us += SLACK_US;
    load_only(&fixture->second, LK_BUSY);
    fixture->second.ahead_us += LEASE_US;
    load_only(&fixture->second, LK_OK);
}

/* A leader that cannot reach etcd either must not be replaced as soon as etcd is back. */
static void the_time_without_etcd_does_not_count(void **state) {
    struct fixture *fixture = *state;
    struct lk_etcd_client *client = lk_store_etcd_of(fixture->second.storage)->client;

    load_only(&fixture->first, LK_OK);
    load_only(&fixture->second, LK_BUSY);
    lk_etcd_client_insist(client, 1); /* too short for any answer */
    load_only(&fixture->second, LK_UNAVAILABLE);
    lk_etcd_client_insist(client, LEASE_US);
    fixture->second.ahead_us += LEASE_US;
    load_only(&fixture->second, LK_BUSY);
    fixture->second.ahead_us += LEASE_US;
    load_only(&fixture->second, LK_OK);
}

static void a_replaced_leader_writes_nothing(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    assert_int_equal(write_lease(&fixture->first, 1), LK_OK);
    only_take_over(&fixture->second);
    assert_int_equal(fixture->second.storage->leader.epoch, 2);
    assert_int_equal(write_lease(&fixture->first, 2), LK_LOST);
    load_only(&fixture->first, LK_BUSY);
    assert_string_equal(fixture->first.storage->leader.address, "two:7420");
    assert_int_equal(write_lease(&fixture->second, 3), LK_OK);
    assert_int_equal(count_of(take_over(&fixture->first)), 2);
}

/* Not even what it divides: its parts are refused one by one. */
static void a_replaced_leader_writes_no_part(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    only_take_over(&fixture->second);
    assert_int_equal(write_leases(&fixture->first, 1, 500, "a", 1000), LK_LOST);
    assert_int_equal(count_keys(fixture, "part"), 0);
}

static void what_is_handed_over_is_taken_at_once(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    load_only(&fixture->second, LK_BUSY);
    assert_int_equal(resign(&fixture->first), LK_OK);
    load_only(&fixture->second, LK_OK);
}

/* One that was replaced must not hand over what is another's. */
static void only_the_leader_hands_over(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    only_take_over(&fixture->second);
    assert_int_equal(resign(&fixture->first), LK_LOST);
    load_only(&fixture->first, LK_BUSY);
}

/* A batch of it that is still on its way must not arrive after the load. */
static void a_leader_that_loads_again_begins_an_epoch(void **state) {
    struct fixture *fixture = *state;
    struct lk_core_snapshot *snapshot;

    load_only(&fixture->first, LK_OK);
    snapshot = load(&fixture->first, LK_OK);
    assert_int_equal(fixture->first.storage->leader.epoch, 2);
    assert_false(snapshot->is_foreign);
    lk_core_snapshot_free(snapshot);
}

static void it_is_known_whether_another_has_led(void **state) {
    struct fixture *fixture = *state;
    struct lk_core_snapshot *snapshot;

    load_only(&fixture->first, LK_OK);
    snapshot = take_over(&fixture->second);
    assert_true(snapshot->is_foreign);
    lk_core_snapshot_free(snapshot);
    snapshot = take_over(&fixture->first);
    assert_true(snapshot->is_foreign);
    lk_core_snapshot_free(snapshot);
}

/* ---- entries and snapshots ------------------------------------------------------------------- */

static void a_large_batch_is_divided(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    assert_int_equal(write_leases(&fixture->first, 1, 2000, "a", 100000), LK_OK);
    assert_true(count_keys(fixture, "part") > 5);
    assert_int_equal(count_of(take_over(&fixture->second)), 2000);
}

/* The item of a turn: of some that come again and again. */
static void fill_item(struct lk_item_record *item, uint64_t turn, char id[VALUE_BYTES]) {
    (void)snprintf(id, VALUE_BYTES, "i%u", (unsigned)(turn % ITEMS));
    *item = (struct lk_item_record){.id = lk_slice_of(id), .sequence = turn};
    (void)lk_path_parse(lk_slice_of("q"), &item->queue, NULL);
}

/*
 * A new lease, the end of an older one, another value, an item that goes and one that comes: each
 * entry adds, removes and changes.
 */
static void write_turn(const struct service *service, uint64_t id) {
    static struct lk_record record;
    static struct lk_item_record items[2];
    struct lk_row rows[] = {
        {.kind = LK_ROW_REQUEST, .request = {.record = &record, .has_parts = true}},
        {.kind = LK_ROW_VALUE, .value = {{"v", 1}, {NULL, 0}}},
        {.kind = LK_ROW_ITEM_NEW, .item.record = &items[0]},
        {.kind = LK_ROW_REQUEST_GONE, .gone = id - LIVE},
        {.kind = LK_ROW_ITEM_GONE, .item.record = &items[1]},
    };
    const struct lk_batch batch = {
        .times = times_of(service), .first = rows, .row_count = 5, .draw_floor = id};
    char ids[2][VALUE_BYTES];
    char value[VALUE_BYTES];

    (void)snprintf(value, sizeof value, "%u", (unsigned)id);
    fill_record(&record, id, "a", batch.times.now_us + 2 * HOUR_US);
    fill_item(&items[0], id, ids[0]);
    items[0].value = rows[1].value.bytes = lk_slice_of(value);
    for (size_t i = 0; i + 1 < (id > LIVE ? 5 : 3); i++) {
        rows[i].next = &rows[i + 1];
    }
    if (id > LIVE) {
        fill_item(&items[1], id - LIVE, ids[1]);
    }
    assert_int_equal(service->storage->ops->write(service->storage, &batch, NULL), LK_OK);
}

static void check_item(const struct lk_model *model, uint64_t turn) {
    static struct lk_item_record expected;
    static struct lk_item_record found;
    char id[VALUE_BYTES];
    char value[VALUE_BYTES];

    fill_item(&expected, turn, id);
    (void)snprintf(value, sizeof value, "%u", (unsigned)turn);
    lk_model_item_record(model, lk_model_item(model, &expected.queue, expected.id), &found);
    assert_int_equal(found.sequence, turn);
    assert_true(lk_slice_equal(found.value, lk_slice_of(value)));
}

/* What the last turns up to this one have left. */
static void check_state(struct lk_core_snapshot *snapshot, uint64_t last) {
    const struct lk_model *model = snapshot->model;
    struct lk_model_stats stats;
    struct lk_value_record value;
    char expected[VALUE_BYTES];
    struct lk_path path;
    uint64_t first = last > LIVE ? last - LIVE + 1 : 1;

    (void)snprintf(expected, sizeof expected, "%u", (unsigned)last);
    assert_int_equal(lk_path_parse(lk_slice_of("v"), &path, NULL), LK_OK);
    lk_model_value_record(model, lk_model_value(model, &path), &value);
    assert_true(lk_slice_equal(value.bytes, lk_slice_of(expected)));
    assert_int_equal(lk_model_next_id(model), last + 1);
    lk_model_stats(model, &stats);
    assert_int_equal(stats.live, last - first + 1);
    assert_int_equal(stats.items, last - first + 1);
    for (uint64_t turn = first; turn <= last; turn++) {
        check_item(model, turn);
    }
    lk_core_snapshot_free(snapshot);
}

/*
 * Entries are dropped once a snapshot has what they said, and nothing is lost or comes back at any
 * moment of it: the service is loaded after each number of entries up to many snapshots.
 */
static void snapshots_replace_entries(void **state) {
    struct fixture *fixture = *state;
    uint64_t id = 0;

    load_only(&fixture->first, LK_OK);
    for (uint64_t turns = 1; turns <= TURNS_MAX; turns++) {
        for (uint64_t i = 0; i < turns; i++) {
            write_turn(&fixture->first, ++id);
        }
        check_state(load(&fixture->first, LK_OK), id);
    }
    assert_true(count_keys(fixture, "log") < 300); /* of 1,900 */
    assert_true(count_keys(fixture, "snapshot") > 0);
}

/* The same with many pieces, each of another age. */
static void snapshots_are_of_many_ages(void **state) {
    struct fixture *fixture = *state;

    fixture->part_bytes = PART_BYTES_SMALL;
    fixture->first.storage->ops->close(fixture->first.storage);
    assert_int_equal(open_store(fixture, "one:7420", &fixture->first.storage, NULL), LK_OK);
    snapshots_replace_entries(state);
}

static void what_is_missing_is_told(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    assert_int_equal(write_lease(&fixture->first, 1), LK_OK);
    assert_int_equal(write_lease(&fixture->first, 2), LK_OK);
    remove_keys(fixture, "log/0000000000000002", "log/0000000000000003");
    assert_int_equal(resign(&fixture->first), LK_OK);
    load_only(&fixture->second, LK_INVALID);
}

static void what_is_damaged_is_told(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    assert_int_equal(write_lease(&fixture->first, 1), LK_OK);
    put(fixture, "log/0000000000000002", lk_slice_of("nothing of ours"));
    assert_int_equal(resign(&fixture->first), LK_OK);
    load_only(&fixture->second, LK_INVALID);
}

/* A leader's key that was deleted is not taken for a store that is new. */
static void a_missing_leader_is_told(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    remove_keys(fixture, "leader", "leader0");
    assert_int_equal(write_lease(&fixture->first, 1), LK_LOST);
    load_only(&fixture->second, LK_INVALID);
    assert_int_equal(count_keys(fixture, "log"), 1);
}

static void keys_of_another_version_are_refused(void **state) {
    struct fixture *fixture = *state;
    struct lk_storage *third = NULL;
    lk_error error;

    put(fixture, "leader", lk_slice_of("{\"format\":99}"));
    assert_int_equal(open_store(fixture, "three:7420", &third, &error), LK_UNSUPPORTED);
    assert_non_null(strstr(error.text, "99"));
    put(fixture, "leader", lk_slice_of("{\"format\":1,\"epoch\":"));
    assert_int_equal(open_store(fixture, "three:7420", &third, &error), LK_INVALID);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static int64_t left_of(const struct service *service, struct lk_core_snapshot *snapshot) {
    int64_t left_us =
        lk_model_next_deadline(snapshot->model) - lk_clock_now_us() - service->ahead_us;

    lk_core_snapshot_free(snapshot);
    return left_us;
}

/* Whatever the clocks of the two machines say: the time that is left is as it was, or longer by the
 * time between the last batch and the first look. */
static void clocks_may_differ(void **state) {
    struct fixture *fixture = *state;
    static const int64_t ahead[] = {100 * HOUR_US, -HOUR_US};

    for (size_t i = 0; i < sizeof ahead / sizeof ahead[0]; i++) {
        int64_t left_us;

        fixture->first.ahead_us = 10 * HOUR_US;
        fixture->second.ahead_us = fixture->first.ahead_us + ahead[i];
        load_only(&fixture->first, LK_OK);
        assert_int_equal(write_lease(&fixture->first, i + 1), LK_OK);
        left_us = left_of(&fixture->second, take_over(&fixture->second));
        assert_true(left_us <= 2 * HOUR_US - LEASE_US + SLACK_US);
        assert_true(left_us >= 2 * HOUR_US - LEASE_US - SLACK_US);
        assert_int_equal(write_end(&fixture->second, i + 1), LK_OK);
        assert_int_equal(resign(&fixture->second), LK_OK);
    }
}

/* R11: what has a second left has a minute then, once. */
static void a_takeover_gives_a_grace_period_once(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    assert_int_equal(write_leases(&fixture->first, 1, 1, "a", 1000), LK_OK);
    assert_true(left_of(&fixture->second, take_over(&fixture->second)) > SLACK_US);
    fixture->second.ahead_us += HOUR_US;
    assert_true(left_of(&fixture->second, load(&fixture->second, LK_OK)) < 0);
    assert_int_equal(write_lease(&fixture->second, 1), LK_OK); /* renewed */
    assert_true(left_of(&fixture->second, load(&fixture->second, LK_OK)) > HOUR_US);
}

/* The leader saw it end, or would have if it had looked: no grace revives it. */
static void what_was_dead_stays_dead(void **state) {
    struct fixture *fixture = *state;

    load_only(&fixture->first, LK_OK);
    assert_int_equal(write_leases(&fixture->first, 1, 1, "a", 1000), LK_OK);
    fixture->first.ahead_us += HOUR_US;
    assert_int_equal(write_nothing(&fixture->first), LK_OK);
    assert_true(left_of(&fixture->second, take_over(&fixture->second)) < 0);
}

static void no_draw_is_made_again(void **state) {
    struct fixture *fixture = *state;
    struct lk_core_snapshot *snapshot;

    load_only(&fixture->first, LK_OK);
    assert_int_equal(write_lease(&fixture->first, 1234567), LK_OK);
    assert_int_equal(write_end(&fixture->first, 1234567), LK_OK);
    snapshot = take_over(&fixture->second);
    assert_true(lk_model_greatest_draw(snapshot->model) >= 1234567);
    lk_core_snapshot_free(snapshot);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_second_is_told_who_leads),
        TEST(a_leader_that_writes_stays),
        TEST(the_time_without_etcd_does_not_count),
        TEST(a_replaced_leader_writes_nothing),
        TEST(a_replaced_leader_writes_no_part),
        TEST(what_is_handed_over_is_taken_at_once),
        TEST(only_the_leader_hands_over),
        TEST(a_leader_that_loads_again_begins_an_epoch),
        TEST(it_is_known_whether_another_has_led),
        TEST(a_large_batch_is_divided),
        TEST(snapshots_replace_entries),
        TEST(snapshots_are_of_many_ages),
        TEST(what_is_missing_is_told),
        TEST(what_is_damaged_is_told),
        TEST(a_missing_leader_is_told),
        TEST(keys_of_another_version_are_refused),
        TEST(clocks_may_differ),
        TEST(a_takeover_gives_a_grace_period_once),
        TEST(what_was_dead_stays_dead),
        TEST(no_draw_is_made_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
