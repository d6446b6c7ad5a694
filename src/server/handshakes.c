/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes: whether it is their turn, and what became of them. */
#include "server/handshakes.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "server/host.h"
#include "server/refusal.h"

enum { TLS_RECORD_OF_HANDSHAKE = 0x16, SURPLUS_BYTES = 4096 };

void lk_handshakes_begin(struct lk_handshakes *handshakes, struct lk_server *server,
                         const struct lk_listener *listener,
                         const struct lk_listen_socket *listen_socket, const char *refusal) {
    *handshakes = (struct lk_handshakes){
        .server = server,
        .listener = listener,
        .context = listen_socket->path == NULL ? lk_server_options_of(server)->tls : NULL,
        .listen_socket = listen_socket,
        .refusal = refusal,
    };
}

static void refuse(struct lk_handshakes *handshakes, int socket, const char *why) {
    lk_refusal_explain(handshakes->server, handshakes->listener, handshakes->listen_socket, socket,
                       LK_REFUSED_TLS, why);
}

void lk_handshakes_time_out(struct lk_handshakes *handshakes, int socket) {
    refuse(handshakes, socket, "its handshake took too long");
}

/* In the peer's protocol. Its bytes are read, as the answer would be lost with a reset (RST). */
static void answer_in_plain(const struct lk_handshakes *handshakes, int socket) {
    char surplus[SURPLUS_BYTES];

    (void)send(socket, handshakes->refusal, strlen(handshakes->refusal),
               MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(socket, SHUT_WR);
    (void)!recv(socket, surplus, sizeof surplus, MSG_DONTWAIT);
}

/* Looks at the first byte. LK_TLS_DONE: it may begin a handshake. */
static enum lk_tls_step look(struct lk_handshakes *handshakes, struct lk_handshake *handshake,
                             int socket) {
    unsigned char first;
    ssize_t size = recv(socket, &first, 1, MSG_PEEK | MSG_DONTWAIT);

    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        return LK_TLS_WANTS_READ;
    }
    if (size <= 0) {
        return LK_TLS_CLOSED; /* it only looked whether the port is open */
    }
    handshake->is_begun = true;
    if (first != TLS_RECORD_OF_HANDSHAKE) {
        refuse(handshakes, socket, "it does not speak TLS");
        answer_in_plain(handshakes, socket);
        return LK_TLS_FAILED;
    }
    return LK_TLS_DONE;
}

static void note(struct lk_handshakes *handshakes, struct lk_handshake *handshake, int socket,
                 enum lk_tls_step step) {
    handshake->is_underway = step != LK_TLS_DONE;
    if (step == LK_TLS_CLOSED || step == LK_TLS_FAILED) {
        refuse(handshakes, socket, lk_tls_session_reason(handshake->session));
    }
}

static void on_computed(void *context, enum lk_tls_step step) {
    struct lk_handshake *handshake = context;

    handshake->is_computed = false;
    note(handshake->handshakes, handshake, handshake->socket, step);
    handshake->stepped(handshake->context, step);
}

void lk_handshakes_step(struct lk_handshakes *handshakes, struct lk_handshake *handshake,
                        int socket, lk_handshake_stepped *stepped, void *context) {
    enum lk_tls_step step = handshake->is_begun ? LK_TLS_DONE : look(handshakes, handshake, socket);

    if (step != LK_TLS_DONE) {
        stepped(context, step);
        return;
    }
    handshake->is_computed = true;
    handshake->handshakes = handshakes;
    handshake->socket = socket;
    handshake->stepped = stepped;
    handshake->context = context;
    lk_handshake_thread_submit(lk_server_handshake_thread(handshakes->server), &handshake->job,
                               handshake->session, on_computed, handshake);
}

void lk_handshakes_end(struct lk_handshakes *handshakes, struct lk_handshake *handshake) {
    lk_handshake_thread_cancel(lk_server_handshake_thread(handshakes->server), &handshake->job);
    handshake->is_computed = false;
    lk_tls_session_free(handshake->session);
    handshake->session = NULL;
}
