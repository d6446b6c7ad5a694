/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A prefork echo server on loopback that never has more than PER_BACKEND requests in flight for
 * each of its backends, while the number of backends changes under load and workers are killed.
 *
 *     example-prefork
 *
 * The limit belongs to the call: each worker names PER_BACKEND times the number of backends at that
 * moment. A request beyond the limit is answered "busy", as a router would with a 503. Concurrent
 * clients check the answers. At the end no request is in flight.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lockkeeper/canal.h"

enum { WORKERS = 6, CLIENTS = 8, REQUESTS = 400, PER_BACKEND = 2, BACKENDS_MAX = 3, KILLS = 5 };

/* What the processes share besides the region: the number of backends, and the run's counters. */
struct board {
    _Atomic uint32_t backends;
    _Atomic uint32_t echoed;
    _Atomic uint32_t refused;
    _Atomic uint32_t above; /* grants above the limit of their call: there must be none */
};

static struct board *board;
static char region[64];

_Noreturn static void give_up(const char *what) {
    perror(what);
    exit(1);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void serve_connection(lk_canal_holder *holder, int connection) {
    char line[64];
    ssize_t size;

    while ((size = read(connection, line, sizeof line)) > 0) {
        uint32_t backends = atomic_load(&board->backends);
        lk_canal_permit permit;

        if (lk_canal_acquire(holder, "echo", 4, PER_BACKEND, backends, &permit) != LK_CANAL_OK) {
            (void)atomic_fetch_add(&board->refused, 1);
            if (write(connection, "busy", 4) != 4) {
                return;
            }
            continue;
        }
        if (permit.ordinal > PER_BACKEND * backends) {
            (void)atomic_fetch_add(&board->above, 1);
        }
        (void)atomic_fetch_add(&board->echoed, 1);
        if (write(connection, line, (size_t)size) != size) {
            size = 0; /* the client has disconnected; its permit is released as usual */
        }
        (void)lk_canal_release(holder, &permit);
    }
}

/* A child opens the region itself: the parent's handles are not valid in it. */
_Noreturn static void be_worker(int listener) {
    lk_canal_holder *holder;
    lk_canal *canal;

    if (lk_canal_open(region, NULL, &canal, NULL) != LK_CANAL_OK
        || lk_canal_join(canal, LK_CANAL_PROCESS, "worker", &holder) != LK_CANAL_OK) {
        give_up("region");
    }
    for (;;) {
        int connection = accept(listener, NULL, NULL);

        if (connection >= 0) {
            serve_connection(holder, connection);
            (void)close(connection);
        }
    }
}

static pid_t start_worker(int listener) {
    pid_t worker = fork();

    if (worker == 0) {
        be_worker(listener);
    }
    return worker;
}

static int listen_on_loopback(struct sockaddr_in *ret_address) {
    socklen_t size = sizeof *ret_address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *ret_address = (struct sockaddr_in){.sin_family = AF_INET};
    ret_address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (listener < 0 || bind(listener, (struct sockaddr *)ret_address, size) != 0
        || listen(listener, CLIENTS) != 0
        || getsockname(listener, (struct sockaddr *)ret_address, &size) != 0) {
        give_up("listening");
    }
    return listener;
}

/* ---- the load -------------------------------------------------------------------------------- */

/* One request on a connection of its own. False: the worker died, and the request is repeated. */
static bool ask(const struct sockaddr_in *address, const char *line) {
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t size = strlen(line);
    char answer[64] = "";
    bool is_answered = connect(connection, (const struct sockaddr *)address, sizeof *address) == 0
                       && write(connection, line, size) == (ssize_t)size
                       && read(connection, answer, sizeof answer - 1) > 0;

    (void)close(connection);
    if (is_answered && strcmp(answer, line) != 0 && strcmp(answer, "busy") != 0) {
        (void)fprintf(stderr, "asked %s, got %s\n", line, answer);
        exit(1);
    }
    return is_answered;
}

_Noreturn static void be_client(const struct sockaddr_in *address, int number) {
    (void)signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < REQUESTS; i++) {
        char line[32];

        (void)snprintf(line, sizeof line, "%d/%d", number, i);
        while (!ask(address, line)) {
            /* repeat until a worker completes it */
        }
    }
    exit(0);
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Changes the number of backends and kills a worker from time to time, until all clients end. */
static void rule(int listener, pid_t workers[WORKERS]) {
    uint32_t turns = 0;

    for (int left = CLIENTS; left > 0; turns++) {
        int status;
        pid_t ended = waitpid(-1, &status, WNOHANG);

        if (ended > 0) {
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                exit(1);
            }
            left--;
        }
        atomic_store(&board->backends, 1 + turns % BACKENDS_MAX);
        if (turns < KILLS) {
            pid_t *worker = &workers[turns % WORKERS];

            (void)kill(*worker, SIGKILL);
            (void)waitpid(*worker, NULL, 0);
            *worker = start_worker(listener);
        }
        (void)usleep(1000);
    }
}

static bool is_well(void) {
    uint32_t in_flight = 0;
    lk_canal *canal;

    if (lk_canal_open(region, NULL, &canal, NULL) != LK_CANAL_OK) {
        give_up("region");
    }
    (void)lk_canal_look(canal);
    (void)lk_canal_count(canal, "echo", 4, &in_flight);
    lk_canal_close(canal);
    printf("%u echoed, %u answered busy, %u above the limit, %u in flight in the end\n",
           (unsigned)atomic_load(&board->echoed), (unsigned)atomic_load(&board->refused),
           (unsigned)atomic_load(&board->above), (unsigned)in_flight);
    return atomic_load(&board->echoed) > 0 && atomic_load(&board->above) == 0 && in_flight == 0;
}

int main(void) {
    struct sockaddr_in address;
    pid_t workers[WORKERS];
    int listener = listen_on_loopback(&address);
    bool was_well;

    (void)snprintf(region, sizeof region, "prefork.%d", (int)getpid());
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        give_up("mmap");
    }
    atomic_store(&board->backends, 1);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = start_worker(listener);
    }
    for (int i = 0; i < CLIENTS; i++) {
        if (fork() == 0) {
            be_client(&address, i);
        }
    }
    rule(listener, workers);
    for (int i = 0; i < WORKERS; i++) {
        (void)kill(workers[i], SIGKILL);
        (void)waitpid(workers[i], NULL, 0);
    }
    was_well = is_well();
    (void)lk_canal_remove(region);
    return was_well ? 0 : 1;
}
