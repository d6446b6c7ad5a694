/* SPDX-License-Identifier: Apache-2.0 */
/* A service of a test's own: `lk serve` as a child, at a Unix socket, ended with the test. */
#ifndef LK_TESTS_SERVICE_LAUNCH_H
#define LK_TESTS_SERVICE_LAUNCH_H

#include <sys/types.h>

struct service {
    const char *program; /* lk */
    int is_http;         /* the listener that is open; else it is that of the Redis protocol */
    char socket[128];
    char directory[128]; /* where it keeps its file; empty: nowhere */
    pid_t process;       /* 0: it is down */
};

/* At `path`, with its file in `path`.d. Returns whether it is short enough. */
int service_place(struct service *service, const char *path);

/*
 * Starts it, for the first time or after it was ended, and waits until it says that it is there.
 * Returns whether it did; what it complained of is on stderr.
 */
int service_start(struct service *service);

/* Sends the signal and waits for the end. Returns what waitpid() says of it. */
int service_end(struct service *service, int signal_number);

#endif
