/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of services that share a database: which of two services leads, what the one that was
 * replaced can still do, and what is loaded. No test waits for a lease: its end is written.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "server/core/core.h"
#include "service_database.h"

#define LEASE_US INT64_C(60000000)
#define HASTY_LEASE_US                                                                             \
    INT64_C(5000000) /* so long a write tries: longer than MySQL waits for a row */

enum { WRITES = 50 };

struct fixture {
    struct service_database *operator;
    struct lk_storage *first;
    struct lk_storage *second;
};

static lk_outcome open_store(const char *address, struct lk_storage **ret_storage,
                             lk_error *error) {
    return service_database_open(address, LEASE_US, false, ret_storage, error);
}

static int begin(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);

    *state = fixture;
    fixture->operator= service_database_connect();
    service_database_run(fixture->operator, service_words.drop);
    assert_int_equal(open_store("one:7420", &fixture->first, NULL), LK_OK);
    assert_int_equal(open_store("two:7420", &fixture->second, NULL), LK_OK);
    return 0;
}

static void close_store(struct lk_storage **storage) {
    if (*storage != NULL) {
        (*storage)->ops->close(*storage);
    }
    *storage = NULL;
}

static int end(void **state) {
    struct fixture *fixture = *state;

    close_store(&fixture->first);
    close_store(&fixture->second);
    service_database_close(fixture->operator);
    free(fixture);
    return 0;
}

static struct lk_times times_now(void) {
    return (struct lk_times){.now_us = lk_clock_now_us(), .wall_us = lk_clock_wall_us()};
}

/* NULL: the outcome is not LK_OK. */
static struct lk_core_snapshot *load(struct lk_storage *storage, lk_outcome expected) {
    const struct lk_model_config config = {.hash_seed = 1};
    const struct lk_times times = times_now();
    struct lk_core_snapshot *snapshot = NULL;
    lk_error error = {.text = ""};
    lk_outcome outcome = storage->ops->load(storage, &config, &times, &snapshot, &error);

    if (outcome != expected) {
        fail_msg("%s instead of %s: %s", lk_outcome_name(outcome), lk_outcome_name(expected),
                 error.text);
    }
    return snapshot;
}

static void load_only(struct lk_storage *storage, lk_outcome expected) {
    lk_core_snapshot_free(load(storage, expected));
}

static lk_outcome write_lease(struct lk_storage *storage, uint64_t id, const char *path,
                              int64_t ttl_ms) {
    static struct lk_record record;
    struct lk_row row = {.kind = LK_ROW_REQUEST};
    struct lk_batch batch = {.number = 1, .times = times_now(), .first = &row, .row_count = 1};

    record = (struct lk_record){.id = id,
                                .owner = lk_slice_of("owner"),
                                .state = LK_STATE_HELD,
                                .ticket = id,
                                .token = id,
                                .ttl_ms = ttl_ms,
                                .deadline_us = batch.times.now_us + ttl_ms * 1000,
                                .part_count = 1};
    (void)lk_path_parse(lk_slice_of(path), &record.parts[0].path, NULL);
    row.request.record = &record;
    row.request.has_parts = true;
    batch.draw_floor = id;
    return storage->ops->write(storage, &batch, NULL);
}

static lk_outcome write_nothing(struct lk_storage *storage) {
    const struct lk_batch batch = {.number = 1, .times = times_now()};

    return storage->ops->write(storage, &batch, NULL);
}

static void end_lease(const struct fixture *fixture) {
    service_database_run(fixture->operator, "UPDATE #leader SET renewed_us = renewed_us -"
                                            " lease_us - 1");
}

static int64_t count_requests(const struct fixture *fixture) {
    return service_database_number(fixture->operator, "SELECT count(*) FROM #request");
}

/* ---- which one leads ------------------------------------------------------------------------- */

