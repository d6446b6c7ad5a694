/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step costs beside few others and beside many: the instructions that it executes. They are
 * counted by ptrace in a child of the process that has built the world, so no clock is read. Stores
 * that keep the model in memory (`mem:`, and the service) take these very steps. Nothing is named:
 * what an explanation visits is for test_explain.c.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "model/model.h"

enum {
    FEW = 10,
    HUNDRED = 100,
    PAGE = 20,
    MANY = 10000,
    SLOTS = 10,
    TEXT_MAX = 64,
    TTL_MS = 600000,
    TIMES_ASK = 3, /* so many times as much beside many, at most */
    TIMES_END = 2,
};

struct world {
    struct lk_model *model;
    struct lk_times times;
    int size;
};

/* ---- commands -------------------------------------------------------------------------------- */

static struct lk_part part_of(const char *text) {
    struct lk_part part;

    if (lk_part_parse(lk_slice_of(text), NULL, &part, NULL) != LK_OK) {
        abort();
    }
    return part;
}

/* Draws are what the clock says, one after another (R4). */
static void must(struct world *world, struct lk_command *command, lk_outcome outcome) {
    command->times = world->times;
    command->times.wall_us = ++world->times.wall_us;
    if (lk_model_step(world->model, command)->answer.outcome != outcome) {
        abort(); /* also in the child */
    }
}

static void ask_for(struct world *world, const char *owner, const char *text, lk_style style,
                    lk_outcome outcome, int64_t ttl_ms) {
    struct lk_part part = part_of(text);
    struct lk_command command = {.kind = LK_COMMAND_ASK};

    command.ask = (struct lk_ask){.owner = lk_slice_of(owner),
                                  .parts = &part,
                                  .part_count = 1,
                                  .style = style,
                                  .ttl_ms = ttl_ms};
    must(world, &command, outcome);
}

static void ask(struct world *world, const char *owner, const char *text, lk_style style,
                lk_outcome outcome) {
    ask_for(world, owner, text, style, outcome, TTL_MS);
}

static void release(struct world *world, const char *owner, const char *text) {
    struct lk_part part = part_of(text);
    struct lk_command command = {.kind = LK_COMMAND_RELEASE};

    command.release.target =
        (struct lk_target){.owner = lk_slice_of(owner), .parts = &part, .part_count = 1};
    must(world, &command, LK_OK);
}

static void put(struct world *world, const char *path, const char *value) {
    struct lk_command command = {.kind = LK_COMMAND_PUT};

    command.put = (struct lk_put){
        .path = part_of(path).path, .bytes = lk_slice_of(value), .deletes = value == NULL};
    must(world, &command, LK_OK);
}

static void push(struct world *world, int number, const char *need) {
    struct lk_part part = part_of(need);
    struct lk_command command = {.kind = LK_COMMAND_PUSH};
    char id[TEXT_MAX];

    (void)snprintf(id, sizeof id, "%d", number);
    command.push = (struct lk_push){
        .queue = part_of("work").path, .id = lk_slice_of(id), .needs = &part, .need_count = 1};
    must(world, &command, LK_OK);
}

static void take(struct world *world, const char *owner, lk_outcome outcome) {
    struct lk_command command = {.kind = LK_COMMAND_TAKE};

    command.take = (struct lk_take){
        .queue = part_of("work").path, .owner = lk_slice_of(owner), .ttl_ms = TTL_MS};
    must(world, &command, outcome);
}

/* ---- worlds ---------------------------------------------------------------------------------- */

static void children(struct world *world) {
    char owner[TEXT_MAX];
    char path[TEXT_MAX];

    for (int i = 0; i < world->size; i++) {
        (void)snprintf(owner, sizeof owner, "o%d", i);
        (void)snprintf(path, sizeof path, "parent/%d", i);
        ask(world, owner, path, LK_TRY, LK_GRANTED);
    }
}

/* `held` of them hold, and `size` wait. */
static void line_of(struct world *world, const char *part, int held) {
    char owner[TEXT_MAX];

    for (int i = 0; i < held + world->size; i++) {
        (void)snprintf(owner, sizeof owner, "o%d", i);
        ask(world, owner, part, LK_QUEUE, i < held ? LK_GRANTED : LK_WAITING);
    }
}

