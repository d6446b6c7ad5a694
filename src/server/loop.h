/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop of the service. Within src/server. */
#ifndef LK_SERVER_LOOP_H
#define LK_SERVER_LOOP_H

struct event;
struct event_base;

struct event_base *lk_loop_new(void);         /* NULL: it cannot be made */
void lk_loop_free_event(struct event *event); /* accepts NULL */

#endif