static void the_second_is_told_who_leads(void **state) {
    struct fixture *fixture = *state;

    load_only(fixture->first, LK_OK);
    assert_int_equal(fixture->first->leader.epoch, 1);
    load_only(fixture->second, LK_BUSY);
    assert_string_equal(fixture->second->leader.address, "one:7420");
    assert_int_equal(fixture->second->leader.epoch, 1);
    assert_true(fixture->second->leader.left_us > 0);
    assert_true(fixture->second->leader.left_us <= LEASE_US);
}

/* Each commit renews the lease, also one of nothing. */
static void a_leader_that_writes_stays(void **state) {
    struct fixture *fixture = *state;

    load_only(fixture->first, LK_OK);
    end_lease(fixture);
    assert_int_equal(write_nothing(fixture->first), LK_OK);
    load_only(fixture->second, LK_BUSY);
}

static void a_replaced_leader_writes_nothing(void **state) {
    struct fixture *fixture = *state;

    load_only(fixture->first, LK_OK);
    assert_int_equal(write_lease(fixture->first, 1, "a", 10000), LK_OK);
    end_lease(fixture);
    load_only(fixture->second, LK_OK);
    assert_int_equal(fixture->second->leader.epoch, 2);
    assert_int_equal(write_lease(fixture->first, 2, "b", 10000), LK_LOST);
    assert_int_equal(count_requests(fixture), 1);
    assert_int_equal(write_lease(fixture->second, 3, "c", 10000), LK_OK);
    assert_int_equal(count_requests(fixture), 2);
    load_only(fixture->first, LK_BUSY);
    assert_string_equal(fixture->first->leader.address, "two:7420");
}

static void what_is_handed_over_is_taken_at_once(void **state) {
    struct fixture *fixture = *state;

    load_only(fixture->first, LK_OK);
    assert_int_equal(fixture->first->ops->resign(fixture->first, NULL), LK_OK);
    load_only(fixture->second, LK_OK);
}

/* One that was replaced must not hand over what is another's. */
static void only_the_leader_hands_over(void **state) {
    struct fixture *fixture = *state;

    load_only(fixture->first, LK_OK);
    end_lease(fixture);
    load_only(fixture->second, LK_OK);
    assert_int_equal(fixture->first->ops->resign(fixture->first, NULL), LK_OK);
    load_only(fixture->first, LK_BUSY);
}

/* A batch of it that is still on its way must not arrive after the load. */
static void a_leader_that_loads_again_begins_an_epoch(void **state) {
    struct fixture *fixture = *state;
    struct lk_core_snapshot *snapshot;

    load_only(fixture->first, LK_OK);
    snapshot = load(fixture->first, LK_OK);
    assert_int_equal(fixture->first->leader.epoch, 2);
    assert_false(snapshot->is_foreign);
    lk_core_snapshot_free(snapshot);
}

static void it_is_known_whether_another_has_led(void **state) {
    struct fixture *fixture = *state;
    struct lk_core_snapshot *snapshot;

    load_only(fixture->first, LK_OK);
    end_lease(fixture);
    snapshot = load(fixture->second, LK_OK);
    assert_true(snapshot->is_foreign);
    lk_core_snapshot_free(snapshot);
    end_lease(fixture);
    snapshot = load(fixture->first, LK_OK);
    assert_true(snapshot->is_foreign);
    lk_core_snapshot_free(snapshot);
}

/* ---- at the same time ------------------------------------------------------------------------ */

/*
 * A transaction of the leader has checked its epoch and is not committed yet. The other service
 * waits for it, and is told that the leader still leads.
 */
static void a_takeover_waits_for_a_commit(void **state) {
    struct fixture *fixture = *state;
    struct service_database *slow = service_database_connect();

    load_only(fixture->first, LK_OK);
    end_lease(fixture);
    service_database_run(slow, service_words.begin_renew);
    service_database_run(fixture->operator, service_words.hurry);
    assert_false(service_database_try(fixture->operator, service_words.lead)); /* it waited */
    service_database_run(slow, "COMMIT");
    load_only(fixture->second, LK_BUSY);
    service_database_close(slow);
}

