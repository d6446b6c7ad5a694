/* SPDX-License-Identifier: Apache-2.0 */
/* Each reason is a kind of line of its own, so that a flood of one does not hide the others. */
#include "server/connections/refusal.h"

#include <inttypes.h>
#include <sys/resource.h>

#include "server/connections/host.h"
#include "server/connections/listen.h"
#include "server/connections/listener.h"
#include "server/connections/monitor.h"
#include "server/log/log.h"

static const struct {
    const char *name;
    const char *kind;
    const char *message;
} reasons[] = {
    [LK_REFUSED_FULL] = {"full", "connection refused", "too many connections"},
    [LK_REFUSED_EVICTED] =
        {"evicted", "connection closed",
         "it had not sent the password, or not done its TLS handshake, and a newer "
         "one takes its place"},
    [LK_REFUSED_PASSWORD] = {"password", "wrong password", "the refusal is delayed"},
    [LK_REFUSED_FILES] = {"files", "connections wait to be accepted",
                          "no more files can be opened"},
    [LK_REFUSED_UNREAD] = {"unread", "connection dropped", "it buffered most when all were full"},
    [LK_REFUSED_ORIGIN] = {"origin", "cross-site request refused", "see Host and Origin"},
    [LK_REFUSED_PROTOCOL] = {"protocol", "another protocol", "the connection is closed"},
    [LK_REFUSED_SLOW] = {"slow", "slow request", "it was not complete in time"},
    [LK_REFUSED_TLS] = {"tls", "TLS refused", "the handshake failed"},
};

_Static_assert(sizeof reasons / sizeof reasons[0] == LK_REFUSALS, "every reason is described");

const char *lk_refusal_name(enum lk_refusal why) {
    return reasons[why].name;
}

void lk_refusal_count(struct lk_server *server, enum lk_refusal why) {
    lk_server_monitor(server)->refused[why]++;
}

void lk_refusal_exhausted(struct lk_server *server) {
    struct rlimit limit = {.rlim_cur = 0};

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    lk_log(LK_LOG_ERROR, "connections wait to be accepted",
           "too many open files (the limit is %" PRIu64 "), or memory is exhausted",
           (uint64_t)limit.rlim_cur);
    lk_refusal_count(server, LK_REFUSED_FILES);
}

void lk_refusal_note(struct lk_server *server, const struct lk_listener *listener,
                     const struct lk_listen_socket *listen_socket, int socket,
                     enum lk_refusal why) {
    lk_refusal_explain(server, listener, listen_socket, socket, why, reasons[why].message);
}

void lk_refusal_explain(struct lk_server *server, const struct lk_listener *listener,
                        const struct lk_listen_socket *listen_socket, int socket,
                        enum lk_refusal why, const char *message) {
    char peer[LK_ADDRESS_BYTES_MAX] = "";
    const struct lk_log_field fields[] = {
        {"reason", reasons[why].name}, {"listener", listener->name}, {"peer", peer}};

    lk_refusal_count(server, why);
    if (!lk_log_has(LK_LOG_WARNING)) {
        return;
    }
    lk_listen_socket_name_peer(listen_socket, socket, peer);
    lk_log_fields(LK_LOG_WARNING, reasons[why].kind, fields, sizeof fields / sizeof fields[0], "%s",
                  message);
}

void lk_connection_trace(const struct lk_listener *listener,
                         const struct lk_listen_socket *listen_socket, int socket,
                         const char *what) {
    char peer[LK_ADDRESS_BYTES_MAX] = "";
    const struct lk_log_field fields[] = {{"listener", listener->name}, {"peer", peer}};

    if (lk_log_has(LK_LOG_DEBUG)) {
        lk_listen_socket_name_peer(listen_socket, socket, peer);
        lk_log_fields(LK_LOG_DEBUG, "connection", fields, sizeof fields / sizeof fields[0], "%s",
                      what);
    }
}
