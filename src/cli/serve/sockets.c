/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the variables of sd_listen_fds(3), without libsystemd: it is three texts. */
#include "cli/serve/sockets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum { FIRST_DESCRIPTOR = 3 };

/* A listener: the name of its socket, its option, and its address among those of the server. */
struct socket_kind {
    const char *name;
    const char *option;
    enum lk_option_id id;
    const char **address;
};

/* The number in a variable; -1: it is none, or the variable is not there. */
static long number_in(const char *variable) {
    const char *text = getenv(variable);
    char *end = NULL;
    long number = text != NULL && text[0] != '\0' ? strtol(text, &end, 10) : -1;

    return end != NULL && *end == '\0' ? number : -1;
}

/* The listener whose socket has this name; NULL: none. */
static struct socket_kind *find(struct socket_kind *kinds, const char *name, size_t size) {
    for (size_t i = 0; i < LK_SERVE_SOCKETS_MAX; i++) {
        if (strlen(kinds[i].name) == size && memcmp(kinds[i].name, name, size) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static lk_outcome take(struct lk_serve_options *options, struct socket_kind *kinds, long count,
                       const char *names, lk_error *error) {
    for (long i = 0; i < count; i++) {
        size_t size = strcspn(names, ":");
        struct socket_kind *kind = find(kinds, names, size);
        char *address;

        if (kind == NULL) {
            return lk_error_set(error, LK_INVALID,
                                "LISTEN_FDNAMES: \"%.*s\": the names of sockets are resp, unix "
                                "and http (systemd: FileDescriptorName=)",
                                (int)(size < 64 ? size : 64), names);
        }
        address = options->socket_addresses[kind - kinds];
        if (address[0] != '\0') {
            return lk_error_set(error, LK_INVALID, "LISTEN_FDNAMES: %s is there twice", kind->name);
        }
        (void)snprintf(address, LK_SERVE_SOCKET_BYTES, "fd:%ld", FIRST_DESCRIPTOR + i);
        names += size + (names[size] == ':');
    }
    return LK_OK;
}

static lk_outcome use(const struct lk_command_line *line, struct lk_serve_options *options,
                      struct socket_kind *kinds, lk_error *error) {
    for (size_t i = 0; i < LK_SERVE_SOCKETS_MAX; i++) {
        bool is_given = options->socket_addresses[i][0] != '\0';
        bool is_named = lk_command_line_has(line, kinds[i].id);

        if (is_given && is_named) {
            return lk_error_set(error, LK_INVALID,
                                "%s: a socket of the name %s was passed to the service; leave out "
                                "one of the two",
                                kinds[i].option, kinds[i].name);
        }
        if (is_given) {
            *kinds[i].address = options->socket_addresses[i];
        } else if (!is_named) {
            *kinds[i].address = NULL;
        }
    }
    return LK_OK;
}

lk_outcome lk_serve_sockets_take(const struct lk_command_line *line,
                                 struct lk_serve_options *options, lk_error *error) {
    struct socket_kind kinds[LK_SERVE_SOCKETS_MAX] = {
        {"resp", "--listen", LK_OPTION_LISTEN, &options->server.resp_listen},
        {"unix", "--unix", LK_OPTION_UNIX, &options->server.unix_listen},
        {"http", "--http", LK_OPTION_HTTP, &options->server.http_listen},
    };
    bool is_for_this = number_in("LISTEN_PID") == (long)getpid();
    long count = is_for_this ? number_in("LISTEN_FDS") : 0;
    const char *names = getenv("LISTEN_FDNAMES");
    lk_outcome outcome = LK_OK;

    if (count < 0) {
        return lk_error_set(error, LK_INVALID, "LISTEN_FDS is no number");
    }
    if (count > 0) {
        outcome = take(options, kinds, count, names != NULL ? names : "", error);
        if (outcome == LK_OK) {
            outcome = use(line, options, kinds, error);
        }
    }
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    return outcome;
}
