/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of CLIENT LIST about the clients of the HTTP listener. */
#include "server/http/http.h"

static void add_list(const struct lk_http_clients *clients,
                     const struct lk_http_client_list *in_list, const struct lk_user *user,
                     struct lk_buffer *out) {
    const struct lk_http_client *client;

    TAILQ_FOREACH(client, in_list, list) {
        char address[LK_ADDRESS_BYTES_MAX];

        if (user != NULL && client->grant.user != user) {
            continue;
        }
        lk_listen_socket_name_peer(&clients->listener->listen_socket, client->socket, address);
        lk_buffer_add_text(out, "id=0 addr=");
        lk_buffer_add_text(out, address);
        lk_buffer_add_text(out, " name=http owner= resp=0 flags=N");
        if (client->grant.user != NULL) {
            lk_buffer_add_text(out, " user=");
            lk_buffer_add_text(out, client->grant.user->name);
        }
        lk_buffer_add_text(out, "\n");
    }
}

/* In the format of CLIENT LIST. */
void lk_http_clients_list(const struct lk_http_clients *clients, const struct lk_user *user,
                          struct lk_buffer *out) {
    add_list(clients, &clients->shaking, user, out);
    add_list(clients, &clients->reading, user, out);
    add_list(clients, &clients->writing, user, out);
    add_list(clients, &clients->busy, user, out);
}
