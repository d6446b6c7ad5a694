/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop of the service, and a timer of microseconds in it: the loop's own timers are of
 * milliseconds. Within src/server.
 */
#ifndef LK_SERVER_CONNECTIONS_LOOP_H
#define LK_SERVER_CONNECTIONS_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>

struct event;
struct event_base;

/* Microseconds, 0 or more, as the loop's timers have them. */
static inline struct timeval lk_loop_delay(int64_t us) {
    enum { US_PER_S = 1000000 };

    return (struct timeval){.tv_sec = us / US_PER_S, .tv_usec = us % US_PER_S};
}

struct event_base *lk_loop_new(void);         /* NULL: it cannot be made */
void lk_loop_free_event(struct event *event); /* accepts NULL */

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
