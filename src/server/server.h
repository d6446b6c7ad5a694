/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program around the core: the loop (libevent), the writer thread, signals, and the listeners.
 * Policy is in the core, protocols are in the listeners.
 *
 * A turn of the loop reads every ready connection and passes the calls to the core with one reading
 * of the clocks. Then every listener writes the answers that may leave, and the core's batch is
 * written: a small one by the loop's thread, others by the thread that stands by (commits.c).
 */
#ifndef LK_SERVER_SERVER_H
#define LK_SERVER_SERVER_H

#include "base/buffer.h"
#include "server/core/core.h"
#include "server/log/log.h"

struct event_base;
struct lk_copies;           /* server/copies.h */
struct lk_handshake_thread; /* server/handshake_thread.h */
struct lk_listener;
struct lk_login_events; /* server/login_events.h */
struct lk_logins;       /* server/access/logins.h */
struct lk_monitor;      /* server/monitor.h */
struct lk_pace;         /* server/pace.h */
struct lk_server;
struct lk_tls_context; /* tls/tls.h */

struct lk_server_options {
    const char *directory; /* the folder of the store's file; NULL only with is_ephemeral */
    bool is_ephemeral;     /* memory only */
    /* A store that several services share, in place of a directory (shared.h); NULL: none. */
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

/* ---- for the listeners ----------------------------------------------------------------------- */

/* The same reading throughout a turn. */
struct lk_times lk_server_times(struct lk_server *server);
struct event_base *lk_server_loop(const struct lk_server *server);
struct lk_core *lk_server_core(const struct lk_server *server);
struct lk_logins *lk_server_logins(const struct lk_server *server); /* NULL: there are no users */
struct lk_copies *lk_server_copies(struct lk_server *server);
struct lk_pace *lk_server_pace(struct lk_server *server);
struct lk_login_events *lk_server_login_events(struct lk_server *server);
struct lk_handshake_thread *
lk_server_handshake_thread(const struct lk_server *server); /* NULL: there is no TLS */

/* Whether a client has to authenticate first. */
static inline bool lk_server_wants_login(const struct lk_server_options *options) {
    return options->password != NULL || options->users != NULL;
}

/* Whether other services may lead the same store. */
static inline bool lk_server_is_shared(const struct lk_server_options *options) {
    return options->store_url != NULL;
}

const struct lk_server_options *lk_server_options_of(const struct lk_server *server);

/*
 * Accounts for what all connections buffer: `bytes` replace the connection's earlier *charged. When
 * the bound is reached, no more input is taken until the end of the turn; then the connections that
 * buffer most are closed, as many as necessary.
 */
void lk_server_charge(struct lk_server *server, size_t *charged, size_t bytes);
bool lk_server_is_full(const struct lk_server *server);
uint64_t lk_server_buffered(const struct lk_server *server);

/* For monitoring: the program's counters; and its listeners from 0 on, NULL: there are no more. */
struct lk_monitor *lk_server_monitor(struct lk_server *server);
struct lk_listener *lk_server_listener(const struct lk_server *server, size_t index);

/* The connections at all listeners. */
uint64_t lk_server_count_clients(const struct lk_server *server);
/* ... those of this user; NULL: all of them. */
void lk_server_list_clients(const struct lk_server *server, const struct lk_user *user,
                            struct lk_buffer *out);

/* A listener; embedded in the struct of its protocol. */
struct lk_listener {
    const struct lk_listener_ops *ops;
    const char *name; /* for monitoring: resp, unix or http; static */
};

struct lk_listener_ops {
    /* The end of each turn: write what may leave, and take up input that an answer has made
     * possible. When that leads to calls, it is called again in the same turn, until it returns
     * false. */
    bool (*turn_end)(struct lk_listener *listener);

    /* Backpressure: lk_core_has_backpressure() has changed; stop reading or go on. */
    void (*set_backpressure)(struct lk_listener *listener, bool has_backpressure);

    /* How much the connection that buffers most has buffered; `ends`: closes it. Between turns. */
    size_t (*shed)(struct lk_listener *listener, bool ends);

    /* Accepts no more connections. The others end when all their answers have been sent. */
    void (*stop)(struct lk_listener *listener);
    bool (*is_quiet)(
        const struct lk_listener *listener); /* after stop(): nothing is left to send */
    void (*close)(struct lk_listener *listener);

    uint64_t (*count_clients)(const struct lk_listener *listener);
    /* One line per connection of this user; NULL: of every connection. */
    void (*list_clients)(const struct lk_listener *listener, const struct lk_user *user,
                         struct lk_buffer *out);

    /* The options have other bounds of connections. Open connections stay. */
    void (*take_bounds)(struct lk_listener *listener);

    /* The users may have changed: ends what is not allowed any more. */
    void (*check_grants)(struct lk_listener *listener);
};

/*
 * resp/listener.c, http/listener.c: serve the connections of a listen socket, which they own from
 * then on, whatever they return. LK_OK with *ret_listener, or LK_INTERNAL.
 */
struct lk_listen_socket;
lk_outcome lk_listener_resp_open(struct lk_server *server, struct lk_listen_socket *listen_socket,
                                 struct lk_listener **ret_listener, lk_error *error);
lk_outcome lk_listener_http_open(struct lk_server *server, struct lk_listen_socket *listen_socket,
                                 struct lk_listener **ret_listener, lk_error *error);

#endif
