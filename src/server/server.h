/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program around the core: the loop (libevent), the thread that writes, signals, and the doors
 * that are hung into it. Policy is the core's, protocols are the doors'.
 *
 * A turn of the loop: what is ready is read and handed to the core with one reading of the clocks;
 * then the core's batch goes to the writer; then every door writes what may leave.
 */
#ifndef LK_SERVER_SERVER_H
#define LK_SERVER_SERVER_H

#include "server/core.h"

struct event_base;
struct lk_server;

struct lk_server_options {
    const char *directory;    /* where the store's file is; NULL only with is_ephemeral */
    bool is_ephemeral;        /* memory only */
    bool is_relaxed;          /* commits are not flushed: a power cut may lose the last of them */
    const char *resp_listen;  /* HOST:PORT or unix:PATH; NULL: no such door; port 0: any free one */
    const char *unix_listen;  /* unix:PATH, a second door of this kind; NULL: none */
    const char *http_listen;  /* HOST:PORT or unix:PATH; NULL: no such door */
    struct lk_quotas quotas;  /* R22 */
    uint32_t connections_max; /* at each door; 0: the default */
    uint32_t request_seconds_max; /* for a request to arrive; 0: the default */
    bool is_insecure;             /* may listen where other machines come, without a password */
    const char *password;         /* to be said first, at either door; NULL: none */
    /* Called once the doors are open, with where they are (NULL: no such door). May be NULL. */
    void (*ready)(void *context, const char *resp_address, const char *unix_address,
                  const char *http_address);
    /* Called on SIGHUP, by the loop: may change what `password` points to. NULL: ignored. */
    void (*reload)(void *context);
    void *context;
};

enum { LK_CONNECTIONS_MAX_DEFAULT = 10000, LK_REQUEST_SECONDS_MAX_DEFAULT = 60 };

/*
 * Serves until SIGTERM or SIGINT, then lets everybody go, writes what is left, and returns LK_OK.
 * Or an outcome with its sentence: what it could not begin with, or could not go on with.
 */
lk_outcome lk_server_run(const struct lk_server_options *options, lk_error *error);

/* ---- for the doors --------------------------------------------------------------------------- */

/* The same reading all over a turn. */
struct lk_times lk_server_times(struct lk_server *server);
struct event_base *lk_server_loop(const struct lk_server *server);
struct lk_core *lk_server_core(const struct lk_server *server);
const struct lk_server_options *lk_server_options_of(const struct lk_server *server);

/* One of the doors; embedded in the door's own struct. */
struct lk_door {
    const struct lk_door_ops *ops;
};

struct lk_door_ops {
    /* The end of each turn: write what may leave; take up what an answer has made possible. When
     * that leads to calls, it is called again in the same turn, until it returns false. */
    bool (*turn_end)(struct lk_door *door);

    /* lk_core_is_choked() has become true or false: stop or go on reading. */
    void (*choke)(struct lk_door *door, bool is_choked);

    /* No new connections. Those that are there end when everything that was said is told. */
    void (*stop)(struct lk_door *door);
    bool (*is_quiet)(const struct lk_door *door); /* after stop(): nothing is left to tell */
    void (*close)(struct lk_door *door);
};

/*
 * door_resp.c, door_http.c: open a door at an address. LK_OK with *ret_door, and where it is in
 * ret_address; or LK_INVALID (no such address), LK_DENIED, LK_UNAVAILABLE (taken), LK_INTERNAL.
 */
enum { LK_ADDRESS_BYTES_MAX = 256 };
lk_outcome lk_door_resp_open(struct lk_server *server, const char *listen,
                             struct lk_door **ret_door, char ret_address[LK_ADDRESS_BYTES_MAX],
                             lk_error *error);
lk_outcome lk_door_http_open(struct lk_server *server, const char *listen,
                             struct lk_door **ret_door, char ret_address[LK_ADDRESS_BYTES_MAX],
                             lk_error *error);

#endif
