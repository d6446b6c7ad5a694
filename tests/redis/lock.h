/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks and releases of one path in short, for tests that make thousands of them; and what a Redis
 * server counts of them between two moments (INFO commandstats).
 */
#ifndef LK_TESTS_REDIS_LOCK_H
#define LK_TESTS_REDIS_LOCK_H

#include <hiredis/hiredis.h>

#include "engine/engine.h"
#include "engine/reply/reply.h"

enum { LOCK_BYTES = 64 };

struct lock {
    char text[LOCK_BYTES];
    char owner[LOCK_BYTES];
    struct lk_part part;
    uint64_t token;
};

/* Ends the program with what cannot be. */
_Noreturn void lock_give_up(const char *what, const char *why);

/* A minute from now. */
struct lk_patience lock_patience(void);

/* An exclusive part at the path that `format` makes of the two numbers, of owner `number`. */
void lock_init(struct lock *lock, const char *format, unsigned root, unsigned number);

/* Anything but what is expected ends the program. The token is kept. */
void lock_ask(struct lk_engine *engine, struct lock *lock, lk_style style, int64_t ttl_ms,
              lk_outcome expected);
void lock_release(struct lk_engine *engine, const struct lock *lock);

/* Releases by the token; the outcome. */
lk_outcome lock_try_release(struct lk_engine *engine, const struct lock *lock);

struct counted {
    long long calls;    /* of the script */
    long long commands; /* that the script made */
    long long messages; /* of them: PUBLISH */
};

void begin_count(redisContext *server);
struct counted end_count(redisContext *server);

#endif
