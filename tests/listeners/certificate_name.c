/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: certificate_name CERTIFICATE KEY AUTHORITY CLIENT_CERTIFICATE CLIENT_KEY
 *
 * A handshake within one process. Prints the name that the server finds in the client's
 * certificate, or "-" for none. The server's certificate is for localhost.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tls/tls.h"

static bool shake(struct lk_tls_session *server, struct lk_tls_session *client) {
    enum lk_tls_step steps[2] = {LK_TLS_WANTS_READ, LK_TLS_WANTS_READ};

    while (steps[0] != LK_TLS_DONE || steps[1] != LK_TLS_DONE) {
        steps[1] = lk_tls_session_handshake(client);
        steps[0] = lk_tls_session_handshake(server);
        if (steps[0] >= LK_TLS_CLOSED || steps[1] >= LK_TLS_CLOSED) {
            (void)fprintf(stderr, "server: %s; client: %s\n", lk_tls_session_reason(server),
                          lk_tls_session_reason(client));
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    struct lk_tls_context *contexts[2] = {NULL, NULL};
    struct lk_tls_session *server = NULL;
    struct lk_tls_session *client = NULL;
    char name[LK_TLS_NAME_BYTES_MAX + 1];
    int sockets[2];
    lk_error error;
    bool is_good = false;

    if (argc != 6 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) != 0) {
        return 2;
    }
    if (lk_tls_server_new(&(struct lk_tls_files){argv[1], argv[2], argv[3]}, &contexts[0], &error)
            != LK_OK
        || lk_tls_client_new(&(struct lk_tls_files){argv[4], argv[5], argv[3]}, &contexts[1],
                             &error)
               != LK_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
    } else {
        server = lk_tls_session_accept(contexts[0], sockets[0]);
        client = lk_tls_session_connect(contexts[1], sockets[1], "localhost");
        is_good = shake(server, client);
    }
    if (is_good) {
        (void)puts(lk_tls_session_peer_name(server, name) ? name : "-");
    }
    lk_tls_session_free(client);
    lk_tls_session_free(server);
    lk_tls_context_free(contexts[0]);
    lk_tls_context_free(contexts[1]);
    (void)close(sockets[0]);
    (void)close(sockets[1]);
    return is_good ? 0 : 1;
}
