/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a redis: or rediss: URL says.
 *
 *     redis://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...][/DATABASE][?OPTION=VALUE&...]
 *     redis:///PATH/OF/SOCKET[?database=N&...]
 *     rediss://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...][/DATABASE][?OPTION=VALUE&...]
 *
 * USER and PASSWORD are percent-encoded. A password without a user is `redis://:PASSWORD@HOST`. The
 * password may be the first line of a file: `?password-file=PATH`. Over TLS there are the options
 * `ca`, `cert` and `key` besides, and no sockets of this machine.
 */
#ifndef LK_ENGINE_REDIS_TARGET_H
#define LK_ENGINE_REDIS_TARGET_H

#include "base/slice.h"
#include "lockkeeper/terms.h"
#include "tls/client.h"

enum {
    LK_REDIS_SEEDS_MAX = 32,
    LK_REDIS_HOST_BYTES_MAX = 255,
    LK_REDIS_SECRET_BYTES_MAX = 512,
    LK_REDIS_PORT = 6379,
    LK_REDIS_REPLICAS_MAX = 64,
};

/* The address of a server. */
struct lk_redis_address {
    char host[LK_REDIS_HOST_BYTES_MAX + 1]; /* or the path of a socket */
    int port;                               /* 0: a socket */
};

enum { LK_REDIS_ADDRESS_TEXT_BYTES = LK_REDIS_HOST_BYTES_MAX + 8 };

struct lk_redis_target {
    struct lk_redis_address seeds[LK_REDIS_SEEDS_MAX];
    size_t seed_count;
    char user[LK_REDIS_SECRET_BYTES_MAX + 1];     /* empty: none */
    char password[LK_REDIS_SECRET_BYTES_MAX + 1]; /* empty: none */
    int database;
    int replicas;               /* how many must have each grant */
    struct lk_tls_context *tls; /* borrowed; NULL: no TLS. Each connection to each server has it */
};

/*
 * `rest` is the URL after "redis:", or with ret_paths (NULL: without TLS) after "rediss:". LK_OK
 * with *ret_target, whose `tls` is NULL, and *ret_paths, which has to be empty before; LK_INVALID;
 * LK_DENIED: the password file must not be read. The sentence contains no secret.
 */
lk_outcome lk_redis_target_parse(struct lk_slice rest, struct lk_redis_target *ret_target,
                                 struct lk_tls_paths *ret_paths, lk_error *error);

/* The scheme of its URL: "redis" or "rediss". */
static inline const char *lk_redis_scheme(const struct lk_redis_target *target) {
    return target->tls != NULL ? "rediss" : "redis";
}

/* HOST:PORT, or the path of a socket. */
void lk_redis_address_write(const struct lk_redis_address *address,
                            char ret_text[LK_REDIS_ADDRESS_TEXT_BYTES]);

#endif
