/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service behind its RESP listener beside the model (tests/histories), asked by the engine of
 * `lk:` over several connections.
 *
 * The service is this program once more, `test_differential SOCKET CLOCK`, linked so that all that
 * reads the clocks reads the file CLOCK instead. It is ephemeral: what it keeps is attacked
 * elsewhere (tests/server).
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../emulated.h"
#include "../histories/history.h"
#include "base/clock.h"
#include "server/options.h"

enum { HISTORIES = 20, STEPS = 250 };

extern const struct lk_engine_ops lk_engine_service_unix;

/* ---- the clock ------------------------------------------------------------------------------- */

static _Atomic int64_t *the_clock; /* the service's; NULL in the test itself */

/* Made by the linker of the calls of lk_clock_now_us() and lk_clock_wall_us(). */
int64_t __wrap_lk_clock_now_us(void);
int64_t __wrap_lk_clock_wall_us(void);
int64_t __real_lk_clock_now_us(void);
int64_t __real_lk_clock_wall_us(void);

int64_t __wrap_lk_clock_now_us(void) {
    return the_clock != NULL ? *the_clock : __real_lk_clock_now_us();
}

int64_t __wrap_lk_clock_wall_us(void) {
    return the_clock != NULL ? *the_clock : __real_lk_clock_wall_us();
}

static _Atomic int64_t *map_clock(const char *path) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *map = MAP_FAILED;

    if (descriptor >= 0 && ftruncate(descriptor, sizeof(int64_t)) == 0) {
        map = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    if (map == MAP_FAILED) {
        test_die("no clock %s", path);
    }
    (void)close(descriptor);
    return map;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void tell_ready(void *context, const char *resp_address, const char *unix_address,
                       const char *http_address) {
    (void)context;
    (void)resp_address;
    (void)unix_address;
    (void)http_address;
    (void)!write(STDOUT_FILENO, "r", 1);
}

static int serve(const char *socket, const char *clock) {
    const struct lk_server_options options = {
        .is_ephemeral = true, .resp_listen = socket, .ready = tell_ready};
    lk_error error = {.text = ""};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    the_clock = map_clock(clock);
    if (lk_server_run(&options, &error) != LK_OK) {
        (void)fprintf(stderr, "# the service: %s\n", error.text);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

struct service {
    char directory[64];
    char socket[96]; /* as lk_server_options has it */
    char clock_path[96];
    _Atomic int64_t *clock;
    pid_t process;
};

/* Returns once it answers. */
static void start(struct service *service) {
    int ends[2];
    char byte;

    if (pipe(ends) != 0) {
        test_die("no pipe");
    }
    service->process = fork();
    if (service->process == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execl(test_own_path(), "service", service->socket, service->clock_path, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    if (service->process < 0 || read(ends[0], &byte, 1) != 1) {
        test_die("the service does not begin");
    }
    (void)close(ends[0]);
}

static void *open_service(const struct variant *variant, struct lk_engine **ret_engines) {
    struct service *service = calloc(1, sizeof *service);
    struct lk_patience patience = test_patience(20000000);
    const char *parent = getenv("TMPDIR");
    lk_error error = {.text = ""};

    (void)variant;
    if (service == NULL) {
        test_die("no memory for a service");
    }
    (void)snprintf(service->directory, sizeof service->directory, "%s/lk-service-XXXXXX",
                   parent != NULL && parent[0] != '\0' ? parent : "/tmp");
    if (mkdtemp(service->directory) == NULL) {
        test_die("no directory %s", service->directory);
    }
    (void)snprintf(service->socket, sizeof service->socket, "unix:%s/s", service->directory);
    (void)snprintf(service->clock_path, sizeof service->clock_path, "%s/clock", service->directory);
    service->clock = map_clock(service->clock_path);
    *service->clock = lk_clock_wall_us();
    start(service);
    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        if (lk_engine_service_unix.open(lk_slice_of(service->socket + strlen("unix:")), &patience,
                                        &ret_engines[i], &error)
            != LK_OK) {
            test_die("cannot open the service: %s", error.text);
        }
    }
    return service;
}

static void close_service(void *store, struct lk_engine **engines) {
    struct service *service = store;

    for (size_t i = 0; i < HISTORY_ENGINES; i++) {
        engines[i]->ops->close(engines[i]);
    }
    (void)kill(service->process, SIGKILL);
    (void)waitpid(service->process, NULL, 0);
    (void)munmap((void *)service->clock, sizeof *service->clock);
    (void)unlink(service->clock_path);
    (void)unlink(service->socket + strlen("unix:"));
    (void)rmdir(service->directory);
    free(service);
}

static void set_clock(void *store, struct lk_engine **engines, const struct lk_times *times) {
    const struct service *service = store;

    (void)engines;
    *service->clock = times->wall_us;
}

int main(int argc, char **argv) {
    static const struct store_ops service = {
        .name = "service",
        .engine = &lk_engine_service_unix,
        .takes_have_one_ttl = true,
        .laziness = LAZY_NEVER,
        .blocks = true,
        .open = open_service,
        .close = close_service,
        .set_clock = set_clock,
    };

    if (argc == 3) {
        return serve(argv[1], argv[2]);
    }
    histories_run(&service, HISTORIES, STEPS);
    return histories_end();
}
