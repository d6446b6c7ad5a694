/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What asks and deaths leave behind on a server: nothing. Requests are granted, wait, are released,
 * withdrawn, broken, or die by their ttl, at many paths and roots, beside some that live; when the
 * time in which the dead are remembered is over, keys and memory are those of the living.
 *
 * That time passes by moving the store's clock, and by taking the same from what is left to each
 * key. test_memory URL; LK_TEST_SCALE=1700 is a million.
 */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../calls.h"
#include "base/clock.h"
#include "engine/redis/redis.h"
#include "lock.h"

enum {
    REQUESTS = 60000,
    ROOTS = 100,
    LIVE_PER_ROOT = 10,
    THREADS = 8,
    HOLDERS = 1500,
    SECONDS_MAX = 60
};
#define PASSED_US (INT64_C(3600) * 1000000)
#define LIVE_TTL_MS (INT64_C(300) * 24 * 3600 * 1000)

static void break_now(struct lk_engine *engine, const struct lock *lock) {
    const struct lk_patience until = lock_patience();
    const struct lk_break broken = {
        .path = lock->part.path, .owner = lk_slice_of(lock->owner), .at_once = true};
    size_t count = 0;
    lk_error error;

    if (call_break(engine, &broken, "root", "a test", &until, &count, &error) != LK_OK
        || count != 1) {
        lock_give_up(lock->text, "not broken");
    }
}

/* ---- what lives, and what dies --------------------------------------------------------------- */

static void make_live(struct lk_engine *engine) {
    struct lock lock;

    for (unsigned i = 0; i < ROOTS * LIVE_PER_ROOT; i++) {
        lock_init(&lock, "live%u/kept/%u", i % ROOTS, i);
        lock_ask(engine, &lock, LK_TRY, LIVE_TTL_MS, LK_GRANTED);
    }
}

static void live_and_die(struct lk_engine *engine, unsigned i) {
    struct lock lock;
    struct lock other;

    lock_init(&lock, i % 2 == 0 ? "gone%u.%u" : "live%u/dies/%u", i / 2 % ROOTS, i);
    switch (i / 2 % 5) {
    case 0:
    case 1:
        lock_ask(engine, &lock, LK_TRY, 60000, LK_GRANTED);
        lock_release(engine, &lock);
        break;
    case 2:
        lock_ask(engine, &lock, LK_TRY, 50, LK_GRANTED);
        break;
    case 3:
        lock_ask(engine, &lock, LK_TRY, 60000, LK_GRANTED);
        break_now(engine, &lock);
        break;
    default:
        lock_ask(engine, &lock, LK_TRY, 60000, LK_GRANTED);
        other = lock;
        (void)snprintf(other.owner, sizeof other.owner, "waiter %u", i);
        lock_ask(engine, &other, LK_QUEUE, 60000, LK_WAITING);
        other.token = 0;
        lock_release(engine, &other);
        lock_release(engine, &lock);
    }
}

struct worker {
    struct lk_engine *engine;
    unsigned first;
    unsigned count;
};

static void *work(void *context) {
    const struct worker *worker = context;

    for (unsigned i = 0; i < worker->count; i++) {
        live_and_die(worker->engine, worker->first + i);
    }
    return NULL;
}

static void churn(struct lk_engine *engine, unsigned first, unsigned count) {
    struct worker workers[THREADS];
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){
            .engine = engine, .first = first + i * (count / THREADS), .count = count / THREADS};
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) {
            lock_give_up("threads", "no more");
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

/* ---- the server ------------------------------------------------------------------------------ */

static redisReply *say(redisContext *server, const char *format, const char *word,
                       long long number) {
    redisReply *reply = redisCommand(server, format, word, number);

    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        lock_give_up(format, reply != NULL ? reply->str : server->errstr);
    }
    return reply;
}

/* Takes the time from what is left to the keys, and the record of breaks (R12), which stays. */
static void let_keys_pass(redisContext *server) {
    static const char pass[] =
        "local got = redis.call('SCAN', ARGV[1], 'COUNT', 1000) "
        "for _, key in ipairs(got[2]) do local left = redis.call('PTTL', key) "
        "if key:find(':lk:a', 1, true) or left >= 0 and left <= tonumber(ARGV[2]) then "
        "redis.call('DEL', key) "
        "elseif left >= 0 then redis.call('PEXPIRE', key, left - ARGV[2]) end end return got[1]";
    char cursor[32] = "0";

    do {
        redisReply *reply =
            redisCommand(server, "EVAL %s 0 %s %lld", pass, cursor, PASSED_US / 1000);

        if (reply == NULL || reply->type != REDIS_REPLY_STRING) {
            lock_give_up("EVAL", reply != NULL ? reply->str : server->errstr);
        }
        (void)snprintf(cursor, sizeof cursor, "%s", reply->str);
        freeReplyObject(reply);
    } while (strcmp(cursor, "0") != 0);
}

