/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes: whether it is their turn, and what became of them. */
#include "server/handshakes.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "server/refusal.h"

#define TURN_US INT64_C(500) /* of each turn for handshakes: one step, and more if there is time */

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

void lk_handshakes_end_turn(struct lk_handshakes *handshakes) {
    handshakes->spent_us = 0;
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

enum lk_tls_step lk_handshakes_step(struct lk_handshakes *handshakes,
                                    struct lk_handshake *handshake, int socket) {
    enum lk_tls_step step = LK_TLS_DONE;
    int64_t begun_us;

    if (handshakes->spent_us >= TURN_US) {
        return handshake->is_writing ? LK_TLS_WANTS_WRITE : LK_TLS_WANTS_READ;
    }
    begun_us = lk_clock_now_us();
    if (!handshake->is_begun) {
        step = look(handshakes, handshake, socket);
    }
    if (step == LK_TLS_DONE) {
        step = lk_tls_session_handshake(handshake->session);
        handshake->is_underway = step != LK_TLS_DONE;
        handshake->is_writing = step == LK_TLS_WANTS_WRITE;
        if (step == LK_TLS_CLOSED || step == LK_TLS_FAILED) {
            refuse(handshakes, socket, lk_tls_session_reason(handshake->session));
        }
    }
    handshakes->spent_us += lk_clock_now_us() - begun_us;
    return step;
}
