/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock services as sides of a comparison; Redis and ZooKeeper as such services (etcd:
 * etcd_locks.c).
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sides.h"

enum { WARM_UP_MS = 15000 };

struct side lock_service_side(const struct lock_service *lock_service, const char *folder) {
    return lock_service_side_of(lock_service, lock_service->start(folder));
}

struct side lock_service_side_of(const struct lock_service *lock_service, struct peer peer) {
    struct side side = side_of(lock_service->name, peer, &lock_service->protocol);

    side.load.has_prelude = lock_service->has_prelude;
    side.load.step_count = lock_service->step_count;
    side.load.request = lock_service->request;
    return side;
}

bool lock_service_is_there(const struct lock_service *lock_service,
                           char ret_why[BENCH_TEXT_BYTES]) {
    if (!peer_is_installed(lock_service->program)) {
        (void)snprintf(ret_why, BENCH_TEXT_BYTES, "%s is not installed", lock_service->program);
        return false;
    }
    if (lock_service->file != NULL && access(lock_service->file, R_OK) != 0) {
        (void)snprintf(ret_why, BENCH_TEXT_BYTES, "%s is not there", lock_service->file);
        return false;
    }
    return true;
}

/* A server that compiles itself while it runs is not measured before it has. */
static void warm_up(struct side *side) {
    bench_progress("warming up %s", side->name);
    side->load.seconds = (double)bench_round_ns(WARM_UP_MS) / 1e9;
    (void)load_run(&side->load);
    side->load.seconds = (double)bench_round_ns(SIDE_ROUND_MS) / 1e9;
}

void lock_service_compare(struct side *ours, const struct lock_service *lock_service,
                          const char *folder, const struct bars *bars, size_t count) {
    struct side side;
    char why[BENCH_TEXT_BYTES];

    if (!lock_service_is_there(lock_service, why)) {
        bench_missing_print("acquire + release", lock_service->name, why);
        return;
    }
    side = lock_service_side(lock_service, folder);
    if (lock_service->compiles) {
        warm_up(&side);
    }
    side_compare_all(ours, &side, bars, count);
    peer_stop(&side.peer);
}

/* ---- Redis ----------------------------------------------------------------------------------- */

enum { PATH_BYTES = 512 };

/* One word: blanks are tabs. Its hash is what EVALSHA wants. */
#define SCRIPT                                                                                     \
    "if\tredis.call('get',KEYS[1])==ARGV[1]\tthen\treturn\tredis.call('del',KEYS[1])\telse\t"      \
    "return\t0\tend"
#define SCRIPT_SHA "ea6ec4e30b9e86b229a027e07db75babe4de5f91"

static struct peer run_redis(const char *folder, const char *append_only) {
    char port[8];
    char log[PATH_BYTES];
    int number = peer_port();
    char *arguments[] = {"redis-server",
                         "--port",
                         port,
                         "--bind",
                         "127.0.0.1",
                         "--save",
                         "",
                         "--dir",
                         (char *)(uintptr_t)folder,
                         "--appendfsync",
                         "always",
                         "--appendonly",
                         (char *)(uintptr_t)append_only,
                         NULL};

    (void)snprintf(port, sizeof port, "%d", number);
    (void)snprintf(log, sizeof log, "%s/redis.log", folder);
    return peer_start(arguments, number, log);
}

static struct peer start_redis(const char *folder) {
    return run_redis(folder, "no");
}

static struct peer start_redis_durable(const char *folder) {
    return run_redis(folder, "yes");
}

static void request_redis(const void *context, size_t number, size_t step,
                          struct load_request *ret_request) {
    (void)context;
    if (step == LOAD_STEPS_MAX) {
        load_resp_render(ret_request, "SCRIPT LOAD %s", SCRIPT);
    } else if (step == 0) {
        load_resp_render(ret_request, "SET bench/%zu owner%zu NX PX 60000", number, number);
    } else {
        load_resp_render(ret_request, "EVALSHA %s 1 bench/%zu owner%zu", SCRIPT_SHA, number,
                         number);
    }
}

static bool expect_redis(size_t step, const char *reply, size_t size) {
    return size >= 2 && memcmp(reply, step == 0 ? "+O" : ":1", 2) == 0;
}

const struct lock_service lock_service_redis = {
    .name = "Redis (SET NX PX, script)",
    .program = "redis-server",
    .start = start_redis,
    .protocol = {load_resp_reply_size, expect_redis},
    .has_prelude = true,
    .step_count = 2,
    .request = request_redis,
};

