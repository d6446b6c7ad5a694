/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded store beside the model (tests/histories): the closure that a store loads must
 * give the same answers and leave the same requests behind, step by step (closure.c). Also
 * where what is overdue elsewhere is left alone until something asks there (R11).
 */
#include <stdlib.h>

#include "../histories/history.h"
#include "fixture.h"

enum { HISTORIES = 21, STEPS = 250, OVERDUE_MAX = 1000, CROWD_MAX = 1000 };

struct file {
    struct fixture fixture;
    struct fixture_clock clock;
    struct lk_sqlite_options options;
    bool is_bounded;
};

static void *open_file(const struct variant *variant, struct lk_engine **ret_engines,
                       int overdue_max, int crowd_max, bool tidies_always) {
    struct file *file = calloc(1, sizeof *file);

    if (file == NULL) {
        test_die("no memory for a store");
    }
    file->fixture = fixture_make();
    file->is_bounded = variant->quotas.live_max != 0;
    fixture_clock_init(&file->clock);
    file->options = (struct lk_sqlite_options){.time = &file->clock.source,
                                               .boot_id = "boot",
                                               .overdue_max = overdue_max,
                                               .tidies_always = tidies_always,
                                               .crowd_max = crowd_max};
    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        ret_engines[i] = fixture_open(file->fixture.file, &file->options);
    }
    return file;
}

static void *open_eager(const struct variant *variant, struct lk_engine **ret_engines) {
    return open_file(variant, ret_engines, OVERDUE_MAX, CROWD_MAX, false);
}

static void *open_crowded(const struct variant *variant, struct lk_engine **ret_engines) {
    return open_file(variant, ret_engines, OVERDUE_MAX, 0, true);
}

static void *open_lazy(const struct variant *variant, struct lk_engine **ret_engines) {
    return open_file(variant, ret_engines, 0, CROWD_MAX, true);
}

/* Whatever a history has left behind, its rows add up. */
static void expect_sound(struct lk_engine *engine) {
    const struct lk_patience patience = test_patience(60000000);
    lk_report *report = NULL;
    lk_error error;

    if (engine->ops->examine(engine, &patience, &report, &error) != LK_OK) {
        test_die("after a history: %s", error.text);
    }
    lk_report_free(report);
}

static void close_file(void *store, struct lk_engine **engines) {
    struct file *file = store;

    expect_sound(engines[0]);
    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        fixture_close(engines[i]);
    }
    if (file->is_bounded /* the first ask began to count */
        && fixture_sql(file->fixture.file, "SELECT requests FROM lk_request_count")
               != fixture_sql(file->fixture.file, "SELECT count(*) FROM lk_request")) {
        test_die("the count of requests is wrong");
    }
    fixture_remove(&file->fixture);
    free(file);
}

static void set_clock(void *store, struct lk_engine **engines, const struct lk_times *times) {
    struct file *file = store;

    (void)engines;
    file->clock.now_us = times->now_us;
    file->clock.wall_us = times->wall_us;
}

static void reopen(void *store, struct lk_engine **engine) {
    struct file *file = store;

    fixture_close(*engine);
    *engine = fixture_open(file->fixture.file, &file->options);
}

static const struct store_ops eager = {
    .name = "sqlite",
    .engine = &lk_engine_sqlite,
    .laziness = LAZY_NEVER,
    .open = open_eager,
    .close = close_file,
    .set_clock = set_clock,
    .reopen = reopen,
};

/*
 * Every row is a crowd: no ask or release loads more than what decides (crowd.c). Each transaction
 * tidies up, also those of several steps, which must not lose what it forgets.
 */
static const struct store_ops crowded = {
    .name = "sqlite in a crowd",
    .engine = &lk_engine_sqlite,
    .laziness = LAZY_NEVER,
    .open = open_crowded,
    .close = close_file,
    .set_clock = set_clock,
    .reopen = reopen,
};

static const struct store_ops lazy = {
    .name = "sqlite that sweeps late",
    .engine = &lk_engine_sqlite,
    .laziness = LAZY_ALWAYS,
    .open = open_lazy,
    .close = close_file,
    .set_clock = set_clock,
    .reopen = reopen,
};

int main(void) {
    histories_run(&eager, HISTORIES, STEPS);
    histories_run(&crowded, HISTORIES, STEPS);
    histories_run(&lazy, HISTORIES, STEPS);
    return histories_end();
}
