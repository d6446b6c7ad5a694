/* SPDX-License-Identifier: Apache-2.0 */
/* The thread sleeps in epoll, and takes nothing out of it: that is for the caller, in order. */
#include "client/tie_watch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

static void *run(void *context) {
    const struct lk_tie_watch *watch = context;
    struct epoll_event event = {.data.ptr = NULL};
    bool is_stopped = false;

    while (!is_stopped) {
        int count = epoll_wait(watch->epoll, &event, 1, -1);
        eventfd_t ignored;

        is_stopped = (count < 0 && errno != EINTR)
                     || (count > 0 && eventfd_read(watch->stop, &ignored) == 0);
        if (count > 0 && !is_stopped) {
            watch->on_cut(watch->context);
        }
    }
    return NULL;
}

static void close_both(const struct lk_tie_watch *watch) {
    if (watch->epoll >= 0) {
        (void)close(watch->epoll);
    }
    if (watch->stop >= 0) {
        (void)close(watch->stop);
    }
}

bool lk_tie_watch_start(struct lk_tie_watch *watch, void (*on_cut)(void *context), void *context) {
    struct epoll_event stopped = {.events = EPOLLIN, .data.ptr = NULL};

    watch->on_cut = on_cut;
    watch->context = context;
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    watch->is_started = watch->epoll >= 0 && watch->stop >= 0
                        && epoll_ctl(watch->epoll, EPOLL_CTL_ADD, watch->stop, &stopped) == 0
                        && lk_thread_start(&watch->thread, run, watch);
    if (!watch->is_started) {
        close_both(watch);
    }
    return watch->is_started;
}

void lk_tie_watch_stop(struct lk_tie_watch *watch) {
    if (watch->is_started) {
        (void)eventfd_write(watch->stop, 1);
        (void)pthread_join(watch->thread, NULL);
        close_both(watch);
        watch->is_started = false;
    }
}

/* Without EPOLLIN: answers are for the thread that renews. */
void lk_tie_watch_add(const struct lk_tie_watch *watch, int descriptor, void *item) {
    struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = item};

    if (watch->is_started) {
        (void)epoll_ctl(watch->epoll, EPOLL_CTL_ADD, descriptor, &event);
    }
}

void lk_tie_watch_remove(const struct lk_tie_watch *watch, int descriptor) {
    if (watch->is_started) {
        (void)epoll_ctl(watch->epoll, EPOLL_CTL_DEL, descriptor, NULL);
    }
}

void *lk_tie_watch_take(const struct lk_tie_watch *watch, int (*descriptor_of)(const void *item)) {
    struct epoll_event events[2];
    int count = watch->is_started ? epoll_wait(watch->epoll, events, 2, 0) : 0;

    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr != NULL) { /* else it is `stop` */
            lk_tie_watch_remove(watch, descriptor_of(events[i].data.ptr));
            return events[i].data.ptr;
        }
    }
    return NULL;
}
