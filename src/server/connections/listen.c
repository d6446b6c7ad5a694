/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets. */
#include "server/connections/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

enum { BACKLOG = 1024, HOST_BYTES_MAX = 128, PORT_BYTES_MAX = 8 };

static const char unix_scheme[] = "unix:";
static const char inherited_scheme[] = "fd:";

/* The outcome for an error of the system. */
static lk_outcome explain(const char *address, int cause, lk_error *error) {
    lk_outcome outcome = cause == EACCES || cause == EPERM ? LK_DENIED : LK_UNAVAILABLE;

    return lk_error_set(error, outcome, "cannot listen on %s: %s", address, strerror(cause));
}

/* ---- unix ------------------------------------------------------------------------------------ */

/*
 * Whether the file is a socket that no process listens on: left behind by a process that was
 * killed.
 */
static bool is_stale(const struct sockaddr_un *socket_address) {
    struct stat status;
    int descriptor;
    bool is_refused;

    if (lstat(socket_address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        return false;
    }
    descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    is_refused =
        descriptor >= 0
        && connect(descriptor, (const struct sockaddr *)socket_address, sizeof *socket_address) != 0
        && errno == ECONNREFUSED;
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    return is_refused;
}

static lk_outcome open_unix(const char *address, struct lk_listen_socket *ret_listen_socket,
                            lk_error *error) {
    const char *path = address + strlen(unix_scheme);
    struct sockaddr_un socket_address = {.sun_family = AF_UNIX};
    struct lk_listen_socket listen_socket = {.socket = -1};
    int cause;

    if (path[0] == '\0' || strlen(path) >= sizeof socket_address.sun_path) {
        return lk_error_set(error, LK_INVALID, "%s: the path of a socket has 1 to %zu bytes",
                            address, sizeof socket_address.sun_path - 1);
    }
    memcpy(socket_address.sun_path, path, strlen(path) + 1);
    if (is_stale(&socket_address)) {
        (void)unlink(path);
    }
    listen_socket.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    listen_socket.path = strdup(path);
    /* Only its owner may connect: the permissions are set before listening begins. */
    if (listen_socket.socket >= 0 && listen_socket.path != NULL
        && bind(listen_socket.socket, (const struct sockaddr *)&socket_address,
                sizeof socket_address)
               == 0
        && chmod(path, S_IRUSR | S_IWUSR) == 0 && listen(listen_socket.socket, BACKLOG) == 0) {
        *ret_listen_socket = listen_socket;
        return LK_OK;
    }
    cause = errno;
    if (listen_socket.socket >= 0) {
        (void)close(listen_socket.socket);
    }
    free(listen_socket.path);
    return explain(address, cause, error);
}

/* ---- ports ----------------------------------------------------------------------------------- */

struct socket_address {
    struct sockaddr_storage address;
    socklen_t size;
};

static bool is_loopback(const struct socket_address *socket_address) {
    if (socket_address->address.ss_family == AF_INET) {
        struct sockaddr_in of;
        memcpy(&of, &socket_address->address, sizeof of);
        return ntohl(of.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    struct sockaddr_in6 of;
    memcpy(&of, &socket_address->address, sizeof of);
    return IN6_IS_ADDR_LOOPBACK(&of.sin6_addr)
           || (IN6_IS_ADDR_V4MAPPED(&of.sin6_addr) && of.sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}

/* Splits HOST:PORT. `*` and an empty host are every address. */
static bool split(const char *address, char host[HOST_BYTES_MAX], char port[PORT_BYTES_MAX]) {
    const char *colon = strrchr(address, ':');
    size_t size = colon != NULL ? (size_t)(colon - address) : 0;

    if (colon == NULL || size >= HOST_BYTES_MAX || strlen(colon + 1) >= PORT_BYTES_MAX
        || colon[1] == '\0' || strspn(colon + 1, "0123456789") != strlen(colon + 1)
        || strtol(colon + 1, NULL, 10) > UINT16_MAX) {
        return false;
    }
    if (size >= 2 && address[0] == '[' && address[size - 1] == ']') {
        address++;
        size -= 2;
    } else if (memchr(address, ':', size) != NULL) {
        return false;
    }
    memcpy(host, address, size);
    host[size] = '\0';
    memcpy(port, colon + 1, strlen(colon + 1) + 1);
    return true;
}

/* The first address of that name, IPv4 ones before others. */
static bool resolve(const char *host, const char *port, struct socket_address *ret_address_found) {
    bool is_any = host[0] == '\0' || strcmp(host, "*") == 0;
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    const struct addrinfo *best;

    if (getaddrinfo(is_any ? "0.0.0.0" : host, port, &hints, &found) != 0) {
        return false;
    }
    best = found;
    for (const struct addrinfo *each = found; each != NULL; each = each->ai_next) {
        if (each->ai_family == AF_INET) {
            best = each;
            break;
        }
    }
    memcpy(&ret_address_found->address, best->ai_addr, best->ai_addrlen);
    ret_address_found->size = best->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static void write_address(const struct socket_address *socket_address,
                          char ret_address[LK_ADDRESS_BYTES_MAX]) {
    bool is_six = socket_address->address.ss_family == AF_INET6;
    char host[HOST_BYTES_MAX] = "";
    char port[PORT_BYTES_MAX] = "";

    (void)getnameinfo((const struct sockaddr *)&socket_address->address, socket_address->size, host,
                      sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    (void)snprintf(ret_address, LK_ADDRESS_BYTES_MAX, "%s%s%s:%s", is_six ? "[" : "", host,
                   is_six ? "]" : "", port);
}

/*
 * Options of the listening socket, which accepted ones inherit. Small packets are sent at once. A
 * peer that vanished without closing is probed first after half of the time, and is given up when
 * all of it is over: an idle connection by the probes (KEEP*), one with data under way by the user
 * timeout (RFC 5482), without which the kernel retransmits for a quarter of an hour.
 */
static bool set_options(int descriptor, uint32_t keepalive_s) {
    enum { PROBES = 3 };
    static const int yes = 1;
    int idle_s = (int)(keepalive_s / 2);
    int interval_s = (int)(keepalive_s / (2 * PROBES));
    unsigned timeout_ms = keepalive_s * 1000U;
    const struct {
        int level, name;
        const void *value;
        bool is_of_keepalive;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, &yes, false},
        {SOL_SOCKET, SO_KEEPALIVE, &yes, true},
        {IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, true},
        {IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, true},
        {IPPROTO_TCP, TCP_KEEPCNT, &(const int){PROBES}, true},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, true},
    };
    bool is_set = true;

    interval_s = interval_s > 0 ? interval_s : 1;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (!options[i].is_of_keepalive || keepalive_s != LK_TCP_KEEPALIVE_NEVER) {
            is_set = setsockopt(descriptor, options[i].level, options[i].name, options[i].value,
                                sizeof(int))
                         == 0
                     && is_set;
        }
    }
    return is_set;
}

/* What is missing for other machines. */
static lk_outcome refuse_openness(const struct lk_server_options *options, const char *address,
                                  lk_error *error) {
    static const char password[] = "users or a password (--users or --password-file FILE)";
    static const char tls[] = "TLS (--tls-cert FILE --tls-key FILE)";
    bool lacks_both = !lk_server_wants_login(options) && options->tls == NULL;

    return lk_error_set(error, LK_DENIED,
                        "other machines can reach %s: set up %s%s%s, or use --insecure to go "
                        "without",
                        address, !lk_server_wants_login(options) ? password : "",
                        lacks_both ? " and " : "", options->tls == NULL ? tls : "");
}

/* `given`: a socket that listens at this address; -1: one is made. */
static lk_outcome open_port(const struct lk_server_options *options, const char *address, int given,
                            struct lk_listen_socket *ret_listen_socket, lk_error *error) {
    static const int yes = 1;
    char host[HOST_BYTES_MAX];
    char port[PORT_BYTES_MAX];
    struct socket_address socket_address;
    int descriptor;
    int cause;

    if (!split(address, host, port) || !resolve(host, port, &socket_address)) {
        return lk_error_set(error, LK_INVALID,
                            "invalid address %s: expected HOST:PORT or unix:PATH", address);
    }
    if (!is_loopback(&socket_address) && !options->is_insecure
        && (!lk_server_wants_login(options) || options->tls == NULL)) {
        return refuse_openness(options, address, error);
    }
    descriptor = given >= 0 ? given
                            : socket(socket_address.address.ss_family,
                                     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    if (descriptor >= 0 && setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0
        && set_options(descriptor, options->tcp_keepalive_s)
        && (given >= 0
            || (bind(descriptor, (const struct sockaddr *)&socket_address.address,
                     socket_address.size)
                    == 0
                && listen(descriptor, BACKLOG) == 0))) {
        *ret_listen_socket = (struct lk_listen_socket){.socket = descriptor};
        return LK_OK;
    }
    cause = errno;
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    return explain(address, cause, error);
}

/* ---- inherited ------------------------------------------------------------------------------- */

/* Whether it is a stream socket that listens. */
static bool is_listening(int descriptor) {
    int type = 0;
    int listens = 0;
    socklen_t size = sizeof type;

    return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM
           && getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0
           && listens != 0;
}

/* The path of a Unix socket, with @ for the byte 0 that begins an abstract name. */
static char *path_of(const struct socket_address *socket_address) {
    struct sockaddr_un of = {.sun_family = AF_UNIX};
    char path[sizeof of.sun_path + 1] = "";
    size_t size = socket_address->size < sizeof of ? socket_address->size : sizeof of;

    memcpy(&of, &socket_address->address, size);
    memcpy(path, of.sun_path, size - offsetof(struct sockaddr_un, sun_path));
    path[0] = path[0] == '\0' ? '@' : path[0];
    return strdup(path);
}

static lk_outcome open_inherited(const struct lk_server_options *options, int descriptor,
                                 struct lk_listen_socket *ret_listen_socket, lk_error *error) {
    struct socket_address socket_address = {.size = sizeof socket_address.address};
    int family;
    char address[LK_ADDRESS_BYTES_MAX];

    if (getsockname(descriptor, (struct sockaddr *)&socket_address.address, &socket_address.size)
            != 0
        || !is_listening(descriptor) || fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0
        || fcntl(descriptor, F_SETFL, O_NONBLOCK) != 0) {
        return lk_error_set(error, LK_INVALID,
                            "descriptor %d, which was passed to the service, is no stream socket "
                            "that listens (systemd: ListenStream=, Accept=no)",
                            descriptor);
    }
    family = socket_address.address.ss_family;
    *ret_listen_socket = (struct lk_listen_socket){.socket = descriptor, .is_inherited = true};
    if (family == AF_UNIX) {
        ret_listen_socket->path = path_of(&socket_address);
        return ret_listen_socket->path != NULL ? LK_OK
                                               : lk_error_set(error, LK_INTERNAL, "no memory");
    }
    if (family != AF_INET && family != AF_INET6) {
        return lk_error_set(error, LK_INVALID, "descriptor %d is of another network", descriptor);
    }
    write_address(&socket_address, address);
    return open_port(options, address, descriptor, ret_listen_socket, error);
}

/* ---- all of them ----------------------------------------------------------------------------- */

lk_outcome lk_listen_socket_open(const struct lk_server_options *options, const char *address,
                                 struct lk_listen_socket *ret_listen_socket,
                                 char ret_address[LK_ADDRESS_BYTES_MAX], lk_error *error) {
    bool is_unix = strncmp(address, unix_scheme, strlen(unix_scheme)) == 0;
    bool is_inherited = strncmp(address, inherited_scheme, strlen(inherited_scheme)) == 0;
    int given = is_inherited ? (int)strtol(address + strlen(inherited_scheme), NULL, 10) : -1;
    lk_outcome outcome = is_unix        ? open_unix(address, ret_listen_socket, error)
                         : is_inherited ? open_inherited(options, given, ret_listen_socket, error)
                                        : open_port(options, address, -1, ret_listen_socket, error);

    if (outcome == LK_OK && ret_listen_socket->path != NULL) {
        (void)snprintf(ret_address, LK_ADDRESS_BYTES_MAX, "%s%s", unix_scheme,
                       ret_listen_socket->path);
    } else if (outcome == LK_OK) {
        struct socket_address socket_address = {.size = sizeof socket_address.address};
        (void)getsockname(ret_listen_socket->socket, (struct sockaddr *)&socket_address.address,
                          &socket_address.size);
        write_address(&socket_address, ret_address);
    }
    return outcome;
}

void lk_listen_socket_name_peer(const struct lk_listen_socket *listen_socket, int socket,
                                char ret_address[LK_ADDRESS_BYTES_MAX]) {
    struct socket_address socket_address = {.size = sizeof socket_address.address};

    if (listen_socket->path != NULL) {
        (void)snprintf(ret_address, LK_ADDRESS_BYTES_MAX, "%s%s", unix_scheme, listen_socket->path);
    } else {
        if (getpeername(socket, (struct sockaddr *)&socket_address.address, &socket_address.size)
            == 0) {
            write_address(&socket_address, ret_address);
        } else { /* it has reset the connection */
            (void)snprintf(ret_address, LK_ADDRESS_BYTES_MAX, "gone");
        }
    }
}

void lk_listen_socket_close(struct lk_listen_socket *listen_socket) {
    if (listen_socket->socket >= 0) {
        (void)close(listen_socket->socket);
        listen_socket->socket = -1;
    }
    if (listen_socket->path != NULL) {
        if (!listen_socket->is_inherited) {
            (void)unlink(listen_socket->path);
        }
        free(listen_socket->path);
        listen_socket->path = NULL;
    }
}

int lk_listen_socket_accept(const struct lk_listen_socket *listen_socket, bool *ret_is_exhausted) {
    int peer = accept4(listen_socket->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    *ret_is_exhausted =
        peer < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
    return peer;
}

void lk_listen_socket_forget(int socket) {
    static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    (void)setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* ---- URLs ------------------------------------------------------------------------------------ */

void lk_listen_url_write(const char *address, bool is_http, bool has_tls, char *ret_url,
                         size_t url_bytes) {
    bool is_unix = strncmp(address, "unix:", 5) == 0;
    bool is_encrypted = has_tls && !is_unix;
    const char *scheme = is_encrypted ? "lks://" : is_unix ? "lk+" : "lk://";

    if (is_http) {
        scheme = is_encrypted ? "https://" : "http://";
    }
    (void)snprintf(ret_url, url_bytes, "%s%s", scheme, address);
}
