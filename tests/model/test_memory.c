/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a live request costs: at most 250 bytes, its owner, its part of the tree and every index
 * included, whatever the number of requests is. The world is that of bench/model.c: paths of three
 * segments, some 64 requests under one root, an owner each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/model.h"

enum { BYTES_MAX = 250, PER_ROOT = 64, ROOTS = 1600, TEXT_MAX = 64 };

static void acquire(struct lk_model *model, uint32_t number) {
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
        acquire(model, number);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests_are_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
