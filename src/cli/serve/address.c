/* SPDX-License-Identifier: Apache-2.0 */
/* Loopback or not; and directories that only their owner reads. */
#include "cli/serve/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text.h"

enum { HOST_BYTES = 256, DIRECTORY_BYTES = 4096 };

/* ---- addresses ------------------------------------------------------------------------------- */

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
        return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)address;
        return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
    }
    return false;
}

/* `HOST:PORT`, an IPv6 address in brackets. */
static bool split(const char *address, char ret_host[HOST_BYTES], const char **ret_port) {
    const char *colon = strrchr(address, ':');
    const char *host = address;
    size_t size;

    if (colon == NULL || colon == address || colon[1] == '\0') {
        return false;
    }
    size = (size_t)(colon - address);
    if (host[0] == '[' && host[size - 1] == ']') {
        host++;
        size -= 2;
    } else if (memchr(host, ':', size) != NULL) {
        return false;
    }
    if (size == 0 || size >= HOST_BYTES) {
        return false;
    }
    memcpy(ret_host, host, size);
    ret_host[size] = '\0';
    *ret_port = colon + 1;
    return true;
}

lk_outcome lk_serve_address_check(const char *address, lk_error *error) {
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    char host[HOST_BYTES];
    const char *port;
    bool is_local = true;
    int status;

    if (!split(address, host, &port)) {
        return lk_error_set(error, LK_INVALID,
                            "%.200s: an address is written HOST:PORT, or "
                            "[IPv6]:PORT",
                            address);
    }
    status = getaddrinfo(host, port, &wanted, &found);
    if (status != 0) {
        return lk_error_set(error, LK_INVALID, "%.200s: %s", address, gai_strerror(status));
    }
    for (const struct addrinfo *each = found; each != NULL; each = each->ai_next) {
        is_local = is_local && is_loopback(each->ai_addr);
    }
    freeaddrinfo(found);
    return is_local ? LK_OK
                    : lk_error_set(error, LK_DENIED,
                                   "%.200s can be reached from other machines, and this service "
                                   "asks nobody for a password; --insecure if that is meant",
                                   address);
}

/* ---- directories ----------------------------------------------------------------------------- */

static bool write_default(char ret_directory[DIRECTORY_BYTES]) {
    const char *state = secure_getenv("XDG_STATE_HOME");
    const char *home = secure_getenv("HOME");
    struct lk_text text = lk_text_in(ret_directory, DIRECTORY_BYTES);

    if (state != NULL && state[0] == '/') {
        lk_text_format(&text, "%s/lockkeeper/service", state);
    } else if (home != NULL && home[0] == '/') {
        lk_text_format(&text, "%s/.local/state/lockkeeper/service", home);
    } else {
        return false;
    }
    return !text.is_cut;
}

/* Each of them that is not there, from the top down. Returns an errno, or 0. */
static int make_all(char *directory) {
    for (char *slash = directory; slash != NULL;) {
        slash = strchr(slash + 1, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        if (mkdir(directory, S_IRWXU) != 0 && errno != EEXIST
            && (slash == NULL || errno != EROFS)) {
            return errno;
        }
        if (slash != NULL) {
            *slash = '/';
        }
    }
    return 0;
}

lk_outcome lk_serve_directory_make(const char *directory, char **ret_directory, lk_error *error) {
    char path[DIRECTORY_BYTES];
    struct stat status;
    int problem;

    if (directory == NULL && !write_default(path)) {
        return lk_error_set(error, LK_INVALID,
                            "neither $XDG_STATE_HOME nor $HOME says where to "
                            "keep the service's file: --dir DIR, or --ephemeral");
    }
    if (directory != NULL) {
        struct lk_text text = lk_text_in(path, sizeof path);
        lk_text_format(&text, "%s", directory);
        if (directory[0] == '\0' || text.is_cut) {
            return lk_error_set(error, LK_INVALID, "--dir: a path of 1 to %d bytes",
                                DIRECTORY_BYTES - 1);
        }
    }
    problem = make_all(path);
    if (problem == 0 && (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))) {
        problem = ENOTDIR;
    }
    if (problem != 0) {
        return lk_error_set(error,
                            problem == EACCES || problem == EPERM ? LK_DENIED : LK_UNAVAILABLE,
                            "%.256s: %s", path, strerror(problem));
    }
    *ret_directory = lk_text_copy(lk_slice_of(path));
    return *ret_directory != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}
