/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explaining everything that waits (R20) takes steps in proportion to how much waits: twice the
 * size takes no more than a little over twice the steps. That the explanations are right is for
 * lockstep_lists.c.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "model/model.h"

enum { SIZE = 1000 };

/* Fills in the parts of the n-th ask of a world; returns how many, 0: no more. */
typedef size_t world(size_t n, size_t size, struct lk_part *parts, char texts[][64]);

static struct lk_part part_of(char text[64]) {
    struct lk_part part;
    lk_error error;

    assert_int_equal(lk_part_parse(lk_slice_of(text), NULL, &part, &error), LK_OK);
    return part;
}

/* One line. */
static size_t line(size_t n, size_t size, struct lk_part *parts, char texts[][64]) {
    (void)snprintf(texts[0], 64, "line");
    parts[0] = part_of(texts[0]);
    return n < size;
}

/* The same two paths, all or nothing. */
static size_t batch(size_t n, size_t size, struct lk_part *parts, char texts[][64]) {
    (void)snprintf(texts[0], 64, "db/a");
    (void)snprintf(texts[1], 64, "db/b");
    parts[0] = part_of(texts[0]);
    parts[1] = part_of(texts[1]);
    return n < size ? 2 : 0;
}

/* Leases below one path. */
static size_t children(size_t n, size_t size, struct lk_part *parts, char texts[][64]) {
    (void)snprintf(texts[0], 64, "line/%zu", n);
    parts[0] = part_of(texts[0]);
    return n < size;
}

/* As many holders as wait, with a limit. */
static size_t pool(size_t n, size_t size, struct lk_part *parts, char texts[][64]) {
    (void)snprintf(texts[0], 64, "pool?limit=%zu", size / 2);
    parts[0] = part_of(texts[0]);
    return n < size;
}

/* Many readers of a tree, many writers of the whole, and many of a leaf of their own. */
static size_t tree(size_t n, size_t size, struct lk_part *parts, char texts[][64]) {
    (void)snprintf(texts[0], 64, "db?shared");
    if (n >= size / 3) {
        (void)snprintf(texts[0], 64, "db");
    }
    if (n >= size / 3 * 2) {
        (void)snprintf(texts[0], 64, "db/t%zu", n);
    }
    parts[0] = part_of(texts[0]);
    return n < size;
}

/* A line of batches that have one path in common each. */
static size_t mixed(size_t n, size_t size, struct lk_part *parts, char texts[][64]) {
    (void)snprintf(texts[0], 64, "db/a");
    (void)snprintf(texts[1], 64, "db/%c", (char)('b' + n % 4));
    parts[0] = part_of(texts[0]);
    parts[1] = part_of(texts[1]);
    return n < size ? 2 : 0;
}

static void ask(struct lk_model *model, size_t n, const struct lk_part *parts, size_t count) {
    char owner[32];
    struct lk_command command = {
        .kind = LK_COMMAND_ASK,
        .times = {.now_us = (int64_t)n + 1, .wall_us = (int64_t)n + 1},
    };

    (void)snprintf(owner, sizeof owner, "o%zu", n);
    command.ask = (struct lk_ask){.owner = lk_slice_of(owner),
                                  .parts = parts,
                                  .part_count = count,
                                  .style = LK_QUEUE,
                                  .ttl_ms = 60000};
    (void)lk_model_step(model, &command);
}

struct listed {
    const struct lk_model *model;
    lk_ref *requests;
    size_t count;
};

static bool add(void *context, lk_ref request) {
    struct listed *listed = context;

    listed->requests[listed->count++] = request;
    return true;
}

static const struct lk_model *sorted_model;

static int compare(const void *a, const void *b) {
    uint64_t left = lk_model_standing(sorted_model, *(const lk_ref *)a).ticket;
    uint64_t right = lk_model_standing(sorted_model, *(const lk_ref *)b).ticket;

    return (left > right) - (left < right);
}

