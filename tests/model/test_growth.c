/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What does not grow with the number of requests. Worlds are built at two sizes: a page takes steps
 * in proportion to what is on it, and no more at the larger size than its entries and a way down a
 * tree (that what is on pages is right is for lockstep_lists.c); trees of items in order read few
 * items. A live request takes at most 250 bytes, its owner, its part of the tree and every index
 * included. The world of that is the one of bench/model.c: paths of three segments, some 64
 * requests under one root, an owner each.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/model.h"
#include "model/order.h"
#include "model/page.h"
#include "model/state.h"

/* ---- pages ----------------------------------------------------------------------------------- */

enum { SMALL = 4000, LARGE = 64000, ROWS = 50, FEW = 80, TEXT_MAX = 64, MORE_STEPS_MAX = 200 };

struct world {
    struct lk_model *model;
    struct lk_page_row rows[ROWS];
    int64_t wall_us;
};

static struct lk_path path_of(const char *text) {
    struct lk_path path;

    assert_int_equal(lk_path_parse(lk_slice_of(text), &path, NULL), LK_OK);
    return path;
}

static struct world world_new(void) {
    struct world world = {.model = lk_model_new(&(struct lk_model_config){.hash_seed = 1})};

    assert_non_null(world.model);
    return world;
}

/* Draws are what the clock says, one after another (R4). */
static struct lk_times tick(struct world *world) {
    return (struct lk_times){1, ++world->wall_us};
}

static void acquire(struct world *world, const char *path, uint32_t number) {
    char owner[TEXT_MAX];
    struct lk_part part = {.path = path_of(path), .mode = LK_EXCLUSIVE};
    struct lk_command command = {.kind = LK_COMMAND_ASK, .times = tick(world)};

    (void)snprintf(owner, sizeof owner, "o%x", number);
    command.ask = (struct lk_ask){
        .owner = lk_slice_of(owner), .parts = &part, .part_count = 1, .ttl_ms = 60000};
    assert_int_equal(lk_model_step(world->model, &command)->answer.outcome, LK_GRANTED);
}

/* `size` requests in roots of their own, and then some under another root. */
static void fill_roots(struct world *world, uint32_t size) {
    char path[TEXT_MAX];

    for (uint32_t i = 0; i < size; i++) {
        (void)snprintf(path, sizeof path, "r%x/x", i);
        acquire(world, path, i);
    }
    for (uint32_t i = 0; i < FEW; i++) {
        (void)snprintf(path, sizeof path, "few/%x", i);
        acquire(world, path, i);
    }
}

static void fill_one_root(struct world *world, uint32_t size) {
    char path[TEXT_MAX];

    for (uint32_t i = 0; i < size; i++) {
        (void)snprintf(path, sizeof path, "many/%x", i);
        acquire(world, path, i);
    }
}

/* Items of every state but parked. */
static void fill_queue(struct world *world, uint32_t size) {
    char id[TEXT_MAX];

    for (uint32_t i = 0; i < size; i++) {
        struct lk_command command = {.kind = LK_COMMAND_PUSH, .times = tick(world)};

        (void)snprintf(id, sizeof id, "%x", i);
        command.push = (struct lk_push){.queue = path_of("jobs"), .id = lk_slice_of(id)};
        command.push.delay_ms = i % 3 == 0 ? 1000 + (i * INT64_C(7919)) % 100000 : 0;
        assert_int_equal(lk_model_step(world->model, &command)->answer.outcome, LK_OK);
        if (i % 100 == 99) {
            command = (struct lk_command){.kind = LK_COMMAND_TAKE, .times = tick(world)};
            command.take = (struct lk_take){.queue = path_of("jobs"), .owner = lk_slice_of("w")};
            assert_int_equal(lk_model_step(world->model, &command)->answer.outcome, LK_GRANTED);
        }
    }
}

static void page_all(const struct world *world, struct lk_page *page) {
    lk_model_page(world->model, page);
}

static void page_at(const struct world *world, const char *text, enum lk_page_kind kind,
                    struct lk_page *page) {
    struct lk_path path = path_of(text);

    lk_model_page_at(world->model, &path, kind, false, page);
}