const struct lock_service lock_service_redis_durable = {
    .name = "Redis, appendfsync always",
    .program = "redis-server",
    .start = start_redis_durable,
    .protocol = {load_resp_reply_size, expect_redis},
    .has_prelude = true,
    .step_count = 2,
    .request = request_redis,
};

/* ---- ZooKeeper ------------------------------------------------------------------------------- */

#define ZOOKEEPER_JAR "/usr/share/java/zookeeper.jar"

enum { CREATE = 1, DELETE = 2, EPHEMERAL = 1, ALL_RIGHTS = 31, REPLY_HEADER_BYTES = 20 };

static struct peer start_zookeeper(const char *folder) {
    char config[PATH_BYTES];
    char log[PATH_BYTES];
    int port = peer_port();
    char *arguments[] = {"java",
                         "-cp",
                         "/etc/zookeeper/conf_example:" ZOOKEEPER_JAR,
                         "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                         config,
                         NULL};
    FILE *file;

    (void)snprintf(config, sizeof config, "%s/zoo.cfg", folder);
    (void)snprintf(log, sizeof log, "%s/zookeeper.log", folder);
    file = fopen(config, "we");
    if (file == NULL
        || fprintf(file,
                   "tickTime=2000\ndataDir=%s/zookeeper\nclientPort=%d\n"
                   "clientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\n",
                   folder, port)
               < 0
        || fclose(file) != 0) {
        bench_give_up("%s cannot be written", config);
    }
    return peer_start(arguments, port, log);
}

static void put_int(struct load_request *request, unsigned number) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        request->bytes[request->size++] = (char)(number >> shift & 255);
    }
}

static void put_text(struct load_request *request, const char *text) {
    size_t size = strlen(text);

    put_int(request, (unsigned)size);
    memcpy(request->bytes + request->size, text, size);
    request->size += size;
}

/* Its first four bytes say how many follow. */
static void end_frame(struct load_request *request) {
    size_t size = request->size;

    request->size = 0;
    put_int(request, (unsigned)(size - 4));
    request->size = size;
}

static void request_session(struct load_request *request) {
    enum { PASSWORD_BYTES = 16, SESSION_MS = 30000 };

    put_int(request, 0); /* the protocol's version */
    put_int(request, 0); /* nothing was seen before, in 8 bytes */
    put_int(request, 0);
    put_int(request, SESSION_MS);
    put_int(request, 0); /* a new session, in 8 bytes */
    put_int(request, 0);
    put_int(request, PASSWORD_BYTES);
    memset(request->bytes + request->size, 0, PASSWORD_BYTES + 1); /* and not only for reading */
    request->size += PASSWORD_BYTES + 1;
}

static void request_zookeeper(const void *context, size_t number, size_t step,
                              struct load_request *ret_request) {
    char path[32];

    (void)context;
    (void)snprintf(path, sizeof path, "/bench%zu", number);
    ret_request->size = 4;
    if (step == LOAD_STEPS_MAX) {
        request_session(ret_request);
    } else {
        put_int(ret_request, 1); /* the number of the request, which comes back */
        put_int(ret_request, step == 0 ? CREATE : DELETE);
        put_text(ret_request, path);
    }
    if (step == 0) {
        put_text(ret_request, "owner");
        put_int(ret_request, 1); /* one entry of rights */
        put_int(ret_request, ALL_RIGHTS);
        put_text(ret_request, "world");
        put_text(ret_request, "anyone");
        put_int(ret_request, EPHEMERAL);
    } else if (step == 1) {
        put_int(ret_request, UINT32_MAX); /* whatever its version */
    }
    end_frame(ret_request);
}

static unsigned read_int(const char *bytes) {
    const unsigned char *at = (const unsigned char *)bytes;

    return (unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3];
}

static size_t zookeeper_reply_size(const char *bytes, size_t size) {
    return size >= 4 && size >= read_int(bytes) + 4 ? read_int(bytes) + 4 : 0;
}

static bool expect_zookeeper(size_t step, const char *reply, size_t size) {
    (void)step;
    return size >= REPLY_HEADER_BYTES && read_int(reply + REPLY_HEADER_BYTES - 4) == 0;
}

const struct lock_service lock_service_zookeeper = {
    .name = "ZooKeeper (ephemeral node)",
    .program = "java",
    .file = ZOOKEEPER_JAR,
    .compiles = true,
    .start = start_zookeeper,
    .protocol = {zookeeper_reply_size, expect_zookeeper},
    .has_prelude = true,
    .step_count = 2,
    .request = request_zookeeper,
};