static uint64_t steps_of(world *next, size_t size) {
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_model *model = lk_model_new(&config);
    struct lk_explaining *explaining = calloc(1, sizeof *explaining);
    struct lk_blocker blockers[LK_EXPLAINED_MAX];
    struct listed listed = {.model = model, .requests = calloc(size, sizeof(lk_ref))};
    struct lk_part parts[LK_PARTS_MAX];
    char texts[LK_PARTS_MAX][64];
    uint64_t steps;
    size_t count;

    for (size_t n = 0; (count = next(n, size, parts, texts)) > 0; n++) {
        ask(model, n, parts, count);
    }
    lk_model_each(model, add, &listed);
    assert_int_equal(listed.count, size);
    sorted_model = model;
    qsort(listed.requests, listed.count, sizeof *listed.requests, compare);
    for (size_t i = 0; i < listed.count; i++) {
        (void)lk_model_explain(model, listed.requests[i], explaining, blockers, LK_EXPLAINED_MAX);
    }
    steps = explaining->steps;
    free(listed.requests);
    free(explaining);
    lk_model_free(model);
    return steps;
}

static void steps_are_linear(void **state) {
    static const struct {
        const char *name;
        world *next;
    } worlds[] = {
        {"line", line}, {"batch", batch}, {"pool", pool}, {"tree", tree}, {"mixed", mixed}};

    (void)state;
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        uint64_t small = steps_of(worlds[i].next, SIZE);
        uint64_t large = steps_of(worlds[i].next, SIZE * 4);

        print_message("%s: %" PRIu64 " steps for %d, %" PRIu64 " for %d\n", worlds[i].name, small,
                      SIZE, large, SIZE * 4);
        assert_true(large <= small * 5);
    }
}

/* How many are in the way of an ask for "line" among these, by its answer, which names so many. */
static size_t in_the_way(world *next, size_t size, size_t named) {
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_model *model = lk_model_new(&config);
    struct lk_part parts[LK_PARTS_MAX];
    char texts[LK_PARTS_MAX][64];
    struct lk_command command = {
        .kind = LK_COMMAND_ASK,
        .times = {.now_us = (int64_t)size + 1, .wall_us = (int64_t)size + 1},
    };
    const struct lk_answer *answer;
    size_t found;
    size_t count;

    for (size_t n = 0; (count = next(n, size, parts, texts)) > 0; n++) {
        ask(model, n, parts, count);
    }
    (void)snprintf(texts[0], sizeof texts[0], "line");
    parts[0] = part_of(texts[0]);
    command.ask = (struct lk_ask){.owner = lk_slice_of("asker"),
                                  .parts = parts,
                                  .part_count = 1,
                                  .style = LK_TRY,
                                  .ttl_ms = 60000,
                                  .blockers_max = named};
    answer = &lk_model_step(model, &command)->answer;
    assert_int_equal(answer->outcome, LK_BUSY);
    assert_int_equal(answer->blocker_count, named);
    found = answer->in_the_way;
    lk_model_free(model);
    return found;
}

/* R20: what is beyond the bound is neither counted nor visited. */
static void an_answer_counts_up_to_a_bound(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        world *next = i == 0 ? line : children;

        assert_int_equal(in_the_way(next, LK_COUNTED_MIN - 1, 16), LK_COUNTED_MIN - 1);
        assert_int_equal(in_the_way(next, LK_COUNTED_MIN * 3, 0), 0);
        assert_int_equal(in_the_way(next, LK_COUNTED_MIN * 3, 16), LK_COUNTED_MIN);
        assert_int_equal(in_the_way(next, 1000, 300), 600);
        assert_int_equal(in_the_way(next, 2000, LK_BLOCKERS_MAX), LK_COUNTED_MAX);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_linear),
                                       cmocka_unit_test(an_answer_counts_up_to_a_bound)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
