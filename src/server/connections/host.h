/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program gives to its listeners and to what they share: the clocks, the loop, the core,
 * the options in force, the account of what connections buffer, and what is known for monitoring.
 * All of it belongs to the thread that runs the loop.
 */
#ifndef LK_SERVER_CONNECTIONS_HOST_H
#define LK_SERVER_CONNECTIONS_HOST_H

#include "base/buffer.h"
#include "server/options.h"
#include "server/store/store.h"

struct event_base;
struct lk_copies;           /* server/connections/copies.h */
struct lk_handshake_thread; /* server/connections/handshakes.h */
struct lk_listener;         /* server/connections/listener.h */
struct lk_logins;           /* server/connections/logins.h */
struct lk_monitor;          /* server/connections/monitor.h */
struct lk_pace;             /* server/connections/admission.h */

/* The same reading throughout a turn. */
struct lk_times lk_server_times(struct lk_server *server);
struct event_base *lk_server_loop(const struct lk_server *server);
struct lk_core *lk_server_core(const struct lk_server *server);
struct lk_logins *lk_server_logins(const struct lk_server *server); /* NULL: there are no users */
struct lk_copies *lk_server_copies(struct lk_server *server);
struct lk_pace *lk_server_pace(struct lk_server *server);
struct lk_handshake_thread *
lk_server_handshake_thread(const struct lk_server *server); /* NULL: there is no TLS */

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

/* ---- a store that several services share ----------------------------------------------------- */

/* Which service leads, for monitoring and for clients that are sent on. */
struct lk_leadership {
    char address[LK_LEADER_BYTES_MAX + 1]; /* where clients find this service */
    uint64_t epoch;     /* of the service that leads, as the last load found it; 0: none has led */
    uint64_t takeovers; /* how often this service has begun to lead */
    bool is_behind;     /* it follows, and has not read the state that a takeover needs yet */
    bool may_lose;      /* this service leads, and the store may lose what was acknowledged last
                         * (lk_store_risk) */
};

/* NULL: the store is not shared. */
const struct lk_leadership *lk_server_leadership(const struct lk_server *server);

/* Whether this service leads, or has read the state and what was written up to its last look. */
bool lk_leadership_is_caught_up(const struct lk_leadership *leadership);

/* The service that leads, this one or another: HOST:PORT for RESP, in *ret_address. false: none is
 * known. */
bool lk_server_leader(const struct lk_server *server, char ret_address[LK_LEADER_BYTES_MAX + 1]);

#endif