static void page_few(const struct world *world, struct lk_page *page) {
    page_at(world, "few", LK_PAGE_BELOW, page);
}

static void page_many(const struct world *world, struct lk_page *page) {
    page_at(world, "many", LK_PAGE_BELOW, page);
}

static void page_related(const struct world *world, struct lk_page *page) {
    page_at(world, "many", LK_PAGE_RELATED, page);
}

static void page_items(const struct world *world, struct lk_page *page) {
    struct lk_path path = path_of("jobs");

    lk_model_page_items(world->model, &path, page);
}

struct kind {
    const char *name;
    void (*fill)(struct world *world, uint32_t size);
    void (*page)(const struct world *world, struct lk_page *page);
};

/* The most steps of the first page, of the next, and of one in the middle of everything. */
static uint64_t steps_of(const struct kind *kind, uint32_t size) {
    struct world world = world_new();
    struct lk_page page = {.rows = world.rows, .max = ROWS};
    uint64_t most = 0;

    kind->fill(&world, size);
    for (int i = 0; i < 3; i++) {
        kind->page(&world, &page);
        assert_in_range(page.count, 1, ROWS);
        most = page.steps > most ? page.steps : most;
        page.behind = i == 0 ? page.reached : (struct lk_standing){.ticket = size / 2};
    }
    lk_model_free(world.model);
    return most;
}

static void the_cost_of_a_page_depends_on_its_entries_only(void **state) {
    static const struct kind kinds[] = {
        {"LIST", fill_roots, page_all},
        {"LIST of a small root", fill_roots, page_few},
        {"LIST of a large root", fill_one_root, page_many},
        {"SHOW of a large root", fill_one_root, page_related},
        {"ITEMS", fill_queue, page_items},
    };
    static const uint32_t sizes[] = {SMALL, LARGE};

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
            uint64_t steps = steps_of(&kinds[i], sizes[j]);

            print_message("%s: %" PRIu64 " steps at %u\n", kinds[i].name, steps, sizes[j]);
            assert_in_range(steps, ROWS, ROWS + MORE_STEPS_MAX);
        }
    }
}

/*
 * A root whose many requests are all younger than many others: the first page costs what there is
 * under that root, or in front of it; the others cost what is on them.
 */
static void later_pages_need_no_search(void **state) {
    struct world world = world_new();
    struct lk_page page = {.rows = world.rows, .max = ROWS};

    (void)state;
    fill_roots(&world, LARGE);
    fill_one_root(&world, LARGE / 2);
    page_many(&world, &page);
    assert_int_equal(page.count, ROWS);
    assert_in_range(page.steps, ROWS, 3 * LARGE);
    for (int i = 0; i < 10; i++) {
        page.behind = page.reached;
        page_many(&world, &page);
        assert_int_equal(page.count, ROWS);
        assert_in_range(page.steps, ROWS, ROWS + MORE_STEPS_MAX);
    }
    lk_model_free(world.model);
}

/* ---- trees of items in order ----------------------------------------------------------------- */

enum { FEW_ITEMS = 100, MANY_ITEMS = 20000 };

static struct lk_model *make_model(size_t count) {
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_model *model = lk_model_new(&config);
    struct lk_command command = {.kind = LK_COMMAND_ASK};
    struct lk_part part = {.mode = LK_EXCLUSIVE};

    assert_non_null(model);
    for (size_t i = 1; i <= count; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "db/t%zu", i);
        (void)lk_path_parse(lk_slice_of(path), &part.path, NULL);
        command.times = (struct lk_times){.now_us = (int64_t)i, .wall_us = (int64_t)i};
        command.ask = (struct lk_ask){
            .owner = lk_slice_of("me"), .parts = &part, .part_count = 1, .style = LK_TRY};
        assert_int_equal(lk_model_step(model, &command)->answer.outcome, LK_GRANTED);
    }
    return model;
}