/* A write that another thread makes, because it waits. */
struct writing {
    pthread_t thread;
    struct lk_storage *storage;
    lk_outcome outcome;
};

static void *write_in_thread(void *context) {
    struct writing *writing = context;

    writing->outcome = write_nothing(writing->storage);
    return NULL;
}

static void wait_for_number(const struct fixture *fixture, const char *sql, int64_t number) {
    while (service_database_number(fixture->operator, sql) != number) {
        (void)usleep(10000);
    }
}

/* Between its check and its first change the epoch cannot become another one. */
static void a_check_holds_until_the_commit(void **state) {
    struct fixture *fixture = *state;
    struct service_database *clock = service_database_connect();
    struct writing writing = {.storage = fixture->first};

    load_only(fixture->first, LK_OK);
    service_database_run(clock, service_words.stop_clock);
    assert_int_equal(pthread_create(&writing.thread, NULL, write_in_thread, &writing), 0);
    wait_for_number(fixture, service_words.count_stopped, 1);
    assert_false(service_database_try(fixture->operator, service_words.lock_leader));
    service_database_run(clock, service_words.go_on);
    assert_int_equal(pthread_join(writing.thread, NULL), 0);
    assert_int_equal(writing.outcome, LK_OK);
    assert_true(service_database_try(fixture->operator, service_words.lock_leader));
    service_database_close(clock);
}

