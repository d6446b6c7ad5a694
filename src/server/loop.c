/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change list tells the kernel only what is left, at the end of a turn, of what evhttp turns on
 * and off. It does not bear duplicates of descriptors, of which there are none.
 */
#include "server/loop.h"

#include <event2/event.h>

struct event_base *lk_loop_new(void) {
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config != NULL) {
        (void)event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
        base = event_base_new_with_config(config);
        event_config_free(config);
    }
    return base;
}

void lk_loop_free_event(struct event *event) {
    if (event != NULL) {
        event_free(event);
    }
}
