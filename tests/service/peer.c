/* SPDX-License-Identifier: Apache-2.0 */
/* The scripted service: every connection is served by one thread, in turns. */
#include "peer.h"

#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
/* cmocka.h needs the headers above it. */
#include <cmocka.h>

#include "../stretch.h"
#include "wire/resp.h"

enum { CONNECTIONS_MAX = 16, INPUT_BYTES = 16 * 1024, BOUND_MS = 20000 };

const char peer_hello_3[] = "%2\r\n$6\r\nserver\r\n$10\r\nlockkeeper\r\n$5\r\nproto\r\n:3\r\n";
const char peer_hello_2[] = "-NOPROTO unsupported protocol version\r\n";

struct connection {
    int descriptor;
    const struct step *late; /* to be answered when the client has hung up; NULL: none */
    size_t size;
    char input[INPUT_BYTES];
};

int peer_stretch(void) {
    return test_stretch();
}

static void join(const struct lk_resp_request *request, char *ret_text) {
    size_t size = 0;

    ret_text[0] = '\0';
    for (size_t i = 0; i < request->argument_count && size < PEER_COMMAND_BYTES; i++) {
        size +=
            (size_t)snprintf(ret_text + size, PEER_COMMAND_BYTES - size, "%s%.*s", i > 0 ? " " : "",
                             (int)request->arguments[i].size, request->arguments[i].bytes);
    }
}

static void say(int descriptor, const char *bytes, size_t size) {
    /* A client that has gone meanwhile is none of ours. */
    (void)send(descriptor, bytes, size, MSG_NOSIGNAL);
}

/* Returns whether the connection stays. Called with the mutex held. */
static bool answer(struct peer *peer, struct connection *connection, const char *command) {
    const struct step *step = &peer->steps[peer->step];
    int descriptor = connection->descriptor;
    size_t size;

    if (strncmp(command, "HELLO", 5) == 0) {
        say(descriptor, peer->hello, strlen(peer->hello));
        return true;
    }
    if (peer->step == peer->step_count
        || (step->expects != NULL && strcmp(step->expects, command) != 0)) {
        if (peer->complaint[0] == '\0') {
            (void)snprintf(peer->complaint, sizeof peer->complaint,
                           "command %zu is\n  %s\nand should be\n  %s", peer->step, command,
                           peer->step == peer->step_count ? "(none)" : step->expects);
        }
        return false;
    }
    peer->step++;
    if (step->is_late) {
        connection->late = step;
    }
    if (step->is_silent || step->is_late) {
        return true;
    }
    size = step->size != 0 ? step->size : strlen(step->replies);
    say(descriptor, step->replies, step->cut_at == PEER_WHOLE ? size : (size_t)step->cut_at);
    return step->cut_at == PEER_WHOLE;
}

/* The client has hung up. */
static void answer_late(struct peer *peer, const struct connection *connection) {
    const char *reply = connection->late->replies;

    pthread_mutex_lock(&peer->mutex);
    if (send(connection->descriptor, reply, strlen(reply), MSG_NOSIGNAL) < 0
        && peer->complaint[0] == '\0') {
        (void)snprintf(peer->complaint, sizeof peer->complaint,
                       "the client has not stayed until its connection was closed");
    }
    pthread_mutex_unlock(&peer->mutex);
}

/* Reads what is there and answers what is whole. Returns whether the connection stays. */
static bool serve(struct peer *peer, struct connection *connection) {
    static const struct lk_resp_bounds bounds = {.arguments_max = LK_RESP_ARGUMENTS_MAX,
                                                 .request_bytes_max = INPUT_BYTES};
    static _Thread_local struct lk_resp_request request;
    char command[PEER_COMMAND_BYTES + 1];
    ssize_t count = recv(connection->descriptor, connection->input + connection->size,
                         sizeof connection->input - connection->size, 0);
    bool stays = count > 0;

    if (!stays && connection->late != NULL) {
        answer_late(peer, connection);
    }
    connection->size += stays ? (size_t)count : 0;
    while (stays && connection->size > 0) {
        struct lk_slice input = {.bytes = connection->input, .size = connection->size};
        enum lk_resp_step step = lk_resp_request_parse(input, &bounds, &request);

        if (step != LK_RESP_DONE) {
            return step == LK_RESP_MORE;
        }
        join(&request, command);
        connection->size -= request.size;
        memmove(connection->input, connection->input + request.size, connection->size);
        pthread_mutex_lock(&peer->mutex);
        stays = answer(peer, connection, command);
        pthread_mutex_unlock(&peer->mutex);
    }
    return stays;
}

