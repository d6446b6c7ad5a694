/* SPDX-License-Identifier: Apache-2.0 */
/* How often the loop of the service calls the kernel for a request; in which thread it runs. */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/system_call.h"
#include "lockkeeper/lockkeeper.h"
#include "server/options.h"

enum { ROUNDS = 100, REPLY_BYTES_MAX = 4096, PATIENCE_MS = 60000 };

/* Shared with the service, which is a child. */
static struct {
    unsigned epoll_changes;
    unsigned flushes;      /* of the store's files */
    unsigned flushes_here; /* ... by the thread that runs the loop */
    pid_t loop;            /* that thread */
    bool holds_loop;       /* its flushes last until another thread runs the loop */
} * counts;

/* libevent calls this in place of the C library's. */
__attribute__((visibility("default"))) int epoll_ctl(int poll, int operation, int descriptor,
                                                     struct epoll_event *event) {
    if (counts != NULL) {
        __atomic_fetch_add(&counts->epoll_changes, 1, __ATOMIC_SEQ_CST);
    }
    return (int)syscall(SYS_epoll_ctl, poll, operation, descriptor, event);
}

__attribute__((visibility("default"))) int epoll_wait(int poll, struct epoll_event *events, int max,
                                                      int timeout_ms) {
    if (counts != NULL) {
        __atomic_store_n(&counts->loop, gettid(), __ATOMIC_SEQ_CST);
    }
    return epoll_pwait(poll, events, max, timeout_ms, NULL);
}

static bool is_loop_here(void) {
    return gettid() == __atomic_load_n(&counts->loop, __ATOMIC_SEQ_CST);
}

__attribute__((visibility("default"))) int fdatasync(int descriptor) {
    if (counts != NULL) {
        bool is_here = is_loop_here();
        while (__atomic_load_n(&counts->holds_loop, __ATOMIC_SEQ_CST) && is_loop_here()) {
            (void)usleep(1000);
        }
        __atomic_fetch_add(&counts->flushes, 1, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&counts->flushes_here, is_here, __ATOMIC_SEQ_CST);
    }
    return (int)syscall(SYS_fdatasync, descriptor);
}

struct fixture {
    char directory[100];
    char socket[108];
    bool is_durable;
    pid_t service;
    int connection;
};

static void tell_ready(void *context, const char *resp_address, const char *unix_address,
                       const char *http_address) {
    (void)resp_address;
    (void)unix_address;
    (void)http_address;
    (void)!write(*(const int *)context, "r", 1);
}

static _Noreturn void serve(const struct fixture *fixture, int ready) {
    char address[128];
    const struct lk_server_options options = {
        .is_ephemeral = !fixture->is_durable,
        .directory = fixture->directory,
        .http_listen = address,
        .has_grab = true,
        .ready = tell_ready,
        .context = &ready,
    };

    (void)snprintf(address, sizeof address, "unix:%s", fixture->socket);
    _exit(lk_server_run(&options, NULL) == LK_OK ? 0 : 1);
}

static int begin_service(void **state, bool is_durable) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const char *temporary = getenv("TMPDIR");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int ends[2];
    char byte;

    *state = fixture;
    fixture->is_durable = is_durable;
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)snprintf(fixture->directory, sizeof fixture->directory, "%s/lk-loop-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    if (counts == MAP_FAILED || mkdtemp(fixture->directory) == NULL || pipe(ends) != 0) {
        return -1;
    }
    (void)snprintf(fixture->socket, sizeof fixture->socket, "%s/s", fixture->directory);
    fixture->service = fork();
    if (fixture->service == 0) {
        serve(fixture, ends[1]);
    }
    (void)close(ends[1]);
    if (fixture->service < 0 || read(ends[0], &byte, 1) != 1) {
        return -1;
    }
    (void)close(ends[0]);
    (void)memcpy(address.sun_path, fixture->socket, sizeof fixture->socket);
    fixture->connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fixture->connection, (struct sockaddr *)&address, sizeof address);
}

static int begin(void **state) {
    return begin_service(state, false);
}

static int begin_durable(void **state) {
    return begin_service(state, true);
}

