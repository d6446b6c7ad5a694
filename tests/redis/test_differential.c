/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases of one Redis server, or a cluster that the program FLUSH empties, beside the model
 * (tests/histories): test_differential URL CLOCK [FLUSH]
 *
 * The servers' clock is the file CLOCK (clock.c). Under one root the script decides at the moments
 * at which the model does; of several it sweeps those that an ask is about (R11). A cluster decides
 * about one slot.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../histories/history.h"
#include "engine/redis/redis.h"

enum { HISTORIES = 10, STEPS = 150, DATABASES = 16384 };

static const char *store_rest;    /* of its URL */
static const char *flush_program; /* NULL: a history has a database of its own */
static _Atomic int64_t *server_clock;

static struct lk_engine *open_store(unsigned database) {
    struct lk_patience patience = test_patience(20000000);
    struct lk_engine *engine = NULL;
    lk_error error = {.text = ""};
    char rest[512];

    (void)snprintf(rest, sizeof rest, "%s?database=%u", store_rest,
                   flush_program == NULL ? database : 0);
    if (lk_engine_redis.open(lk_slice_of(rest), &patience, &engine, &error) != LK_OK) {
        test_die("%s", error.text);
    }
    return engine;
}

static void *open_database(const struct variant *variant, struct lk_engine **ret_engines) {
    static unsigned opened;

    (void)variant;
    if (flush_program != NULL && system(flush_program) != 0) {
        test_die("the cluster cannot be emptied");
    }
    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        ret_engines[i] = open_store(opened % DATABASES);
    }
    opened++;
    return NULL;
}

static void close_database(void *store, struct lk_engine **engines) {
    (void)store;
    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        engines[i]->ops->close(engines[i]);
    }
}

static void set_clock(void *store, struct lk_engine **engines, const struct lk_times *times) {
    (void)store;
    (void)engines;
    *server_clock = times->wall_us;
}

/* What is looked at is swept first. */
static void tick(void *store, struct lk_engine **engines) {
    struct lk_patience patience = test_patience(20000000);
    lk_listing *listing = NULL;
    lk_error error;

    (void)store;
    if (engines[0]->ops->list(engines[0], NULL, &patience, &listing, &error) == LK_OK) {
        lk_listing_free(listing);
    }
}

static _Atomic int64_t *map_clock(const char *path) {
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    void *map = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);

    (void)close(descriptor);
    if (map == MAP_FAILED) {
        test_die("no clock %s", path);
    }
    return map;
}

int main(int argc, char **argv) {
    struct store_ops redis = {
        .name = "redis",
        .engine = &lk_engine_redis,
        .laziness = LAZY_ACROSS_ROOTS,
        .open = open_database,
        .close = close_database,
        .set_clock = set_clock,
        .tick = tick,
    };

    if (argc < 3 || argc > 4 || strncmp(argv[1], "redis:", 6) != 0) {
        test_die("usage: test_differential redis:URL CLOCK [FLUSH]");
    }
    store_rest = argv[1] + 6;
    server_clock = map_clock(argv[2]);
    flush_program = argc == 4 ? argv[3] : NULL;
    redis.decides_one_root = flush_program != NULL;
    histories_run(&redis, HISTORIES, STEPS);
    return histories_end();
}
