/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of services that share an etcd cluster: which of two services leads, what the one that
 * was replaced can still do, and what becomes of deadlines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"
#include "fixture.h"

/* ---- which one leads ------------------------------------------------------------------------- */

static void the_second_is_told_who_leads(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture->first.storage->leader.epoch, 1);
    fixture_load_only(&fixture->second, LK_BUSY);
    assert_string_equal(fixture->second.storage->leader.address, "one:7420");
    assert_int_equal(fixture->second.storage->leader.epoch, 1);
    assert_int_equal(fixture->second.storage->leader.left_us, LEASE_US);
}

static struct service *comes_between; /* begins to lead between two reads of another one */

lk_outcome __real_lk_etcd_range(struct lk_etcd_client *client, const char *from, const char *to,
                                unsigned limit, struct lk_buffer *answer, lk_error *error);
lk_outcome __wrap_lk_etcd_range(struct lk_etcd_client *client, const char *from, const char *to,
                                unsigned limit, struct lk_buffer *answer, lk_error *error);

lk_outcome __wrap_lk_etcd_range(struct lk_etcd_client *client, const char *from, const char *to,
                                unsigned limit, struct lk_buffer *answer, lk_error *error) {
    struct service *service = comes_between;
    lk_outcome outcome;

    comes_between = NULL;
    outcome = __real_lk_etcd_range(client, from, to, limit, answer, error);
    if (service != NULL) {
        fixture_load_only(service, LK_OK);
    }
    return outcome;
}

/* What the first has written since the second looked for a leader is not taken for leftovers. */
static void two_may_begin_at_once(void **state) {
    struct fixture *fixture = *state;

    comes_between = &fixture->first;
    fixture_load_only(&fixture->second, LK_BUSY);
    assert_int_equal(fixture->second.storage->leader.epoch, 1);
}

static void what_is_left_without_a_leader_is_refused(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    fixture_remove_keys(fixture, "leader", "leader0");
    fixture_load_only(&fixture->second, LK_INVALID);
}

/* Each transaction renews the lease, also one of nothing. */
static void a_leader_that_writes_stays(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    fixture_load_only(&fixture->second, LK_BUSY);
    assert_int_equal(fixture_write_nothing(&fixture->first), LK_OK);
    fixture->second.ahead_us += LEASE_US;
    fixture_load_only(&fixture->second, LK_BUSY);
    fixture->second.ahead_us += LEASE_US - SLACK_US;
    fixture_load_only(&fixture->second, LK_BUSY);
    assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_OK);
    fixture->second.ahead_us += SLACK_US;
    fixture_load_only(&fixture->second, LK_BUSY);
    fixture->second.ahead_us += LEASE_US;
    fixture_load_only(&fixture->second, LK_OK);
}

static void make_a_look_fail(struct service *service) {
    struct lk_home *home = lk_journal_of(service->storage)->home;
    struct lk_etcd_client *client = ((struct lk_etcd_home *)home)->client;

    lk_etcd_client_insist(client, 0); /* no time for any answer */
    fixture_load_only(service, LK_UNAVAILABLE);
    lk_etcd_client_insist(client, LEASE_US);
}

/* A leader that cannot reach etcd either must not be replaced as soon as etcd is back. */
static void the_time_without_etcd_does_not_count(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    fixture_load_only(&fixture->second, LK_BUSY);
    make_a_look_fail(&fixture->second);
    fixture->second.ahead_us += LEASE_US;
    fixture_load_only(&fixture->second, LK_BUSY);
    fixture->second.ahead_us += LEASE_US;
    fixture_load_only(&fixture->second, LK_OK);
}

static void a_replaced_leader_writes_nothing(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_OK);
    fixture_only_take_over(&fixture->second);
    assert_int_equal(fixture->second.storage->leader.epoch, 2);
    assert_int_equal(fixture_write_lease(&fixture->first, 2), LK_LOST);
    fixture_load_only(&fixture->first, LK_BUSY);
    assert_string_equal(fixture->first.storage->leader.address, "two:7420");
    assert_int_equal(fixture_write_lease(&fixture->second, 3), LK_OK);
    assert_int_equal(fixture_count_of(fixture_take_over(&fixture->first)), 2);
}

/* Not even what it divides: its parts are refused one by one. */
static void a_replaced_leader_writes_no_part(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    fixture_only_take_over(&fixture->second);
    assert_int_equal(fixture_write_leases(&fixture->first, 1, 500, "a", 1000), LK_LOST);
    assert_int_equal(fixture_count_keys(fixture, "part"), 0);
}

