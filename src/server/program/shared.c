/* SPDX-License-Identifier: Apache-2.0 */
/* One of several services: its store, and its name in it. */
#include <stdio.h>

#include "base/error.h"
#include "base/slice.h"
#include "server/connections/host.h"
#include "server/program/state.h"
#include "server/store/tables/tables.h"

#ifdef LK_HAS_POSTGRESQL
#include "server/store/postgresql/store_postgresql.h"
#endif
#ifdef LK_HAS_MYSQL
#include "server/store/mysql/store_mysql.h"
#endif
#ifdef LK_HAS_ETCD
#include "server/store/etcd/store_etcd.h"

static lk_outcome open_etcd(const struct lk_tables_options *options,
                            struct lk_storage **ret_storage, lk_error *error) {
    const struct lk_store_etcd_options store = {
        .url = options->url,
        .address = options->address,
        .lease_us = options->lease_us,
    };

    return lk_store_etcd_open(&store, ret_storage, error);
}
#endif

/* The stores by the schemes of their URLs. */
static const struct {
    const char *scheme;
    const char *title;
    lk_outcome (*open)(const struct lk_tables_options *options, struct lk_storage **ret_storage,
                       lk_error *error); /* NULL: this program was built without it */
} stores[] = {
#ifdef LK_HAS_POSTGRESQL
    {"postgresql://", "PostgreSQL", lk_store_postgresql_open},
    {"postgres://", "PostgreSQL", lk_store_postgresql_open},
#else
    {"postgresql://", "PostgreSQL", NULL},
    {"postgres://", "PostgreSQL", NULL},
#endif
#ifdef LK_HAS_MYSQL
    {"mysql://", "MySQL", lk_store_mysql_open},
    {"mariadb://", "MySQL", lk_store_mysql_open},
#else
    {"mysql://", "MySQL", NULL},
    {"mariadb://", "MySQL", NULL},
#endif
#ifdef LK_HAS_ETCD
    {"etcd://", "etcd", open_etcd},
    {"etcds://", "etcd", open_etcd},
#else
    {"etcd://", "etcd", NULL},
    {"etcds://", "etcd", NULL},
#endif
};

enum { STORES = sizeof stores / sizeof stores[0] };

/* STORES: none. */
static size_t find_store(const char *url) {
    size_t i = 0;

    while (i < STORES && strncmp(url, stores[i].scheme, strlen(stores[i].scheme)) != 0) {
        i++;
    }
    return i;
}

bool lk_shared_is_url(const char *url) {
    return find_store(url) < STORES;
}

lk_outcome lk_shared_open(const struct lk_server_options *options, struct lk_storage **ret_storage,
                          lk_error *error) {
    const struct lk_tables_options store = {
        .url = options->store_url,
        .address = "",
        .lease_us = options->failover_us,
    };
    size_t at = find_store(options->store_url);

    if (at == STORES || stores[at].open == NULL) {
        return lk_error_set(error, LK_UNSUPPORTED, "this program was built without %s",
                            at == STORES ? "this store" : stores[at].title);
    }
    return stores[at].open(&store, ret_storage, error);
}

bool lk_leadership_is_caught_up(const struct lk_leadership *leadership) {
    return leadership->epoch != 0 && !leadership->is_behind;
}

bool lk_server_leader(const struct lk_server *server, char ret_address[LK_LEADER_BYTES_MAX + 1]) {
    const struct lk_core *core = lk_server_core(server);
    const char *address =
        lk_core_leads(core) ? lk_server_leadership(server)->address : lk_core_leader(core);

    if (address == NULL) {
        return false;
    }
    (void)snprintf(ret_address, LK_LEADER_BYTES_MAX + 1, "%.*s", (int)strcspn(address, " "),
                   address);
    return true;
}

/* The host of an address: what stands before the port. */
static struct lk_slice host_of(const char *address) {
    const char *colon = strrchr(address, ':');

    return (struct lk_slice){address, colon != NULL ? (size_t)(colon - address) : strlen(address)};
}

static bool is_host(const char *address, const char *host) {
    return lk_slice_equal(host_of(address), lk_slice_of(host));
}

bool lk_shared_is_any_address(const char *address) {
    return is_host(address, "0.0.0.0") || is_host(address, "[::]") || is_host(address, "");
}

static bool is_loopback(const char *address) {
    return strncmp(address, "127.", strlen("127.")) == 0 || is_host(address, "[::1]")
           || is_host(address, "localhost");
}

/*
 * With --advertise HTTP is at the same host, unless it can only be reached from this machine and
 * that host from others; then no address of HTTP is told.
 */
static bool has_http(const struct lk_server_options *options, const char *address) {
    if (address[0] == '\0' || strncmp(address, "unix:", strlen("unix:")) == 0) {
        return false;
    }
    return options->advertised != NULL ? !is_loopback(address) || is_loopback(options->advertised)
                                       : !lk_shared_is_any_address(address);
}

lk_outcome lk_shared_write(const struct lk_server_options *options, const char *resp_address,
                           const char *http_address, char *ret_text, size_t bytes,
                           lk_error *error) {
    const char *resp = options->advertised != NULL ? options->advertised : resp_address;
    struct lk_slice host = host_of(options->advertised != NULL ? resp : http_address);

    if (lk_shared_is_any_address(resp)) {
        return lk_error_set(error, LK_INVALID,
                            "the other services cannot send clients to %.64s: name this one by "
                            "--advertise HOST:PORT",
                            resp);
    }
    if (has_http(options, http_address)) {
        (void)snprintf(ret_text, bytes, "%s %.*s%s", resp, (int)host.size, host.bytes,
                       strrchr(http_address, ':'));
    } else {
        (void)snprintf(ret_text, bytes, "%s", resp);
    }
    return LK_OK;
}