static void line(struct world *world) {
    line_of(world, "line", 1);
}

static void slots(struct world *world) {
    line_of(world, "pool?limit=10", SLOTS);
}

static void readers(struct world *world) {
    ask(world, "writer", "book", LK_TRY, LK_GRANTED);
    line_of(world, "book?shared", 0);
}

static void others(struct world *world) {
    char owner[TEXT_MAX];
    char path[TEXT_MAX];

    for (int i = 0; i < world->size; i++) {
        (void)snprintf(owner, sizeof owner, "o%d", i);
        (void)snprintf(path, sizeof path, "other%d/%d", i / 64, i);
        ask(world, owner, path, LK_TRY, LK_GRANTED);
    }
}

/* In the order of paths: as many before `kept` as at it and behind it, of other roots. */
static void values(struct world *world) {
    static const char *const roots[] = {"before", "kept", "then"};
    char path[TEXT_MAX];

    for (int i = 0; i < 3 * world->size; i++) {
        (void)snprintf(path, sizeof path, "%s/%d/%d", roots[i % 3], i % 64, i);
        put(world, path, "value");
    }
}

/* All of them die, and are gone after the next step. */
static void dead(struct world *world) {
    char owner[TEXT_MAX];

    for (int i = 0; i < world->size; i++) {
        (void)snprintf(owner, sizeof owner, "o%d", i);
        ask_for(world, owner, i % 2 == 0 ? "pool?limit=100000" : "book?shared", LK_TRY, LK_GRANTED,
                50);
    }
    world->times.now_us += 60000000;
    ask(world, "first", "elsewhere", LK_TRY, LK_GRANTED);
}

/* ---- what is counted: done once before, so that memory is there ------------------------------ */

/* Items that need what is taken; none of any other customer. */
static void blocked(struct world *world) {
    ask(world, "other", "customer/a", LK_TRY, LK_GRANTED);
    for (int i = 0; i < world->size; i++) {
        push(world, i, "customer/a");
    }
}

/* The same, and behind each an item of a customer of its own. */
static void customers(struct world *world) {
    char need[TEXT_MAX];

    blocked(world);
    for (int i = 0; i < world->size; i++) {
        (void)snprintf(need, sizeof need, "customer/b%d", i);
        push(world, world->size + i, need);
    }
}

static void refused(struct world *world) {
    ask(world, "me", "parent", LK_TRY, LK_BUSY);
}

static void queue_above(struct world *world) {
    ask(world, "me", "parent", LK_QUEUE, LK_WAITING);
    release(world, "me", "parent");
}

static void join(struct world *world) {
    ask(world, "me", "line", LK_QUEUE, LK_WAITING);
    release(world, "me", "line");
}

static void again(struct world *world) {
    ask(world, "o5", "line", LK_QUEUE, LK_WAITING);
}

static void give_on(struct world *world) {
    release(world, "o0", "line");
    ask(world, "o1", "line", LK_QUEUE, LK_GRANTED);
    release(world, "o1", "line");
    ask(world, "o2", "line", LK_QUEUE, LK_GRANTED);
}

static void give_slot_on(struct world *world) {
    release(world, "o0", "pool?limit=10");
    ask(world, "o10", "pool?limit=10", LK_QUEUE, LK_GRANTED);
    ask(world, "me", "pool?limit=10", LK_TRY, LK_BUSY);
}

static void leave_amidst(struct world *world) {
    release(world, "o5", "book?shared");
    ask(world, "o5", "book?shared", LK_QUEUE, LK_WAITING);
}

static void take_nothing(struct world *world) {
    take(world, "worker", LK_BUSY);
}

static void take_behind(struct world *world) {
    take(world, "worker", LK_GRANTED);
}

/* What is taken becomes free: the first item is claimed, and no other one after it. */
static void take_freed(struct world *world) {
    take(world, "worker", LK_BUSY);
    release(world, "other", "customer/a");
    take(world, "worker", LK_GRANTED);
    take(world, "another", LK_BUSY);
}

static void pair(struct world *world) {
    ask(world, "me", "own/table/row", LK_TRY, LK_GRANTED);
    release(world, "me", "own/table/row");
}