static void what_is_handed_over_is_taken_at_once(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    fixture_load_only(&fixture->second, LK_BUSY);
    assert_int_equal(fixture_resign(&fixture->first), LK_OK);
    fixture_load_only(&fixture->second, LK_OK);
}

/* One that was replaced must not hand over what is another's. */
static void only_the_leader_hands_over(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    fixture_only_take_over(&fixture->second);
    assert_int_equal(fixture_resign(&fixture->first), LK_LOST);
    fixture_load_only(&fixture->first, LK_BUSY);
}

/* A batch of it that is still on its way must not arrive after the load. */
static void a_leader_that_loads_again_begins_an_epoch(void **state) {
    struct fixture *fixture = *state;
    struct lk_core_snapshot *snapshot;

    fixture_load_only(&fixture->first, LK_OK);
    snapshot = fixture_load(&fixture->first, LK_OK);
    assert_int_equal(fixture->first.storage->leader.epoch, 2);
    assert_false(snapshot->is_foreign);
    lk_core_snapshot_free(snapshot);
}

static void it_is_known_whether_another_has_led(void **state) {
    struct fixture *fixture = *state;
    struct lk_core_snapshot *snapshot;

    fixture_load_only(&fixture->first, LK_OK);
    snapshot = fixture_take_over(&fixture->second);
    assert_true(snapshot->is_foreign);
    lk_core_snapshot_free(snapshot);
    snapshot = fixture_take_over(&fixture->first);
    assert_true(snapshot->is_foreign);
    lk_core_snapshot_free(snapshot);
}

/* ---- keeping up ------------------------------------------------------------------------------ */

/* The first one leads, with a lease that the second one has read. */
static struct lk_journal *follow(struct fixture *fixture) {
    struct lk_journal *second = lk_journal_of(fixture->second.storage);

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_OK);
    fixture_load_only(&fixture->second, LK_BUSY);
    assert_non_null(second->image);
    assert_false(second->storage.leader.is_behind);
    return second;
}

/* A takeover reads nothing: what it would read is not even there. */
static void a_follower_has_what_a_takeover_needs(void **state) {
    struct fixture *fixture = *state;

    (void)follow(fixture);
    fixture_remove_keys(fixture, "log/", "log0");
    fixture->second.ahead_us += LEASE_US;
    assert_int_equal(fixture_count_of(fixture_load(&fixture->second, LK_OK)), 1);
    assert_int_equal(fixture_write_lease(&fixture->second, 2), LK_OK);
}

/* Its leader can: what is damaged was read before. */
static void a_follower_that_cannot_read_is_behind(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 1), LK_OK);
    fixture_put(fixture, "log/0000000000000002", lk_slice_of("nothing of ours"));
    fixture_load_only(&fixture->second, LK_BUSY);
    assert_true(fixture->second.storage->leader.is_behind);
    assert_int_equal(fixture_write_lease(&fixture->first, 2), LK_OK);
}

static void a_follower_reads_only_what_is_new(void **state) {
    struct fixture *fixture = *state;
    const struct lk_journal *second = follow(fixture);

    fixture_remove_keys(fixture, "log/", "log0");
    assert_int_equal(fixture_write_lease(&fixture->first, 2), LK_OK);
    fixture_load_only(&fixture->second, LK_BUSY);
    assert_int_equal(second->applied, second->leader.last);
    assert_int_equal(fixture_write_lease(&fixture->first, 3), LK_OK); /* not read before */
    assert_int_equal(fixture_resign(&fixture->first), LK_OK);
    assert_int_equal(fixture_count_of(fixture_load(&fixture->second, LK_OK)), 3);
}

static void a_follower_does_not_lead(void **state) {
    struct fixture *fixture = *state;

    (void)follow(fixture);
    assert_int_equal(fixture_write_lease(&fixture->second, 2), LK_UNAVAILABLE);
    assert_int_equal(fixture_resign(&fixture->second), LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 2), LK_OK);
}

