/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending services. */
#include "launch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(const struct service *service, int output, pid_t parent) {
    char http[sizeof service->socket + sizeof "unix:"];
    const char *arguments[] = {"lk", "serve", "--unix", service->socket, "--http", "none",
                               NULL, NULL,    NULL};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (service->is_http) {
        (void)snprintf(http, sizeof http, "unix:%s", service->socket);
        arguments[2] = "--listen";
        arguments[3] = "none";
        arguments[5] = http;
    }
    arguments[6] = service->directory[0] != '\0' ? "--dir" : "--ephemeral";
    arguments[7] = service->directory[0] != '\0' ? service->directory : NULL;
    if (getppid() == parent && dup2(output, STDOUT_FILENO) >= 0) {
        (void)execv(service->program, (char *const *)(uintptr_t)arguments);
        perror(service->program);
    }
    _exit(127);
}

int service_place(struct service *service, const char *path) {
    size_t size = strlen(path);

    if (size + sizeof ".d" > sizeof service->socket) {
        return 0;
    }
    memcpy(service->socket, path, size + 1);
    memcpy(service->directory, path, size);
    memcpy(service->directory + size, ".d", sizeof ".d");
    return 1;
}

int service_start(struct service *service) {
    pid_t parent = getpid();
    char byte;
    int ends[2];
    int is_there;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return 0;
    }
    service->process = fork();
    if (service->process == 0) {
        become(service, ends[1], parent);
    }
    (void)close(ends[1]);
    is_there = service->process > 0 && read(ends[0], &byte, 1) == 1; /* its address, or its end */
    (void)close(ends[0]);
    if (!is_there && service->process > 0) {
        (void)service_end(service, SIGKILL);
    }
    return is_there;
}

int service_end(struct service *service, int signal_number) {
    int status = -1;

    if (service->process > 0) {
        (void)kill(service->process, signal_number);
        (void)waitpid(service->process, &status, 0);
    }
    service->process = 0;
    return status;
}
