/* SPDX-License-Identifier: Apache-2.0 */
/* The URL of a store in etcd. */
#include "server/store/etcd/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/setting.h"
#include "base/text.h"

#define HOSTS "etcd://HOST[:PORT][,HOST[:PORT]...][/PREFIX]"

static const char default_port[] = "2379";
static const char default_prefix[] = "lockkeeper/";

/* What is before the first byte of `ends`, which is removed from *text; *ret_end: that byte, or 0.
 */
static struct lk_slice cut(struct lk_slice *text, const char *ends, char *ret_end) {
    struct lk_slice head = {text->bytes, 0};

    while (head.size < text->size && strchr(ends, text->bytes[head.size]) == NULL) {
        head.size++;
    }
    *ret_end = head.size < text->size ? text->bytes[head.size] : '\0';
    text->bytes += head.size + (*ret_end != '\0');
    text->size -= head.size + (*ret_end != '\0');
    return head;
}

static lk_outcome explain_memory(lk_error *error) {
    return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

static bool is_host(struct lk_slice host) {
    bool is_bracketed = host.size > 2 && host.bytes[0] == '[' && host.bytes[host.size - 1] == ']';

    for (size_t i = 0; i < host.size; i++) {
        char byte = host.bytes[i];
        bool is_plain = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z')
                        || (byte >= 'A' && byte <= 'Z') || byte == '.' || byte == '-'
                        || byte == '_';

        if (!is_plain && !(is_bracketed && strchr("[:]%", byte) != NULL)) {
            return false;
        }
    }
    return host.size > 0 && host.size <= 255;
}

static bool is_port(struct lk_slice port) {
    for (size_t i = 0; i < port.size; i++) {
        if (port.bytes[i] < '0' || port.bytes[i] > '9') {
            return false;
        }
    }
    return port.size >= 1 && port.size <= 5;
}

static bool set_endpoint(struct lk_etcd_endpoint *endpoint, struct lk_slice host,
                         struct lk_slice port) {
    size_t size = host.size + port.size + 2;
    bool is_bracketed = host.bytes[0] == '[';

    endpoint->text = malloc(size);
    endpoint->host = strndup(host.bytes + is_bracketed, host.size - 2 * (size_t)is_bracketed);
    endpoint->port = strndup(port.bytes, port.size);
    if (endpoint->text == NULL || endpoint->host == NULL || endpoint->port == NULL) {
        return false;
    }
    (void)snprintf(endpoint->text, size, "%.*s:%s", (int)host.size, host.bytes, endpoint->port);
    return true;
}

static lk_outcome add_endpoint(struct lk_etcd_url *url, struct lk_slice place, lk_error *error) {
    struct lk_slice host = place;
    struct lk_slice port = lk_slice_of(default_port);

    for (size_t i = place.size; i > 0 && place.bytes[i - 1] != ']'; i--) {
        if (place.bytes[i - 1] == ':') {
            host.size = i - 1;
            port = (struct lk_slice){place.bytes + i, place.size - i};
            break;
        }
    }
    if (!is_host(host) || !is_port(port)) {
        return lk_error_set(error, LK_INVALID, "--store: the hosts of etcd are named as in " HOSTS);
    }
    if (url->endpoint_count == LK_ETCD_ENDPOINTS_MAX) {
        return lk_error_set(error, LK_INVALID, "--store: name %d hosts of etcd at most",
                            LK_ETCD_ENDPOINTS_MAX);
    }
    return set_endpoint(&url->endpoints[url->endpoint_count++], host, port) ? LK_OK
                                                                            : explain_memory(error);
}

/* USER:PASSWORD, each encoded as in URLs. */
static lk_outcome set_user(struct lk_etcd_url *url, struct lk_slice text, lk_error *error) {
    char end;
    struct lk_slice user = cut(&text, ":", &end);

    url->user = lk_url_decode(user);
    url->password = lk_url_decode(text);
    return url->user != NULL && url->user[0] != '\0' && url->password != NULL
               ? LK_OK
               : lk_error_set(error, LK_INVALID,
                              "--store: a user of etcd is named as etcd://USER:PASSWORD@HOST, "
                              "with %%XX for special characters");
}

static lk_outcome set_prefix(struct lk_etcd_url *url, struct lk_slice path, lk_error *error) {
    size_t size;

    while (path.size > 0 && path.bytes[path.size - 1] == '/') {
        path.size--;
    }
    if (path.size == 0) {
        url->prefix = strdup(default_prefix);
        return url->prefix != NULL ? LK_OK : explain_memory(error);
    }
    if (path.size > LK_ETCD_PREFIX_BYTES_MAX || memchr(path.bytes, '%', path.size) != NULL) {
        return lk_error_set(error, LK_INVALID,
                            "--store: the prefix of the keys in etcd has %d bytes at most, and "
                            "no %%",
                            LK_ETCD_PREFIX_BYTES_MAX);
    }
    size = path.size;
    url->prefix = malloc(size + 2);
    if (url->prefix == NULL) {
        return explain_memory(error);
    }
    memcpy(url->prefix, path.bytes, size);
    memcpy(url->prefix + size, "/", 2);
    return LK_OK;
}

static lk_outcome set_options(struct lk_etcd_url *url, struct lk_slice options, lk_error *error) {
    while (options.size > 0) {
        struct lk_url_option option = lk_url_option_next(&options);
        char **target = lk_url_option_is(&option, "ca")     ? &url->ca
                        : lk_url_option_is(&option, "cert") ? &url->certificate
                        : lk_url_option_is(&option, "key")  ? &url->key
                                                            : NULL;

        if (target == NULL || !url->has_tls) {
            return lk_error_set(error, LK_INVALID,
                                "--store: the options of etcds:// are ca=FILE, cert=FILE and "
                                "key=FILE; etcd:// has none");
        }
        free(*target);
        *target = lk_url_decode(option.value);
        if (*target == NULL) {
            return lk_error_set(error, LK_INVALID, "--store: an option's value is no text");
        }
    }
    return LK_OK;
}

/* Splits what is behind the scheme. The last @ ends the user: a host has none. */
static lk_outcome parse(struct lk_slice rest, struct lk_etcd_url *url, lk_error *error) {
    char end = ',';
    struct lk_slice path = {"", 0};
    struct lk_slice authority = cut(&rest, "/?", &end);
    lk_outcome outcome = LK_OK;

    if (end == '/') {
        path = cut(&rest, "?", &end);
    }
    for (size_t i = authority.size; i > 0; i--) {
        if (authority.bytes[i - 1] == '@') {
            outcome = set_user(url, (struct lk_slice){authority.bytes, i - 1}, error);
            authority = (struct lk_slice){authority.bytes + i, authority.size - i};
            break;
        }
    }
    for (end = ','; outcome == LK_OK && end == ',';) {
        struct lk_slice place = cut(&authority, ",", &end);

        outcome = add_endpoint(url, place, error);
    }
    if (outcome == LK_OK) {
        outcome = set_prefix(url, path, error);
    }
    return outcome == LK_OK ? set_options(url, rest, error) : outcome;
}

lk_outcome lk_etcd_url_parse(const char *text, struct lk_etcd_url *ret_url, lk_error *error) {
    struct lk_etcd_url url = {.has_tls = strncmp(text, "etcds:", strlen("etcds:")) == 0};
    const char *place = strstr(text, "://");
    lk_outcome outcome;

    if (place == NULL) {
        return lk_error_set(error, LK_INVALID, "--store: etcd is named as " HOSTS);
    }
    outcome = parse(lk_slice_of(place + strlen("://")), &url, error);
    if (outcome != LK_OK) {
        lk_etcd_url_done(&url);
        return outcome;
    }
    *ret_url = url;
    return LK_OK;
}

void lk_etcd_url_done(struct lk_etcd_url *url) {
    for (size_t i = 0; i < url->endpoint_count; i++) {
        free(url->endpoints[i].host);
        free(url->endpoints[i].port);
        free(url->endpoints[i].text);
    }
    free(url->prefix);
    free(url->user);
    free(url->password);
    free(url->ca);
    free(url->certificate);
    free(url->key);
}
