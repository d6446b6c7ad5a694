/* SPDX-License-Identifier: Apache-2.0 */
/* From the options of lk serve to those of the server. */
#include "cli/serve/options.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/parse/value.h"

/* ---- bounds ---------------------------------------------------------------------------------- */

/* lk serve --bound NAME=N: those of R22, and those of the listeners. */

struct bound {
    const char *name;
    size_t at;     /* in struct lk_server_options */
    bool is_small; /* a uint32_t, else a uint64_t */
};

static const struct bound bounds[] = {
    {"buffer-bytes", offsetof(struct lk_server_options, buffer_bytes_max), false},
    {"connections", offsetof(struct lk_server_options, connections_max), true},
    {"event-bytes", offsetof(struct lk_server_options, event_bytes_max), false},
    {"live", offsetof(struct lk_server_options, quotas.live_max), false},
    {"live-per-owner", offsetof(struct lk_server_options, quotas.live_per_owner_max), false},
    {"live-per-root", offsetof(struct lk_server_options, quotas.live_per_root_max), false},
    {"request-seconds", offsetof(struct lk_server_options, request_seconds_max), true},
    {"strangers", offsetof(struct lk_server_options, strangers_max), true},
    {"value-bytes", offsetof(struct lk_server_options, value_bytes_max), false},
    {"waiters-per-path", offsetof(struct lk_server_options, quotas.waiters_per_path_max), false},
};

enum { BOUND_COUNT = sizeof bounds / sizeof bounds[0], NAMES_BYTES = 160 };

static lk_outcome refuse(const char *text, lk_error *error) {
    char names_bytes[NAMES_BYTES];
    struct lk_text names = lk_text_in(names_bytes, sizeof names_bytes);

    for (size_t i = 0; i < BOUND_COUNT; i++) {
        lk_text_format(&names, "%s%s", i > 0 ? ", " : "", bounds[i].name);
    }
    return lk_error_set(error, LK_INVALID, "--bound %.64s: NAME=N, where NAME is one of %s", text,
                        names_bytes);
}

/* Sets one bound of the options. LK_OK; LK_INVALID: no such name, or no number; says which. */
static lk_outcome set_bound(struct lk_server_options *options, const char *text, lk_error *error) {
    size_t name_size = strcspn(text, "=");
    const struct bound *bound = NULL;
    int64_t number;
    lk_outcome outcome;

    for (size_t i = 0; i < BOUND_COUNT; i++) {
        if (strlen(bounds[i].name) == name_size && memcmp(bounds[i].name, text, name_size) == 0) {
            bound = &bounds[i];
        }
    }
    if (bound == NULL || text[name_size] != '=') {
        return refuse(text, error);
    }
    outcome = lk_number_parse(text + name_size + 1, 1, bound->is_small ? UINT32_MAX : INT64_MAX,
                              &number, error);
    if (outcome == LK_OK && bound->is_small) {
        *(uint32_t *)((char *)options + bound->at) = (uint32_t)number;
    } else if (outcome == LK_OK) {
        *(uint64_t *)((char *)options + bound->at) = (uint64_t)number;
    }
    return outcome;
}

/* ---- options --------------------------------------------------------------------------------- */

#define RESP_DEFAULT "127.0.0.1:7420"
#define HTTP_DEFAULT "127.0.0.1:7421"

/* An address as given, `otherwise` if not; NULL for `none`. */
static const char *address_of(const struct lk_command_line *line, enum lk_option_id id,
                              const char *otherwise) {
    const char *address = lk_command_line_text(line, id);

    if (address == NULL) {
        return otherwise;
    }
    return strcmp(address, "none") == 0 ? NULL : address;
}

/* Whole seconds; the fraction that is cut off does not matter. */
static lk_outcome set_keepalive(const struct lk_command_line *line,
                                struct lk_server_options *options, lk_error *error) {
    int64_t keepalive_ms = lk_command_line_number(line, LK_OPTION_TCP_KEEPALIVE,
                                                  INT64_C(1000) * LK_TCP_KEEPALIVE_DEFAULT_S);

    if (keepalive_ms != 0 && keepalive_ms < INT64_C(1000) * LK_TCP_KEEPALIVE_MIN_S) {
        return lk_error_set(error, LK_INVALID, "--tcp-keepalive is 0, or %ds at least",
                            LK_TCP_KEEPALIVE_MIN_S);
    }
    options->tcp_keepalive_s =
        keepalive_ms == 0 ? LK_TCP_KEEPALIVE_NEVER : (uint32_t)(keepalive_ms / 1000);
    return LK_OK;
}

static lk_outcome add_host(struct lk_serve_options *options, const char *name, lk_error *error) {
    if (name[0] == '\0' || strpbrk(name, "/@ \t") != NULL) {
        return lk_error_set(error, LK_INVALID, "--allow-host %.64s: NAME, or NAME:PORT", name);
    }
    if (options->server.host_count == LK_SERVE_HOSTS_MAX) {
        return lk_error_set(error, LK_INVALID, "--allow-host: %d names at most",
                            LK_SERVE_HOSTS_MAX);
    }
    options->hosts[options->server.host_count++] = name;
    options->server.hosts = options->hosts;
    return LK_OK;
}

/* ---- a store that several services share ----------------------------------------------------- */

