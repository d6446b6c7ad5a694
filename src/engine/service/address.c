/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the URLs of services strictly: unknown options and malformed parts are errors. And the
 * order in which the services of a URL are tried.
 */
#include "engine/service/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>

#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"

enum { PORT_MAX = 65535 };

static const struct lk_slice empty = {.bytes = "", .size = 0};

/* Splits at the first `mark`: *text becomes the part before it. Returns the part after it. */
static struct lk_slice cut_at(struct lk_slice *text, char mark) {
    const char *at = text->size > 0 ? memchr(text->bytes, mark, text->size) : NULL;
    struct lk_slice behind = empty;

    if (at != NULL) {
        behind.bytes = at + 1;
        behind.size = text->size - (size_t)(at - text->bytes) - 1;
        text->size = (size_t)(at - text->bytes);
    }
    return behind;
}

/* ---- host and port --------------------------------------------------------------------------- */

static bool read_port(struct lk_slice text, char ret_port[6]) {
    unsigned port = 0;

    if (text.size == 0 || text.size > 5) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') {
            return false;
        }
        port = port * 10 + (unsigned)(text.bytes[i] - '0');
    }
    if (port == 0 || port > PORT_MAX) {
        return false;
    }
    (void)snprintf(ret_port, 6, "%u", port);
    return true;
}

lk_outcome lk_service_address_parse(struct lk_slice text, struct lk_service_address *ret_address,
                                    lk_error *error) {
    struct lk_service_address address = {.port = LK_SERVICE_PORT_DEFAULT};
    struct lk_slice host = text;
    struct lk_slice port = empty;
    bool has_port;

    if (text.size > 0 && text.bytes[0] == '[') { /* [::1]:7420 */
        host.bytes++;
        host.size--;
        port = cut_at(&host, ']');
        has_port = port.size > 0 && port.bytes[0] == ':';
        if (port.bytes == empty.bytes || (port.size > 0 && !has_port)) {
            return lk_error_set(error, LK_INVALID, "an IPv6 address is written [ADDRESS]:PORT");
        }
        port.bytes += has_port;
        port.size -= has_port;
    } else {
        port = cut_at(&host, ':');
        has_port = port.bytes != empty.bytes;
    }
    if (host.size == 0 || !lk_percent_decode(host, address.host, sizeof address.host)) {
        return lk_error_set(error, LK_INVALID, "a service is named by HOST:PORT");
    }
    if (has_port && !read_port(port, address.port)) {
        return lk_error_set(error, LK_INVALID, "a port is a number from 1 to %d", PORT_MAX);
    }
    *ret_address = address;
    return LK_OK;
}

/* `HOST[:PORT],HOST[:PORT]...` */
static lk_outcome parse_list(struct lk_slice text, struct lk_service_addresses *ret_addresses,
                             lk_error *error) {
    size_t commas = 0;
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; i < text.size; i++) {
        commas += text.bytes[i] == ',';
    }
    if (commas >= LK_SERVICE_HOSTS_MAX) {
        return lk_error_set(error, LK_INVALID, "a URL names at most %d services",
                            LK_SERVICE_HOSTS_MAX);
    }
    for (size_t i = 0; i <= commas && outcome == LK_OK; i++) {
        struct lk_slice others = cut_at(&text, ',');
        outcome = lk_service_address_parse(text, &ret_addresses->each[i], error);
        text = others;
    }
    ret_addresses->count = commas + 1;
    return outcome;
}

static lk_outcome parse_path(struct lk_slice text, struct lk_service_address *ret_address,
                             lk_error *error) {
    struct lk_service_address address = {.is_local = true};

    if (text.size == 0
        || !lk_percent_decode(text, address.host, sizeof((struct sockaddr_un *)0)->sun_path)) {
        return lk_error_set(error, LK_INVALID, "the path of a socket has 1 to %zu bytes",
                            sizeof((struct sockaddr_un *)0)->sun_path - 1);
    }
    *ret_address = address;
    return LK_OK;
}