static int end(void **state) {
    static const char *const names[] = {"locks.db", "locks.db-wal", "locks.db-shm",
                                        "locks.db-served"};
    struct fixture *fixture = *state;
    char path[200];
    int status = -1;

    (void)close(fixture->connection);
    (void)kill(fixture->service, SIGTERM);
    (void)waitpid(fixture->service, &status, 0);
    (void)unlink(fixture->socket);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", fixture->directory, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(fixture->directory);
    (void)munmap(counts, sizeof *counts);
    counts = NULL;
    free(fixture);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* Sends the request and reads a reply that ends with `last`. */
static void exchange(const struct fixture *fixture, const char *request, const char *last) {
    char reply[REPLY_BYTES_MAX];
    size_t size = 0;
    size_t last_size = strlen(last);

    assert_int_equal(write(fixture->connection, request, strlen(request)), strlen(request));
    do {
        ssize_t count = read(fixture->connection, reply + size, sizeof reply - size);
        assert_in_range(count, 1, sizeof reply);
        size += (size_t)count;
    } while (size < last_size || memcmp(reply + size - last_size, last, last_size) != 0);
}

static void a_request_over_http_changes_two_events(void **state) {
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const struct fixture *fixture = *state;
    unsigned before;

    exchange(fixture, request, "ok\n");
    before = __atomic_load_n(&counts->epoll_changes, __ATOMIC_SEQ_CST);
    for (int i = 0; i < ROUNDS; i++) {
        exchange(fixture, request, "ok\n");
    }
    assert_in_range(__atomic_load_n(&counts->epoll_changes, __ATOMIC_SEQ_CST) - before, 0,
                    2 * ROUNDS + 4);
}

/* On a busy machine some of them take so long that the other thread runs the loop meanwhile. */
static void small_batches_are_written_by_the_thread_of_the_loop(void **state) {
    static const char request[] = "POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\n"
                                  "Content-Type: application/json\r\nContent-Length: 28\r\n\r\n"
                                  "{\"parts\":[\"x\"],\"owner\":\"me\"}";
    const struct fixture *fixture = *state;
    unsigned before;

    exchange(fixture, request, "}\n");
    before = __atomic_load_n(&counts->flushes, __ATOMIC_SEQ_CST);
    for (int i = 0; i < ROUNDS; i++) {
        exchange(fixture, request, "}\n");
    }
    assert_in_range(__atomic_load_n(&counts->flushes, __ATOMIC_SEQ_CST) - before, ROUNDS,
                    ROUNDS + 4);
    assert_in_range(__atomic_load_n(&counts->flushes_here, __ATOMIC_SEQ_CST), 1, ROUNDS + 10);
}

/* The thread that stood by has all signals blocked. */
static void a_shutdown_ends_it_in_either_thread(void **state) {
    static const char *const requests[] = {
        "GET /grab/x?id=me&op=grab HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /grab/x?id=me&op=release HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /grab/x?id=me&op=shutdown HTTP/1.1\r\nHost: localhost\r\n\r\n",
    };
    const struct fixture *fixture = *state;
    struct pollfd service = {.fd = lk_pidfd_open(fixture->service), .events = POLLIN};

    assert_true(service.fd >= 0);
    __atomic_store_n(&counts->holds_loop, true, __ATOMIC_SEQ_CST);
    exchange(fixture, requests[0], "}\n");
    __atomic_store_n(&counts->holds_loop, false, __ATOMIC_SEQ_CST);
    exchange(fixture, requests[1], "}\n"); /* written by the other one: the last write was slow */
    assert_int_not_equal(__atomic_load_n(&counts->loop, __ATOMIC_SEQ_CST), fixture->service);
    exchange(fixture, requests[2], "}\n");
    assert_int_equal(poll(&service, 1, PATIENCE_MS), 1);
    (void)close(service.fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_over_http_changes_two_events, begin, end),
        cmocka_unit_test_setup_teardown(small_batches_are_written_by_the_thread_of_the_loop,
                                        begin_durable, end),
        cmocka_unit_test_setup_teardown(a_shutdown_ends_it_in_either_thread, begin_durable, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
