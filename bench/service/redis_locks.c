/* SPDX-License-Identifier: Apache-2.0 */
/* Redis as a lock service. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lock_services.h"

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
