/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that a server of RESP on libevent can be: each request goes back as it came.
 *
 *     bench-echo PORT [FILE]
 *
 * With a FILE each request is appended to it, and answered when it is on the disk: what has come
 * while the disk was busy goes into one write and one fdatasync, on a thread of its own. That is
 * group commit, and nothing else. Ends when stdin does.
 */
#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../bench.h"
#include "wire/resp.h"

enum { INPUT_BYTES = 64 * 1024 };

struct echo;

struct client {
    struct echo *echo;
    evutil_socket_t descriptor;
    struct event *readable;
    struct lk_buffer input;
    struct lk_buffer output; /* to be said at the end of the turn, or when it is durable */
    struct lk_buffer held;   /* in the batch that is being written */
    struct client *next;
};

struct echo {
    struct event_base *loop;
    struct client *clients;
    struct lk_resp_request request;
    int log; /* -1: none */
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct lk_buffer collecting;
    struct lk_buffer writing;
    bool is_writing; /* a batch is with the writer, or not yet let go */
    bool is_written;
    struct event *written;
};

static void say(const struct client *client, struct lk_buffer *out) {
    size_t at = 0;

    while (at < out->size) {
        ssize_t count = send(client->descriptor, out->bytes + at, out->size - at, MSG_NOSIGNAL);
        if (count <= 0 && errno != EAGAIN && errno != EINTR) {
            break;
        }
        at += count > 0 ? (size_t)count : 0;
    }
    lk_buffer_cut(out, 0);
}

/* ---- the log --------------------------------------------------------------------------------- */

static void *write_batches(void *context) {
    struct echo *echo = context;

    pthread_mutex_lock(&echo->mutex);
    for (;;) {
        while (!echo->is_writing || echo->is_written) {
            pthread_cond_wait(&echo->filled, &echo->mutex);
        }
        pthread_mutex_unlock(&echo->mutex);
        if (write(echo->log, echo->writing.bytes, echo->writing.size) != (ssize_t)echo->writing.size
            || fdatasync(echo->log) != 0) {
            bench_give_up("writing the log: %s", strerror(errno));
        }
        pthread_mutex_lock(&echo->mutex);
        lk_buffer_cut(&echo->writing, 0);
        echo->is_written = true;
        event_active(echo->written, 0, 0);
    }
    return NULL;
}

/* Called with the mutex held. What was collected becomes the batch that is written. */
static void begin_batch(struct echo *echo) {
    struct lk_buffer empty = echo->writing;

    if (echo->is_writing || echo->collecting.size == 0) {
        return;
    }
    echo->writing = echo->collecting;
    echo->collecting = empty;
    echo->is_writing = true;
    for (struct client *client = echo->clients; client != NULL; client = client->next) {
        struct lk_buffer spare = client->held;
        client->held = client->output;
        client->output = spare;
    }
    pthread_cond_signal(&echo->filled);
}

static void let_go(evutil_socket_t descriptor, short events, void *context) {
    struct echo *echo = context;

    (void)descriptor;
    (void)events;
    for (struct client *client = echo->clients; client != NULL; client = client->next) {
        say(client, &client->held);
    }
    pthread_mutex_lock(&echo->mutex);
    echo->is_writing = false;
    echo->is_written = false;
    begin_batch(echo);
    pthread_mutex_unlock(&echo->mutex);
}

/* ---- clients --------------------------------------------------------------------------------- */

static void close_client(struct client *client) {
    struct client **place = &client->echo->clients;

    while (*place != client) {
        place = &(*place)->next;
    }
    *place = client->next;
    event_free(client->readable);
    (void)close(client->descriptor);
    lk_buffer_done(&client->input);
    lk_buffer_done(&client->output);
    lk_buffer_done(&client->held);
    free(client);
}

static void echo_requests(struct client *client) {
    static const struct lk_resp_bounds bounds = {.arguments_max = LK_RESP_ARGUMENTS_MAX,
                                                 .request_bytes_max = INPUT_BYTES};
    struct echo *echo = client->echo;
    struct lk_slice input = {.bytes = client->input.bytes, .size = client->input.size};

    while (input.size > 0
           && lk_resp_request_parse(input, &bounds, &echo->request) == LK_RESP_DONE) {
        lk_buffer_add(&client->output, input.bytes, echo->request.size);
        if (echo->log >= 0) {
            lk_buffer_add(&echo->collecting, input.bytes, echo->request.size);
        }
        input.bytes += echo->request.size;
        input.size -= echo->request.size;
    }
    lk_buffer_consume(&client->input, client->input.size - input.size);
    if (echo->log < 0) {
        say(client, &client->output);
    }
}

static void read_client(evutil_socket_t descriptor, short events, void *context) {
    struct client *client = context;
    struct echo *echo = client->echo;
    char *room = lk_buffer_reserve(&client->input, INPUT_BYTES);
    ssize_t count = room != NULL ? recv(descriptor, room, INPUT_BYTES, 0) : 0;

    (void)events;
    if (count <= 0) {
        if (count == 0 || errno != EAGAIN) {
            close_client(client);
        }
        return;
    }
    client->input.size += (size_t)count;
    if (echo->log < 0) {
        echo_requests(client);
        return;
    }
    pthread_mutex_lock(&echo->mutex);
    echo_requests(client);
    begin_batch(echo);
    pthread_mutex_unlock(&echo->mutex);
}

static void accept_client(evutil_socket_t listener, short events, void *context) {
    struct echo *echo = context;
    int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct client *client = calloc(1, sizeof *client);
    int on = 1;

    (void)events;
    if (descriptor < 0 || client == NULL) {
        free(client);
        return;
    }
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *client = (struct client){.echo = echo, .descriptor = descriptor, .next = echo->clients};
    echo->clients = client;
    client->readable = event_new(echo->loop, descriptor, EV_READ | EV_PERSIST, read_client, client);
    (void)event_add(client->readable, NULL);
}

static void end_loop(evutil_socket_t descriptor, short events, void *context) {
    char byte;

    (void)events;
    if (read(descriptor, &byte, 1) <= 0) {
        (void)event_base_loopbreak(context);
    }
}

static int listen_at(int port) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;

    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) != 0
        || listen(listener, SOMAXCONN) != 0) {
        bench_give_up("port %d: %s", port, strerror(errno));
    }
    return listener;
}

int main(int argc, char **argv) {
    struct echo echo = {
        .log = -1, .mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};
    struct event *accepting;
    struct event *ending;
    pthread_t writer;

    if (argc < 2 || evthread_use_pthreads() != 0) {
        bench_give_up("usage: bench-echo PORT [FILE]");
    }
    echo.loop = event_base_new();
    echo.written = event_new(echo.loop, -1, EV_PERSIST, let_go, &echo);
    accepting =
        event_new(echo.loop, listen_at(atoi(argv[1])), EV_READ | EV_PERSIST, accept_client, &echo);
    ending = event_new(echo.loop, STDIN_FILENO, EV_READ | EV_PERSIST, end_loop, echo.loop);
    (void)event_add(accepting, NULL);
    (void)event_add(ending, NULL);
    if (argc > 2) {
        echo.log = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (echo.log < 0 || pthread_create(&writer, NULL, write_batches, &echo) != 0) {
            bench_give_up("%s: %s", argv[2], strerror(errno));
        }
    }
    (void)puts("ready");
    (void)fflush(stdout);
    (void)event_base_dispatch(echo.loop);
    return 0;
}
