/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of a service and the login for it, as given in the URL of a store. */
#ifndef LK_ENGINE_SERVICE_ADDRESS_H
#define LK_ENGINE_SERVICE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "lockkeeper/terms.h"
#include "tls/client.h"

#define LK_SERVICE_PORT_DEFAULT "7420"

enum {
    LK_SERVICE_HOST_BYTES_MAX = 255, /* a DNS name; the path of a socket is shorter */
    LK_SERVICE_LOGIN_BYTES_MAX = 255,
    LK_SERVICE_HOSTS_MAX = 16, /* services that a URL names */
    LK_SERVICE_ADDRESS_TEXT_BYTES = LK_SERVICE_HOST_BYTES_MAX + 16,
};

struct lk_service_address {
    bool is_local; /* `host` is the path of a Unix socket, and there is no port */
    char host[LK_SERVICE_HOST_BYTES_MAX + 1];
    char port[6];
};

/* Services that share a store, of which one leads; a single one leads itself. */
struct lk_service_addresses {
    size_t count;
    struct lk_service_address each[LK_SERVICE_HOSTS_MAX];
};

/* Both empty: no login. */
struct lk_service_login {
    char user[LK_SERVICE_LOGIN_BYTES_MAX + 1];
    char password[LK_SERVICE_LOGIN_BYTES_MAX + 1];
};

/*
 * The URL after its scheme: `//[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...]` or, if is_local,
 * `PATH`; then `?user=`, `?password=` or `?password-file=`, and with ret_files `?ca=`, `?cert=` and
 * `?key=`, joined by `&`. LK_OK; LK_INVALID; LK_DENIED: no permission to read the password file.
 * *error never contains a password. ret_files is NULL without TLS.
 */
lk_outcome lk_service_url_parse(struct lk_slice rest, bool is_local,
                                struct lk_service_addresses *ret_addresses,
                                struct lk_service_login *ret_login, struct lk_tls_paths *ret_files,
                                lk_error *error);

/* `HOST[:PORT]`, an IPv6 address in brackets. LK_OK or LK_INVALID. */
lk_outcome lk_service_address_parse(struct lk_slice text, struct lk_service_address *ret_address,
                                    lk_error *error);

bool lk_service_address_equal(const struct lk_service_address *one,
                              const struct lk_service_address *other);

/* For messages: `host:port`, or the path. */
void lk_service_address_write(const struct lk_service_address *address,
                              char ret_text[LK_SERVICE_ADDRESS_TEXT_BYTES]);

/*
 * Which service the next connection is made to: of those that the URL names, or the one that
 * another service has named as the leader (`-MOVED`). No lock, no I/O.
 *
 * `address` stays as it is while connections to it can be made: it is the last known leader.
 */
struct lk_service_hosts {
    struct lk_service_addresses all; /* from the URL; never changed */
    struct lk_service_address address;
    struct lk_service_address named_by; /* if is_named: the service that says `address` leads */
    bool is_named;
    size_t next;         /* of `all`: where to go on when `address` cannot be used */
    uint64_t generation; /* of the leader: links of earlier ones are not used again */
    uint32_t failures;   /* since a connection was made */
};

void lk_service_hosts_begin(struct lk_service_hosts *hosts, const struct lk_service_addresses *all);

/* `failed` cannot be used: the next of the list has its turn, if another call has not done it. */
void lk_service_hosts_advance(struct lk_service_hosts *hosts,
                              const struct lk_service_address *failed);

/* The leader is there, in the list or not, by what the service at `named_by` says. */
void lk_service_hosts_redirect(struct lk_service_hosts *hosts,
                               const struct lk_service_address *leader,
                               const struct lk_service_address *named_by);

#endif
