/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listings of several pages, while what they list changes: every request that lives throughout is
 * listed once, in the order of the tickets. test_pages redis:URL
 *
 * Requests live at many paths, at one path (semaphore and queue), with several parts far apart, and
 * at paths whose bytes sort around '/'. Meanwhile a thread converts them, lets waiting ones become
 * holders, and makes and ends others among them.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../calls.h"
#include "../support.h"
#include "engine/redis/redis.h"
#include "lock.h"

enum { LEAVES = 1200, HOLDERS = 700, WAITERS = 600, BATCHES = 100, LISTINGS = 12 };
enum { LASTING = 2 * LEAVES + HOLDERS + WAITERS + BATCHES };
#define TTL_MS INT64_C(3600000)

static atomic_bool is_over;

static struct lk_engine *open_engine(const char *url) {
    const struct lk_patience until = lock_patience();
    struct lk_engine *engine = NULL;
    lk_error error;

    if (lk_engine_redis.open(lk_slice_of(url + strlen("redis:")), &until, &engine, &error)
        != LK_OK) {
        lock_give_up(url, error.text);
    }
    return engine;
}

/* ---- requests -------------------------------------------------------------------------------- */

static uint64_t ask(struct lk_engine *engine, const char *owner, const char *text,
                    lk_outcome expected) {
    const struct lk_patience until = lock_patience();
    lk_result result = {.outcome = LK_OK};
    struct test_parts parts;
    struct lk_ask asked;
    uint64_t token;

    test_parts_parse(&parts, text);
    asked = (struct lk_ask){.owner = lk_slice_of(owner),
                            .parts = parts.parts,
                            .part_count = parts.count,
                            .style = LK_QUEUE,
                            .ttl_ms = TTL_MS};
    if (call_ask(engine, &asked, &until, &result) != expected) {
        lock_give_up(text, result.error != NULL ? result.error : lk_outcome_name(result.outcome));
    }
    token = result.token;
    lk_result_clear(&result);
    return token;
}

static void release(struct lk_engine *engine, const char *owner, const char *text) {
    const struct lk_patience until = lock_patience();
    lk_result result = {.outcome = LK_OK};
    struct test_parts parts;
    struct lk_release released;

    test_parts_parse(&parts, text);
    released = (struct lk_release){
        .target = {.owner = lk_slice_of(owner), .parts = parts.parts, .part_count = parts.count}};
    if (call_release(engine, &released, &until, &result) != LK_OK) {
        lock_give_up(text, "not released");
    }
    lk_result_clear(&result);
}

__attribute__((format(printf, 5, 6))) static void ask_as(struct lk_engine *engine,
                                                         lk_outcome expected, const char *kind,
                                                         unsigned i, const char *format, ...) {
    char owner[32];
    char text[96];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    (void)snprintf(owner, sizeof owner, "lasting %s %u", kind, i);
    (void)ask(engine, owner, text, expected);
}

/* What lives throughout: the owners are named `lasting`. */
static void make_lasting(struct lk_engine *engine) {
    for (unsigned i = 0; i < LEAVES; i++) {
        ask_as(engine, LK_GRANTED, "leaf", i, "root/tree/%u", i);
        ask_as(engine, LK_GRANTED, "sibling", i, "root/tree%c%u", i % 2 == 0 ? '-' : '1', i);
    }
    for (unsigned i = 0; i < HOLDERS; i++) {
        ask_as(engine, LK_GRANTED, "holder", i, "root/pool?limit=100000");
    }
    (void)ask(engine, "first", "root/tree", LK_WAITING);
    release(engine, "first", "root/tree");
    (void)ask(engine, "first", "root/queue", LK_GRANTED);
    for (unsigned i = 0; i < WAITERS; i++) {
        ask_as(engine, LK_WAITING, "waiter", i, "root/queue?shared");
    }
    for (unsigned i = 0; i < BATCHES; i++) {
        ask_as(engine, LK_GRANTED, "batch", i, "root/a/%u root/z/%u root/m/%u", i, i, i);
    }
}

