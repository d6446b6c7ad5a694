/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call costs beside few others and beside many: the commands that the script makes, as the
 * server counts them (INFO commandstats). test_costs redis:///SOCKET
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../calls.h"
#include "engine/redis/redis.h"
#include "lock.h"

enum { FEW = 10, MANY = 10000, BLOCKERS = 16, TIMES_MAX = 2, COMMANDS_OF_A_PAGE_MAX = 300 };
enum { READERS = 1000, SLOTS = 10, HOLDERS_A_COMMAND = 25 };
#define TTL_MS INT64_C(3600000)

struct fixture {
    struct lk_engine *engine;
    redisContext *server;
};

/* ---- requests -------------------------------------------------------------------------------- */

/* Asks with an explanation, as clients do. Returns the position. */
static size_t ask_as(struct lk_engine *engine, struct lock *lock, lk_style style,
                     lk_outcome expected) {
    const struct lk_patience until = lock_patience();
    const struct lk_ask asked = {.owner = lk_slice_of(lock->owner),
                                 .parts = &lock->part,
                                 .part_count = 1,
                                 .style = style,
                                 .blockers_max = BLOCKERS,
                                 .ttl_ms = TTL_MS};
    lk_result result = {.outcome = LK_OK};
    size_t position;

    if (call_ask(engine, &asked, &until, &result) != expected) {
        lock_give_up(lock->text, lk_outcome_name(result.outcome));
    }
    position = result.position;
    lock->token = result.token;
    lk_result_clear(&result);
    return position;
}

static size_t queue(struct lk_engine *engine, struct lock *lock, lk_outcome expected) {
    return ask_as(engine, lock, LK_QUEUE, expected);
}

static void refused_try(struct lk_engine *engine, struct lock *lock) {
    (void)ask_as(engine, lock, LK_TRY, LK_BUSY);
}

static void name_owner(struct lock *lock, const char *owner) {
    (void)snprintf(lock->owner, sizeof lock->owner, "%s", owner);
}

/* ---- costs ----------------------------------------------------------------------------------- */

enum cost {
    QUEUE_ABOVE,
    QUEUE_WAITED_FOR,
    QUEUE_IN_LINE,
    QUEUE_NESTED,
    QUEUE_AMONG_READERS,
    QUEUE_FOR_UNITS,
    ASK_AGAIN,
    HAND_ON,
    ASK_AGAIN_AMIDST,
    TRY_ABOVE,
    PAIR_BESIDE,
    PAIR_ELSEWHERE,
    PAIR_BESIDE_DEAD,
    PAIR_AFTER_DEAD,
    END_OF_DEAD,
    SLOT,
    READER_AMIDST,
    WORK,
    COUNT_ITEMS,
    COSTS
};

static const char *const cost_names[COSTS] = {
    [QUEUE_ABOVE] = "queue and withdraw above held locks",
    [QUEUE_WAITED_FOR] = "the same by an owner for which another waits: it is searched for a cycle",
    [QUEUE_FOR_UNITS] = "queue and withdraw in a line for several units",
    [QUEUE_AMONG_READERS] = "queue and withdraw among readers behind a writer",
    [QUEUE_IN_LINE] = "queue and withdraw in a line",
    [QUEUE_NESTED] = "queue and withdraw by an owner that holds another lock",
    [ASK_AGAIN] = "ask again at the end of a line",
    [ASK_AGAIN_AMIDST] = "ask again in the midst of a line",
    [TRY_ABOVE] = "a refused try above held locks",
    [PAIR_BESIDE] = "a lock is taken and given back beside others under its root",
    [PAIR_ELSEWHERE] = "the same beside other roots",
    [PAIR_BESIDE_DEAD] = "the same beside leases that have run out under other roots",
    [PAIR_AFTER_DEAD] = "the same once those under its root have been ended",
    [END_OF_DEAD] = "to end them, for each",
    [SLOT] = "a slot is given on in a line, and a try for one is refused",
    [READER_AMIDST] = "a reader withdraws from the midst of others, and joins again",
    [HAND_ON] = "release to a line, and the next asks",
    [WORK] = "push, claim and finish in a queue",
    [COUNT_ITEMS] = "the counts of a queue, with the age of its oldest ready item",
};

static long long queue_and_withdraw(const struct fixture *f, struct lock *lock, size_t position) {
    size_t found;

    begin_count(f->server);
    found = queue(f->engine, lock, LK_WAITING);
    lock_release(f->engine, lock);
    if (found != position) {
        lock_give_up(lock->text, "is not in this position");
    }
    return end_count(f->server).commands;
}