/* Etcd is restored from a copy of before the first lease, and another one is written. */
static void restore(struct fixture *fixture, bool is_seen) {
    struct lk_storage *third;
    struct service other;

    if (is_seen) {
        make_a_look_fail(&fixture->second);
    } else {
        fixture->second.ahead_us += HOUR_US;
    }
    fixture_remove_keys(fixture, "", "z");
    assert_int_equal(fixture_open_store(fixture, "three:7420", &third, NULL), LK_OK);
    other = (struct service){.storage = third};
    fixture_load_only(&other, LK_OK);
    assert_int_equal(fixture_write_lease(&other, 7), LK_OK);
    assert_int_equal(fixture_write_end(&other, 7), LK_OK);
    third->ops->close(third);
}

/* Its entries have the numbers of those that the follower knows, and say something else. */
static void a_follower_forgets_what_a_restored_etcd_does_not_know(void **state) {
    struct fixture *fixture = *state;

    (void)follow(fixture);
    restore(fixture, true);
    assert_int_equal(fixture_count_of(fixture_take_over(&fixture->second)), 0);
}

static void so_does_one_that_was_stopped_meanwhile(void **state) {
    struct fixture *fixture = *state;

    (void)follow(fixture);
    restore(fixture, false);
    assert_int_equal(fixture_count_of(fixture_take_over(&fixture->second)), 0);
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
        fixture_load_only(&fixture->first, LK_OK);
        assert_int_equal(fixture_write_lease(&fixture->first, i + 1), LK_OK);
        left_us = left_of(&fixture->second, fixture_take_over(&fixture->second));
        assert_true(left_us <= 2 * HOUR_US - LEASE_US + SLACK_US);
        assert_true(left_us >= 2 * HOUR_US - LEASE_US - SLACK_US);
        assert_int_equal(fixture_write_end(&fixture->second, i + 1), LK_OK);
        assert_int_equal(fixture_resign(&fixture->second), LK_OK);
    }
}

/* R11: what has a second left has a minute then, once. */
static void a_takeover_gives_a_grace_period_once(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_leases(&fixture->first, 1, 1, "a", 1000), LK_OK);
    assert_true(left_of(&fixture->second, fixture_take_over(&fixture->second)) > SLACK_US);
    fixture->second.ahead_us += HOUR_US;
    assert_true(left_of(&fixture->second, fixture_load(&fixture->second, LK_OK)) < 0);
    assert_int_equal(fixture_write_lease(&fixture->second, 1), LK_OK); /* renewed */
    assert_true(left_of(&fixture->second, fixture_load(&fixture->second, LK_OK)) > HOUR_US);
}

/* The leader saw it end, or would have if it had looked: no grace revives it. */
static void what_was_dead_stays_dead(void **state) {
    struct fixture *fixture = *state;

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_leases(&fixture->first, 1, 1, "a", 1000), LK_OK);
    fixture->first.ahead_us += HOUR_US;
    assert_int_equal(fixture_write_nothing(&fixture->first), LK_OK);
    assert_true(left_of(&fixture->second, fixture_take_over(&fixture->second)) < 0);
}

static void no_draw_is_made_again(void **state) {
    struct fixture *fixture = *state;
    struct lk_core_snapshot *snapshot;

    fixture_load_only(&fixture->first, LK_OK);
    assert_int_equal(fixture_write_lease(&fixture->first, 1234567), LK_OK);
    assert_int_equal(fixture_write_end(&fixture->first, 1234567), LK_OK);
    snapshot = fixture_take_over(&fixture->second);
    assert_true(lk_model_greatest_draw(snapshot->model) >= 1234567);
    lk_core_snapshot_free(snapshot);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(the_second_is_told_who_leads),
        TEST(two_may_begin_at_once),
        TEST(what_is_left_without_a_leader_is_refused),
        TEST(a_leader_that_writes_stays),
        TEST(the_time_without_etcd_does_not_count),
        TEST(a_replaced_leader_writes_nothing),
        TEST(a_replaced_leader_writes_no_part),
        TEST(what_is_handed_over_is_taken_at_once),
        TEST(only_the_leader_hands_over),
        TEST(a_leader_that_loads_again_begins_an_epoch),
        TEST(it_is_known_whether_another_has_led),
        TEST(a_follower_has_what_a_takeover_needs),
        TEST(a_follower_that_cannot_read_is_behind),
        TEST(a_follower_reads_only_what_is_new),
        TEST(a_follower_does_not_lead),
        TEST(a_follower_forgets_what_a_restored_etcd_does_not_know),
        TEST(so_does_one_that_was_stopped_meanwhile),
        TEST(clocks_may_differ),
        TEST(a_takeover_gives_a_grace_period_once),
        TEST(what_was_dead_stays_dead),
        TEST(no_draw_is_made_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
