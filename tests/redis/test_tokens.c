/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server remembers of tokens that have ended (R3), and that tokens rise whatever it has
 * forgotten (R4): test_tokens URL, of one server or of a cluster.
 */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/redis/redis.h"
#include "lock.h"

enum {
    REPEATED = 5000,
    REMEMBERED_MAX = 32768,   /* opening.lua: 8 blocks of 4096 in a span of 100 s */
    REMEMBERED_LEAST = 28672, /* ... of which one may have been emptied */
    THREADS = 8,
    ROOTS = THREADS + 3, /* of all checks */
    ROUNDS = 6,
    NODES_MAX = 8
};
#define HOUR_US INT64_C(3600000000)

/* ---- the servers ----------------------------------------------------------------------------- */

struct servers {
    redisContext *nodes[NODES_MAX];
    int count;
};

static void connect_all(const char *url, struct servers *servers) {
    const char *rest = url + strlen("redis://");

    while (*rest != '\0') {
        redisContext *node = NULL;

        if (*rest == '/') {
            node = redisConnectUnix(rest);
            rest += strlen(rest);
        } else {
            const char *port = strchr(rest, ':');

            node = port != NULL ? redisConnect("127.0.0.1", atoi(port + 1)) : NULL;
            rest += strcspn(rest, ",");
            rest += *rest == ',';
        }
        if (node == NULL || node->err != 0 || servers->count == NODES_MAX) {
            lock_give_up(url, "no connection");
        }
        servers->nodes[servers->count++] = node;
    }
}

/* What a script of no keys says of all nodes, in all. */
static long long sum_of(const struct servers *servers, const char *script) {
    long long sum = 0;

    for (int i = 0; i < servers->count; i++) {
        redisReply *reply = redisCommand(servers->nodes[i], "EVAL %s 0", script);

        if (reply == NULL || reply->type != REDIS_REPLY_INTEGER) {
            lock_give_up("EVAL", reply != NULL ? reply->str : "no answer");
        }
        sum += reply->integer;
        freeReplyObject(reply);
    }
    return sum;
}

/* As if all keys of roots had expired. */
static void forget_roots(const struct servers *servers) {
    (void)sum_of(servers, "local keys = redis.call('KEYS', '{?*}:lk:[htp]*') "
                          "for _, key in ipairs(keys) do redis.call('DEL', key) end return #keys");
}

/* ---- many at once ---------------------------------------------------------------------------- */

struct worker {
    struct lk_engine *engine;
    unsigned number;
    unsigned rounds;
    struct lock last;
};

/* One root for all: each asks and releases at a path of its own. */
static void *ask_and_release(void *context) {
    struct worker *worker = context;

    lock_init(&worker->last, "one%u/path%u", 0, worker->number);
    for (unsigned i = 0; i < worker->rounds; i++) {
        lock_ask(worker->engine, &worker->last, LK_TRY, 60000, LK_GRANTED);
        lock_release(worker->engine, &worker->last);
    }
    return NULL;
}

/* A root for each. */
static void *ask_at_root(void *context) {
    struct worker *worker = context;

    lock_init(&worker->last, "root%u/path%u", worker->number, worker->number);
    lock_ask(worker->engine, &worker->last, LK_TRY, 60000, LK_GRANTED);
    return NULL;
}