/* Converts lasting requests back and forth, and lets others come and go among them. */
static void *change(void *context) {
    struct lk_engine *engine = open_engine(context);

    for (unsigned i = 0; !is_over; i++) {
        unsigned leaf = i * 7919 % LEAVES;

        ask_as(engine, LK_GRANTED, "leaf", leaf, "root/tree/%u?shared", leaf);
        ask_as(engine, LK_GRANTED, "leaf", leaf, "root/tree/%u", leaf);
        (void)ask(engine, "passing", "root/tree/0/below", LK_WAITING);
        (void)ask(engine, "passing", "root/pool?limit=100000", LK_GRANTED);
        release(engine, "passing", "root/tree/0/below");
        release(engine, "passing", "root/pool");
        if (i == 200) { /* all who wait are granted, and move */
            release(engine, "first", "root/queue");
        }
    }
    engine->ops->close(engine);
    return NULL;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool is_lasting(const lk_entry *entry) {
    return strncmp(entry->owner, "lasting ", strlen("lasting ")) == 0;
}

static int compare_owners(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each lasting request once, in the order of the tickets. */
static bool is_complete(const lk_listing *listing) {
    const char **owners = calloc(listing->count + 1, sizeof *owners);
    size_t count = 0;
    bool is_right = true;

    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];

        is_right = is_right && (i == 0 || entry[-1].ticket <= entry->ticket);
        if (is_lasting(entry) && (i == 0 || entry[-1].request_index != entry->request_index)) {
            owners[count++] = entry->owner;
        }
    }
    qsort(owners, count, sizeof *owners, compare_owners);
    for (size_t i = 1; i < count; i++) {
        is_right = is_right && strcmp(owners[i - 1], owners[i]) != 0;
    }
    if (count != LASTING || !is_right) {
        (void)printf("# %zu of %d listed\n", count, LASTING);
    }
    free(owners);
    return is_right && count == LASTING;
}

typedef lk_outcome list_operation(struct lk_engine *engine, const struct lk_path *path,
                                  const struct lk_patience *patience, lk_listing **ret_listing,
                                  lk_error *error);

static bool list(struct lk_engine *engine, list_operation *operation) {
    const struct lk_patience until = lock_patience();
    lk_listing *listing = NULL;
    struct lk_path path;
    lk_error error;
    bool is_right;

    (void)lk_path_parse(lk_slice_of("root"), &path, NULL);
    if (operation(engine, &path, &until, &listing, &error) != LK_OK) {
        lock_give_up("list", error.text);
    }
    is_right = is_complete(listing);
    lk_listing_free(listing);
    return is_right;
}

int main(int argc, char **argv) {
    struct lk_engine *engine;
    pthread_t thread;
    bool are_right[2] = {true, true};

    if (argc != 2 || strncmp(argv[1], "redis:", 6) != 0) {
        lock_give_up("usage", "test_pages redis:URL");
    }
    engine = open_engine(argv[1]);
    make_lasting(engine);
    if (pthread_create(&thread, NULL, change, argv[1]) != 0) {
        lock_give_up("threads", "no more");
    }
    (void)printf("1..2\n");
    for (unsigned i = 0; i < LISTINGS; i++) {
        are_right[0] = list(engine, engine->ops->list) && are_right[0];
        are_right[1] = list(engine, engine->ops->show) && are_right[1];
    }
    is_over = true;
    (void)pthread_join(thread, NULL);
    (void)printf("%s 1 - lists beside changes\n", are_right[0] ? "ok" : "not ok");
    (void)printf("%s 2 - shows beside changes\n", are_right[1] ? "ok" : "not ok");
    engine->ops->close(engine);
    return are_right[0] && are_right[1] ? 0 : 1;
}
