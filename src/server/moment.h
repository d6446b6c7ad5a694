/* SPDX-License-Identifier: Apache-2.0 */
/* A timer of microseconds in the loop, whose own timers are of milliseconds. */
#ifndef LK_SERVER_MOMENT_H
#define LK_SERVER_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct event_base;

/* Zeroed: it is closed. */
struct lk_moment {
    int timer;
    struct event *event; /* NULL: closed */
    void (*fire)(void *context);
    void *context;
};

/* `fire` is called in the loop, NULL: the turn that begins is enough. false: it cannot be made. */
bool lk_moment_open(struct lk_moment *moment, struct event_base *loop, void (*fire)(void *context),
                    void *context);
void lk_moment_close(struct lk_moment *moment); /* accepts one that is closed */

/* It fires once, after so many microseconds, at least one. Replaces what was set before. false: it
 * is closed. */
bool lk_moment_set(struct lk_moment *moment, int64_t after_us);

#endif
