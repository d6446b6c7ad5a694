/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As many commands as one decision may have (R16): test_series redis:...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support.h"
#include "engine/engine.h"
#include "engine/redis/redis.h"
#include "lock.h"

enum { ITEMS = LK_DECIDE_MANY_MAX, VALUE_BYTES = 1000 };

static char ids[ITEMS][16];
static char value[VALUE_BYTES];
static struct lk_path queue;
static struct lk_command commands[ITEMS];
static struct lk_series_answer answers[ITEMS];
static struct lk_series series = {.answers = answers};

/* A series of this kind about the items from `first` on; ended by lk_series_done(). */
static void decide(struct lk_engine *engine, enum lk_command_kind kind, size_t first,
                   size_t count) {
    const struct lk_patience until = lock_patience();

    for (size_t i = 0; i < count; i++) {
        struct lk_command *command = &commands[i];
        struct lk_slice id = lk_slice_of(ids[first + i]);

        *command = (struct lk_command){.kind = kind};
        if (kind == LK_COMMAND_PUSH) {
            command->push =
                (struct lk_push){.queue = queue, .id = id, .value = {value, sizeof value}};
        } else if (kind == LK_COMMAND_TAKE) {
            command->take = (struct lk_take){.queue = queue,
                                             .owner = lk_slice_of("worker"),
                                             .ttl_ms = 60000,
                                             .ask_number = lk_take_number(7, i)};
        } else {
            command->drop = (struct lk_drop){.queue = queue, .id = id};
        }
    }
    if (engine->ops->batches->decide_many(engine, commands, count, &until, &series) != LK_OK) {
        lock_give_up("decide_many", series.error.text);
    }
}

static size_t count_of(lk_outcome outcome) {
    size_t count = 0;

    for (size_t i = 0; i < series.count; i++) {
        count += answers[i].outcome == outcome;
    }
    return count;
}

static int case_number;
static bool is_all_right = true;

static void check(bool is_right, const char *what) {
    (void)printf("%s %d - %s\n", is_right ? "ok" : "not ok", ++case_number, what);
    is_all_right = is_all_right && is_right;
}

static void check_pushes(struct lk_engine *engine) {
    bool is_right = true;

    for (int round = 0; round < 2; round++) {
        decide(engine, LK_COMMAND_PUSH, 0, ITEMS);
        is_right = is_right && count_of(LK_OK) == ITEMS;
        for (size_t i = 0; i < series.count; i++) {
            is_right = is_right && answers[i].is_added == (round == 0);
        }
        lk_series_done(&series);
    }
    check(is_right, "each item is added once");
}

/* Whether the answers are the first items in their order, under one token. */
static bool are_first(uint64_t *token) {
    bool is_right = count_of(LK_GRANTED) == LK_TAKES_MAX;

    *token = *token != 0 ? *token : answers[0].claim->token;
    for (size_t i = 0; is_right && i < series.count; i++) {
        is_right = strcmp(answers[i].claim->id, ids[i]) == 0 && answers[i].claim->token == *token
                   && answers[i].claim->value_size == VALUE_BYTES;
    }
    return is_right;
}

static void check_takes(struct lk_engine *engine) {
    uint64_t token = 0;
    bool is_right = true;

    for (int round = 0; round < 2; round++) { /* R3 */
        decide(engine, LK_COMMAND_TAKE, 0, LK_TAKES_MAX);
        is_right = is_right && are_first(&token);
        lk_series_done(&series);
    }
    check(is_right, "the claims of one ask share a token, also when it is repeated");

    for (size_t i = 0; i < LK_TAKES_MAX; i++) {
        commands[i] = (struct lk_command){.kind = LK_COMMAND_FINISH};
        commands[i].finish = (struct lk_finish){.queue = queue,
                                                .id = lk_slice_of(ids[i]),
                                                .owner = lk_slice_of(i == 3 ? "other" : "worker"),
                                                .token = token,
                                                .kind = LK_FINISH_DONE};
    }
    for (int round = 0; round < 2; round++) {
        const struct lk_patience until = lock_patience();

        is_right =
            engine->ops->batches->decide_many(engine, commands, LK_TAKES_MAX, &until, &series)
                == LK_OK
            && count_of(LK_OK) == LK_TAKES_MAX - 1 && answers[3].outcome == LK_LOST;
        lk_series_done(&series);
        check(is_right, round == 0 ? "all are done but another owner's"
                                   : "each is recalled by its own item when that is repeated");
    }
}

static void check_drops(struct lk_engine *engine) {
    const struct lk_patience until = lock_patience();
    lk_queue_stats stats;
    lk_error error;
    size_t left = ITEMS - LK_TAKES_MAX;

    decide(engine, LK_COMMAND_DROP, 0, ITEMS);
    check(count_of(LK_OK) == left && count_of(LK_LOST) == LK_TAKES_MAX,
          "what is not claimed is dropped");
    lk_series_done(&series);
    if (engine->ops->stats(engine, &queue, LK_STATS_WHOLE, &until, &stats, &error) != LK_OK) {
        lock_give_up("stats", error.text);
    }
    check(stats.ready_now == 0 && stats.claimed_now == 1 && stats.pushed == ITEMS
              && stats.duplicates == ITEMS && stats.claims == LK_TAKES_MAX
              && stats.done == LK_TAKES_MAX - 1,
          "the counts");
}

int main(int argc, char **argv) {
    const struct lk_patience until = lock_patience();
    struct lk_engine *engine = NULL;
    lk_error error;

    if (argc != 2 || strncmp(argv[1], "redis:", 6) != 0) {
        lock_give_up("usage", "test_series redis:URL");
    }
    if (lk_engine_redis.open(lk_slice_of(argv[1] + strlen("redis:")), &until, &engine, &error)
        != LK_OK) {
        lock_give_up(argv[1], error.text);
    }
    (void)lk_path_parse(lk_slice_of("many/items"), &queue, NULL);
    memset(value, 'v', sizeof value);
    for (size_t i = 0; i < ITEMS; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%zu", i);
    }
    (void)printf("1..6\n");
    check_pushes(engine);
    check_takes(engine);
    check_drops(engine);
    engine->ops->close(engine);
    return is_all_right ? 0 : 1;
}
