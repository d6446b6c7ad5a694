/* SPDX-License-Identifier: Apache-2.0 */
/* SET NX PX, tried again each 10 ms, and the script that compares and deletes. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "handoff.h"

enum { POLL_US = 10000 };

#define UNLOCK                                                                                     \
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

/* $LK_BENCH_REDIS is the socket of the server. */
static void *open_connection(void) {
    const char *path = getenv("LK_BENCH_REDIS");
    redisContext *context = path != NULL ? redisConnectUnix(path) : NULL;

    if (context == NULL || context->err != 0) {
        bench_give_up("no connection to the server at $LK_BENCH_REDIS");
    }
    return context;
}

static void lock(void *peer) {
    for (;;) {
        redisReply *reply = redisCommand(peer, "SET handed-on %d NX PX 60000", (int)getpid());
        int type = reply != NULL ? reply->type : REDIS_REPLY_ERROR;

        freeReplyObject(reply);
        if (type == REDIS_REPLY_STATUS) {
            return;
        }
        if (type == REDIS_REPLY_ERROR) {
            bench_give_up("the server is gone");
        }
        (void)usleep(POLL_US);
    }
}

static void unlock(void *peer) {
    freeReplyObject(redisCommand(peer, "EVAL %s 1 handed-on %d", UNLOCK, (int)getpid()));
}

static void close_connection(void *peer) {
    redisFree(peer);
}

const struct handoff_peer handoff_peer = {
    .name = "SET NX PX, polled each 10 ms",
    .open = open_connection,
    .lock = lock,
    .unlock = unlock,
    .close = close_connection,
};
