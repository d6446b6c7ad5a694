/* SPDX-License-Identifier: Apache-2.0 */
/* What a server counts, from the text of INFO commandstats. */
#include "counted.h"

#include <stdlib.h>
#include <string.h>

#include "lock.h"

static redisReply *say(redisContext *server, const char *words) {
    redisReply *reply = redisCommand(server, words);

    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        lock_give_up(words, reply != NULL ? reply->str : server->errstr);
    }
    return reply;
}

void begin_count(redisContext *server) {
    freeReplyObject(say(server, "CONFIG RESETSTAT"));
}

struct counted end_count(redisContext *server) {
    static const char start[] = "cmdstat_";
    static const char evalsha[] = "evalsha:";
    redisReply *reply = say(server, "INFO commandstats");
    struct counted counted = {0, 0, 0};

    for (const char *at = strstr(reply->str, start); at != NULL; at = strstr(at, start)) {
        long long calls = strtoll(strstr(at, "calls=") + strlen("calls="), NULL, 10);

        at += strlen(start);
        if (strncmp(at, evalsha, strlen(evalsha)) == 0) {
            counted.calls += calls;
        } else if (strncmp(at, "publish:", 8) == 0) {
            counted.messages += calls;
            counted.commands += calls;
        } else if (strncmp(at, "config", 6) != 0 && strncmp(at, "info", 4) != 0) {
            counted.commands += calls;
        }
    }
    freeReplyObject(reply);
    return counted;
}
