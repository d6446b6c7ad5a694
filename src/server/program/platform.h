/* SPDX-License-Identifier: Apache-2.0 */
/* What many clients make the program ask of the system: open files, and the return of memory. */
#ifndef LK_SERVER_PROGRAM_PLATFORM_H
#define LK_SERVER_PROGRAM_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct lk_server;

/* How many files the service may have open, each connection takes one: raises the soft limit to the
 * hard one, and returns it. */
uint64_t lk_files_raise(void);

/* Returns the memory of many clients' buffers to the system after a peak. */
struct lk_trim {
    struct lk_server *server;
    struct event *timer;
    uint64_t clients_peak; /* the most since the timer last fired */
};

/* false: memory is exhausted. The timer fires every `seconds`. */
bool lk_trim_begin(struct lk_trim *trim, struct lk_server *server, int64_t seconds);
void lk_trim_end(struct lk_trim *trim); /* accepts one that did not begin */

/* At the end of each turn. */
void lk_trim_note(struct lk_trim *trim);

#endif