static void accept_one(struct peer *peer, struct connection *connections) {
    int descriptor = accept(peer->listener, NULL, NULL);

    for (size_t i = 0; descriptor >= 0 && i < CONNECTIONS_MAX; i++) {
        if (connections[i].descriptor < 0) {
            connections[i].descriptor = descriptor;
            connections[i].size = 0;
            connections[i].late = NULL;
            pthread_mutex_lock(&peer->mutex);
            peer->connections++;
            pthread_mutex_unlock(&peer->mutex);
            return;
        }
    }
    (void)close(descriptor);
}

/* Until the listener is shut down. */
static void *serve_all(void *context) {
    struct peer *peer = context;
    struct connection *connections = calloc(CONNECTIONS_MAX, sizeof *connections);
    struct pollfd polled[CONNECTIONS_MAX + 1];

    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        connections[i].descriptor = -1;
    }
    for (;;) {
        polled[0] = (struct pollfd){.fd = peer->listener, .events = POLLIN};
        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
            polled[i + 1] = (struct pollfd){.fd = connections[i].descriptor, .events = POLLIN};
        }
        (void)poll(polled, CONNECTIONS_MAX + 1, -1);
        if ((polled[0].revents & (POLLHUP | POLLERR)) != 0) {
            break;
        }
        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
            if (polled[i + 1].revents != 0 && !serve(peer, &connections[i])) {
                (void)close(connections[i].descriptor);
                connections[i].descriptor = -1;
            }
        }
        if (polled[0].revents != 0) {
            accept_one(peer, connections);
        }
    }
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (connections[i].descriptor >= 0) {
            (void)close(connections[i].descriptor);
        }
    }
    free(connections);
    return NULL;
}

static void begin(struct peer *peer, const struct sockaddr *address, socklen_t size) {
    peer->listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(peer->listener, address, size), 0);
    assert_int_equal(listen(peer->listener, CONNECTIONS_MAX), 0);
    assert_int_equal(pthread_mutex_init(&peer->mutex, NULL), 0);
    assert_int_equal(pthread_create(&peer->thread, NULL, serve_all, peer), 0);
}

void peer_start(struct peer *peer, const char *hello, const struct step *steps, size_t count) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *peer = (struct peer){.hello = hello, .steps = steps, .step_count = count};
    (void)snprintf(peer->directory, sizeof peer->directory, "/tmp/lk-peer-XXXXXX");
    assert_non_null(mkdtemp(peer->directory));
    (void)snprintf(peer->path, sizeof peer->path, "%s/socket", peer->directory);
    (void)snprintf(peer->url, sizeof peer->url, "lk+unix:%s", peer->path);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", peer->path);
    begin(peer, (struct sockaddr *)&address, sizeof address);
}

void peer_start_on_loopback(struct peer *peer, const char *hello, const struct step *steps,
                            size_t count) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;

    *peer = (struct peer){.hello = hello, .steps = steps, .step_count = count};
    begin(peer, (struct sockaddr *)&address, size);
    assert_int_equal(getsockname(peer->listener, (struct sockaddr *)&address, &size), 0);
    peer->port = ntohs(address.sin_port);
    (void)snprintf(peer->url, sizeof peer->url, "lk://127.0.0.1:%d", peer->port);
}

void peer_end_whatever_came(struct peer *peer) {
    (void)shutdown(peer->listener, SHUT_RDWR);
    assert_int_equal(pthread_join(peer->thread, NULL), 0);
    (void)close(peer->listener);
    if (peer->port == 0) {
        (void)unlink(peer->path);
        (void)rmdir(peer->directory);
    }
}

void peer_end(struct peer *peer) {
    peer_end_whatever_came(peer);
    if (peer->complaint[0] != '\0') {
        fail_msg("%s", peer->complaint);
    }
    if (peer->step != peer->step_count) {
        fail_msg("only %zu of %zu commands came", peer->step, peer->step_count);
    }
}

void peer_await_step(struct peer *peer, size_t count) {
    const struct timespec moment = {.tv_nsec = 2000000};
    bool is_there = false;

    for (int i = 0; !is_there && i < BOUND_MS / 2; i++) {
        pthread_mutex_lock(&peer->mutex);
        is_there = peer->step >= count || peer->complaint[0] != '\0';
        pthread_mutex_unlock(&peer->mutex);
        if (!is_there) {
            (void)nanosleep(&moment, NULL);
        }
    }
    assert_true(is_there);
}
