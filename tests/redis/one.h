/* SPDX-License-Identifier: Apache-2.0 */
/* Asks and releases of one path in short, for tests that make thousands of them. */
#ifndef LK_TESTS_REDIS_ONE_H
#define LK_TESTS_REDIS_ONE_H

#include "engine/engine.h"
#include "engine/reply/reply.h"

enum { ONE_BYTES = 64 };

struct one {
    char text[ONE_BYTES];
    char owner[ONE_BYTES];
    struct lk_part part;
    uint64_t token;
};

/* Ends the program with what cannot be. */
_Noreturn void one_give_up(const char *what, const char *why);

/* A minute from now. */
struct lk_patience one_patience(void);

/* An exclusive part at the path that `format` makes of the two numbers, of owner `number`. */
void one_name(struct one *one, const char *format, unsigned root, unsigned number);

/* Anything but what is expected ends the program. The token is kept. */
void one_ask(struct lk_engine *engine, struct one *one, lk_style style, int64_t ttl_ms,
             lk_outcome expected);
void one_release(struct lk_engine *engine, const struct one *one);

/* Releases by the token; the outcome. */
lk_outcome one_try_release(struct lk_engine *engine, const struct one *one);

#endif
