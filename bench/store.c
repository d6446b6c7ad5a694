/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on any store, in few words. */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { TTL_MS = 24 * 3600 * 1000, PATIENCE_MS = 60000 };

static struct peer service;

const char *bench_store_url(const char *given, const char *lk) {
    static char url[64];
    static char listen[48];
    char *words[] = {(char *)(uintptr_t)lk, "serve", "--listen", listen, "--http", "none",
                     "--ephemeral",         NULL};
    int port;

    if (strcmp(given, "service") != 0) {
        return given;
    }
    if (lk == NULL) {
        bench_give_up("a service needs the program lk");
    }
    port = peer_port();
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%d", port);
    (void)snprintf(url, sizeof url, "lk://%s", listen);
    service = peer_start(words, port, "/dev/null");
    return url;
}

void bench_store_end(void) {
    if (service.pid > 0) {
        peer_stop(&service);
    }
}

lk_store *bench_store_open(const char *url) {
    lk_store *store = NULL;
    lk_error error = {0};

    bench_must(lk_open(url, &store, &error), LK_OK, url, &error);
    return store;
}

void bench_must(lk_outcome got, lk_outcome expected, const char *what, const lk_error *error) {
    if (got != expected) {
        bench_give_up("%s: %s in place of %s: %s", what, lk_outcome_name(got),
                      lk_outcome_name(expected), error->text);
    }
}

static lk_request request_of(const char *const *parts, const char *owner) {
    lk_request request = lk_request_init(parts, 1);

    request.owner = owner;
    request.ttl_ms = TTL_MS;
    request.patience_ms = PATIENCE_MS;
    return request;
}

lk_outcome bench_ask(lk_store *store, const char *path, const char *owner, lk_style style,
                     lk_error *error) {
    lk_request request = request_of(&path, owner);

    request.style = style;
    return lk_ask(store, &request, NULL, error);
}

lk_outcome bench_release(lk_store *store, const char *path, const char *owner, lk_error *error) {
    lk_request request = request_of(&path, owner);

    return lk_release(store, &request, 0, NULL, error);
}
