/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of open files, and the heap: free() alone returns memory only at its end, so it is
 * trimmed after a peak.
 */
#include "server/program/platform.h"

#include <event2/event.h>
#include <malloc.h>
#include <sys/resource.h>

#include "server/connections/listener.h"

enum { FLOOD_CLIENTS = 64 };

static uint64_t soft_limit(void) {
    struct rlimit limit = {.rlim_cur = 0};

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

uint64_t lk_files_raise(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    return soft_limit();
}

static void on_trim(evutil_socket_t descriptor, short what, void *context) {
    struct lk_trim *trim = context;
    uint64_t count = lk_server_count_clients(trim->server);

    (void)descriptor;
    (void)what;
    if (trim->clients_peak >= count + FLOOD_CLIENTS) {
        (void)malloc_trim(0);
    }
    trim->clients_peak = count;
}

bool lk_trim_begin(struct lk_trim *trim, struct lk_server *server, int64_t seconds) {
    const struct timeval every = {.tv_sec = seconds};

    trim->server = server;
    trim->timer = event_new(lk_server_loop(server), -1, EV_PERSIST, on_trim, trim);
    return trim->timer != NULL && event_add(trim->timer, &every) == 0;
}

void lk_trim_end(struct lk_trim *trim) {
    if (trim->timer != NULL) {
        event_free(trim->timer);
    }
}

void lk_trim_note(struct lk_trim *trim) {
    uint64_t count = lk_server_count_clients(trim->server);

    trim->clients_peak = count > trim->clients_peak ? count : trim->clients_peak;
}
