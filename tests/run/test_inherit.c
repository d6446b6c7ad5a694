/* SPDX-License-Identifier: Apache-2.0 */
/* A run inside a run: another owner, or under the outer lease. */
#include <stdlib.h>
#include <string.h>

#include "stage.h"

/* Runs `lk INNER` under a lease on `outer`, as a script does. `$lk` names the program. */
static int run_inside(struct stage *stage, const char *outer, const char *inner) {
    return STAGE_RUN(stage, "run", outer, "--", "sh", "-c", stage_text(stage, "lk=$0; %s", inner),
                     getenv("LK_TEST_LK"));
}

static void a_run_inside_a_run_is_another_owner(void **state) {
    struct stage *stage = *state;

    assert_int_equal(run_inside(stage, "db", "$lk run --try db/t1 -- true"), 75);
    assert_int_equal(run_inside(stage, "db", "$lk run --try other -- true"), 0);
}

static void an_inherited_lease_covers_what_is_below(void **state) {
    struct stage *stage = *state;

    assert_int_equal(run_inside(stage, "db", "$lk run --inherit db -- sh -c 'exit 5'"), 5);
    assert_int_equal(run_inside(stage, "db", "$lk run --inherit db/t1 'db/t2?shared' -- true"), 0);
    assert_int_equal(run_inside(stage, "db", "$lk run --inherit 'db/pool?limit=3' -- true"), 0);
    assert_int_equal(run_inside(stage, "db?shared", "$lk run --inherit --shared db/t1 -- true"), 0);
    /* Through two levels: nothing changes on the way. */
    assert_int_equal(
        run_inside(stage, "db", "$lk run --inherit db -- $lk run --inherit db/t1 -- true"), 0);
}

static void what_is_not_covered_is_refused(void **state) {
    struct stage *stage = *state;
    const char *never = stage_path(stage, "never");
    const char *const inner[] = {"db2", "d", "db/t1 other", "--owner $LK_OWNER other"};

    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++) {
        assert_int_equal(
            run_inside(stage, "db",
                       stage_text(stage, "$lk run --inherit %s -- touch %s", inner[i], never)),
            75);
    }
    assert_int_equal(run_inside(stage, "db?shared",
                                stage_text(stage, "$lk run --inherit db/t1 -- touch %s", never)),
                     75);
    assert_int_equal(
        run_inside(stage, "db/t1", stage_text(stage, "$lk run --inherit db -- touch %s", never)),
        75);
    assert_int_equal(
        run_inside(stage, "db",
                   stage_text(stage, "LK_TOKEN=12345 $lk run --inherit db -- touch %s", never)),
        75);
    assert_int_equal(run_inside(stage, "db", "$lk run --inherit -E 9 db2 -- true"), 9);
    assert_int_equal(run_inside(stage, "db", "$lk run --inherit 'db//t1' -- true"), 64);
    assert_false(stage_exists(never));
}

static void without_an_outer_lease_nothing_is_inherited(void **state) {
    struct stage *stage = *state;

    assert_int_equal(STAGE_RUN(stage, "run", "--inherit", "db", "--", "true"), 75);
    assert_non_null(strstr(stage_read(stage, stage_path(stage, "err")), "lk: BUSY: "));
    /* A lease that was: its token is remembered, the lease is gone. */
    assert_int_equal(run_inside(stage, "db",
                                "$lk break db --reason test --now && "
                                "$lk run --inherit db -- true; exit $?"),
                     78);
    const char *err = stage_read(stage, stage_path(stage, "err"));
    assert_non_null(strstr(err, "does not cover db"));
}

static void a_revoked_lease_is_not_inherited(void **state) {
    struct stage *stage = *state;
    const char *code = stage_path(stage, "code");

    assert_int_equal(
        run_inside(stage, "db",
                   stage_text(stage,
                              "$lk break db --reason test && $lk run --inherit db/t1 -- true; "
                              "echo $? >%s",
                              code)),
        0);
    assert_string_equal(stage_read(stage, code), "75\n");
}

static void inheriting_takes_and_ends_nothing(void **state) {
    struct stage *stage = *state;
    const char *script = "$lk run --inherit db/t1 -- "
                         "sh -c 'test \"$($0 ls --json | wc -l)\" = 1' $lk || exit 8; "
                         "test \"$($lk ls --json | wc -l)\" = 1";
    const char *environment = "outer=$LK_OWNER.$LK_TOKEN.$LK_PATH; $lk run --inherit db/t1 -- "
                              "sh -c 'test \"$0\" = \"$LK_OWNER.$LK_TOKEN.$LK_PATH\"' \"$outer\"";

    assert_int_equal(run_inside(stage, "db", script), 0);
    assert_int_equal(run_inside(stage, "db", environment), 0);
}

static void an_inherited_run_has_its_time_and_its_clean_up(void **state) {
    struct stage *stage = *state;
    const char *log = stage_path(stage, "cleanup");
    const char *script =
        stage_text(stage,
                   "$lk run --inherit db --max-time 100ms --cleanup 'echo $LK_EXIT >>%s' -- "
                   "%s hold %s",
                   log, stage_actor(), stage_path(stage, "ready"));

    assert_int_equal(run_inside(stage, "db", script), 124);
    assert_string_equal(stage_read(stage, log), "124\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define STORY(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
        STORY(a_run_inside_a_run_is_another_owner),
        STORY(an_inherited_lease_covers_what_is_below),
        STORY(what_is_not_covered_is_refused),
        STORY(without_an_outer_lease_nothing_is_inherited),
        STORY(a_revoked_lease_is_not_inherited),
        STORY(inheriting_takes_and_ends_nothing),
        STORY(an_inherited_run_has_its_time_and_its_clean_up),
    };
    return cmocka_run_group_tests_name("run: inside a run", tests, NULL, NULL);
}
