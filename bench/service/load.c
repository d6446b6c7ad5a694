/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that loads a server: epoll, one thread. */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "../bench.h"
#include "wire/resp.h"

enum { INPUT_BYTES = 256 * 1024, EVENTS = 64, STALL_MS = 60000, PRELUDE_S = 3 };

struct connection {
    int descriptor;
    size_t number;
    struct load_request steps[LOAD_STEPS_MAX];
    size_t step;        /* whose reply comes next */
    size_t outstanding; /* replies that are to come */
    int64_t said_ns;
    uint64_t turns;
    size_t size;
    char *input;
};

struct run {
    const struct load *load;
    struct load_result result;
    int64_t end_ns;
    uint64_t number; /* of the next turn, if it counts */
    size_t busy;     /* connections with replies to come */
};

/* ---- RESP and HTTP --------------------------------------------------------------------------- */

size_t load_resp_reply_size(const char *bytes, size_t size) {
    struct lk_resp_measure measure = {.size = 0};
    const struct lk_slice input = {.bytes = bytes, .size = size};

    switch (lk_resp_reply_measure(input, INPUT_BYTES, &measure)) {
    case LK_RESP_DONE:
        return measure.size;
    case LK_RESP_BAD:
        bench_give_up("no RESP: %.*s", (int)(size < 80 ? size : 80), bytes);
    case LK_RESP_MORE:
        break;
    }
    return 0;
}

size_t load_http_reply_size(const char *bytes, size_t size) {
    static const char name[] = "content-length:";
    const char *end = memmem(bytes, size, "\r\n\r\n", 4);
    size_t head;

    if (end == NULL) {
        return 0;
    }
    head = (size_t)(end - bytes) + 4;
    for (const char *line = bytes; line < end; line++) {
        if (strncasecmp(line, name, strlen(name)) == 0) {
            size_t whole = head + strtoul(line + strlen(name), NULL, 10);
            return whole <= size ? whole : 0;
        }
    }
    bench_give_up("a reply of HTTP without its length");
}

void load_resp_render(struct load_request *request, const char *format, ...) {
    char line[LOAD_REQUEST_BYTES];
    struct lk_buffer out = {.max = LOAD_REQUEST_BYTES};
    size_t count = 0;
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *word = line; *word != '\0'; count++) {
        size_t size = strcspn(word, " ");
        lk_resp_put_bulk(&out, (struct lk_slice){.bytes = word, .size = size});
        word += size + (word[size] == ' ');
    }
    lk_resp_insert_array(&out, 0, count);
    if (out.failed) {
        bench_give_up("a request of more than %d bytes", LOAD_REQUEST_BYTES);
    }
    memcpy(request->bytes, out.bytes, out.size);
    request->size = out.size;
    lk_buffer_done(&out);
}

/* ---- connections ----------------------------------------------------------------------------- */