static void let_time_pass(struct lk_engine *engine, redisContext *server) {
    struct lock lock;

    lk_redis_shift_clock(engine, PASSED_US);
    for (unsigned i = 0; i < ROOTS; i++) { /* a client comes by */
        lock_init(&lock, "live%u/visit/%u", i, i);
        lock_ask(engine, &lock, LK_TRY, 60000, LK_GRANTED);
        lock_release(engine, &lock);
    }
    lk_redis_shift_clock(engine, PASSED_US);
    let_keys_pass(server);
}

static long long count_keys(redisContext *server) {
    redisReply *reply = say(server, "DBSIZE", "", 0);
    long long count = reply->integer;

    freeReplyObject(reply);
    return count;
}

static long long bytes_used(redisContext *server) {
    redisReply *reply = say(server, "INFO memory", "", 0);
    const char *found = strstr(reply->str, "used_memory_dataset:");
    long long bytes = found != NULL ? strtoll(found + strlen("used_memory_dataset:"), NULL, 10) : 0;

    freeReplyObject(reply);
    return bytes;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int case_number;

static bool check(bool is_right, const char *what) {
    (void)printf("%s %d - %s\n", is_right ? "ok" : "not ok", ++case_number, what);
    return is_right;
}

static bool check_memory(struct lk_engine *engine, redisContext *server, unsigned count) {
    long long bytes_empty = bytes_used(server);
    int64_t until_us = lk_clock_now_us() + SECONDS_MAX * INT64_C(1000000);
    long long bytes_live;
    long long keys_before;
    long long bytes_before;
    long long bytes_full;
    long long bytes_after;
    bool are_keys_gone;

    make_live(engine);
    bytes_live = bytes_used(server);
    churn(engine, 0, count / 10); /* what has been large stays roomier */
    let_time_pass(engine, server);
    keys_before = count_keys(server);
    bytes_before = bytes_used(server);
    churn(engine, count / 10, count);
    bytes_full = bytes_used(server);
    let_time_pass(engine, server);
    do { /* the server gives memory back bit by bit */
        bytes_after = bytes_used(server);
    } while (bytes_after > bytes_before + bytes_before / 10 && lk_clock_now_us() < until_us);
    (void)printf("# %d live requests under %d roots: %lld bytes each\n", ROOTS * LIVE_PER_ROOT,
                 ROOTS, (bytes_live - bytes_empty) / (ROOTS * LIVE_PER_ROOT));
    (void)printf("# %lld keys, %lld KiB; %u asks later %lld KiB; when their time has passed %lld "
                 "keys, %lld KiB\n",
                 keys_before, bytes_before / 1024, count, bytes_full / 1024, count_keys(server),
                 bytes_after / 1024);
    are_keys_gone = check(keys_before == ROOTS * 3 + 1 && count_keys(server) == keys_before,
                          "the keys are those of what lives");
    return check(bytes_after <= bytes_before + bytes_before / 10,
                 "the memory is that of what lives")
           && are_keys_gone;
}

static bool check_explanations(struct lk_engine *engine) {
    const struct lk_patience until = lock_patience();
    lk_result result = {.outcome = LK_OK};
    struct lk_ask asked = {
        .part_count = 1, .style = LK_TRY, .blockers_max = 5, .owner = lk_slice_of("last")};
    struct lock lock;
    bool is_right;

    for (unsigned i = 0; i < HOLDERS; i++) {
        lock_init(&lock, "tree%u/leaf%u", 1, i);
        lock_ask(engine, &lock, LK_TRY, LIVE_TTL_MS, LK_GRANTED);
    }
    lock_init(&lock, "tree%u", 1, 0);
    asked.parts = &lock.part;
    is_right = call_ask(engine, &asked, &until, &result) == LK_BUSY && result.position == HOLDERS
               && result.blocker_count == asked.blockers_max;
    (void)printf("# position %zu of %d, %zu named\n", result.position, HOLDERS,
                 result.blocker_count);
    lk_result_clear(&result);
    return check(is_right, "an explanation is bounded");
}

int main(int argc, char **argv) {
    const char *scale = getenv("LK_TEST_SCALE");
    unsigned percent = scale != NULL ? (unsigned)strtoul(scale, NULL, 10) : 100;
    const struct lk_patience until = lock_patience();
    struct lk_engine *engine = NULL;
    redisContext *server;
    lk_error error;
    bool is_right;

    if (argc != 2 || strncmp(argv[1], "redis://", 8) != 0) {
        lock_give_up("usage", "test_memory redis:///SOCKET");
    }
    if (lk_engine_redis.open(lk_slice_of(argv[1] + strlen("redis:")), &until, &engine, &error)
        != LK_OK) {
        lock_give_up(argv[1], error.text);
    }
    server = redisConnectUnix(argv[1] + strlen("redis://"));
    if (server == NULL || server->err != 0) {
        lock_give_up(argv[1], "no connection");
    }
    (void)printf("1..3\n");
    is_right = check_memory(engine, server, REQUESTS / 100 * percent);
    is_right = check_explanations(engine) && is_right;
    redisFree(server);
    engine->ops->close(engine);
    return is_right ? 0 : 1;
}
