/* SPDX-License-Identifier: Apache-2.0 */
/* Asks and releases in short; and what a server counts, from the text of INFO commandstats. */
#include "lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../calls.h"
#include "base/clock.h"

#define PATIENCE_US INT64_C(60000000)

_Noreturn void lock_give_up(const char *what, const char *why) {
    (void)printf("Bail out! %s: %s\n", what, why);
    exit(1);
}

struct lk_patience lock_patience(void) {
    return (struct lk_patience){.until_us = lk_clock_now_us() + PATIENCE_US};
}

void lock_init(struct lock *lock, const char *format, unsigned root, unsigned number) {
    *lock = (struct lock){.part = {.mode = LK_EXCLUSIVE}};
    (void)snprintf(lock->text, sizeof lock->text, format, root, number);
    (void)snprintf(lock->owner, sizeof lock->owner, "owner %u", number);
    (void)lk_path_parse(lk_slice_of(lock->text), &lock->part.path, NULL);
}

void lock_ask(struct lk_engine *engine, struct lock *lock, lk_style style, int64_t ttl_ms,
              lk_outcome expected) {
    const struct lk_patience until = lock_patience();
    const struct lk_ask asked = {.owner = lk_slice_of(lock->owner),
                                 .parts = &lock->part,
                                 .part_count = 1,
                                 .style = style,
                                 .ttl_ms = ttl_ms};
    lk_result result = {.outcome = LK_OK};

    if (call_ask(engine, &asked, &until, &result) != expected) {
        lock_give_up(lock->text,
                     result.error != NULL ? result.error : lk_outcome_name(result.outcome));
    }
    lock->token = result.token;
    lk_result_clear(&result);
}

lk_outcome lock_try_release(struct lk_engine *engine, const struct lock *lock) {
    const struct lk_patience until = lock_patience();
    const struct lk_release released = {.target = {.owner = lk_slice_of(lock->owner),
                                                   .parts = &lock->part,
                                                   .part_count = 1,
                                                   .token = lock->token}};
    lk_result result = {.outcome = LK_OK};
    lk_outcome outcome = call_release(engine, &released, &until, &result);

    lk_result_clear(&result);
    return outcome;
}

void lock_release(struct lk_engine *engine, const struct lock *lock) {
    lk_outcome outcome = lock_try_release(engine, lock);

    if (outcome != LK_OK) {
        lock_give_up(lock->text, lk_outcome_name(outcome));
    }
}

/* ---- what a server counts -------------------------------------------------------------------- */

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
