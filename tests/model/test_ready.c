/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Since when items have been ready, by root (for monitoring). That the trees have the right items
 * is checked by lk_model_check() after each step of random histories.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/model.h"

enum { ROOTS = 200, MS = 1000 };
#define WALL_AHEAD_US INT64_C(1000000000)

struct world {
    struct lk_model *model;
    int64_t now_us;
};

static struct lk_path path_of(const char *text) {
    struct lk_path path;

    assert_int_equal(lk_path_parse(lk_slice_of(text), &path, NULL), LK_OK);
    return path;
}

static struct world world_new(void) {
    const struct lk_model_config config = {.hash_seed = 1, .wall_ahead_us = WALL_AHEAD_US};
    struct world world = {.model = lk_model_new(&config), .now_us = 1000 * MS};

    assert_non_null(world.model);
    return world;
}

static lk_outcome step(struct world *world, struct lk_command *command) {
    lk_outcome outcome;

    command->times = (struct lk_times){world->now_us, world->now_us + WALL_AHEAD_US};
    outcome = lk_model_step(world->model, command)->answer.outcome;
    assert_null(lk_model_check(world->model));
    return outcome;
}

static void push(struct world *world, const char *queue, const char *id, int64_t delay_ms) {
    struct lk_command command = {.kind = LK_COMMAND_PUSH};

    command.push =
        (struct lk_push){.queue = path_of(queue), .id = lk_slice_of(id), .delay_ms = delay_ms};
    assert_int_equal(step(world, &command), LK_OK);
}

static lk_outcome take(struct world *world, const char *queue, int64_t ttl_ms, uint32_t attempts) {
    struct lk_command command = {.kind = LK_COMMAND_TAKE};

    command.take = (struct lk_take){.queue = path_of(queue),
                                    .owner = lk_slice_of("w"),
                                    .ttl_ms = ttl_ms,
                                    .max_attempts = attempts};
    return step(world, &command);
}

static void finish(struct world *world, const char *queue, const char *id, enum lk_finish_kind kind,
                   int64_t delay_ms) {
    struct lk_command command = {.kind = LK_COMMAND_FINISH};

    command.finish = (struct lk_finish){.queue = path_of(queue),
                                        .id = lk_slice_of(id),
                                        .owner = lk_slice_of("w"),
                                        .kind = kind,
                                        .delay_ms = delay_ms};
    assert_int_equal(step(world, &command), LK_OK);
}

/* The n-th root with an item that is ready, and for how long. */
static void expect(const struct world *world, size_t n, const char *root, int64_t age_ms) {
    struct lk_ready_root roots[ROOTS];
    size_t count = lk_model_oldest_ready(world->model, world->now_us, roots, ROOTS);

    assert_true(n < count);
    assert_true(lk_slice_equal(lk_model_root_name(world->model, roots[n].root), lk_slice_of(root)));
    assert_int_equal((world->now_us - roots[n].since_us) / MS, age_ms);
}

static void expect_count(const struct world *world, size_t count) {
    struct lk_ready_root roots[ROOTS];

    assert_int_equal(lk_model_oldest_ready(world->model, world->now_us, roots, ROOTS), count);
}

static void an_item_is_ready_from_its_push_to_its_claim(void **state) {
    struct world world = world_new();

    (void)state;
    expect_count(&world, 0);
    push(&world, "q", "1", 0);
    world.now_us += 20 * MS;
    push(&world, "q", "2", 0);
    expect(&world, 0, "q", 20);
    world.now_us += 10 * MS;
    assert_int_equal(take(&world, "q", 1000, 0), LK_GRANTED);
    expect(&world, 0, "q", 10);
    assert_int_equal(take(&world, "q", 1000, 0), LK_GRANTED);
    expect_count(&world, 0);
    finish(&world, "q", "1", LK_FINISH_DONE, 0);
    expect_count(&world, 0);
    lk_model_free(world.model);
}