static long long take_and_give_back(const struct fixture *f, struct lock *lock) {
    begin_count(f->server);
    lock_ask(f->engine, lock, LK_TRY, TTL_MS, LK_GRANTED);
    lock_release(f->engine, lock);
    return end_count(f->server).commands;
}

static void measure_above(const struct fixture *f, unsigned count, long long *costs) {
    struct lock waited;
    struct lock beside;
    struct lock lock;

    for (unsigned i = 0; i < count; i++) {
        lock_init(&lock, "tree%u/leaf%u", count, i);
        lock_ask(f->engine, &lock, LK_TRY, TTL_MS, LK_GRANTED);
    }
    lock_init(&lock, "tree%u", count, 0);
    name_owner(&lock, "stranger");
    costs[QUEUE_ABOVE] = queue_and_withdraw(f, &lock, count);
    begin_count(f->server);
    refused_try(f->engine, &lock);
    costs[TRY_ABOVE] = end_count(f->server).commands;

    lock_init(&beside, "tree%u/beside/it", count, 0);
    costs[PAIR_BESIDE] = take_and_give_back(f, &beside);

    lock_init(&waited, "waited%u", count, 0);
    lock_ask(f->engine, &waited, LK_TRY, TTL_MS, LK_GRANTED);
    name_owner(&waited, "waiting");
    lock_ask(f->engine, &waited, LK_QUEUE, TTL_MS, LK_WAITING);
    name_owner(&lock, "owner 0");
    costs[QUEUE_WAITED_FOR] = queue_and_withdraw(f, &lock, count - 1);
    costs[QUEUE_WAITED_FOR] -= count / HOLDERS_A_COMMAND;
}

static void measure_readers(const struct fixture *f, unsigned count, long long *costs) {
    struct lock lock;

    lock_init(&lock, "readers%u", count, 0);
    lock_ask(f->engine, &lock, LK_TRY, TTL_MS, LK_GRANTED);
    lock.part.mode = LK_SHARED;
    lock.part.units = 1;
    for (unsigned i = 1; i <= count; i++) {
        (void)snprintf(lock.owner, sizeof lock.owner, "reader %u", i);
        lock_ask(f->engine, &lock, LK_QUEUE, TTL_MS, LK_WAITING);
    }
    name_owner(&lock, "stranger");
    lock.token = 0;
    costs[QUEUE_AMONG_READERS] = queue_and_withdraw(f, &lock, 1);

    (void)snprintf(lock.owner, sizeof lock.owner, "reader %u", count / 2);
    begin_count(f->server);
    lock_release(f->engine, &lock);
    (void)queue(f->engine, &lock, LK_WAITING);
    costs[READER_AMIDST] = end_count(f->server).commands;
}

/* A semaphore with a line, all for one unit. */
static void measure_slots(const struct fixture *f, unsigned count, long long *costs) {
    struct lock first;
    struct lock lock;

    lock_init(&lock, "slots%u", count, 0);
    lock.part.mode = LK_SHARED;
    lock.part.limit = SLOTS;
    lock.part.units = 1;
    for (unsigned i = 0; i < SLOTS + count; i++) {
        (void)snprintf(lock.owner, sizeof lock.owner, "user %u", i);
        lock_ask(f->engine, &lock, i < SLOTS ? LK_TRY : LK_QUEUE, TTL_MS,
                 i < SLOTS ? LK_GRANTED : LK_WAITING);
        if (i == 0) {
            first = lock;
        }
    }
    begin_count(f->server);
    lock_release(f->engine, &first);
    (void)snprintf(lock.owner, sizeof lock.owner, "user %u", SLOTS);
    (void)queue(f->engine, &lock, LK_GRANTED);
    name_owner(&lock, "stranger");
    refused_try(f->engine, &lock);
    costs[SLOT] = end_count(f->server).commands;
}

static void measure_units(const struct fixture *f, unsigned count, long long *costs) {
    struct lock lock;

    lock_init(&lock, "pool%u", count, 0);
    lock.part.mode = LK_SHARED;
    lock.part.limit = 3;
    lock.part.units = 2;
    lock_ask(f->engine, &lock, LK_TRY, TTL_MS, LK_GRANTED);
    for (unsigned i = 1; i < count; i++) {
        (void)snprintf(lock.owner, sizeof lock.owner, "user %u", i);
        lock_ask(f->engine, &lock, LK_QUEUE, TTL_MS, LK_WAITING);
    }
    name_owner(&lock, "stranger");
    lock.token = 0;
    costs[QUEUE_FOR_UNITS] = queue_and_withdraw(f, &lock, count);
}

