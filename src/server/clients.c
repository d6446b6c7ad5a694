/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of all listeners together. */
#include "server/server.h"

uint64_t lk_server_count_clients(const struct lk_server *server) {
    const struct lk_listener *listener;
    uint64_t count = 0;

    for (size_t i = 0; (listener = lk_server_listener(server, i)) != NULL; i++) {
        count += listener->ops->count_clients(listener);
    }
    return count;
}

void lk_server_list_clients(const struct lk_server *server, const struct lk_user *user,
                            struct lk_buffer *out) {
    const struct lk_listener *listener;

    for (size_t i = 0; (listener = lk_server_listener(server, i)) != NULL; i++) {
        listener->ops->list_clients(listener, user, out);
    }
}
