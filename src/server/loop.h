/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop of the service. Within src/server. */
#ifndef LK_SERVER_LOOP_H
#define LK_SERVER_LOOP_H

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

#endif