static void measure_line(const struct fixture *f, unsigned count, long long *costs) {
    struct lock first;
    struct lock lock;
    struct lock other;

    lock_init(&first, "line%u", count, 0);
    lock_ask(f->engine, &first, LK_TRY, TTL_MS, LK_GRANTED);
    for (unsigned i = 1; i < count; i++) {
        lock_init(&lock, "line%u", count, i);
        lock_ask(f->engine, &lock, LK_QUEUE, TTL_MS, LK_WAITING);
    }
    begin_count(f->server);
    (void)queue(f->engine, &lock, LK_WAITING);
    costs[ASK_AGAIN] = end_count(f->server).commands;
    lock_init(&other, "line%u", count, count / 2);
    begin_count(f->server);
    (void)queue(f->engine, &other, LK_WAITING);
    costs[ASK_AGAIN_AMIDST] = end_count(f->server).commands;
    name_owner(&lock, "stranger");
    lock.token = 0;
    costs[QUEUE_IN_LINE] = queue_and_withdraw(f, &lock, count);

    lock_init(&other, "other%u/lock", count, 0);
    name_owner(&other, "nested");
    lock_ask(f->engine, &other, LK_TRY, TTL_MS, LK_GRANTED);
    name_owner(&lock, "nested");
    costs[QUEUE_NESTED] = queue_and_withdraw(f, &lock, count);

    begin_count(f->server);
    lock_release(f->engine, &first);
    lock_init(&lock, "line%u", count, 1);
    (void)queue(f->engine, &lock, LK_GRANTED);
    costs[HAND_ON] = end_count(f->server).commands;
}

/* Leases under `count` roots of their own, and as many under one, which all run out. */
static void measure_dead(const struct fixture *f, unsigned count, long long *costs) {
    struct lock dead;
    struct lock lock;

    for (unsigned i = 0; i < count; i++) {
        lock_init(&dead, "root%u-%u/leaf", count, i);
        lock_ask(f->engine, &dead, LK_TRY, TTL_MS, LK_GRANTED);
        lock_init(&dead, "dead%u/leaf%u", count, i);
        lock_ask(f->engine, &dead, LK_TRY, TTL_MS, LK_GRANTED);
    }
    lock_init(&lock, "elsewhere%u/lock", count, 0);
    costs[PAIR_ELSEWHERE] = take_and_give_back(f, &lock);
    lk_redis_shift_clock(f->engine, 2 * TTL_MS * 1000);
    lock_init(&lock, "later%u/lock", count, 0);
    costs[PAIR_BESIDE_DEAD] = take_and_give_back(f, &lock);
    lock_init(&lock, "dead%u/lock", count, 0);
    costs[END_OF_DEAD] = take_and_give_back(f, &lock) / count;
    lock_init(&lock, "dead%u/next", count, 0);
    costs[PAIR_AFTER_DEAD] = take_and_give_back(f, &lock);
}

/* ---- work ------------------------------------------------------------------------------------ */

static void push(const struct fixture *f, const struct lk_path *queue, unsigned number) {
    const struct lk_patience until = lock_patience();
    char id[16];
    bool is_added;
    lk_error error;

    (void)snprintf(id, sizeof id, "%u", number);
    if (call_push(f->engine, &(struct lk_push){.queue = *queue, .id = lk_slice_of(id)}, &until,
                  &is_added, &error)
        != LK_OK) {
        lock_give_up("push", error.text);
    }
}

static lk_claim_info *claim(const struct fixture *f, const struct lk_path *queue) {
    const struct lk_patience until = lock_patience();
    const struct lk_take take = {.queue = *queue, .owner = lk_slice_of("worker"), .ttl_ms = TTL_MS};
    struct pending_call pending;
    lk_claim_info *claimed = NULL;
    lk_error error;

    if (call_take(f->engine, &take, &until, &claimed, &pending, &error) != LK_GRANTED) {
        lock_give_up("claim", error.text);
    }
    return claimed;
}

static void finish(const struct fixture *f, const struct lk_path *queue, lk_claim_info *claimed) {
    const struct lk_patience until = lock_patience();
    const struct lk_finish done = {.queue = *queue,
                                   .id = lk_slice_of(claimed->id),
                                   .owner = lk_slice_of("worker"),
                                   .token = claimed->token,
                                   .kind = LK_FINISH_DONE};
    lk_error error;

    if (call_finish(f->engine, &done, &until, &error) != LK_OK) {
        lock_give_up("done", error.text);
    }
    lk_claim_free(claimed);
}

