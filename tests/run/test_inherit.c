/* SPDX-License-Identifier: Apache-2.0 */
/* Nested runs: with an owner of their own, or under the outer lease (--inherit). */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

/*
 * Runs `lk INNER` under a lease on `outer`, as a script would. `$lk` names the program. If that
 * ends the lease, the outer lk sees it within a sixth of the ttl; INNER must be over by then.
 */
static int run_inside(struct fixture *fixture, const char *outer, const char *inner) {
    return FIXTURE_RUN(fixture, "run", outer, "--ttl", fixture_seconds(fixture, 60), "--", "sh",
                       "-c", fixture_text(fixture, "lk=$0; %s", inner), getenv("LK_TEST_LK"));
}

static void a_nested_run_has_its_own_owner(void **state) {
    struct fixture *fixture = *state;

    assert_int_equal(run_inside(fixture, "db", "$lk run --try db/t1 -- true"), 75);
    assert_int_equal(run_inside(fixture, "db", "$lk run --try other -- true"), 0);
}

static void an_inherited_lease_covers_paths_below_it(void **state) {
    struct fixture *fixture = *state;

    assert_int_equal(run_inside(fixture, "db", "$lk run --inherit db -- sh -c 'exit 5'"), 5);
    assert_int_equal(run_inside(fixture, "db", "$lk run --inherit db/t1 'db/t2?shared' -- true"),
                     0);
    assert_int_equal(run_inside(fixture, "db", "$lk run --inherit 'db/pool?limit=3' -- true"), 0);
    assert_int_equal(run_inside(fixture, "db?shared", "$lk run --inherit --shared db/t1 -- true"),
                     0);
    /* The same through two levels. */
    assert_int_equal(
        run_inside(fixture, "db", "$lk run --inherit db -- $lk run --inherit db/t1 -- true"), 0);
}

static void a_path_that_the_lease_does_not_cover_is_refused(void **state) {
    struct fixture *fixture = *state;
    const char *never = fixture_path(fixture, "never");
    const char *const inner[] = {"db2", "d", "db/t1 other", "--owner $LK_OWNER other"};

    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++) {
        assert_int_equal(
            run_inside(fixture, "db",
                       fixture_text(fixture, "$lk run --inherit %s -- touch %s", inner[i], never)),
            75);
    }
    assert_int_equal(
        run_inside(fixture, "db?shared",
                   fixture_text(fixture, "$lk run --inherit db/t1 -- touch %s", never)),
        75);
    assert_int_equal(run_inside(fixture, "db/t1",
                                fixture_text(fixture, "$lk run --inherit db -- touch %s", never)),
                     75);
    assert_int_equal(
        run_inside(fixture, "db",
                   fixture_text(fixture, "LK_TOKEN=12345 $lk run --inherit db -- touch %s", never)),
        75);
    assert_int_equal(run_inside(fixture, "db", "$lk run --inherit -E 9 db2 -- true"), 9);
    assert_int_equal(run_inside(fixture, "db", "$lk run --inherit 'db//t1' -- true"), 64);
    assert_false(fixture_exists(never));
}

static void without_an_outer_lease_nothing_is_inherited(void **state) {
    struct fixture *fixture = *state;

    assert_int_equal(FIXTURE_RUN(fixture, "run", "--inherit", "db", "--", "true"), 75);
    assert_non_null(strstr(fixture_read(fixture, fixture_path(fixture, "err")), "lk: BUSY: "));
    /* A released lease: the store still remembers its token. */
    assert_int_equal(run_inside(fixture, "db",
                                "$lk break db --reason test --now && "
                                "$lk run --inherit db -- true; exit $?"),
                     78);
    const char *err = fixture_read(fixture, fixture_path(fixture, "err"));
    assert_non_null(strstr(err, "does not cover db"));
}

static void a_revoked_lease_is_not_inherited(void **state) {
    struct fixture *fixture = *state;
    const char *code = fixture_path(fixture, "code");

    assert_int_equal(
        run_inside(fixture, "db",
                   fixture_text(fixture,
                                "$lk break db --reason test && $lk run --inherit db/t1 -- true; "
                                "echo $? >%s",
                                code)),
        0);
    assert_string_equal(fixture_read(fixture, code), "75\n");
}

static void inheriting_neither_takes_nor_ends_a_lease(void **state) {
    struct fixture *fixture = *state;
    const char *script = "$lk run --inherit db/t1 -- "
                         "sh -c 'test \"$($0 ls --json | wc -l)\" = 1' $lk || exit 8; "
                         "test \"$($lk ls --json | wc -l)\" = 1";
    const char *environment = "outer=$LK_OWNER.$LK_TOKEN.$LK_PATH; $lk run --inherit db/t1 -- "
                              "sh -c 'test \"$0\" = \"$LK_OWNER.$LK_TOKEN.$LK_PATH\"' \"$outer\"";

    assert_int_equal(run_inside(fixture, "db", script), 0);
    assert_int_equal(run_inside(fixture, "db", environment), 0);
}

static void an_inherited_run_has_its_own_max_time_and_clean_up(void **state) {
    struct fixture *fixture = *state;
    const char *log = fixture_path(fixture, "cleanup");
    const char *script =
        fixture_text(fixture,
                     "$lk run --inherit db --max-time 100ms --cleanup 'echo $LK_EXIT >>%s' -- "
                     "%s hold %s",
                     log, fixture_child(), fixture_path(fixture, "ready"));

    assert_int_equal(run_inside(fixture, "db", script), 124);
    assert_string_equal(fixture_read(fixture, log), "124\n");
}

