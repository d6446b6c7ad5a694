/* SPDX-License-Identifier: Apache-2.0 */
/* Parses redis: and rediss: URLs. Their sentences call both a Redis URL. */
#include "engine/redis/client/target.h"

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"

/* ---- pieces ---------------------------------------------------------------------------------- */

/*
 * Returns the text before the first `byte` and moves *text after it; all of it, if there is none.
 */
static struct lk_slice cut_at(struct lk_slice *text, char byte) {
    const char *found = text->size > 0 ? memchr(text->bytes, byte, text->size) : NULL;
    struct lk_slice head = *text;

    if (found == NULL) {
        *text = (struct lk_slice){NULL, 0};
        return head;
    }
    head.size = (size_t)(found - text->bytes);
    text->bytes += head.size + 1;
    text->size -= head.size + 1;
    return head;
}

static bool read_number(struct lk_slice text, int max, int *ret_number) {
    int number = 0;

    if (text.size == 0 || text.size > 9) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') {
            return false;
        }
        number = number * 10 + (text.bytes[i] - '0');
    }
    if (number > max) {
        return false;
    }
    *ret_number = number;
    return true;
}

/* ---- parts of the URL ------------------------------------------------------------------------ */

/* HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT. */
static bool read_address(struct lk_slice text, struct lk_redis_address *ret_address) {
    struct lk_slice host = text;
    struct lk_slice port = {NULL, 0};

    if (text.size > 0 && text.bytes[0] == '[') {
        text.bytes++;
        text.size--;
        host = cut_at(&text, ']');
        if (text.size > 0 && text.bytes[0] != ':') {
            return false;
        }
        port = text;
        (void)cut_at(&port, ':');
    } else {
        host = cut_at(&text, ':');
        port = text;
    }
    ret_address->port = LK_REDIS_PORT;
    if (port.size > 0
        && (!read_number(port, UINT16_MAX, &ret_address->port) || ret_address->port == 0)) {
        return false;
    }
    if (host.size == 0 || host.size > LK_REDIS_HOST_BYTES_MAX) {
        return false;
    }
    memcpy(ret_address->host, host.bytes, host.size);
    ret_address->host[host.size] = '\0';
    return true;
}

static lk_outcome read_seeds(struct lk_slice hosts, struct lk_redis_target *target,
                             lk_error *error) {
    do {
        struct lk_slice host = cut_at(&hosts, ',');

        if (target->seed_count == LK_REDIS_SEEDS_MAX) {
            return lk_error_set(error, LK_INVALID, "a Redis URL names at most %d servers",
                                LK_REDIS_SEEDS_MAX);
        }
        if (!read_address(host, &target->seeds[target->seed_count++])) {
            return lk_error_set(error, LK_INVALID,
                                "a Redis URL names servers as HOST or HOST:PORT, separated by "
                                "commas");
        }
    } while (hosts.size > 0);
    return LK_OK;
}

static lk_outcome read_secrets(struct lk_slice secrets, struct lk_redis_target *target,
                               lk_error *error) {
    struct lk_slice user = cut_at(&secrets, ':');

    if (!lk_percent_decode(user, target->user, sizeof target->user)
        || !lk_percent_decode(secrets, target->password, sizeof target->password)) {
        return lk_error_set(error, LK_INVALID,
                            "user and password of a Redis URL are percent-encoded, at most %d "
                            "bytes each",
                            LK_REDIS_SECRET_BYTES_MAX);
    }
    return LK_OK;
}

static lk_outcome read_password_file(struct lk_slice encoded, struct lk_redis_target *target,
                                     lk_error *error) {
    char path[4096];

    return lk_percent_decode(encoded, path, sizeof path)
               ? lk_secret_read(path, target->password, sizeof target->password, error)
               : lk_error_set(error, LK_INVALID, "?password-file= is a percent-encoded path");
}

/* An option that only URLs with TLS have; paths are NULL without it. */
static lk_outcome read_tls_option(struct lk_slice name, struct lk_slice value,
                                  struct lk_tls_paths *paths, lk_error *error) {
    struct lk_tls_paths none;
    lk_outcome outcome = lk_tls_paths_take(paths != NULL ? paths : &none, name, value, error);

    if (outcome == LK_NONE) {
        return lk_error_set(error, LK_INVALID, "a Redis URL has no option \"%.*s\"",
                            (int)(name.size < 32 ? name.size : 32), name.bytes);
    }
    return paths != NULL
               ? outcome
               : lk_error_set(error, LK_INVALID,
                              "the option %.*s is of TLS: use rediss:// in place of redis://",
                              (int)name.size, name.bytes);
}

