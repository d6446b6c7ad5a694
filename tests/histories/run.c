/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running histories, and making one that differs shorter.
 *
 * Shrinking is greedy: it leaves out halves, quarters, ... and single moves, again and again, as
 * long as what remains differs in anything. Time that passed before a move still passes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "history.h"

enum { SHRINK_US = 120000000, PAUSE_US_MAX = 10000000 }; /* of a shorter history */

static unsigned cases;
static unsigned failures;

/* `moves` without `size` of them from `from` on, into `ret_rest`. */
static size_t leave_out(const struct move *moves, size_t count, size_t from, size_t size,
                        struct move *ret_rest) {
    int64_t pause_us = 0;
    size_t rest = 0;

    for (size_t i = 0; i < count; i++) {
        pause_us += moves[i].pause_us;
        if (i < from || i >= from + size) {
            ret_rest[rest] = moves[i];
            ret_rest[rest++].pause_us = lk_min(pause_us, PAUSE_US_MAX);
            pause_us = 0;
        }
    }
    return rest;
}

size_t history_shrink(struct history *history, size_t count) {
    int64_t until_us = lk_clock_now_us() + SHRINK_US;
    struct move *best = calloc(HISTORY_STEPS_MAX, sizeof *best);
    struct move *tried = calloc(HISTORY_STEPS_MAX, sizeof *tried);

    if (best == NULL || tried == NULL) {
        test_die("no memory for moves");
    }
    memcpy(best, history->moves, count * sizeof *best);
    for (size_t size = count / 2 > 0 ? count / 2 : 1; size > 0;) {
        bool is_shorter = false;
        for (size_t from = 0; from < count && lk_clock_now_us() < until_us;) {
            size_t rest = leave_out(best, count, from, size, tried);
            if (rest > 0 && history_play(history, tried, rest, NULL) != NULL) {
                count = history->step + 1;
                memcpy(best, tried, count * sizeof *best);
                is_shorter = true;
            } else {
                from += size;
            }
        }
        size = size > 1 ? size / 2 : is_shorter && lk_clock_now_us() < until_us ? 1 : 0;
    }
    memcpy(history->moves, best, count * sizeof *best);
    free(best);
    free(tried);
    return count;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* What the shortest history that still differs does, and where it differs. */
static void complain(struct history *history, const char *difference) {
    size_t count = history->step + 1;

    (void)printf("# %s, %s, step %zu: the store and the model differ in %s\n", history->ops->name,
                 history->variant->name, count, difference);
    (void)printf("# shrinking ...\n");
    history->is_quiet = true;
    count = history_shrink(history, count);
    history->is_quiet = false;
    (void)printf("# ... to %zu of them:\n", count);
    difference = history_play(history, history->moves, count, NULL);
    (void)printf("# differs in %s:\n", difference != NULL ? difference : "nothing, this time");
    for (size_t i = 0; i < count; i++) {
        move_print(&history->moves[i]);
    }
}

static void report(const struct store_ops *ops, const char *name, bool is_good) {
    (void)printf("%s %u - %s: %s is as in the model\n", is_good ? "ok" : "not ok", ++cases,
                 ops->name, name);
    (void)fflush(stdout);
    failures += !is_good;
}

/* What happens late cannot be compared event by event, unless it is made to happen in time. */
static bool can_play(const struct store_ops *ops, const struct variant *variant) {
    unsigned capabilities = lk_engine_capabilities(ops->engine);
    bool is_prompt = ops->laziness != LAZY_ALWAYS || ops->tick != NULL;

    return (!ops->decides_one_root || variant->root != NULL)
           && (variant->quotas.live_max == 0 || (capabilities & LK_CAN_LIMITS) != 0)
           && (!variant->keeps_events || ((capabilities & LK_CAN_EVENTS) != 0 && is_prompt));
}

static void run_kept(struct history *history, const struct kept *kept) {
    struct variant variant = {.name = kept->name, .keeps_events = kept->keeps_events};
    const char *difference;

    variant.keeps_events = variant.keeps_events && can_play(history->ops, &variant);
    history->variant = &variant;
    difference = history_play(history, kept->moves, kept->count, NULL);
    report(history->ops, kept->name, difference == NULL);
    if (difference != NULL) {
        (void)printf("# step %zu: the store and the model differ in %s\n", history->step + 1,
                     difference);
    }
}

/* So many come to their end: those that are over before are not counted. */
static void run_variant(struct history *history, const struct variant *variant,
                        struct lk_random *random, unsigned wanted, unsigned steps) {
    const char *difference = NULL;
    unsigned whole = 0;
    unsigned played = 0;

    history->variant = variant;
    while (difference == NULL && whole < wanted && played < 3 * wanted + 8) {
        played++;
        difference = history_play(history, NULL, steps, random);
        whole += difference == NULL && !history->is_over;
    }
    (void)printf("# %s: %u histories, %u of them to their end\n", variant->name, played, whole);
    report(history->ops, variant->name, difference == NULL && whole == wanted);
    if (difference != NULL) {
        complain(history, difference); /* below its line, as TAP has it */
    }
}

static const struct variant variants[] = {
    {.name = "a busy store", .pause_max_us = 60000},
    {.name = "a slow store", .pause_max_us = 900000},
    {.name = "one root", .pause_max_us = 100000, .work_percent = 20, .root = "r/"},
    {.name = "one root, where much ends",
     .pause_max_us = 30000,
     .ending_percent = 50,
     .root = "r/"},
    {.name = "work", .pause_max_us = 60000, .work_percent = 65},
    {.name = "work below one root", .pause_max_us = 60000, .work_percent = 65, .root = "r/"},
    {.name = "slow work", .pause_max_us = 600000, .work_percent = 50},
    {.name = "a bounded store",
     .pause_max_us = 60000,
     .work_percent = 30,
     .quotas = {.live_max = 12,
                .live_per_owner_max = 4,
                .live_per_root_max = 6,
                .waiters_per_path_max = 2},
     .keeps_events = true},
    {.name = "events",
     .pause_max_us = 200000,
     .work_percent = 35,
     .root = "r/",
     .keeps_events = true},
};

void histories_run(const struct store_ops *ops, unsigned histories, unsigned steps) {
    struct history *history = calloc(1, sizeof *history);
    const char *only = getenv("LK_TEST_ONLY");

    if (history == NULL || steps > HISTORY_STEPS_MAX) {
        test_die("no memory for a history");
    }
    history->ops = ops;
    for (size_t i = 0; !ops->decides_one_root && i < histories_kept_count; i++) {
        if (only == NULL || strstr(histories_kept[i].name, only) != NULL) {
            run_kept(history, &histories_kept[i]);
        }
    }
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        struct lk_random random = test_random();
        if ((only == NULL || strcmp(variants[i].name, only) == 0) && can_play(ops, &variants[i])) {
            run_variant(history, &variants[i], &random, test_scaled(histories), steps);
        }
    }
    free(history);
}

int histories_end(void) {
    (void)printf("1..%u\n", cases);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
