/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What services keep in etcd: entries that are divided, snapshots that replace them, and what is
 * said of keys that are missing, damaged, or of another version.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "fixture.h"

enum { LIVE = 40, ITEMS = 50, TURNS_MAX = 60, VALUE_BYTES = 16, PART_BYTES_SMALL = 300 };

/* ---- entries and snapshots ------------------------------------------------------------------- */

static void a_large_batch_is_divided(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_leases(&fixture->first, 1, 2000, "a", 100000), LK_OK);
    assert_true(fixture_count_keys(fixture, "part") > 5);
    assert_int_equal(fixture_count_of(fixture_take_over(&fixture->second)), 2000);
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
        .times = fixture_times_of(service), .first = rows, .row_count = 5, .draw_floor = id};
    char ids[2][VALUE_BYTES];
    char value[VALUE_BYTES];

    (void)snprintf(value, sizeof value, "%u", (unsigned)id);
    fixture_fill_record(&record, id, "a", batch.times.now_us + 2 * HOUR_US);
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

    fixture_load_only(&fixture->first, LK_OK);
    for (uint64_t turns = 1; turns <= TURNS_MAX; turns++) {
        for (uint64_t i = 0; i < turns; i++) {
            write_turn(&fixture->first, ++id);
        }
        check_state(fixture_load(&fixture->first, LK_OK), id);
    }
    assert_true(fixture_count_keys(fixture, "log") < 300); /* of 1,900 */
    assert_true(fixture_count_keys(fixture, "snapshot") > 0);
}

/* The same with many pieces, each of another age. */
static void snapshots_are_of_many_ages(void **state) {
    struct fixture *fixture = *state;

    fixture->part_bytes = PART_BYTES_SMALL;
    fixture->first.storage->ops->close(fixture->first.storage);
    assert_int_equal(fixture_open_store(fixture, "one:7420", &fixture->first.storage, NULL), LK_OK);
    snapshots_replace_entries(state);
}

/* Whether etcd still has what the leader's key was at that revision. */
static bool is_kept(const struct fixture *fixture, uint64_t revision) {
    enum { REVISION = 4 }; /* of a RangeRequest */
    struct lk_buffer message = {.max = 0};
    struct lk_slice answer;
    lk_outcome outcome;
    lk_error error;
    char key[64];

    (void)snprintf(key, sizeof key, "%sleader", fixture->prefix);
    lk_etcd_add_range(&message, key, NULL, 1);
    lk_protobuf_add_number(&message, REVISION, revision);
    outcome = lk_etcd_call(fixture->operator, LK_ETCD_RANGE,
                           (struct lk_slice){message.bytes, message.size}, NULL, &answer, &error);
    lk_buffer_done(&message);
    assert_true(outcome == LK_OK || strstr(error.text, "compacted") != NULL);
    return outcome == LK_OK;
}

/* Renewals and reads write the leader's key alone, which is kept as often as it was written. */
static void history_is_forgotten_without_snapshots(void **state) {
    struct fixture *fixture = *state;
    const struct lk_journal *store;
    uint64_t begun;

    fixture->history_max = 50;
    fixture->first.storage->ops->close(fixture->first.storage);
    assert_int_equal(fixture_open_store(fixture, "one:7420", &fixture->first.storage, NULL), LK_OK);
    fixture_load_only(&fixture->first, LK_OK);
    store = lk_journal_of(fixture->first.storage);
    begun = store->revision;
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(fixture_write_nothing(&fixture->first), LK_OK);
    }
    assert_true(is_kept(fixture, begun));
    for (unsigned i = 0; i < 80; i++) {
        assert_int_equal(fixture_write_nothing(&fixture->first), LK_OK);
    }
    assert_false(is_kept(fixture, begun));
    assert_true(is_kept(fixture, store->revision - 20));
}

/* A snapshot grows as fast as the log, however large the entries are. */
static void large_entries_do_not_outrun_snapshots(void **state) {
    struct fixture *fixture = *state;
    size_t most = 0;

    fixture_load_only(&fixture->first, LK_OK);
    for (uint64_t i = 0; i < 70; i++) {
        uint64_t id = 1 + i % 10 * 500;
        size_t count;

        assert_int_equal(fixture_write_leases(&fixture->first, id, 500, "a", 100000), LK_OK);
        count = fixture_count_keys(fixture, "log");
        most = count > most ? count : most;
    }
    assert_true(most < 40);
    assert_int_equal(fixture_count_of(fixture_load(&fixture->first, LK_OK)), 5000);
}