static lk_outcome read_option(struct lk_slice option, struct lk_redis_target *target,
                              struct lk_tls_paths *paths, lk_error *error) {
    struct lk_slice value = option;
    struct lk_slice name = cut_at(&value, '=');

    if (lk_slice_equal(name, lk_slice_of("replicas"))) {
        return read_number(value, LK_REDIS_REPLICAS_MAX, &target->replicas)
                   ? LK_OK
                   : lk_error_set(error, LK_INVALID, "?replicas= is a number up to %d",
                                  LK_REDIS_REPLICAS_MAX);
    }
    if (lk_slice_equal(name, lk_slice_of("database"))) {
        return read_number(value, INT32_MAX, &target->database)
                   ? LK_OK
                   : lk_error_set(error, LK_INVALID, "?database= is a number");
    }
    if (lk_slice_equal(name, lk_slice_of("password"))) {
        return lk_percent_decode(value, target->password, sizeof target->password)
                   ? LK_OK
                   : lk_error_set(error, LK_INVALID, "?password= is percent-encoded");
    }
    if (lk_slice_equal(name, lk_slice_of("password-file"))) {
        return read_password_file(value, target, error);
    }
    return read_tls_option(name, value, paths, error);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static lk_outcome read_socket(struct lk_slice path, struct lk_redis_target *target,
                              lk_error *error) {
    if (path.size > 107 || memchr(path.bytes, '\0', path.size) != NULL) {
        return lk_error_set(error, LK_INVALID, "the path of a socket has at most 107 bytes");
    }
    memcpy(target->seeds[0].host, path.bytes, path.size);
    target->seeds[0].port = 0;
    target->seed_count = 1;
    return LK_OK;
}

static lk_outcome read_servers(struct lk_slice text, struct lk_redis_target *target,
                               lk_error *error) {
    struct lk_slice database = text;
    struct lk_slice authority = cut_at(&database, '/');
    const char *at = memrchr(authority.bytes, '@', authority.size);
    lk_outcome outcome = LK_OK;

    if (database.size > 0 && !read_number(database, INT32_MAX, &target->database)) {
        return lk_error_set(error, LK_INVALID, "the database of a Redis URL is a number");
    }
    if (at != NULL) {
        size_t size = (size_t)(at - authority.bytes);

        outcome = read_secrets((struct lk_slice){authority.bytes, size}, target, error);
        authority.bytes += size + 1;
        authority.size -= size + 1;
    }
    return outcome == LK_OK ? read_seeds(authority, target, error) : outcome;
}

lk_outcome lk_redis_target_parse(struct lk_slice rest, struct lk_redis_target *ret_target,
                                 struct lk_tls_paths *ret_paths, lk_error *error) {
    struct lk_redis_target target = {.seed_count = 0};
    struct lk_slice options = rest;
    struct lk_slice head = cut_at(&options, '?');
    lk_outcome outcome;

    if (head.size < 3 || memcmp(head.bytes, "//", 2) != 0) {
        return lk_error_set(error, LK_INVALID,
                            ret_paths != NULL ? "a Redis URL with TLS is rediss://HOST[:PORT]"
                                              : "a Redis URL is redis://HOST[:PORT], or "
                                                "redis:///PATH of a socket");
    }
    head.bytes += 2;
    head.size -= 2;
    if (head.bytes[0] == '/' && ret_paths != NULL) {
        return lk_error_set(error, LK_INVALID,
                            "a socket of this machine has no TLS: use redis:// in place of "
                            "rediss://, or name a host");
    }
    outcome = head.bytes[0] == '/' ? read_socket(head, &target, error)
                                   : read_servers(head, &target, error);
    while (outcome == LK_OK && options.size > 0) {
        outcome = read_option(cut_at(&options, '&'), &target, ret_paths, error);
    }
    if (outcome == LK_OK) {
        *ret_target = target;
    }
    return outcome;
}

void lk_redis_address_write(const struct lk_redis_address *address,
                            char ret_text[LK_REDIS_ADDRESS_TEXT_BYTES]) {
    if (address->port == 0) {
        (void)snprintf(ret_text, LK_REDIS_ADDRESS_TEXT_BYTES, "%s", address->host);
    } else {
        (void)snprintf(ret_text, LK_REDIS_ADDRESS_TEXT_BYTES, "%s:%d", address->host,
                       address->port);
    }
}