bool lk_service_address_equal(const struct lk_service_address *one,
                              const struct lk_service_address *other) {
    return one->is_local == other->is_local && strcmp(one->host, other->host) == 0
           && strcmp(one->port, other->port) == 0;
}

void lk_service_address_write(const struct lk_service_address *address,
                              char ret_text[LK_SERVICE_ADDRESS_TEXT_BYTES]) {
    if (address->is_local) {
        (void)snprintf(ret_text, LK_SERVICE_ADDRESS_TEXT_BYTES, "%s", address->host);
    } else {
        bool has_colon = strchr(address->host, ':') != NULL;
        (void)snprintf(ret_text, LK_SERVICE_ADDRESS_TEXT_BYTES, "%s%s%s:%s", has_colon ? "[" : "",
                       address->host, has_colon ? "]" : "", address->port);
    }
}

/* ---- user and password ----------------------------------------------------------------------- */

/* An option of lks:// alone. */
static lk_outcome read_file_option(struct lk_slice name, struct lk_slice value,
                                   struct lk_tls_paths *files, lk_error *error) {
    lk_outcome outcome = lk_tls_paths_take(files, name, value, error);

    return outcome != LK_NONE
               ? outcome
               : lk_error_set(error, LK_INVALID,
                              "unknown option: a service over TLS has the options user, password, "
                              "password-file, ca, cert and key");
}

static lk_outcome read_option(struct lk_slice option, struct lk_service_login *login,
                              struct lk_tls_paths *files, lk_error *error) {
    char path[LK_TLS_PATH_BYTES];
    struct lk_slice value = cut_at(&option, '=');
    bool is_read = false;

    if (lk_slice_equal(option, lk_slice_of("user"))) {
        is_read = lk_percent_decode(value, login->user, sizeof login->user);
    } else if (lk_slice_equal(option, lk_slice_of("password"))) {
        is_read = lk_percent_decode(value, login->password, sizeof login->password);
    } else if (lk_slice_equal(option, lk_slice_of("password-file"))) {
        is_read = lk_percent_decode(value, path, sizeof path);
        return is_read ? lk_secret_read(path, login->password, sizeof login->password, error)
                       : lk_error_set(error, LK_INVALID, "password-file: invalid path");
    } else if (files != NULL) {
        return read_file_option(option, value, files, error);
    } else {
        return lk_error_set(
            error, LK_INVALID,
            "unknown option: a service has the options user, password and password-file");
    }
    return is_read
               ? LK_OK
               : lk_error_set(error, LK_INVALID, "%.*s: at most %d bytes, %%XX for special ones",
                              (int)option.size, option.bytes, LK_SERVICE_LOGIN_BYTES_MAX);
}

/* `PORT,`: what looks like a password is the port of a first host, and the login of another one. */
static bool begins_with_port(struct lk_slice text) {
    size_t digits = 0;

    while (digits < text.size && text.bytes[digits] >= '0' && text.bytes[digits] <= '9') {
        digits++;
    }
    return digits > 0 && digits < text.size && text.bytes[digits] == ',';
}

/*
 * A login in front of another host than the first: a name has no comma and no `[` of an IPv6
 * address, and a password that has an `@` before a comma is more likely a list of logins.
 */
static bool is_repeated(struct lk_slice user, struct lk_slice password) {
    const char *at = password.size > 0 ? memchr(password.bytes, '@', password.size) : NULL;
    bool is_host =
        user.size > 0 && (user.bytes[0] == '[' || memchr(user.bytes, ',', user.size) != NULL);

    return is_host || begins_with_port(password)
           || (at != NULL
               && memchr(at, ',', password.size - (size_t)(at - password.bytes)) != NULL);
}

