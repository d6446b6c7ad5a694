/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has many: test_many redis:URL
 *
 * As many commands as one decision may have (R16).
 *
 * Listings of several pages, while what they list changes: every request that lives throughout is
 * listed once, in the order of the tickets. Requests live at many paths, at one path (semaphore and
 * queue), with several parts far apart, and at paths whose bytes sort around '/'. Meanwhile a
 * thread converts them, lets waiting ones become holders, and makes and ends others among them.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../calls.h"
#include "../support.h"
#include "engine/engine.h"
#include "engine/redis/redis.h"
#include "lock.h"

/* ---- as many commands as one decision may have (R16) ----------------------------------------- */

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
            is_right = is_right && answers[i].pushed.added == (round == 0);
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

/* ---- listings of several pages, while what they list changes --------------------------------- */

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

static void check_series(struct lk_engine *engine) {
    (void)lk_path_parse(lk_slice_of("many/items"), &queue, NULL);
    memset(value, 'v', sizeof value);
    for (size_t i = 0; i < ITEMS; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%zu", i);
    }
    check_pushes(engine);
    check_takes(engine);
    check_drops(engine);
}

static void check_pages(struct lk_engine *engine, char *url) {
    pthread_t thread;
    bool are_right[2] = {true, true};

    make_lasting(engine);
    if (pthread_create(&thread, NULL, change, url) != 0) {
        lock_give_up("threads", "no more");
    }
    for (unsigned i = 0; i < LISTINGS; i++) {
        are_right[0] = list(engine, engine->ops->list) && are_right[0];
        are_right[1] = list(engine, engine->ops->show) && are_right[1];
    }
    is_over = true;
    (void)pthread_join(thread, NULL);
    check(are_right[0], "lists beside changes");
    check(are_right[1], "shows beside changes");
}

int main(int argc, char **argv) {
    struct lk_engine *engine;

    if (argc != 2 || strncmp(argv[1], "redis:", 6) != 0) {
        lock_give_up("usage", "test_many redis:URL");
    }
    engine = open_engine(argv[1]);
    (void)printf("1..8\n");
    check_series(engine);
    check_pages(engine, argv[1]);
    engine->ops->close(engine);
    return is_all_right ? 0 : 1;
}