static void a_delayed_item_is_ready_when_it_is_due(void **state) {
    struct world world = world_new();

    (void)state;
    push(&world, "q", "late", 50);
    expect_count(&world, 0);
    world.now_us += 49 * MS;
    expect_count(&world, 0);
    world.now_us += 11 * MS;
    expect(&world, 0, "q", 10);
    push(&world, "q", "new", 0);
    world.now_us += 5 * MS;
    expect(&world, 0, "q", 15);
    assert_int_equal(take(&world, "q", 1000, 0), LK_GRANTED);
    expect(&world, 0, "q", 5);
    lk_model_free(world.model);
}

static void an_item_that_comes_back_is_ready_anew(void **state) {
    struct world world = world_new();
    struct lk_command unpark = {.kind = LK_COMMAND_UNPARK};

    (void)state;
    push(&world, "q", "1", 0);
    world.now_us += 100 * MS;
    assert_int_equal(take(&world, "q", 50, 0), LK_GRANTED);
    finish(&world, "q", "1", LK_FINISH_RETRY, 30);
    expect_count(&world, 0);
    world.now_us += 32 * MS;
    expect(&world, 0, "q", 2);
    assert_int_equal(take(&world, "q", 50, 2), LK_GRANTED);
    finish(&world, "q", "1", LK_FINISH_RETRY, 0); /* parked */
    world.now_us += 10 * MS;
    expect_count(&world, 0);
    unpark.unpark = (struct lk_unpark){.queue = path_of("q"), .id = lk_slice_of("1")};
    assert_int_equal(step(&world, &unpark), LK_OK);
    world.now_us += 3 * MS;
    expect(&world, 0, "q", 3);
    assert_int_equal(take(&world, "q", 50, 0), LK_GRANTED);
    world.now_us += 60 * MS;
    push(&world, "other", "1", 0); /* a step in which the claim perishes */
    world.now_us += 1 * MS;
    expect_count(&world, 2);
    expect(&world, 0, "q", 11); /* since its deadline */
    lk_model_free(world.model);
}

/* Many roots, in another order than that of their names. */
static void the_oldest_roots_come_first(void **state) {
    struct world world = world_new();
    struct lk_ready_root roots[3];
    char name[16];

    (void)state;
    for (int i = 0; i < ROOTS; i++) {
        (void)snprintf(name, sizeof name, "r%d/q", i * 37 % ROOTS);
        push(&world, name, "1", 0);
        world.now_us += MS;
    }
    for (int i = 0; i < ROOTS; i++) {
        (void)snprintf(name, sizeof name, "r%d", i * 37 % ROOTS);
        expect(&world, (size_t)i, name, ROOTS - i);
    }
    assert_int_equal(lk_model_oldest_ready(world.model, world.now_us, roots, 3), 3);
    assert_int_equal(take(&world, "r37/q", 1000, 0), LK_GRANTED);
    push(&world, "r0/other", "1", 0);
    expect(&world, 0, "r0", ROOTS);
    expect(&world, 1, "r74", ROOTS - 2);
    expect_count(&world, ROOTS - 1);
    lk_model_free(world.model);
}

static void a_restored_item_is_as_old_as_its_push(void **state) {
    struct world world = world_new();
    struct lk_item_record record = {.queue = path_of("q"), .id = lk_slice_of("1")};

    (void)state;
    record.sequence = (uint64_t)(world.now_us + WALL_AHEAD_US - 70 * MS);
    assert_int_equal(lk_model_restore_item(world.model, &record), LK_OK);
    expect(&world, 0, "q", 70);
    record.id = lk_slice_of("2");
    record.sequence = UINT64_MAX; /* of a damaged store */
    assert_int_equal(lk_model_restore_item(world.model, &record), LK_OK);
    assert_null(lk_model_check(world.model));
    lk_model_free(world.model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_item_is_ready_from_its_push_to_its_claim),
        cmocka_unit_test(a_delayed_item_is_ready_when_it_is_due),
        cmocka_unit_test(an_item_that_comes_back_is_ready_anew),
        cmocka_unit_test(the_oldest_roots_come_first),
        cmocka_unit_test(a_restored_item_is_as_old_as_its_push),
    };

    return cmocka_run_group_tests_name("ready", tests, NULL, NULL);
}
