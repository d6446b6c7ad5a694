/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of a store (R22): how many live is counted by the file itself, whoever writes it, and what
 * is overdue is no part of it, swept or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "scene.h"

enum { OVERDUE = 300, OVERDUE_MAX = 4 }; /* far more than a call sweeps */

static int setup(void **state) {
    struct scene *scene;

    (void)scene_setup(state);
    scene = *state;
    scene->options.overdue_max = OVERDUE_MAX;
    scene_reopen(scene);
    return 0;
}

static lk_outcome ask(const struct scene *scene, const char *owner, const char *parts,
                      int64_t ttl_ms) {
    lk_result result = {.outcome = LK_OK};
    lk_outcome outcome = ground_ask(scene->engine, owner, parts, LK_TRY, ttl_ms, &result);

    lk_result_clear(&result);
    return outcome;
}

static void give_back(const struct scene *scene, const char *owner, const char *parts) {
    lk_result result = {.outcome = LK_OK};

    assert_int_equal(ground_release(scene->engine, owner, parts, 0, &result), LK_OK);
    lk_result_clear(&result);
}

static void bound_live(const struct scene *scene, uint64_t live) {
    const lk_limits limits = {sizeof limits,  live,           LK_LIMIT_AS_IS,
                              LK_LIMIT_AS_IS, LK_LIMIT_AS_IS, LK_LIMIT_AS_IS};
    struct lk_patience patience = test_patience(1000000);
    lk_error error;

    assert_int_equal(scene->engine->ops->limits->set(scene->engine, &limits, &patience, &error),
                     LK_OK);
}

static int64_t sql(const struct scene *scene, const char *text) {
    return ground_sql(scene->ground.file, text);
}

static void expect_counted(const struct scene *scene, int64_t count) {
    assert_int_equal(sql(scene, "SELECT count(*) FROM requests"), count);
    assert_int_equal(sql(scene, "SELECT requests FROM lk_request_count"), count);
}

static void the_bound_is_where_it_was_set(void **state) {
    struct scene *scene = *state;

    assert_int_equal(ask(scene, "A", "a x?shared", 60000), LK_GRANTED);
    bound_live(scene, 3);
    expect_counted(scene, 1);
    assert_int_equal(ask(scene, "B", "b x?shared", 1000), LK_GRANTED);
    assert_int_equal(ask(scene, "C", "c", 60000), LK_GRANTED);
    expect_counted(scene, 3);
    assert_int_equal(ask(scene, "D", "d", 60000), LK_FULL);
    assert_int_equal(ask(scene, "D", "a", 60000), LK_BUSY); /* before anything is counted */
    assert_int_equal(ask(scene, "A", "a x?shared", 60000), LK_GRANTED);
    give_back(scene, "C", "c");
    assert_int_equal(ask(scene, "D", "d", 60000), LK_GRANTED);
    assert_int_equal(ask(scene, "E", "e", 60000), LK_FULL);
    ground_clock_advance(&scene->clock, 2000000); /* B's time is over */
    assert_int_equal(ask(scene, "E", "e", 60000), LK_GRANTED);
    assert_int_equal(ask(scene, "F", "f", 60000), LK_FULL);
    expect_counted(scene, 3);
}

static void what_is_overdue_counts_nowhere(void **state) {
    struct scene *scene = *state;
    char path[32];

    for (int i = 0; i < OVERDUE; i++) {
        (void)snprintf(path, sizeof path, "many/%d", i);
        assert_int_equal(ask(scene, "A", path, 1000), LK_GRANTED);
    }
    bound_live(scene, 2);
    assert_int_equal(ask(scene, "B", "b", 60000), LK_FULL);
    ground_clock_advance(&scene->clock, 2000000);
    assert_int_equal(ask(scene, "B", "b", 60000), LK_GRANTED);
    assert_int_equal(ask(scene, "C", "c", 60000), LK_GRANTED);
    assert_int_equal(ask(scene, "D", "d", 60000), LK_FULL);
    assert_true(sql(scene, "SELECT count(*) FROM requests") > OVERDUE / 2);
}

/* A program that knows of no count sets the bound, or writes, or has spoilt the count. */
static void others_may_write(void **state) {
    struct scene *scene = *state;

    assert_int_equal(ask(scene, "A", "a", 60000), LK_GRANTED);
    (void)sql(scene, "UPDATE meta SET live_max = 2");
    assert_int_equal(ask(scene, "B", "b", 60000), LK_GRANTED);
    expect_counted(scene, 2);
    assert_int_equal(ask(scene, "C", "c", 60000), LK_FULL);
    (void)sql(scene, "DELETE FROM parts WHERE path = 'a'");
    (void)sql(scene, "DELETE FROM requests WHERE owner = 'A'");
    expect_counted(scene, 1);
    assert_int_equal(ask(scene, "C", "c", 60000), LK_GRANTED);
    (void)sql(scene, "DELETE FROM lk_request_count");
    assert_int_equal(ask(scene, "D", "d", 60000), LK_FULL);
    expect_counted(scene, 2);
    (void)sql(scene, "UPDATE lk_request_count SET requests = -7");
    assert_int_equal(ask(scene, "D", "d", 60000), LK_GRANTED);
}

/* Nothing is counted that nobody asked for. */
static void without_the_bound_nothing_is_kept(void **state) {
    static const char find[] = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'lk_request_%'";
    struct scene *scene = *state;

    assert_int_equal(sql(scene, find), 0);
    bound_live(scene, 2);
    bound_live(scene, 5);
    assert_int_equal(sql(scene, find), 3);
    assert_int_equal(ask(scene, "A", "a", 60000), LK_GRANTED);
    bound_live(scene, 0);
    assert_int_equal(sql(scene, find), 0);
    assert_int_equal(ask(scene, "B", "b", 60000), LK_GRANTED);
    bound_live(scene, 2);
    assert_int_equal(ask(scene, "C", "c", 60000), LK_FULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_bound_is_where_it_was_set, setup, scene_teardown),
        cmocka_unit_test_setup_teardown(what_is_overdue_counts_nowhere, setup, scene_teardown),
        cmocka_unit_test_setup_teardown(others_may_write, setup, scene_teardown),
        cmocka_unit_test_setup_teardown(without_the_bound_nothing_is_kept, setup, scene_teardown),
    };

    return cmocka_run_group_tests_name("sqlite: bounds", tests, NULL, NULL);
}
