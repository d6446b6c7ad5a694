/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Redis store beside the bare thing: SET NX PX and a compare-and-delete script, on the same
 * server, in the same run. (What an ask costs beside others: bench/scale.c.)
 *
 * The server is started here, on the loopback, in a directory of its own, keeping nothing on disk;
 * then all that once more beside a cluster (`bench-redis redis:URL`, started by with_servers.py).
 * The bare client and the store take turns, so that what else the machine does meets both.
 */
#include "engine/redis/redis.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench.h"
#include "companion.h"
#include "engine/redis/client/topology.h"

enum { ROUND_MS = 500, WARM_UP = 16, THREADS_MAX = 50, PATH_MAX_BYTES = 128, RANGES_MAX = 64 };

static const char delete_if_mine[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/* ---- the server ------------------------------------------------------------------------------ */

struct range {
    unsigned first;
    unsigned last;
    int port;
};

struct server {
    char folder[64];
    int port;
    pid_t process;
    struct range ranges[RANGES_MAX]; /* of a cluster's slots; none: one server */
    size_t range_count;
};

/* To the node that has the key. */
static redisContext *connect_bare(const struct server *server, const char *key) {
    unsigned slot = lk_redis_slot_of(lk_slice_of(key));
    int port = server->port;
    redisContext *context;

    for (size_t i = 0; i < server->range_count; i++) {
        if (slot >= server->ranges[i].first && slot <= server->ranges[i].last) {
            port = server->ranges[i].port;
        }
    }
    context = redisConnect("127.0.0.1", port);

    if (context == NULL) {
        bench_give_up("no memory for a connection");
    }
    return context;
}

static void start_server(struct server *server) {
    redisContext *context = NULL;
    char port[16];

    (void)snprintf(server->folder, sizeof server->folder, "/tmp/lk-bench-redis-XXXXXX");
    if (mkdtemp(server->folder) == NULL) {
        bench_give_up("no directory for the server");
    }
    server->port = 20000 + getpid() % 20000;
    (void)snprintf(port, sizeof port, "%d", server->port);
    server->process = fork();
    if (server->process == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execlp("redis-server", "redis-server", "--port", port, "--bind", "127.0.0.1", "--dir",
                     server->folder, "--save", "", "--logfile", "log", (char *)NULL);
        _exit(127);
    }
    for (int attempt = 0; attempt < 500; attempt++) {
        context = connect_bare(server, "");
        if (context->err == 0) {
            break;
        }
        redisFree(context);
        context = NULL;
        (void)usleep(10000);
    }
    if (context == NULL) {
        bench_give_up("redis-server does not start");
    }
    redisFree(context);
}

static void stop_server(const struct server *server) {
    char path[128];

    (void)kill(server->process, SIGKILL);
    (void)waitpid(server->process, NULL, 0);
    (void)snprintf(path, sizeof path, "%s/log", server->folder);
    (void)unlink(path);
    (void)rmdir(server->folder);
}

/* Where the slots of a cluster are. */
static void find_ranges(struct server *server) {
    redisContext *context = connect_bare(server, "");
    redisReply *reply = redisCommand(context, "CLUSTER SLOTS");

    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements > RANGES_MAX) {
        bench_give_up("the cluster does not tell its slots");
    }
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *range = reply->element[i];

        server->ranges[server->range_count++] =
            (struct range){.first = (unsigned)range->element[0]->integer,
                           .last = (unsigned)range->element[1]->integer,
                           .port = (int)range->element[2]->element[1]->integer};
    }
    freeReplyObject(reply);
    redisFree(context);
}

/* ---- one client ------------------------------------------------------------------------------ */

struct client {
    const struct server *server;
    struct lk_engine *engine; /* shared; NULL: the bare thing */
    atomic_bool *stop;
    int number;
    unsigned depth;
    atomic_ullong pairs;
};

static struct lk_patience patience(void) {
    return (struct lk_patience){.until_us = lk_clock_now_us() + 20000000};
}

/* k7/b/c: a root of its own, as deep as asked for. */
static void make_path(const struct client *client, char path[PATH_MAX_BYTES]) {
    static const char *const rest[] = {"", "/branch", "/branch/leaf"};

    (void)snprintf(path, PATH_MAX_BYTES, "key%d%s", client->number, rest[client->depth - 1]);
}

