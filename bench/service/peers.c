/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and stopping servers, and what the kernel knows of them. */
#include "peers.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../bench.h"

enum { START_S = 60 };

static int socket_at(int port, struct sockaddr_in *ret_address) {
    *ret_address = (struct sockaddr_in){.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int peer_port(void) {
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    int descriptor = socket_at(0, &address);

    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0
        || getsockname(descriptor, (struct sockaddr *)&address, &size) != 0) {
        bench_give_up("no port is free: %s", strerror(errno));
    }
    (void)close(descriptor);
    return ntohs(address.sin_port);
}

static bool listens(int port) {
    struct sockaddr_in address;
    int descriptor = socket_at(port, &address);
    bool is_there = connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0;

    (void)close(descriptor);
    return is_there;
}

static void become(char *const *arguments, const char *log, int input) {
    int output = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the benchmark */
    (void)dup2(input, STDIN_FILENO);
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(output, STDERR_FILENO);
    (void)execvp(arguments[0], arguments);
    _exit(127);
}

struct peer peer_start(char *const *arguments, int port, const char *log) {
    const struct timespec moment = {.tv_nsec = 5000000};
    struct peer peer = {.port = port};
    int64_t end_ns = bench_now_ns() + START_S * INT64_C(1000000000);
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        bench_give_up("a pipe: %s", strerror(errno));
    }
    peer.pid = fork();
    if (peer.pid == 0) {
        become(arguments, log, ends[0]);
    }
    (void)close(ends[0]);
    peer.input = ends[1];
    while (peer.pid > 0 && !listens(port)) {
        if (bench_now_ns() > end_ns || waitpid(peer.pid, NULL, WNOHANG) != 0) {
            bench_give_up("%s did not start; see %s", arguments[0], log);
        }
        (void)nanosleep(&moment, NULL);
    }
    return peer;
}

void peer_stop(struct peer *peer) {
    (void)kill(peer->pid, SIGTERM);
    (void)waitpid(peer->pid, NULL, 0);
    (void)close(peer->input);
}

static FILE *open_proc(const struct peer *peer, const char *name) {
    char path[64];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)peer->pid, name);
    file = fopen(path, "re");
    if (file == NULL) {
        bench_give_up("%s: %s", path, strerror(errno));
    }
    return file;
}

double peer_processor_seconds(const struct peer *peer) {
    unsigned long user = 0;
    unsigned long system = 0;
    FILE *file = open_proc(peer, "stat");

    if (fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
               &system)
        != 2) {
        bench_give_up("/proc is not as it was");
    }
    (void)fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double peer_resident_bytes(const struct peer *peer) {
    unsigned long pages = 0;
    FILE *file = open_proc(peer, "statm");

    if (fscanf(file, "%*u %lu", &pages) != 1) {
        bench_give_up("/proc is not as it was");
    }
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

void peer_folder_make(const char *place, char *ret_folder, size_t bytes) {
    (void)snprintf(ret_folder, bytes, "%s/lk-bench-XXXXXX", place);
    if (mkdtemp(ret_folder) == NULL) {
        bench_give_up("%s cannot be made", ret_folder);
    }
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

void peer_folder_remove(const char *folder) {
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

bool peer_is_installed(const char *program) {
    const char *path = getenv("PATH");
    char candidate[512];

    for (const char *at = path != NULL ? path : ""; *at != '\0';) {
        size_t size = strcspn(at, ":");
        (void)snprintf(candidate, sizeof candidate, "%.*s/%s", (int)size, at, program);
        if (access(candidate, X_OK) == 0) {
            return true;
        }
        at += size + (at[size] == ':');
    }
    return false;
}
