/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a store's URL. No part of it appears in a message, since it may contain a password. */
#include "engine/mysql/address.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/setting.h"

static lk_outcome refuse(lk_error *error) {
    return lk_error_set(error, LK_INVALID,
                        "a MySQL store is mysql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE"
                        "[?OPTION=VALUE&...], where %%XX stands for what has a meaning in URLs");
}

static lk_outcome set_text(struct lk_mysql_address *address, enum lk_mysql_text which,
                           struct lk_slice value, lk_error *error) {
    char *text = lk_url_decode(value);

    if (text == NULL) {
        return refuse(error);
    }
    free(address->texts[which]);
    address->texts[which] = text;
    return LK_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

static lk_outcome set_prefix(struct lk_mysql_address *address, struct lk_slice value,
                             lk_error *error) {
    lk_outcome outcome = lk_sql_check_prefix(value, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    memcpy(address->prefix, value.bytes, value.size);
    address->prefix[value.size] = '\0';
    return LK_OK;
}

/* Accepts a mode as MySQL's own programs write it, or in lower case. */
static bool is_mode(struct lk_slice value, const char *name) {
    size_t i = 0;

    for (; i < value.size && name[i] != '\0'; i++) {
        char byte = value.bytes[i] == '_' ? '-' : (char)tolower((unsigned char)value.bytes[i]);
        if (byte != name[i]) {
            return false;
        }
    }
    return i == value.size && name[i] == '\0';
}

static lk_outcome set_ssl_mode(struct lk_mysql_address *address, struct lk_slice value,
                               lk_error *error) {
    if (is_mode(value, "disabled")) {
        address->ssl_mode = LK_MYSQL_SSL_DISABLED;
    } else if (is_mode(value, "required")) {
        address->ssl_mode = LK_MYSQL_SSL_REQUIRED;
    } else if (is_mode(value, "verify-identity")) {
        address->ssl_mode = LK_MYSQL_SSL_VERIFY_IDENTITY;
    } else {
        return lk_error_set(error, LK_INVALID,
                            "ssl-mode= is disabled, required or verify-identity");
    }
    return LK_OK;
}

/* The account that may have made the store; it becomes part of a statement. */
static lk_outcome set_owner(struct lk_mysql_address *address, struct lk_slice value,
                            lk_error *error) {
    lk_outcome outcome = set_text(address, LK_MYSQL_OWNER, value, error);
    const char *owner = address->texts[LK_MYSQL_OWNER];

    if (outcome == LK_OK && (strchr(owner, '@') == NULL || strpbrk(owner, "'\"\\\n") != NULL)) {
        return lk_error_set(
            error, LK_INVALID,
            "owner= names the account that made the store, as USER@HOST without quotes");
    }
    return outcome;
}

static lk_outcome take_option(struct lk_mysql_address *address, const struct lk_url_option *option,
                              bool *has_mode, lk_error *error) {
    static const struct {
        const char *name;
        enum lk_mysql_text which;
    } names[] = {{"socket", LK_MYSQL_SOCKET},
                 {"ssl-ca", LK_MYSQL_SSL_CA},
                 {"ssl-capath", LK_MYSQL_SSL_CAPATH},
                 {"ssl-cert", LK_MYSQL_SSL_CERT},
                 {"ssl-key", LK_MYSQL_SSL_KEY}};

    if (lk_url_option_is(option, "prefix")) {
        return set_prefix(address, option->value, error);
    }
    if (lk_url_option_is(option, "owner")) {
        return set_owner(address, option->value, error);
    }
    if (lk_url_option_is(option, "ssl-mode")) {
        *has_mode = true;
        return set_ssl_mode(address, option->value, error);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (lk_url_option_is(option, names[i].name)) {
            return set_text(address, names[i].which, option->value, error);
        }
    }
    return lk_error_set(error, LK_INVALID,
                        "the options of a MySQL store are prefix, owner, socket, ssl-mode, ssl-ca, "
                        "ssl-capath, ssl-cert and ssl-key");
}

/*
 * A URL that names a certificate authority requires the server's certificate to be signed by it. A
 * unix socket needs no TLS, whatever the client library does by default.
 */
static lk_outcome take_options(struct lk_mysql_address *address, struct lk_slice options,
                               lk_error *error) {
    bool has_mode = false;
    lk_outcome outcome = LK_OK;

    while (options.size > 0 && outcome == LK_OK) {
        struct lk_url_option option = lk_url_option_next(&options);
        if (option.name.size > 0) {
            outcome = take_option(address, &option, &has_mode, error);
        }
    }
    if (!has_mode
        && (address->texts[LK_MYSQL_SSL_CA] != NULL || address->texts[LK_MYSQL_SSL_CAPATH] != NULL
            || address->texts[LK_MYSQL_SSL_CERT] != NULL)) {
        address->ssl_mode = LK_MYSQL_SSL_VERIFY_IDENTITY;
    } else if (!has_mode && address->texts[LK_MYSQL_SOCKET] != NULL) {
        address->ssl_mode = LK_MYSQL_SSL_DISABLED;
    }
    return outcome;
}

/* ---- authority ------------------------------------------------------------------------------- */

static lk_outcome set_port(struct lk_mysql_address *address, struct lk_slice value,
                           lk_error *error) {
    for (size_t i = 0; i < value.size; i++) {
        if (value.bytes[i] < '0' || value.bytes[i] > '9' || address->port > 65535) {
            return refuse(error);
        }
        address->port = address->port * 10 + (unsigned)(value.bytes[i] - '0');
    }
    return address->port <= 65535 ? LK_OK : refuse(error);
}

/* HOST[:PORT]; an IPv6 address is in brackets. */
static lk_outcome take_host(struct lk_mysql_address *address, struct lk_slice host,
                            lk_error *error) {
    bool is_bracketed = host.size > 0 && host.bytes[0] == '[';
    const char *end = is_bracketed ? memchr(host.bytes, ']', host.size) : host.bytes;
    const char *colon = end != NULL && host.size > 0
                            ? memchr(end, ':', host.size - (size_t)(end - host.bytes))
                            : NULL;
    struct lk_slice name = {host.bytes, colon != NULL ? (size_t)(colon - host.bytes) : host.size};
    lk_outcome outcome = LK_OK;

    if (is_bracketed) {
        if (end == NULL || end + 1 != name.bytes + name.size) {
            return refuse(error);
        }
        name = (struct lk_slice){host.bytes + 1, name.size - 2};
    }
    if (colon != NULL) {
        outcome = set_port(
            address, (struct lk_slice){colon + 1, host.size - (size_t)(colon + 1 - host.bytes)},
            error);
    }
    if (outcome == LK_OK && name.size > 0) {
        outcome = set_text(address, LK_MYSQL_HOST, name, error);
    }
    return outcome;
}

/* USER[:PASSWORD]@HOST[:PORT]. */
static lk_outcome take_authority(struct lk_mysql_address *address, struct lk_slice authority,
                                 lk_error *error) {
    const char *at = authority.size > 0 ? memrchr(authority.bytes, '@', authority.size) : NULL;
    struct lk_slice user = {authority.bytes, at != NULL ? (size_t)(at - authority.bytes) : 0};
    const char *colon = user.size > 0 ? memchr(user.bytes, ':', user.size) : NULL;
    size_t name_size = colon != NULL ? (size_t)(colon - user.bytes) : user.size;
    lk_outcome outcome = LK_OK;

    if (at != NULL) {
        outcome = set_text(address, LK_MYSQL_USER, (struct lk_slice){user.bytes, name_size}, error);
        authority.size -= user.size + 1;
        authority.bytes += user.size + 1;
    }
    if (outcome == LK_OK && colon != NULL) {
        outcome = set_text(address, LK_MYSQL_PASSWORD,
                           (struct lk_slice){colon + 1, user.size - name_size - 1}, error);
    }
    return outcome == LK_OK ? take_host(address, authority, error) : outcome;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static lk_outcome parse(struct lk_slice rest, struct lk_mysql_address *address, lk_error *error) {
    const char *mark = memchr(rest.bytes, '?', rest.size);
    size_t size = mark != NULL ? (size_t)(mark - rest.bytes) : rest.size;
    const char *slash = memchr(rest.bytes, '/', size);
    size_t host_size = slash != NULL ? (size_t)(slash - rest.bytes) : size;
    lk_outcome outcome;

    if (slash == NULL || size == host_size + 1) {
        return refuse(error);
    }
    outcome = take_authority(address, (struct lk_slice){rest.bytes, host_size}, error);
    if (outcome == LK_OK) {
        outcome = set_text(address, LK_MYSQL_DATABASE,
                           (struct lk_slice){slash + 1, size - host_size - 1}, error);
    }
    if (outcome == LK_OK && mark != NULL) {
        outcome = take_options(address, (struct lk_slice){mark + 1, rest.size - size - 1}, error);
    }
    return outcome;
}

lk_outcome lk_mysql_address_parse(struct lk_slice rest, struct lk_mysql_address *ret_address,
                                  lk_error *error) {
    struct lk_mysql_address address = {.prefix = "lk_"};
    lk_outcome outcome;

    if (rest.size < 2 || memcmp(rest.bytes, "//", 2) != 0) {
        return refuse(error);
    }
    outcome = parse((struct lk_slice){rest.bytes + 2, rest.size - 2}, &address, error);
    if (outcome != LK_OK) {
        lk_mysql_address_done(&address);
        return outcome;
    }
    *ret_address = address;
    return LK_OK;
}

void lk_mysql_address_done(struct lk_mysql_address *address) {
    for (size_t i = 0; i < LK_MYSQL_URL_TEXTS; i++) {
        free(address->texts[i]);
    }
}