static void run_bare(struct client *client) {
    redisContext *context;
    redisReply *reply;
    char path[PATH_MAX_BYTES];
    char owner[32];
    char sha[64];

    make_path(client, path);
    context = connect_bare(client->server, path);
    reply = redisCommand(context, "SCRIPT LOAD %s", delete_if_mine);
    (void)snprintf(owner, sizeof owner, "owner%d", client->number);
    (void)snprintf(sha, sizeof sha, "%s", reply->str);
    freeReplyObject(reply);
    while (!*client->stop) {
        reply = redisCommand(context, "SET %s %s NX PX 60000", path, owner);
        if (reply == NULL || reply->type != REDIS_REPLY_STATUS) {
            bench_give_up("the bare lock was not free");
        }
        freeReplyObject(reply);
        reply = redisCommand(context, "EVALSHA %s 1 %s %s", sha, path, owner);
        if (reply == NULL || reply->integer != 1) {
            bench_give_up("the bare lock was lost");
        }
        freeReplyObject(reply);
        atomic_fetch_add(&client->pairs, 1);
    }
    redisFree(context);
}

static void run_store(struct client *client) {
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    char path[PATH_MAX_BYTES];
    char owner[32];
    struct lk_command ask = {
        .kind = LK_COMMAND_ASK,
        .ask = {.parts = &part, .part_count = 1, .style = LK_TRY, .ttl_ms = LK_TTL_DEFAULT_MS}};
    struct lk_command release = {.kind = LK_COMMAND_RELEASE,
                                 .release = {.target = {.parts = &part, .part_count = 1}}};

    make_path(client, path);
    (void)lk_path_parse(lk_slice_of(path), &part.path, NULL);
    (void)snprintf(owner, sizeof owner, "owner%d", client->number);
    ask.ask.owner = lk_slice_of(owner);
    release.release.target.owner = ask.ask.owner;
    while (!*client->stop) {
        struct lk_patience until = patience();
        struct lk_decision decision;

        if (client->engine->ops->decide(client->engine, &ask, &until, &decision) != LK_GRANTED) {
            bench_give_up("the lock was not free: %s", lk_outcome_name(decision.error.outcome));
        }
        release.release.target.token = decision.result.token;
        lk_decision_done(&decision);
        if (client->engine->ops->decide(client->engine, &release, &until, &decision) != LK_OK) {
            bench_give_up("the lock was lost: %s", lk_outcome_name(decision.error.outcome));
        }
        lk_decision_done(&decision);
        atomic_fetch_add(&client->pairs, 1);
    }
}