/* Removes and adds the last request, and counts. */
static uint64_t cost_of_appending(size_t count) {
    struct lk_model *model = make_model(count);
    struct lk_order_tree *tree = &model->requests_by_ticket;
    uint64_t steps = 0;

    /* Requests leave from the end, and come back in their order. */
    lk_id ids[FEW_ITEMS];
    for (size_t i = 0; i < FEW_ITEMS; i++) {
        ids[i] = tree->last;
        steps += lk_order_remove(model, LK_ORDER_REQUESTS, tree, ids[i]);
    }
    for (size_t i = FEW_ITEMS; i > 0; i--) {
        steps += lk_order_add(model, LK_ORDER_REQUESTS, tree, ids[i - 1]);
    }
    assert_int_equal(lk_order_check(model, LK_ORDER_REQUESTS, tree), count);
    lk_model_free(model);
    return steps;
}

/* Removes every so many-th request, oldest first, as deadlines do. */
static uint64_t cost_of_removing(size_t count) {
    struct lk_model *model = make_model(count);
    struct lk_order_tree *tree = &model->requests_by_ticket;
    lk_id id = lk_order_first(model, LK_ORDER_REQUESTS, tree);
    uint64_t steps = 0;

    for (size_t i = 0; i < count; i++) {
        lk_id next = lk_order_after(model, LK_ORDER_REQUESTS, tree, id);
        if (i % (count / FEW_ITEMS) == 0) {
            steps += lk_order_remove(model, LK_ORDER_REQUESTS, tree, id);
        }
        id = next;
    }
    assert_int_equal(lk_order_check(model, LK_ORDER_REQUESTS, tree), count - FEW_ITEMS);
    lk_model_free(model);
    return steps;
}

static void the_last_comes_and_goes_at_the_same_cost_among_many(void **state) {
    (void)state;
    assert_in_range(cost_of_appending(MANY_ITEMS), 1, cost_of_appending(FEW_ITEMS) * 3 / 2);
    assert_in_range(cost_of_appending(MANY_ITEMS), 2 * FEW_ITEMS, 8 * FEW_ITEMS);
}

static void removing_costs_the_same_among_many(void **state) {
    (void)state;
    assert_in_range(cost_of_removing(MANY_ITEMS), FEW_ITEMS, 6 * FEW_ITEMS);
}

/* ---- bytes of a live request ----------------------------------------------------------------- */

enum { BYTES_MAX = 250, PER_ROOT = 64, ROOTS = 1600 };

static void acquire_next(struct lk_model *model, uint32_t number) {
    char owner[TEXT_MAX];
    char path[TEXT_MAX];
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    struct lk_command command = {.kind = LK_COMMAND_ASK, .times = {1, (int64_t)number + 1}};

    (void)snprintf(owner, sizeof owner, "o%x", number);
    (void)snprintf(path, sizeof path, "r%x/s%x/%x", number / PER_ROOT, number % 16, number);
    assert_int_equal(lk_path_parse(lk_slice_of(path), &part.path, NULL), LK_OK);
    command.ask = (struct lk_ask){
        .owner = lk_slice_of(owner), .parts = &part, .part_count = 1, .ttl_ms = 60000};
    assert_int_equal(lk_model_step(model, &command)->answer.outcome, LK_GRANTED);
}

/* Looked at whenever a root is full, because arrays that grow cost most right after they grew. */
static void requests_are_small(void **state) {
    struct lk_model *model = lk_model_new(&(struct lk_model_config){.hash_seed = 1});
    struct lk_model_stats stats;
    uint64_t most = 0;
    uint64_t empty;

    (void)state;
    assert_non_null(model);
    lk_model_stats(model, &stats);
    empty = stats.bytes;
    for (uint32_t number = 0; number < ROOTS * PER_ROOT; number++) {
        acquire_next(model, number);
        if (number >= 10000 && number % PER_ROOT == PER_ROOT - 1) {
            lk_model_stats(model, &stats);
            most = (stats.bytes - empty) / stats.live > most ? (stats.bytes - empty) / stats.live
                                                             : most;
        }
    }
    print_message("%llu bytes a request at most\n", (unsigned long long)most);
    assert_in_range(most, 1, BYTES_MAX);
    lk_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_of_a_page_depends_on_its_entries_only),
        cmocka_unit_test(later_pages_need_no_search),
        cmocka_unit_test(the_last_comes_and_goes_at_the_same_cost_among_many),
        cmocka_unit_test(removing_costs_the_same_among_many),
        cmocka_unit_test(requests_are_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
