/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd, or what speaks like it. libsystemd's sd_notify() blocks while the manager's socket is
 * full. A service must not: a manager that is busy, or stopped, would hold up every client.
 */
#include "cli/serve/manager.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/parse/value.h"
#include "server/log/log.h"

enum { TEXT_BYTES = 64 };

#define BEAT_US INT64_C(1000000) /* where no watchdog asks for more */

/* What is still to be sent. "": nothing. */
static char kept[LK_SERVE_STATE_COUNT][TEXT_BYTES];

/*
 * The protocol of sd_notify(3), which is one datagram. False: there is no room for it now. Any
 * other failure is final.
 */
static bool send_text(const char *text) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    bool is_full;
    int descriptor;

    if (path == NULL || (path[0] != '/' && path[0] != '@')
        || strlen(path) >= sizeof address.sun_path) {
        return true;
    }
    memcpy(address.sun_path, path, strlen(path));
    if (address.sun_path[0] == '@') {
        address.sun_path[0] = '\0';
    }
    descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        return true;
    }
    is_full = sendto(descriptor, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
                     (struct sockaddr *)&address,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)))
                  < 0
              && (errno == EAGAIN || errno == EWOULDBLOCK);
    (void)close(descriptor);
    return !is_full;
}

/* Whether nothing is left. */
static bool send_kept(void) {
    for (size_t i = 0; i < LK_SERVE_STATE_COUNT; i++) {
        if (kept[i][0] != '\0' && !send_text(kept[i])) {
            lk_log(LK_LOG_WARNING, "service manager",
                   "$NOTIFY_SOCKET is full; %.*s is sent again later", (int)strcspn(kept[i], "\n"),
                   kept[i]);
            return false;
        }
        kept[i][0] = '\0';
    }
    return true;
}

void lk_serve_manager_tell(enum lk_serve_state state) {
    static const char *const texts[LK_SERVE_STATE_COUNT] = {
        [LK_SERVE_READY] = "READY=1\n",
        [LK_SERVE_RELOADED] = "READY=1\n",
        [LK_SERVE_STOPPING] = "STOPPING=1\n",
    };
    struct timespec now = {.tv_sec = 0};

    if (state == LK_SERVE_RELOADING) {
        /* The time tells it from the reload before: CLOCK_MONOTONIC, as the manager reads it. */
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        (void)snprintf(kept[state], sizeof kept[state], "RELOADING=1\nMONOTONIC_USEC=%" PRId64 "\n",
                       (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
        kept[LK_SERVE_RELOADED][0] = '\0'; /* that of the reload before */
    } else {
        (void)snprintf(kept[state], sizeof kept[state], "%s", texts[state]);
    }
    (void)send_kept();
}

/* The manager ends the service without WATCHDOG=1 for so long; 0: it has no watchdog. */
static int64_t watchdog_us(void) {
    const char *time = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    int64_t number = 0;
    lk_error error;

    if (time == NULL || lk_number_parse(time, 1, INT64_MAX, &number, &error) != LK_OK) {
        return 0;
    }
    if (pid != NULL && strtoll(pid, NULL, 10) != (long long)getpid()) {
        return 0;
    }
    return number;
}

int64_t lk_serve_manager_beat_every_us(void) {
    int64_t half_us = watchdog_us() / 2;

    if (getenv("NOTIFY_SOCKET") == NULL) {
        return 0;
    }
    return half_us > 0 ? half_us : BEAT_US;
}

/* A WATCHDOG=1 without room is not kept: the next one is due soon. */
void lk_serve_manager_beat(void) {
    if (send_kept() && watchdog_us() > 0 && !send_text("WATCHDOG=1\n")) {
        lk_log(LK_LOG_WARNING, "service manager",
               "$NOTIFY_SOCKET is full; WATCHDOG=1 was not sent");
    }
}
