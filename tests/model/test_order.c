/* SPDX-License-Identifier: Apache-2.0 */
/* What the trees of items in order cost, in items read, at two sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/order.h"
#include "model/state.h"

enum { FEW = 100, MANY = 20000 };

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
    lk_id ids[FEW];
    for (size_t i = 0; i < FEW; i++) {
        ids[i] = tree->last;
        steps += lk_order_remove(model, LK_ORDER_REQUESTS, tree, ids[i]);
    }
    for (size_t i = FEW; i > 0; i--) {
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
        if (i % (count / FEW) == 0) {
            steps += lk_order_remove(model, LK_ORDER_REQUESTS, tree, id);
        }
        id = next;
    }
    assert_int_equal(lk_order_check(model, LK_ORDER_REQUESTS, tree), count - FEW);
    lk_model_free(model);
    return steps;
}

static void the_last_comes_and_goes_at_the_same_cost_among_many(void **state) {
    (void)state;
    assert_in_range(cost_of_appending(MANY), 1, cost_of_appending(FEW) * 3 / 2);
    assert_in_range(cost_of_appending(MANY), 2 * FEW, 8 * FEW);
}

static void removing_costs_the_same_among_many(void **state) {
    (void)state;
    assert_in_range(cost_of_removing(MANY), FEW, 6 * FEW);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_comes_and_goes_at_the_same_cost_among_many),
        cmocka_unit_test(removing_costs_the_same_among_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
