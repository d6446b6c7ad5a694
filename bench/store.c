/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on any store, in few words. */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { TTL_MS = 24 * 3600 * 1000, PATIENCE_MS = 60000 };

enum { SERVICES_MAX = 2 };

static struct peer services[SERVICES_MAX];
static size_t service_count;

bool bench_store_is_service(const char *given) {
    return strcmp(given, "service") == 0;
}

const char *bench_store_url(const char *given, const char *lk) {
    static char urls[SERVICES_MAX][64];
    char listen[48];
    char *words[] = {(char *)(uintptr_t)lk, "serve", "--listen", listen, "--http", "none",
                     "--ephemeral",         NULL};
    char *url;
    int port;

    if (!bench_store_is_service(given)) {
        return given;
    }
    if (lk == NULL || service_count == SERVICES_MAX) {
        bench_give_up("a service needs the program lk, and there are two at most");
    }
    port = peer_port();
    url = urls[service_count];
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%d", port);
    (void)snprintf(url, sizeof urls[0], "lk://%s", listen);
    services[service_count++] = peer_start(words, port, "/dev/null");
    return url;
}

void bench_store_end(void) {
    while (service_count > 0) {
        peer_stop(&services[--service_count]);
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