static int dial(const struct load *load) {
    int on = 1;
    int descriptor;
    int status;

    if (load->host != NULL) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", load->host);
        descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        status = connect(descriptor, (struct sockaddr *)&address, sizeof address);
    } else {
        const struct sockaddr_in address = {.sin_family = AF_INET,
                                            .sin_port = htons((uint16_t)load->port),
                                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        status = connect(descriptor, (const struct sockaddr *)&address, sizeof address);
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (status != 0) {
        bench_give_up("connecting to port %d: %s", load->port, strerror(errno));
    }
    return descriptor;
}

static void say(const struct connection *connection, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t count = send(connection->descriptor, bytes, size, MSG_NOSIGNAL);
        if (count < 0 && errno != EINTR) {
            bench_give_up("a server broke off: %s", strerror(errno));
        }
        bytes += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
}

static void renumber(struct run *run, struct connection *connection) {
    const struct load *load = run->load;

    for (size_t step = 0; load->is_counting && step < load->step_count; step++) {
        load->request(load->context, run->number, step, &connection->steps[step]);
    }
    run->number++;
}

/* One request, of the step that the connection is at. */
static void say_step(struct run *run, struct connection *connection, int64_t now_ns) {
    const struct load *load = run->load;
    struct load_request *request = &connection->steps[connection->step];

    if (load->protocol->renew != NULL) {
        load->protocol->renew(request, connection->turns * load->step_count + connection->step);
    }
    connection->outstanding = 1;
    connection->said_ns = now_ns;
    say(connection, request->bytes, request->size);
}

/* The next turn, or `depth` of them in one piece. */
static void say_turns(struct run *run, struct connection *connection) {
    const struct load *load = run->load;
    char bytes[LOAD_STEPS_MAX * LOAD_REQUEST_BYTES * 16];
    size_t size = 0;

    if (load->depth <= 1) {
        renumber(run, connection);
        say_step(run, connection, bench_now_ns());
        return;
    }
    connection->outstanding = load->depth * load->step_count;
    for (size_t i = 0; i < connection->outstanding; i++) {
        const struct load_request *request = &connection->steps[i % load->step_count];
        if (i % load->step_count == 0) {
            renumber(run, connection);
        }
        if (size + request->size > sizeof bytes) {
            say(connection, bytes, size);
            size = 0;
        }
        memcpy(bytes + size, request->bytes, request->size);
        size += request->size;
    }
    say(connection, bytes, size);
}

/* Whether the first request was answered in time: a server may listen before it serves. */
static bool say_prelude(const struct load *load, struct connection *connection) {
    const struct timeval patience = {.tv_sec = PRELUDE_S};
    struct load_request prelude;
    size_t size = 0;

    (void)setsockopt(connection->descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    load->request(load->context, connection->number, LOAD_STEPS_MAX, &prelude);
    say(connection, prelude.bytes, prelude.size);
    while (load->protocol->reply_size(connection->input, size) == 0) {
        ssize_t count =
            recv(connection->descriptor, connection->input + size, INPUT_BYTES - size, 0);
        if (count <= 0) {
            return false;
        }
        size += (size_t)count;
    }
    return true;
}

static void open_connection(struct run *run, struct connection *connection, int poller,
                            size_t number) {
    const struct load *load = run->load;
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = connection};
    int64_t end_ns = bench_now_ns() + STALL_MS * INT64_C(1000000);

    *connection = (struct connection){.descriptor = dial(load), .number = number};
    connection->input = malloc(INPUT_BYTES);
    if (connection->input == NULL) {
        bench_give_up("no memory for connections");
    }
    while (load->has_prelude && !say_prelude(load, connection)) {
        if (bench_now_ns() > end_ns) {
            bench_give_up("a server did not answer the first request");
        }
        (void)close(connection->descriptor);
        connection->descriptor = dial(load);
    }
    for (size_t step = 0; step < load->step_count; step++) {
        load->request(load->context, number, step, &connection->steps[step]);
    }
    if (fcntl(connection->descriptor, F_SETFL, O_NONBLOCK) != 0
        || epoll_ctl(poller, EPOLL_CTL_ADD, connection->descriptor, &wanted) != 0) {
        bench_give_up("polling: %s", strerror(errno));
    }
}

/* ---- replies --------------------------------------------------------------------------------- */

static void judge(struct run *run, const struct connection *connection, const char *reply,
                  size_t size) {
    if (!run->load->protocol->is_expected(connection->step, reply, size)) {
        if (run->result.unexpected++ == 0) {
            (void)snprintf(run->result.example, sizeof run->result.example, "%.*s", (int)size,
                           reply);
        }
    }
}

static void go_on(struct run *run, struct connection *connection, int64_t now_ns) {
    const struct load *load = run->load;

    connection->outstanding--;
    connection->step = (connection->step + 1) % load->step_count;
    if (connection->step == 0) {
        connection->turns++;
        run->result.turns++;
    }
    if (load->depth <= 1 && connection->step != 0) {
        say_step(run, connection, now_ns);
    } else if (connection->outstanding == 0) {
        if (now_ns >= run->end_ns
            || (load->turns_max != 0 && connection->turns >= load->turns_max)) {
            run->busy--;
        } else {
            say_turns(run, connection);
        }
    }
}

static void take_replies(struct run *run, struct connection *connection) {
    const struct load *load = run->load;
    ssize_t count = recv(connection->descriptor, connection->input + connection->size,
                         INPUT_BYTES - connection->size, 0);
    size_t at = 0;
    size_t size;

    if (count <= 0) {
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        bench_give_up("a server broke off");
    }
    connection->size += (size_t)count;
    while ((size = load->protocol->reply_size(connection->input + at, connection->size - at))
           != 0) {
        int64_t now_ns = bench_now_ns();

        judge(run, connection, connection->input + at, size);
        if (load->replied != NULL) {
            load->replied(load->replied_context, connection->number, connection->step,
                          connection->said_ns, now_ns);
        }
        at += size;
        go_on(run, connection, now_ns);
    }
    connection->size -= at;
    memmove(connection->input, connection->input + at, connection->size);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void close_all(struct run *run, struct connection *connections) {
    run->result.turns_least = UINT64_MAX;
    for (size_t i = 0; i < run->load->connections; i++) {
        uint64_t turns = connections[i].turns;
        run->result.turns_least = turns < run->result.turns_least ? turns : run->result.turns_least;
        run->result.turns_most = turns > run->result.turns_most ? turns : run->result.turns_most;
        (void)close(connections[i].descriptor);
        free(connections[i].input);
    }
}

struct load_result load_run(const struct load *load) {
    struct run run = {.load = load, .busy = load->connections};
    struct connection *connections = calloc(load->connections, sizeof *connections);
    struct epoll_event events[EVENTS];
    int poller = epoll_create1(EPOLL_CLOEXEC);
    int64_t begun_ns;

    if (connections == NULL || poller < 0) {
        bench_give_up("no memory for connections");
    }
    for (size_t i = 0; i < load->connections; i++) {
        open_connection(&run, &connections[i], poller, i);
    }
    begun_ns = bench_now_ns();
    run.end_ns = begun_ns + (int64_t)(load->seconds * 1e9);
    for (size_t i = 0; i < load->connections; i++) {
        say_turns(&run, &connections[i]);
    }
    while (run.busy > 0) {
        int count = epoll_wait(poller, events, EVENTS, STALL_MS);
        if (count == 0) {
            bench_give_up("a server has not answered for %d s", STALL_MS / 1000);
        }
        for (int i = 0; i < count; i++) {
            take_replies(&run, events[i].data.ptr);
        }
    }
    run.result.seconds = (double)(bench_now_ns() - begun_ns) / 1e9;
    close_all(&run, connections);
    free(connections);
    (void)close(poller);
    return run.result;
}