static void a_commit_behind_a_takeover_fails(void **state) {
    struct fixture *fixture = *state;

    load_only(fixture->first, LK_OK);
    service_database_run(fixture->operator, "UPDATE #leader SET epoch = epoch + 1");
    assert_int_equal(write_nothing(fixture->first), LK_LOST);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void a_lost_connection_is_made_again(void **state) {
    struct fixture *fixture = *state;

    load_only(fixture->first, LK_OK);
    service_database_cut(fixture->operator);
    assert_int_equal(write_lease(fixture->first, 1, "a", 10000), LK_UNAVAILABLE);
    assert_int_equal(write_lease(fixture->first, 1, "a", 10000), LK_UNAVAILABLE);
    load_only(fixture->first, LK_OK);
    assert_int_equal(write_lease(fixture->first, 1, "a", 10000), LK_OK);
    assert_int_equal(count_requests(fixture), 1);
}

static void tables_of_another_version_are_refused(void **state) {
    struct fixture *fixture = *state;
    struct lk_storage *third = NULL;
    lk_error error;

    service_database_run(fixture->operator, "UPDATE #leader SET format = 99");
    assert_int_equal(open_store("three:7420", &third, &error), LK_UNSUPPORTED);
    assert_non_null(strstr(error.text, "99"));
}

static void a_user_without_rights_is_told_which(void **state) {
    struct fixture *fixture = *state;
    struct lk_storage *third = NULL;
    lk_error error;

    service_database_run(fixture->operator, service_words.make_stranger);
    assert_int_equal(service_database_open("three:7420", LEASE_US, true, &third, &error),
                     LK_DENIED);
    assert_non_null(strstr(error.text, "service"));
    assert_non_null(strstr(error.text, "grant it"));
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static int64_t left_after_load(struct lk_storage *storage) {
    struct lk_core_snapshot *snapshot = load(storage, LK_OK);
    int64_t left_us = lk_model_next_deadline(snapshot->model) - lk_clock_now_us();

    lk_core_snapshot_free(snapshot);
    return left_us;
}

/* So much of the lease has passed, as if it had been written earlier. */
static void let_pass(const struct fixture *fixture, int64_t by_ms) {
    char sql[200];

    (void)snprintf(sql, sizeof sql,
                   "UPDATE #request SET expires_us = expires_us - %lld;"
                   " UPDATE #leader SET renewed_us = renewed_us - %lld",
                   (long long)by_ms * 1000, (long long)by_ms * 1000);
    service_database_run(fixture->operator, sql);
}

/* R11, of hours, so that a slow machine does not matter: the grace is a minute. */
static void a_takeover_gives_a_grace_period_once(void **state) {
    struct fixture *fixture = *state;
    const int64_t hour_us = INT64_C(3600000000);

    load_only(fixture->first, LK_OK);
    assert_int_equal(write_lease(fixture->first, 1, "a", 7200000), LK_OK);
    let_pass(fixture, 7200000 - 1000); /* a second is left */
    assert_true(left_after_load(fixture->second) > 30000000);
    assert_int_equal(
        service_database_number(fixture->operator, "SELECT count(*) FROM #request WHERE graced"),
        1);
    let_pass(fixture, 3600000);
    assert_true(left_after_load(fixture->first) < 0);
    assert_int_equal(write_lease(fixture->first, 1, "a", 7200000), LK_OK); /* renewed */
    end_lease(fixture);
    assert_true(left_after_load(fixture->second) > hour_us);
}

/* The leader saw it end, or would have if it had looked: no grace revives it. */
static void what_was_dead_stays_dead(void **state) {
    struct fixture *fixture = *state;

    load_only(fixture->first, LK_OK);
    assert_int_equal(write_lease(fixture->first, 1, "a", 7200000), LK_OK);
    service_database_run(fixture->operator, "UPDATE #request SET expires_us = 1");
    end_lease(fixture);
    assert_true(left_after_load(fixture->second) < 0);
}

static void no_draw_is_made_again(void **state) {
    struct fixture *fixture = *state;
    struct lk_core_snapshot *snapshot;

    load_only(fixture->first, LK_OK);
    assert_int_equal(write_lease(fixture->first, 1234567, "a", 10000), LK_OK);
    end_lease(fixture);
    snapshot = load(fixture->second, LK_OK);
    assert_true(lk_model_greatest_draw(snapshot->model) >= 1234567);
    lk_core_snapshot_free(snapshot);
}

/* ---- large batches --------------------------------------------------------------------------- */

/* More than a text of MySQL's has. */
static lk_outcome write_values(struct lk_storage *storage) {
    enum { VALUES = 160 };
    static struct lk_row rows[VALUES];
    static char names[VALUES][8];
    static char bytes[LK_VALUE_BYTES_MAX];
    struct lk_batch batch = {.number = 1, .times = times_now(), .first = rows, .row_count = VALUES};

    memset(bytes, 'x', sizeof bytes);
    for (size_t i = 0; i < VALUES; i++) {
        (void)snprintf(names[i], sizeof names[i], "v/%03zu", i);
        rows[i] =
            (struct lk_row){.kind = LK_ROW_VALUE, .next = i + 1 < VALUES ? &rows[i + 1] : NULL};
        rows[i].value.path = lk_slice_of(names[i]);
        rows[i].value.bytes = (struct lk_slice){bytes, sizeof bytes};
    }
    return storage->ops->write(storage, &batch, NULL);
}

static int64_t count_values(const struct fixture *fixture) {
    return service_database_number(fixture->operator,
                                   "SELECT count(*) FROM #value WHERE path <> 'v/159'");
}

static void a_large_batch_is_written_as_a_whole(void **state) {
    struct fixture *fixture = *state;

    load_only(fixture->first, LK_OK);
    assert_int_equal(write_values(fixture->first), LK_OK);
    assert_int_equal(count_values(fixture), 159);
    end_lease(fixture);
    load_only(fixture->second, LK_OK);
    service_database_run(fixture->operator, "DELETE FROM #value");
    assert_int_equal(write_values(fixture->first), LK_LOST);
    assert_int_equal(count_values(fixture), 0);
}

/*
 * The server waits a little longer than the client, as it began later; if it got the row meanwhile,
 * it would commit what the client knows nothing of.
 */
static void await_end_of_writing(const struct fixture *fixture) {
    while (service_database_number(fixture->operator, service_words.count_writing) > 0) {
        (void)usleep(10000);
    }
}

/* The last of its rows is locked by an operator, so all but that one is done, and taken back. */
static void a_large_batch_that_fails_at_its_end_leaves_nothing(void **state) {
    struct fixture *fixture = *state;
    struct service_database *slow = service_database_connect();
    struct lk_storage *hasty = NULL;

    load_only(fixture->first, LK_OK); /* which has time, also on a busy machine */
    assert_int_equal(write_values(fixture->first), LK_OK);
    end_lease(fixture);
    assert_int_equal(service_database_open("three:7420", HASTY_LEASE_US, false, &hasty, NULL),
                     LK_OK);
    load_only(hasty, LK_OK);
    service_database_run(slow, "DELETE FROM #value WHERE path <> 'v/159'");
    service_database_run(slow, service_words.lock_value);
    assert_int_equal(write_values(hasty), LK_UNAVAILABLE);
    await_end_of_writing(fixture);
    service_database_run(slow, "COMMIT");
    assert_int_equal(count_values(fixture), 0);
    load_only(hasty, LK_OK); /* and goes on */
    assert_int_equal(write_lease(hasty, 1, "a", 10000), LK_OK);
    end_lease(fixture);
    load_only(fixture->second, LK_OK);
    assert_int_equal(write_values(fixture->second), LK_OK);
    assert_int_equal(count_values(fixture), 159);
    close_store(&hasty);
    service_database_close(slow);
}

/* ---- what a write costs ---------------------------------------------------------------------- */

static lk_outcome end_of(struct lk_storage *storage, uint64_t id) {
    struct lk_row row = {.kind = LK_ROW_REQUEST_GONE, .gone = id};
    const struct lk_batch batch = {
        .number = 1, .times = times_now(), .first = &row, .row_count = 1};

    return storage->ops->write(storage, &batch, NULL);
}

/* A statement is planned when the tables are empty; each row that ends stays for a while. */
static void no_write_reads_all_rows(void **state) {
    const char *scans = service_words.count_scans;
    const char *others = service_words.count_searches;
    struct fixture *fixture = *state;

    load_only(fixture->first, LK_OK);
    for (uint64_t id = 1; id <= WRITES; id++) {
        assert_int_equal(write_lease(fixture->first, id, "a", 10000), LK_OK);
        assert_int_equal(end_of(fixture->first, id), LK_OK);
    }
    close_store(&fixture->first); /* the server counts the process's at its end */
    while (service_database_number(fixture->operator, others)
               + service_database_number(fixture->operator, scans)
           < WRITES) {
        (void)usleep(10000);
    }
    assert_in_range(service_database_number(fixture->operator, scans), 0, WRITES / 10);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_second_is_told_who_leads),
        TEST(a_leader_that_writes_stays),
        TEST(a_replaced_leader_writes_nothing),
        TEST(what_is_handed_over_is_taken_at_once),
        TEST(only_the_leader_hands_over),
        TEST(a_leader_that_loads_again_begins_an_epoch),
        TEST(it_is_known_whether_another_has_led),
        TEST(a_takeover_waits_for_a_commit),
        TEST(a_commit_behind_a_takeover_fails),
        TEST(a_lost_connection_is_made_again),
        TEST(tables_of_another_version_are_refused),
        TEST(a_user_without_rights_is_told_which),
        TEST(a_takeover_gives_a_grace_period_once),
        TEST(what_was_dead_stays_dead),
        TEST(no_draw_is_made_again),
        TEST(a_large_batch_is_written_as_a_whole),
        TEST(a_large_batch_that_fails_at_its_end_leaves_nothing),
    };
    const struct CMUnitTest of_two_statements[] = {
        TEST(a_check_holds_until_the_commit),
    };
    const struct CMUnitTest of_counting_servers[] = {
        TEST(no_write_reads_all_rows),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    if (service_words.stop_clock != NULL) {
        failed += cmocka_run_group_tests(of_two_statements, NULL, NULL);
    }
    if (service_words.count_scans != NULL) {
        failed += cmocka_run_group_tests(of_counting_servers, NULL, NULL);
    }
    return failed;
}