static void *run(void *context) {
    struct client *client = context;

    if (client->engine != NULL) {
        run_store(client);
    } else {
        run_bare(client);
    }
    return NULL;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Pairs a second of so many clients, once each has connected and done some. */
static double measure(const struct server *server, struct lk_engine *engine, int threads,
                      unsigned depth) {
    static struct client clients[THREADS_MAX];
    pthread_t ids[THREADS_MAX];
    atomic_bool stop = false;
    int64_t begun_ns;
    int64_t ended_ns;
    uint64_t before = 0;
    uint64_t pairs = 0;

    for (int i = 0; i < threads; i++) {
        clients[i].server = server;
        clients[i].engine = engine;
        clients[i].stop = &stop;
        clients[i].number = i;
        clients[i].depth = depth;
        atomic_store(&clients[i].pairs, 0);
        if (pthread_create(&ids[i], NULL, run, &clients[i]) != 0) {
            bench_give_up("no more threads");
        }
    }
    for (int i = 0; i < threads; i++) {
        while (atomic_load(&clients[i].pairs) < WARM_UP) {
            (void)usleep(100);
        }
    }
    for (int i = 0; i < threads; i++) {
        before += atomic_load(&clients[i].pairs);
    }
    begun_ns = bench_now_ns();
    (void)usleep((useconds_t)(bench_round_ns(ROUND_MS) / 1000));
    for (int i = 0; i < threads; i++) {
        pairs += atomic_load(&clients[i].pairs);
    }
    ended_ns = bench_now_ns();
    stop = true;
    for (int i = 0; i < threads; i++) {
        (void)pthread_join(ids[i], NULL);
    }
    return (double)(pairs - before) * 1e9 / (double)(ended_ns - begun_ns);
}

struct duel {
    const struct server *server;
    struct lk_engine *engine;
    int threads;
    unsigned depth;
};

/* Its duel comes first, so that both sides have one context. */
struct redlock {
    struct duel duel;
    struct companion peer;
};

static double measure_ours(void *context) {
    const struct duel *duel = context;

    return measure(duel->server, duel->engine, duel->threads, duel->depth);
}

static double measure_theirs(void *context) {
    const struct duel *duel = context;

    return measure(duel->server, NULL, duel->threads, duel->depth);
}

static void compare(const struct server *server, struct lk_engine *engine, int threads,
                    unsigned depth, double bar) {
    struct duel duel = {server, engine, threads, depth};
    char what[96];

    (void)snprintf(what, sizeof what, "%d connection%s, depth %u", threads, threads == 1 ? "" : "s",
                   depth);
    bench_duel(&(struct bench_duel){.what = what,
                                    .peer = "SET NX PX and a script",
                                    .unit = "pairs/s",
                                    .bar = bar,
                                    .ours = measure_ours,
                                    .theirs = measure_theirs,
                                    .context = &duel});
}

/* ---- all of it ------------------------------------------------------------------------------- */

static struct lk_engine *open_store(const char *rest) {
    struct lk_engine *engine = NULL;
    struct lk_patience until = patience();
    lk_error error;

    if (lk_engine_redis.open(lk_slice_of(rest), &until, &engine, &error) != LK_OK) {
        bench_give_up("%s", error.text);
    }
    return engine;
}

static void compare_all(const struct server *server, struct lk_engine *engine) {
    compare(server, engine, 1, 1, 0.67);
    compare(server, engine, 1, 3, 0.67);
    compare(server, engine, 50, 1, 0.25);
    compare(server, engine, 50, 3, 0.25);
}

static double measure_redlock(void *context) {
    const struct redlock *redlock = context;

    return companion_round(&redlock->peer, "%d %lld", redlock->duel.threads,
                           (long long)(bench_round_ns(ROUND_MS) / 1000000));
}

/* The library for Node.js that many have, if it is installed (tools/install-deps). */
static void beside_redlock(const struct server *server, struct lk_engine *engine) {
    static const int threads[] = {1, THREADS_MAX};
    struct redlock redlock = {.duel = {server, engine, 1, 1}};
    char port[16];
    const char *const words[] = {"node", NODE_PEERS "/redlock.mjs", port, NULL};
    char why[BENCH_TEXT_BYTES];

    (void)snprintf(port, sizeof port, "%d", server->port);
    if (!companion_start(&redlock.peer, words, why)) {
        bench_missing_print("1 connection, depth 1", "redlock (Node.js)", why);
        return;
    }
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        char what[96];

        redlock.duel.threads = threads[i];
        (void)snprintf(what, sizeof what, "%d client%s, depth 1", threads[i],
                       threads[i] == 1 ? "" : "s");
        bench_duel(&(struct bench_duel){.what = what,
                                        .peer = "redlock (Node.js)",
                                        .unit = "pairs/s",
                                        .bar = 1,
                                        .ours = measure_ours,
                                        .theirs = measure_redlock,
                                        .context = &redlock});
    }
    companion_stop(&redlock.peer);
}

/* `url` is redis://127.0.0.1:PORT,... */
static int measure_cluster(const char *url) {
    struct server server = {.port = (int)strtol(url + strlen("redis://127.0.0.1:"), NULL, 10)};
    struct lk_engine *engine = open_store(url + strlen("redis:"));

    find_ranges(&server);
    bench_begin("bench-redis", "The same in a cluster");
    bench_title_print("A cluster of three masters, a replica each");
    compare_all(&server, engine);
    engine->ops->close(engine);
    return 0;
}

int main(int argc, char **argv) {
    struct server server = {.port = 0};
    struct lk_engine *engine;
    char rest[128];
    lk_error error;

    if (lk_hiredis_load(&error) != LK_OK) {
        bench_give_up("%s", error.text);
    }
    if (argc > 1) {
        return measure_cluster(argv[1]);
    }
    bench_begin("bench-redis", "The Redis store, beside the bare thing");
    start_server(&server);
    (void)snprintf(rest, sizeof rest, "//127.0.0.1:%d", server.port);
    engine = open_store(rest);
    bench_title_print("One server");
    compare_all(&server, engine);
    beside_redlock(&server, engine);
    engine->ops->close(engine);
    stop_server(&server);
    (void)fflush(stdout);
    (void)execl(WITH_SERVERS, WITH_SERVERS, "cluster", argv[0], "{url}", (char *)NULL);
    bench_give_up("%s cannot be run", WITH_SERVERS);
}
