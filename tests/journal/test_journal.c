/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of services at a home in memory: answers that are lost, commits that are made again,
 * entries that are divided, snapshots. tests/etcd has the same at etcd, and more of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "memory_home.h"
#include "server/store/journal/state.h"
#include "services.h"

enum { PART_BYTES = 4096, SNAPSHOT_BYTES_MIN = 1024, HISTORY_MAX = 20 };

struct fixture {
    struct place place;
    struct service first;
    struct service second;
};

static struct lk_storage *open_store(struct place *place, const char *address) {
    const struct lk_journal_options options = {.address = address,
                                               .lease_us = LEASE_US,
                                               .snapshot_bytes_min = SNAPSHOT_BYTES_MIN,
                                               .history_max = HISTORY_MAX};
    struct lk_storage *storage = NULL;
    lk_error error;

    if (lk_journal_open(place_open_home(place), &options, &storage, &error) != LK_OK) {
        fail_msg("%s", error.text);
    }
    return storage;
}

static int begin(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);

    fixture->place.part_bytes = PART_BYTES;
    fixture->first.storage = open_store(&fixture->place, "one:7420");
    fixture->second.storage = open_store(&fixture->place, "two:7420");
    *state = fixture;
    return 0;
}

static int end(void **state) {
    struct fixture *fixture = *state;

    fixture->first.storage->ops->close(fixture->first.storage);
    fixture->second.storage->ops->close(fixture->second.storage);
    place_done(&fixture->place);
    free(fixture);
    return 0;
}

/* The commit finds a record that is not of its revision, and which it has written itself. */
static void a_commit_that_is_made_again_is_known(void **state) {
    struct fixture *fixture = *state;

    fixture->place.fault = PLACE_REPEATS;
    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 2), LK_OK);
    assert_int_equal(fixture_resign(&fixture->first), LK_OK);
    fixture->place.fault = PLACE_SOUND;
    assert_int_equal(fixture_count_of(fixture_load(&fixture->second, LK_OK)), 2);
}

/* The record is of the same process, but of another commit: that is no success of this one. */
static void another_services_record_is_not_taken_for_its_own(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    fixture_only_take_over(&fixture->second);
    fixture->place.fault = PLACE_REPEATS;
    assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_LOST);
    fixture->place.fault = PLACE_SOUND;
    assert_int_equal(fixture_count_of(fixture_load(&fixture->second, LK_OK)), 0);
}

/* What a write of unknown outcome was: the next load tells. */
static void a_load_tells_what_was_written(void **state) {
    static const struct {
        enum place_fault fault;
        size_t live;
    } cases[] = {{PLACE_REFUSES, 0}, {PLACE_LOSES, 1}};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture_load_only(&fixture->first, LK_OK);
        fixture->place.fault = cases[i].fault;
        assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_UNAVAILABLE);
        assert_int_equal(fixture_write_lease(&fixture->first, 2), LK_UNAVAILABLE); /* no image */
        fixture->place.fault = PLACE_SOUND;
        assert_int_equal(fixture_count_of(fixture_load(&fixture->first, LK_OK)), cases[i].live);
    }
}

/* Whichever of its commits fails, an entry in parts is there as a whole or not at all. */
static void a_divided_entry_is_whole_or_nothing(void **state) {
    enum { COUNT = 400 };
    struct fixture *fixture = *state;
    unsigned commits = 0;
    lk_outcome outcome = LK_UNAVAILABLE;

    fixture_load_only(&fixture->first, LK_OK);
    for (; outcome != LK_OK; commits++) {
        fixture->place.fault = PLACE_REFUSES;
        fixture->place.sound_commits = commits;
        outcome = fixture_write_leases(&fixture->first, 1, COUNT, "a", 100000);
        fixture->place.fault = PLACE_SOUND;
        fixture->place.sound_commits = 0;
        assert_int_equal(fixture_count_of(fixture_load(&fixture->first, LK_OK)),
                         outcome == LK_OK ? COUNT : 0);
    }
    assert_true(commits > 3);
}

/* So are snapshots, of several pieces and ages: what replaces entries is complete before they
 * go. */
static void snapshots_replace_entries(void **state) {
    enum { LIVE = 100 };
    struct fixture *fixture = *state;

    for (uint64_t id = 1; id <= 1000; id++) {
        if (id % 50 == 1) {
            assert_int_equal(fixture_count_of(fixture_load(&fixture->first, LK_OK)),
                             id > LIVE ? LIVE : id - 1);
        }
        assert_int_equal(fixture_write_lease(&fixture->first, id), LK_OK);
        if (id > LIVE) {
            assert_int_equal(fixture_write_end(&fixture->first, id - LIVE), LK_OK);
        }
    }
    assert_true(place_count(&fixture->place, LK_HOME_PIECE) > 1);
    assert_true(place_count(&fixture->place, LK_HOME_ENTRY) < 500);
    assert_true(fixture->place.forgotten > 0 && fixture->place.forgotten < fixture->place.revision);
    assert_int_equal(fixture_count_of(fixture_take_over(&fixture->second)), LIVE);
}

static void what_is_missing_is_told_with_the_homes_title(void **state) {
    const struct lk_home_key from = {.kind = LK_HOME_ENTRY, .number = 2};
    const struct lk_home_key to = {.kind = LK_HOME_ENTRY, .number = 3};
    struct fixture *fixture = *state;
    struct lk_core_snapshot *snapshot = NULL;
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_times times;
    lk_error error;

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 2), LK_OK);
    place_remove(&fixture->place, &from, &to);
    assert_int_equal(fixture_resign(&fixture->first), LK_OK);
    times = fixture_times_of(&fixture->second);
    assert_int_equal(fixture->second.storage->ops->load(fixture->second.storage, &config, &times,
                                                        &snapshot, &error),
                     LK_INVALID);
    assert_string_equal(error.text, "what is kept in memory is damaged (a key is missing); name "
                                    "another prefix, or restore memory from a copy");
}

static void rows_without_a_leader_are_refused(void **state) {
    struct fixture *fixture = *state;
    const struct lk_journal_options options = {.address = "three:7420", .lease_us = LEASE_US};
    struct lk_storage *third = NULL;

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_OK);
    fixture->place.revision = 0;
    assert_int_equal(lk_journal_open(place_open_home(&fixture->place), &options, &third, NULL),
                     LK_INVALID);
    fixture_load_only(&fixture->second, LK_INVALID);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_commit_that_is_made_again_is_known),
        TEST(another_services_record_is_not_taken_for_its_own),
        TEST(a_load_tells_what_was_written),
        TEST(a_divided_entry_is_whole_or_nothing),
        TEST(snapshots_replace_entries),
        TEST(what_is_missing_is_told_with_the_homes_title),
        TEST(rows_without_a_leader_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
