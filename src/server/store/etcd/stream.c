/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes over a socket, with TLS or without. */
#include "server/store/etcd/stream.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/setting.h"
#include "base/socket.h"
#include "base/text.h"
#include "tls/client.h"

/* ---- where etcd is --------------------------------------------------------------------------- */

/* The URL of a store in etcd. */

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

static void say(char why[LK_ETCD_WHY_BYTES], const char *text) {
    (void)snprintf(why, LK_ETCD_WHY_BYTES, "%s", text);
}

static bool await(const struct lk_etcd_stream *stream, short events, int64_t until_us) {
    return lk_socket_await(stream->descriptor, events, until_us, NULL) == 0;
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static const char wants_certificate[] =
    "it wants a certificate of an authority that it knows: name one by ?cert=FILE&key=FILE";

static void explain_tls(const struct lk_tls_session *tls, char why[LK_ETCD_WHY_BYTES]) {
    static const char *const texts[] = {
        [LK_TLS_EXPIRED] = "its certificate has expired",
        [LK_TLS_NOT_YET_VALID] = "its certificate is not valid yet; is this machine's clock right?",
        [LK_TLS_WRONG_NAME] = "its certificate is for another name",
        [LK_TLS_UNKNOWN_AUTHORITY] =
            "its certificate is of an authority that is not known here; name it by ?ca=FILE",
        [LK_TLS_NO_TLS] = "there is no TLS at this port: use etcd:// in place of etcds://",
        [LK_TLS_NEEDS_CERTIFICATE] = wants_certificate,
        [LK_TLS_CERTIFICATE_REFUSED] = wants_certificate,
        [LK_TLS_VERSION] = "it has neither TLS 1.2 nor TLS 1.3",
    };
    enum lk_tls_problem problem = lk_tls_session_problem(tls);

    if (problem != LK_TLS_OTHER) {
        say(why, texts[problem]);
    } else {
        (void)snprintf(why, LK_ETCD_WHY_BYTES, "TLS has failed: %s", lk_tls_session_reason(tls));
    }
}

static bool begin_tls(struct lk_etcd_stream *stream, const char *host, struct lk_tls_context *tls,
                      int64_t until_us, char why[LK_ETCD_WHY_BYTES]) {
    static const unsigned char protocols[] = "\x02h2";
    bool is_in_time = true;

    stream->tls = lk_tls_session_connect(tls, stream->descriptor, host);
    if (stream->tls == NULL
        || !lk_tls_session_offer(stream->tls, protocols, sizeof protocols - 1)) {
        say(why, "no memory for TLS");
        return false;
    }
    while (is_in_time) {
        switch (lk_tls_session_handshake(stream->tls)) {
        case LK_TLS_DONE:
            return true;
        case LK_TLS_WANTS_READ:
            is_in_time = await(stream, POLLIN, until_us);
            break;
        case LK_TLS_WANTS_WRITE:
            is_in_time = await(stream, POLLOUT, until_us);
            break;
        case LK_TLS_CLOSED:
        case LK_TLS_FAILED:
            explain_tls(stream->tls, why);
            return false;
        }
    }
    say(why, "connected, but there is no answer to TLS");
    return false;
}

bool lk_etcd_stream_open(struct lk_etcd_stream *stream, const struct lk_etcd_endpoint *endpoint,
                         struct lk_tls_context *tls, int64_t until_us,
                         char why[LK_ETCD_WHY_BYTES]) {
    const char *reason;

    *stream = (struct lk_etcd_stream){.descriptor = -1};
    if (lk_socket_dial(endpoint->host, endpoint->port, until_us, NULL, &stream->descriptor, &reason)
        != 0) {
        say(why, reason);
        return false;
    }
    if (tls == NULL || begin_tls(stream, endpoint->host, tls, until_us, why)) {
        return true;
    }
    lk_etcd_stream_close(stream);
    return false;
}

void lk_etcd_stream_close(struct lk_etcd_stream *stream) {
    lk_tls_session_free(stream->tls);
    stream->tls = NULL;
    if (stream->descriptor >= 0) {
        (void)close(stream->descriptor);
        stream->descriptor = -1;
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

enum { OVER = -1, WAITS = 0 };

/* The result of a call of the socket: bytes, WAITS, or OVER. */
static ssize_t take_count(const struct lk_etcd_stream *stream, ssize_t count,
                          char why[LK_ETCD_WHY_BYTES]) {
    if (count > 0) {
        return count;
    }
    if (count < 0 && errno == EAGAIN) {
        return WAITS;
    }
    if (count == 0) {
        say(why, "it has closed the connection");
    } else if (stream->tls != NULL) {
        explain_tls(stream->tls, why);
    } else {
        say(why, strerror(errno));
    }
    return OVER;
}

bool lk_etcd_stream_send(struct lk_etcd_stream *stream, struct lk_slice bytes, int64_t until_us,
                         char why[LK_ETCD_WHY_BYTES]) {
    while (bytes.size > 0) {
        short events;
        ssize_t count = take_count(
            stream, lk_tls_client_send(stream->tls, stream->descriptor, bytes, &events), why);

        if (count == OVER) {
            return false;
        }
        if (count == WAITS && !await(stream, events, until_us)) {
            say(why, "it takes no more bytes");
            return false;
        }
        bytes.bytes += count;
        bytes.size -= (size_t)count;
    }
    return true;
}

ssize_t lk_etcd_stream_receive(struct lk_etcd_stream *stream, void *room, size_t size,
                               int64_t until_us, char why[LK_ETCD_WHY_BYTES]) {
    for (;;) {
        short events;
        ssize_t count = take_count(
            stream, lk_tls_client_receive(stream->tls, stream->descriptor, room, size, &events),
            why);

        if (count != WAITS) {
            return count;
        }
        if (lk_clock_now_us() >= until_us || !await(stream, events, until_us)) {
            return 0;
        }
    }
}