/* One that leads writes turns, and the other one looks after each third, or not at all. */
static void lead_and_follow(const struct service *leader, struct service *follower, bool looks,
                            uint64_t *id) {
    fixture_load_only(follower, LK_BUSY);
    assert_non_null(lk_journal_of(follower->storage)->image);
    for (unsigned i = 0; i < 3 * TURNS_MAX; i++) {
        write_turn(leader, ++*id);
        if (looks && i % 3 == 0) {
            fixture_load_only(follower, LK_BUSY);
        }
    }
    if (!looks) {
        assert_true(lk_journal_of(follower->storage)->applied + 1
                    < lk_journal_of(leader->storage)->leader.first);
    }
    assert_int_equal(fixture_resign(leader), LK_OK);
    check_state(fixture_load(follower, LK_OK), *id);
}

/*
 * Through snapshots and deletions, a follower has what a service has that reads all of it; also one
 * for which the next entry is not there any more.
 */
static void a_follower_keeps_up_with_snapshots(void **state) {
    struct fixture *fixture = *state;
    uint64_t id = 0;

    fixture_load_only(&fixture->first, LK_OK);
    for (unsigned i = 0; i < 4; i++) {
        lead_and_follow(&fixture->first, &fixture->second, i % 2 == 0, &id);
        lead_and_follow(&fixture->second, &fixture->first, i % 2 == 0, &id);
    }
    assert_true(fixture_count_keys(fixture, "log") < 300);
}

/* What a leader that was killed had still to delete is deleted by the next one. */
static void what_was_left_is_deleted(void **state) {
    struct fixture *fixture = *state;
    const struct lk_journal *first = lk_journal_of(fixture->first.storage);

    fixture_load_only(&fixture->first, LK_OK);
    for (uint64_t id = 1; first->old_first == first->leader.first; id++) {
        write_turn(&fixture->first, id);
    }
    assert_true(fixture_count_keys(fixture, "log") > first->leader.last - first->leader.first + 1);
    fixture_only_take_over(&fixture->second);
    assert_int_equal(fixture_write_nothing(&fixture->second), LK_OK);
    assert_int_equal(fixture_count_keys(fixture, "log"),
                     first->leader.last - first->leader.first + 2); /* and the new epoch */
}

static void what_is_missing_is_told(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 2), LK_OK);
    fixture_remove_keys(fixture, "log/0000000000000002", "log/0000000000000003");
    assert_int_equal(fixture_resign(&fixture->first), LK_OK);
    fixture_load_only(&fixture->second, LK_INVALID);
}

static void what_is_damaged_is_told(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_OK);
    fixture_put(fixture, "log/0000000000000002", lk_slice_of("nothing of ours"));
    assert_int_equal(fixture_resign(&fixture->first), LK_OK);
    fixture_load_only(&fixture->second, LK_INVALID);
}

/* A leader's key that was deleted is not taken for a store that is new. */
static void a_missing_leader_is_told(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    fixture_remove_keys(fixture, "leader", "leader0");
    assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_LOST);
    fixture_load_only(&fixture->second, LK_INVALID);
    assert_int_equal(fixture_count_keys(fixture, "log"), 1);
}

static void keys_of_another_version_are_refused(void **state) {
    struct fixture *fixture = *state;
    struct lk_storage *third = NULL;
    lk_error error;

    fixture_put(fixture, "leader", lk_slice_of("{\"format\":99}"));
    assert_int_equal(fixture_open_store(fixture, "three:7420", &third, &error), LK_UNSUPPORTED);
    assert_non_null(strstr(error.text, "99"));
    fixture_put(fixture, "leader", lk_slice_of("{\"format\":1,\"epoch\":"));
    assert_int_equal(fixture_open_store(fixture, "three:7420", &third, &error), LK_INVALID);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(a_large_batch_is_divided),
        TEST(snapshots_replace_entries),
        TEST(history_is_forgotten_without_snapshots),
        TEST(snapshots_are_of_many_ages),
        TEST(large_entries_do_not_outrun_snapshots),
        TEST(a_follower_keeps_up_with_snapshots),
        TEST(what_was_left_is_deleted),
        TEST(what_is_missing_is_told),
        TEST(what_is_damaged_is_told),
        TEST(a_missing_leader_is_told),
        TEST(keys_of_another_version_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
