/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop, and the kernel's timers, whose descriptors it watches.
 *
 * A change list tells the kernel only what is left, at the end of a turn, of what evhttp turns on
 * and off. It does not bear duplicates of descriptors, of which there are none.
 */
#include "server/connections/loop.h"

#include <event2/event.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/minmax.h"

enum { US_PER_S = 1000000 };

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

/* ---- a timer of microseconds ----------------------------------------------------------------- */

static void on_readable(evutil_socket_t descriptor, short what, void *context) {
    struct lk_moment *moment = context;
    uint64_t count;

    (void)what;
    if (read(descriptor, &count, sizeof count) == (ssize_t)sizeof count && moment->fire != NULL) {
        moment->fire(moment->context);
    }
}

bool lk_moment_open(struct lk_moment *moment, struct event_base *loop, void (*fire)(void *context),
                    void *context) {
    moment->fire = fire;
    moment->context = context;
    moment->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (moment->timer < 0) {
        return false;
    }
    moment->event = event_new(loop, moment->timer, EV_READ | EV_PERSIST, on_readable, moment);
    if (moment->event == NULL) {
        (void)close(moment->timer);
        return false;
    }
    if (event_add(moment->event, NULL) != 0) {
        lk_moment_close(moment);
        return false;
    }
    return true;
}

void lk_moment_close(struct lk_moment *moment) {
    if (moment->event != NULL) {
        event_free(moment->event);
        moment->event = NULL;
        (void)close(moment->timer);
    }
}

bool lk_moment_set(struct lk_moment *moment, int64_t after_us) {
    int64_t us = lk_max(after_us, 1);
    const struct itimerspec setting = {
        .it_value = {.tv_sec = us / US_PER_S, .tv_nsec = (long)(us % US_PER_S) * 1000}};

    return moment->event != NULL && timerfd_settime(moment->timer, 0, &setting, NULL) == 0;
}