/* What keeps the outer command from ending can never be granted while that command runs. */
static void a_run_that_waits_for_its_own_outer_lease_is_a_deadlock(void **state) {
    struct fixture *fixture = *state;
    const char *never = fixture_path(fixture, "never");
    static const char *const pairs[][2] = {
        {"db", "db"},        {"db", "db/t1"},         {"db/t1", "db"},
        {"db?shared", "db"}, {"db", "-w 600 one db"}, {"pool?limit=2&units=2", "'pool?limit=2'"}};

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        assert_int_equal(run_inside(fixture, pairs[i][0],
                                    fixture_text(fixture, "$lk run %s -- touch %s; exit $?",
                                                 pairs[i][1], never)),
                         76);
        const char *err = fixture_read(fixture, fixture_path(fixture, "err"));
        assert_non_null(strstr(err, "lk: DEADLOCK: "));
        assert_non_null(strstr(err, "--inherit"));
    }
    assert_false(fixture_exists(never));
}

static void so_is_one_that_waits_for_a_lease_further_out(void **state) {
    struct fixture *fixture = *state;
    const char *never = fixture_path(fixture, "never");
    static const char *const inner[] = {
        "$lk run other -- $lk run db",
        "$lk run other -- $lk run more third -- $lk run -w 600 db/t1",
        "$lk run other -- $lk run --inherit other -- $lk run db",
        /* Two leases that leave no room together, each of which would alone (R7c). */
        "$lk run 'sem?limit=2' -- $lk run 'sem?limit=2' -- $lk run 'sem?limit=2'",
        "$lk run sem?shared -- $lk run 'sem?limit=9&units=2' -- $lk run 'sem?limit=3'"};

    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++) {
        assert_int_equal(
            run_inside(fixture, "db",
                       fixture_text(fixture, "%s -- touch %s; exit $?", inner[i], never)),
            76);
    }
    assert_int_equal(run_inside(fixture, "db", "$lk run other -- $lk run -n db -- true; exit $?"),
                     75);
    assert_int_equal(
        run_inside(fixture, "db?shared", "$lk run other -- $lk run db?shared -- true; exit $?"), 0);
    /* The variables outlive the lease. */
    assert_int_equal(run_inside(fixture, "db",
                                "o=$LK_OWNER; $lk run other -- sh -c \"$lk release db --owner $o; "
                                "$lk run db -- true\"; exit $?"),
                     78);
    assert_false(fixture_exists(never));
}

static void a_run_that_its_outer_lease_does_not_exclude_is_granted(void **state) {
    struct fixture *fixture = *state;
    const char *ran = fixture_path(fixture, "ran");

    assert_int_equal(run_inside(fixture, "db?shared", "$lk run 'db?shared' -- true"), 0);
    assert_int_equal(run_inside(fixture, "pool?limit=2", "$lk run 'pool?limit=2' -- true"), 0);
    /* R7c: each request is checked against its own limit. */
    assert_int_equal(run_inside(fixture, "pool?limit=1", "$lk run 'pool?limit=2' -- true"), 0);
    assert_int_equal(run_inside(fixture, "pool?limit=1", "$lk run pool?shared -- true"), 0);
    /* A try waits for nothing. */
    assert_int_equal(run_inside(fixture, "db", "$lk run -n db -- true"), 75);
    /* The variables outlive the lease. */
    assert_int_equal(
        run_inside(fixture, "db",
                   fixture_text(fixture,
                                "$lk release db --owner $LK_OWNER; $lk run db -- touch %s; exit $?",
                                ran)),
        78);
    assert_true(fixture_exists(ran));
}

static void a_run_in_the_name_of_its_outer_lease_ends_nothing(void **state) {
    struct fixture *fixture = *state;
    const char *tokens = fixture_path(fixture, "tokens");

    assert_int_equal(
        run_inside(fixture, "db",
                   fixture_text(fixture,
                                "$lk run --owner $LK_OWNER db -- true && "
                                "$lk run --owner $LK_OWNER db/t1 -- true && "
                                "$lk renew db --owner $LK_OWNER --token $LK_TOKEN && echo 1 > %s",
                                tokens)),
        0);
    assert_int_equal(fixture_last_number(fixture, tokens), 1);
    /* Another mode would end the outer lease, or have a new token for it. */
    assert_int_equal(run_inside(fixture, "db?shared", "$lk run --owner $LK_OWNER db -- true"), 76);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(a_nested_run_has_its_own_owner),
        TEST(an_inherited_lease_covers_paths_below_it),
        TEST(a_path_that_the_lease_does_not_cover_is_refused),
        TEST(without_an_outer_lease_nothing_is_inherited),
        TEST(a_revoked_lease_is_not_inherited),
        TEST(inheriting_neither_takes_nor_ends_a_lease),
        TEST(an_inherited_run_has_its_own_max_time_and_clean_up),
        TEST(a_run_that_waits_for_its_own_outer_lease_is_a_deadlock),
        TEST(so_is_one_that_waits_for_a_lease_further_out),
        TEST(a_run_that_its_outer_lease_does_not_exclude_is_granted),
        TEST(a_run_in_the_name_of_its_outer_lease_ends_nothing),
    };
    return cmocka_run_group_tests_name("run: inside a run", tests, NULL, NULL);
}
