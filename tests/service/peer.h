/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scripted service, for replies that a real one would not send.
 *
 * A thread listens on a Unix socket and answers HELLO by itself. Each other command must equal the
 * next one of the script, and is answered with the reply given there, or a part of it.
 */
#ifndef LK_TESTS_SERVICE_PEER_H
#define LK_TESTS_SERVICE_PEER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "lockkeeper/lockkeeper.h"

enum { PEER_WHOLE = -1, PEER_COMMAND_BYTES = 512 };

struct step {
    const char *expects; /* words joined by blanks; NULL: any command */
    const char *replies;
    int cut_at;     /* so many bytes of it, then the connection is closed; PEER_WHOLE */
    bool is_silent; /* no reply at all, the connection stays open */
    bool is_late;   /* it comes when the client has hung up, which has to stay for it */
    size_t size;    /* of the reply; 0: it is text */
};

struct peer {
    char directory[64];
    char path[96];
    char url[128];
    const char *hello; /* the reply to HELLO */
    const struct step *steps;
    size_t step_count;
    int port; /* on loopback; 0: a Unix socket */
    int listener;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    size_t step;           /* commands that have come */
    size_t connections;
    char complaint[PEER_COMMAND_BYTES * 3]; /* the first command that was not expected */
};

/* How a service introduces itself, and one that knows version 2 only. */
extern const char peer_hello_3[];
extern const char peer_hello_2[];

void peer_start(struct peer *peer, const char *hello, const struct step *steps, size_t count);

/* The same on 127.0.0.1, at a port of the system's choice. */
void peer_start_on_loopback(struct peer *peer, const char *hello, const struct step *steps,
                            size_t count);

/* Ends the thread; fails the test if a command was wrong, or did not come. */
void peer_end(struct peer *peer);
void peer_end_whatever_came(struct peer *peer);

/* By how much all times are multiplied: more than 1 after a failure on a busy machine. */
int peer_stretch(void);

/* Waits until so many commands have come. */
void peer_await_step(struct peer *peer, size_t count);

/* ---- what tests of the client ask of it, and the command that it becomes --------------------- */

#define TRY_A "ACQUIRE a OWNER ana TTL 60000 BLOCKERS 0 META TRY"

/* ana tries `a` within so long; 0: the default. `ret_result` may be NULL. */
static inline lk_outcome try_a(lk_store *store, int64_t patience_ms, lk_result **ret_result) {
    const char *parts[] = {"a"};
    lk_request request = lk_request_init(parts, 1);

    request.owner = "ana";
    request.style = LK_TRY;
    request.blockers_max = 0;
    request.patience_ms = patience_ms;
    return lk_ask(store, &request, ret_result, NULL);
}

#endif