/* No part of the URL is shown: it may have a password. */
static lk_outcome set_store(struct lk_server_options *options, const char *url, lk_error *error) {
    if (!lk_shared_is_url(url)) {
        return lk_error_set(error, LK_INVALID,
                            "--store: services share a PostgreSQL or MySQL database, "
                            "postgresql://HOST/DATABASE or mysql://HOST/DATABASE, or an etcd "
                            "cluster: etcd://HOST,HOST,HOST");
    }
    options->store_url = url;
    return LK_OK;
}

/* HOST:PORT as clients can use it: a name, an IPv4 address, or an IPv6 address in brackets. */
static lk_outcome set_advertised(struct lk_server_options *options, const char *address,
                                 lk_error *error) {
    const char *colon = strrchr(address, ':');
    size_t host_size = colon != NULL ? (size_t)(colon - address) : 0;
    bool is_bracketed = host_size > 2 && address[0] == '[' && colon[-1] == ']';
    int64_t port = 0;

    if (host_size == 0 || host_size > LK_SERVE_HOST_BYTES_MAX
        || (!is_bracketed && memchr(address, ':', host_size) != NULL)
        || strpbrk(address, "/@?# \t") != NULL
        || lk_number_parse(colon + 1, 1, UINT16_MAX, &port, error) != LK_OK) {
        return lk_error_set(error, LK_INVALID,
                            "--advertise %.64s: HOST:PORT, as clients reach this service", address);
    }
    options->advertised = address;
    return LK_OK;
}

static lk_outcome set_shared(const struct lk_command_line *line, struct lk_server_options *options,
                             lk_error *error) {
    const char *url = lk_command_line_text(line, LK_OPTION_STORE);
    const char *address = lk_command_line_text(line, LK_OPTION_ADVERTISE);
    lk_outcome outcome = url != NULL ? set_store(options, url, error) : LK_OK;

    if (outcome == LK_OK && address != NULL) {
        outcome = set_advertised(options, address, error);
    }
    options->failover_us = 1000 * lk_command_line_number(line, LK_OPTION_FAILOVER, 0);
    return outcome;
}

lk_outcome lk_serve_options_check(const struct lk_command_line *line,
                                  const struct lk_server_options *options, lk_error *error) {
    const char *listen = options->resp_listen;

    if (options->has_grab && options->http_listen == NULL) {
        return lk_error_set(error, LK_INVALID, "--grab is served over HTTP: name --http");
    }
    if (options->store_url == NULL) {
        return lk_command_line_has(line, LK_OPTION_FAILOVER) || options->advertised != NULL
                   ? lk_error_set(error, LK_INVALID,
                                  "--failover and --advertise are for services that share a "
                                  "database: name it by --store URL")
                   : LK_OK;
    }
    if (listen == NULL || strncmp(listen, "unix:", strlen("unix:")) == 0) {
        return lk_error_set(error, LK_INVALID,
                            "--store: the services send clients to the one that leads: name an "
                            "address by --listen ADDR:PORT");
    }
    return options->advertised == NULL && lk_shared_is_any_address(listen)
               ? lk_error_set(error, LK_INVALID,
                              "--store: the other services cannot send clients to %.64s: name this "
                              "one by --advertise HOST:PORT",
                              listen)
               : LK_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

lk_outcome lk_serve_options_fill(const struct lk_command_line *line,
                                 struct lk_serve_options *options, lk_error *error) {
    struct lk_server_options *server = &options->server;
    const char *path = lk_command_line_text(line, LK_OPTION_UNIX);
    lk_outcome outcome = set_keepalive(line, server, error);

    if (outcome == LK_OK) {
        outcome = set_shared(line, server, error);
    }

    /* A socket in the file system replaces both ports, unless they are named as well: a socket that
     * only this user may open is no use beside a port that is open to all users. */
    server->resp_listen = address_of(line, LK_OPTION_LISTEN, path != NULL ? NULL : RESP_DEFAULT);
    if (path != NULL) {
        (void)snprintf(options->unix_address, sizeof options->unix_address, "unix:%s",
                       path); /* what is cut is refused */
        server->unix_listen = options->unix_address;
    }
    server->http_listen = address_of(line, LK_OPTION_HTTP, path != NULL ? NULL : HTTP_DEFAULT);
    server->is_ephemeral = lk_command_line_has(line, LK_OPTION_EPHEMERAL);
    server->log = (struct lk_log_options){
        .level =
            (enum lk_log_level)lk_command_line_number(line, LK_OPTION_LOG_LEVEL, LK_LOG_WARNING),
        .is_json = lk_command_line_number(line, LK_OPTION_LOG_FORMAT, 0) == 1};
    server->slow_us = 1000 * lk_command_line_number(line, LK_OPTION_SLOW_LOG, 0);
    server->is_insecure = lk_command_line_has(line, LK_OPTION_INSECURE);
    server->has_grab = lk_command_line_has(line, LK_OPTION_GRAB);
    for (size_t i = 0; outcome == LK_OK && i < line->listed_count; i++) {
        outcome = line->listed_ids[i] == LK_OPTION_BOUND
                      ? set_bound(server, line->listed[i], error)
                      : add_host(options, line->listed[i], error);
    }
    if (outcome == LK_OK && server->resp_listen == NULL && path == NULL
        && server->http_listen == NULL) {
        outcome = lk_error_set(error, LK_INVALID, "no listener: name --listen, --unix or --http");
    }
    return outcome;
}