static void pair_there(struct world *world) {
    ask(world, "me", "pool?limit=10", LK_TRY, LK_GRANTED);
    release(world, "me", "pool?limit=10");
}

static void put_and_delete(struct world *world) {
    put(world, "kept/32/new", "value");
    put(world, "kept/32/new", NULL);
}

static bool visit_page(void *context, lk_value_ref value) {
    int *left = context;

    (void)value;
    return --*left > 0;
}

static void page(struct world *world) {
    struct lk_path path = part_of("kept").path;
    int left = PAGE;

    lk_model_each_value(world->model, &path, lk_slice_of("kept/3"), visit_page, &left);
    if (left != 0) {
        abort();
    }
}

static const struct scene {
    const char *name;
    void (*fill)(struct world *world);
    void (*act)(struct world *world);
    int few;
    int times;
    bool is_repeatable; /* done once before it is counted */
} scenes[] = {
    {"a refused try on a parent", children, refused, FEW, TIMES_ASK, true},
    {"queueing on a parent, and withdrawing", children, queue_above, FEW, TIMES_ASK, true},
    {"queueing in a line, and withdrawing", line, join, FEW, TIMES_ASK, true},
    {"asking again in the midst of a line", line, again, FEW, TIMES_END, true},
    {"giving a lock on", line, give_on, FEW, TIMES_END, false},
    {"giving a slot on, and a refused try", slots, give_slot_on, FEW, TIMES_END, false},
    {"a reader leaves the midst of others, and joins", readers, leave_amidst, FEW, TIMES_END, true},
    {"a pair beside unrelated locks", others, pair, FEW, TIMES_END, true},
    {"a pair beside what has died", dead, pair, FEW, TIMES_END, true},
    {"a new value, and its deletion", values, put_and_delete, HUNDRED, TIMES_END, true},
    {"a page of values", values, page, HUNDRED, TIMES_END, true},
    {"a claim where items need what is taken", blocked, take_nothing, FEW, TIMES_END, true},
    {"a claim behind items that need what is taken", customers, take_behind, FEW, TIMES_END, false},
    {"claims before and after what is needed is free", blocked, take_freed, FEW, TIMES_END, false},
    {"a pair where others have died", dead, pair_there, FEW, TIMES_END, true},
};

/* ---- counting -------------------------------------------------------------------------------- */

/* Returns the signal that stopped the child. */
static int await_stop(pid_t child) {
    int status = 0;

    assert_int_equal(waitpid(child, &status, __WALL), child);
    assert_true(WIFSTOPPED(status));
    return WSTOPSIG(status);
}

static int step(pid_t child) {
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
    return await_stop(child);
}

static void act_stepped(const struct scene *scene, struct world *world) {
    if (scene->is_repeatable) {
        scene->act(world);
    }
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    (void)raise(SIGSTOP);
    scene->act(world);
    (void)raise(SIGUSR1);
    for (;;) {
        (void)pause();
    }
}

static uint64_t instructions_of(const struct scene *scene, int size) {
    struct world world = {.model = lk_model_new(&(struct lk_model_config){.hash_seed = 1}),
                          .times = {1, 1},
                          .size = size};
    uint64_t count = 0;
    int signal_number;
    pid_t child;

    assert_non_null(world.model);
    scene->fill(&world);
    child = fork();
    if (child == 0) {
        act_stepped(scene, &world);
    }
    assert_int_equal(await_stop(child), SIGSTOP);
    while ((signal_number = step(child)) == SIGTRAP) {
        count++;
    }
    assert_int_equal(signal_number, SIGUSR1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, __WALL), child);
    lk_model_free(world.model);
    return count;
}

static void a_steps_cost_does_not_grow(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        const struct scene *scene = &scenes[i];
        uint64_t few = instructions_of(scene, scene->few);
        uint64_t many = instructions_of(scene, MANY);

        print_message("%s: %llu instructions beside %d, %llu beside %d\n", scene->name,
                      (unsigned long long)few, scene->few, (unsigned long long)many, MANY);
        assert_true(many <= (uint64_t)scene->times * few);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_steps_cost_does_not_grow)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
