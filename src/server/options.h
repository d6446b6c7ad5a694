/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service as a program that starts it sees it: its options, which src/cli/serve fills in, and
 * the call that serves. README.md of this folder says what it is made of.
 */
#ifndef LK_SERVER_OPTIONS_H
#define LK_SERVER_OPTIONS_H

#include "server/core/core.h"
#include "server/log/log.h"

struct lk_server;
struct lk_tls_context; /* tls/tls.h */

struct lk_server_options {
    const char *directory; /* the folder of the store's file; NULL only with is_ephemeral */
    bool is_ephemeral;     /* memory only */
    /* A store that several services share, in place of a directory (lk_shared_is_url()). NULL:
     * none. */
    const char *store_url;
    const char *advertised;  /* HOST:PORT where clients find this service; NULL: where it listens */
    int64_t failover_us;     /* after its last commit no other service leads for so long; 0: the
                             * default */
    bool is_relaxed;         /* commits are not flushed: a power cut may lose the last of them */
    const char *resp_listen; /* HOST:PORT or unix:PATH; NULL: no such listener; port 0: any free
                               * one */
    const char *unix_listen; /* unix:PATH, a second RESP listener; NULL: none */
    const char *http_listen; /* HOST:PORT or unix:PATH; NULL: no such listener */
    struct lk_quotas quotas; /* R22 */
    uint32_t connections_max; /* at each listener; 0: the default */
    uint32_t strangers_max;   /* besides, connections that have not authenticated; 0: the default */
    uint32_t request_seconds_max; /* for a request to arrive; 0: the default */
    uint64_t value_bytes_max;     /* of values and items; 0: the default */
    uint64_t event_bytes_max;     /* of the events that are kept; 0: the default */
    uint64_t buffer_bytes_max;    /* answers that clients have not read, all connections together;
                                * 0: the default */
    uint32_t tcp_keepalive_s;     /* within which dead peers are found; 0: the default */
    bool is_insecure;             /* may listen on addresses that other machines can reach, without
                                * a password */
    /* Host names that HTTP accepts, NAME or NAME:PORT, besides addresses, localhost and its own. */
    const char *const *hosts;
    size_t host_count;
    bool has_grab;              /* HTTP serves /grab/ */
    const char *password;       /* required first, at either listener; NULL: none */
    struct lk_tls_context *tls; /* of the ports; NULL: they are plain */
    /* Only these users may call, each by its rules; borrowed, and not with a password. NULL: there
     * are none. */
    struct lk_users *users;
    struct lk_log_options log;
    int64_t slow_us; /* calls and commits that take as long are logged; 0: none */
    /* Called once the listeners are open, with their addresses (NULL: no such listener). May be
     * NULL. */
    void (*ready)(void *context, const char *resp_address, const char *unix_address,
                  const char *http_address);
    /* Called by the loop on SIGHUP: may change what `password` points to, the users, reload `tls`,
     * and call lk_server_change(). NULL: ignored. */
    void (*reload)(void *context, struct lk_server *server);
    /* Called after SIGTERM or SIGINT. May be NULL. */
    void (*stopping)(void *context);
    /* Called by the loop at this interval, as long as it turns. May be NULL. */
    void (*alive)(void *context);
    int64_t alive_every_us;
    void *context;
};

enum {
    LK_CONNECTIONS_MAX_DEFAULT = 10000,
    LK_STRANGERS_MAX_DEFAULT = 1000,
    LK_REQUEST_SECONDS_MAX_DEFAULT = 60,
    LK_BUFFER_BYTES_MAX_DEFAULT = 256 * 1024 * 1024,
    LK_TCP_KEEPALIVE_DEFAULT_S = 30,
    LK_TCP_KEEPALIVE_MIN_S = 2,
};
#define LK_FAILOVER_DEFAULT_US INT64_C(3000000)
#define LK_TCP_KEEPALIVE_NEVER UINT32_MAX

/*
 * Serves until SIGTERM or SIGINT, then closes every connection, writes what is left, and returns
 * LK_OK. Else an outcome with its message: why the service could not start, or could not go on.
 */
lk_outcome lk_server_run(const struct lk_server_options *options, lk_error *error);

/*
 * For reload(): takes from these options what can change while the service runs, which is quotas,
 * the bounds of connections, values, events and buffers, hosts, log and slow_us. Hosts are
 * borrowed, as at the start.
 */
void lk_server_change(struct lk_server *server, const struct lk_server_options *options);

/* Whether a client has to authenticate first. */
static inline bool lk_server_wants_login(const struct lk_server_options *options) {
    return options->password != NULL || options->users != NULL;
}

/* Whether other services may lead the same store. */
static inline bool lk_server_is_shared(const struct lk_server_options *options) {
    return options->store_url != NULL;
}

/* Whether the URL is that of a store that services can share, whatever is behind its scheme. */
bool lk_shared_is_url(const char *url);

/* Whether the address is that of every interface, such as 0.0.0.0:7420: clients cannot use it. */
bool lk_shared_is_any_address(const char *address);

#endif