static void run(struct lk_engine *engine, struct worker workers[THREADS], void *(*work)(void *),
                unsigned rounds) {
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.engine = engine, .number = i, .rounds = rounds};
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) {
            lock_give_up("threads", "no more");
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int case_number;
static int failed;

static void check(bool is_right, const char *what) {
    (void)printf("%s %d - %s\n", is_right ? "ok" : "not ok", ++case_number, what);
    failed += !is_right;
}

/* Releases while another request waits: the long way (ends.lua). */
static void release_to_waiter(struct lk_engine *engine, const struct lock *lock) {
    struct lock waiter = *lock;

    (void)snprintf(waiter.owner, sizeof waiter.owner, "waiter");
    lock_ask(engine, &waiter, LK_QUEUE, 60000, LK_WAITING);
    lock_release(engine, lock);
    waiter.token = 0;
    lock_release(engine, &waiter);
}

/* Of single requests (single.lua) or in company (plain.lua). */
static void check_repeats(struct lk_engine *engine, const char *format, bool in_company,
                          const char *what) {
    struct lock *all = calloc(REPEATED, sizeof *all);
    struct lock companion;
    unsigned lost = 0;

    if (all == NULL) {
        lock_give_up("memory", "no more");
    }
    if (in_company) {
        lock_init(&companion, format, 0, REPEATED);
        lock_ask(engine, &companion, LK_TRY, 60000, LK_GRANTED);
    }
    for (unsigned i = 0; i < REPEATED; i++) {
        lock_init(&all[i], format, 0, i);
        lock_ask(engine, &all[i], LK_TRY, 60000, LK_GRANTED);
        if (in_company && i % 8 == 0) {
            release_to_waiter(engine, &all[i]);
        } else {
            lock_release(engine, &all[i]);
        }
        lost += lock_try_release(engine, &all[i]) != LK_OK;
    }
    for (unsigned i = 0; i < REPEATED; i++) {
        lost += lock_try_release(engine, &all[i]) != LK_OK;
    }
    (void)printf("# %u of %d lost\n", lost, 2 * REPEATED);
    check(lost == 0, what);
    free(all);
}

static void check_bound(struct lk_engine *engine, const struct servers *servers) {
    static const char count[] =
        "local sum = 0 for _, key in ipairs(redis.call('KEYS', '{one0}:lk:h?*')) do "
        "local left = redis.call('TTL', key) "
        "sum = sum + (left > 0 and left <= 400 and redis.call('HLEN', key) or 1000000) end "
        "return sum";
    static const char count_spans[] =
        "local spans, sum = {}, 0 for _, key in ipairs(redis.call('KEYS', '{one0}:lk:h?*')) do "
        "local span = key:match('h(%d+)') sum = sum + (spans[span] and 0 or 1) "
        "spans[span] = true end return sum";
    unsigned rounds = (REMEMBERED_MAX + REMEMBERED_MAX / 4) / THREADS;
    struct worker workers[THREADS];
    long long remembered;
    bool are_known = true;

    run(engine, workers, ask_and_release, rounds);
    remembered = sum_of(servers, count);
    for (unsigned i = 0; i < THREADS; i++) {
        are_known = are_known && lock_try_release(engine, &workers[i].last) == LK_OK;
    }
    (void)printf("# %u releases: %lld remembered\n", rounds * THREADS, remembered);
    check(remembered >= REMEMBERED_LEAST
              && remembered <= sum_of(servers, count_spans) * REMEMBERED_MAX,
          "what is remembered is bounded, and expires");
    check(are_known, "the last ones are remembered");
}

/* R4: the clock runs ahead, roots are forgotten, the clock is set right. */
static void check_floor(struct lk_engine *engine, const struct servers *servers) {
    struct worker workers[THREADS];
    uint64_t last[THREADS] = {0};
    bool has_risen = true;

    lk_redis_shift_clock(engine, HOUR_US);
    for (unsigned round = 0; round < ROUNDS; round++) {
        run(engine, workers, ask_at_root, 1);
        for (unsigned i = 0; i < THREADS; i++) {
            if (workers[i].last.token <= last[i]) {
                (void)printf("# round %u, root %u: %llu after %llu\n", round, i,
                             (unsigned long long)workers[i].last.token,
                             (unsigned long long)last[i]);
                has_risen = false;
            }
            last[i] = workers[i].last.token;
            if (round % 2 == 1) {
                lock_release(engine, &workers[i].last);
                lock_ask(engine, &workers[i].last, LK_TRY, 60000, LK_GRANTED);
                last[i] = workers[i].last.token;
            }
        }
        forget_roots(servers);
        if (round == 1) {
            lk_redis_shift_clock(engine, -HOUR_US);
        }
    }
    check(has_risen, "tokens rise when roots were forgotten and the clock was set back");
    check(last[0] < (uint64_t)(lk_redis_last_now_us(engine) + HOUR_US + 60 * INT64_C(1000000)),
          "and are not far ahead of the clock that was");
    check(sum_of(servers, "return #redis.call('KEYS', '{*}:lk:f')") <= ROOTS,
          "with a key for each slot at most");
}

int main(int argc, char **argv) {
    const struct lk_patience until = lock_patience();
    struct lk_engine *engine = NULL;
    struct servers servers = {.count = 0};
    lk_error error;

    if (argc != 2 || strncmp(argv[1], "redis://", 8) != 0) {
        lock_give_up("usage", "test_tokens redis:URL");
    }
    if (lk_engine_redis.open(lk_slice_of(argv[1] + strlen("redis:")), &until, &engine, &error)
        != LK_OK) {
        lock_give_up(argv[1], error.text);
    }
    connect_all(argv[1], &servers);
    (void)printf("1..7\n");
    check_repeats(engine, "single%u", false,
                  "each of 5000 releases can be repeated, of single requests");
    check_repeats(engine, "many%u/path%u", true, "and in company");
    check_bound(engine, &servers);
    check_floor(engine, &servers);
    for (int i = 0; i < servers.count; i++) {
        redisFree(servers.nodes[i]);
    }
    engine->ops->close(engine);
    return failed == 0 ? 0 : 1;
}