/* `USER[:PASSWORD]@` in front of the host; the last `@` ends it. */
static lk_outcome cut_login(struct lk_slice *authority, struct lk_service_login *login,
                            lk_error *error) {
    const char *at = authority->size > 0 ? memrchr(authority->bytes, '@', authority->size) : NULL;
    struct lk_slice user;
    struct lk_slice password;

    if (at == NULL) {
        return LK_OK;
    }
    user = (struct lk_slice){.bytes = authority->bytes, .size = (size_t)(at - authority->bytes)};
    authority->size -= user.size + 1;
    authority->bytes = at + 1;
    password = cut_at(&user, ':');
    if (is_repeated(user, password)) {
        return lk_error_set(
            error, LK_INVALID,
            "the login is the same for all services of a URL and stands once, before "
            "the first of them: USER:PASSWORD@HOST,HOST; in a password %%40 stands "
            "for @ and %%2C for a comma");
    }
    if (!lk_percent_decode(user, login->user, sizeof login->user)
        || !lk_percent_decode(password, login->password, sizeof login->password)) {
        return lk_error_set(error, LK_INVALID,
                            "user and password have at most %d bytes, %%XX for special ones",
                            LK_SERVICE_LOGIN_BYTES_MAX);
    }
    return LK_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

lk_outcome lk_service_url_parse(struct lk_slice rest, bool is_local,
                                struct lk_service_addresses *ret_addresses,
                                struct lk_service_login *ret_login, struct lk_tls_paths *ret_files,
                                lk_error *error) {
    struct lk_service_addresses addresses = {.count = 1};
    struct lk_service_login login = {.user = ""};
    struct lk_slice options = cut_at(&rest, '?');
    lk_outcome outcome = LK_OK;

    if (rest.size >= 2 && memcmp(rest.bytes, "//", 2) == 0) {
        rest.bytes += is_local ? 1 : 2; /* lk+unix://run/x is the path /run/x */
        rest.size -= is_local ? 1 : 2;
    } else if (!is_local) {
        return lk_error_set(error, LK_INVALID,
                            ret_files != NULL ? "a service is named by lks://HOST:PORT"
                                              : "a service is named by lk://HOST:PORT");
    }
    if (!is_local) {
        if (rest.size > 0 && rest.bytes[rest.size - 1] == '/') {
            rest.size--;
        }
        outcome = cut_login(&rest, &login, error);
    }
    while (outcome == LK_OK && options.size > 0) {
        struct lk_slice others = cut_at(&options, '&');
        outcome = read_option(options, &login, ret_files, error);
        options = others;
    }
    if (outcome == LK_OK) {
        outcome = is_local ? parse_path(rest, &addresses.each[0], error)
                           : parse_list(rest, &addresses, error);
    }
    if (outcome == LK_OK) {
        *ret_addresses = addresses;
        *ret_login = login;
    }
    explicit_bzero(&login, sizeof login);
    return outcome;
}

/* ---- the order in which the services of a URL are tried ---- */

void lk_service_hosts_begin(struct lk_service_hosts *hosts,
                            const struct lk_service_addresses *all) {
    hosts->all = *all;
    hosts->address = all->each[0];
    hosts->next = 1 % all->count;
}

void lk_service_hosts_advance(struct lk_service_hosts *hosts,
                              const struct lk_service_address *failed) {
    size_t count = hosts->all.count;

    if (!lk_service_address_equal(&hosts->address, failed)) {
        return;
    }
    hosts->is_named = false;
    for (size_t i = 0; i < count && (i == 0 || lk_service_address_equal(&hosts->address, failed));
         i++) {
        hosts->address = hosts->all.each[hosts->next];
        hosts->next = (hosts->next + 1) % count;
    }
}

/*
 * `next` stays as it is, behind the service that has named the leader. So when that leader is away,
 * and a service still names it, the others have their turn nevertheless.
 */
void lk_service_hosts_redirect(struct lk_service_hosts *hosts,
                               const struct lk_service_address *leader,
                               const struct lk_service_address *named_by) {
    hosts->address = *leader;
    hosts->named_by = *named_by;
    hosts->is_named = true;
    hosts->generation++;
}