/* Beside `count` items that are claimed, and as many that are ready. */
static void measure_work(const struct fixture *f, unsigned count, long long *costs) {
    const struct lk_patience until = lock_patience();
    lk_queue_stats stats;
    struct lk_path queue;
    lk_error error;
    char text[32];

    (void)snprintf(text, sizeof text, "work%u/queue", count);
    (void)lk_path_parse(lk_slice_of(text), &queue, NULL);
    for (unsigned i = 0; i < 2 * count; i++) {
        push(f, &queue, i);
        if (i < count) {
            lk_claim_free(claim(f, &queue));
        }
    }
    begin_count(f->server);
    push(f, &queue, 2 * count);
    finish(f, &queue, claim(f, &queue));
    costs[WORK] = end_count(f->server).commands;

    begin_count(f->server);
    if (f->engine->ops->stats(f->engine, &queue, LK_STATS_WHOLE, &until, &stats, &error) != LK_OK
        || stats.claimed_now != count || stats.ready_now != count || stats.oldest_ready_ms < 0) {
        lock_give_up("stats", error.text);
    }
    costs[COUNT_ITEMS] = end_count(f->server).commands;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int case_number;

static bool check(bool is_right, const char *what) {
    (void)printf("%s %d - %s\n", is_right ? "ok" : "not ok", ++case_number, what);
    return is_right;
}

typedef lk_outcome read_pages(struct lk_engine *engine, const struct lk_path *path,
                              const struct lk_patience *patience, lk_listing **ret_listing,
                              lk_error *error);

/* `count` requests are told about `text`, by calls that make a bounded number of commands each. */
static bool check_pages(const struct fixture *f, read_pages *read, const char *text, size_t count,
                        const char *what) {
    const struct lk_patience until = lock_patience();
    lk_listing *listing = NULL;
    struct counted counted;
    struct lk_path path;
    bool is_right;
    lk_error error;

    (void)lk_path_parse(lk_slice_of(text), &path, NULL);
    begin_count(f->server);
    if (read(f->engine, &path, &until, &listing, &error) != LK_OK) {
        lock_give_up(text, error.text);
    }
    counted = end_count(f->server);
    (void)printf("# %zu by %lld calls of %lld commands each\n", listing->count, counted.calls,
                 counted.commands / counted.calls);
    is_right =
        listing->count == count && counted.commands / counted.calls <= COMMANDS_OF_A_PAGE_MAX;
    lk_listing_free(listing);
    return check(is_right, what);
}

int main(int argc, char **argv) {
    const struct lk_patience until = lock_patience();
    struct fixture f = {.engine = NULL};
    long long few[COSTS];
    long long many[COSTS];
    bool is_right = true;
    lk_error error;

    if (argc != 2 || strncmp(argv[1], "redis://", 8) != 0) {
        lock_give_up("usage", "test_costs redis:///SOCKET");
    }
    if (lk_engine_redis.open(lk_slice_of(argv[1] + strlen("redis:")), &until, &f.engine, &error)
        != LK_OK) {
        lock_give_up(argv[1], error.text);
    }
    f.server = redisConnectUnix(argv[1] + strlen("redis://"));
    if (f.server == NULL || f.server->err != 0) {
        lock_give_up(argv[1], "no connection");
    }
    (void)printf("1..%d\n", COSTS + 2);
    measure_dead(&f, FEW, few); /* in an empty store; the clock goes ahead */
    measure_above(&f, FEW, few);
    measure_line(&f, FEW, few);
    measure_readers(&f, FEW, few);
    measure_units(&f, FEW, few);
    measure_slots(&f, FEW, few);
    measure_work(&f, FEW, few);
    measure_above(&f, MANY, many);
    measure_line(&f, MANY, many);
    measure_readers(&f, READERS, many);
    measure_units(&f, READERS, many);
    measure_slots(&f, MANY, many);
    measure_work(&f, READERS, many);
    is_right = check_pages(&f, f.engine->ops->list, "tree10000", MANY, "a listing comes in pages")
               && is_right;
    is_right =
        check_pages(&f, f.engine->ops->show, "line10000", MANY - 1, "a long line is shown in pages")
        && is_right;
    measure_dead(&f, MANY, many);
    for (int i = 0; i < COSTS; i++) {
        (void)printf("# %lld commands beside %d, %lld beside many\n", few[i], FEW, many[i]);
        is_right = check(many[i] <= TIMES_MAX * few[i], cost_names[i]) && is_right;
    }
    redisFree(f.server);
    f.engine->ops->close(f.engine);
    return is_right ? 0 : 1;
}
