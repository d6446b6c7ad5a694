/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command that `lk run` starts in these tests:
 *
 *   child hold READY               waits for a signal
 *   child leave READY              the same, in its parent's process group
 *   child ignore-term READY        ignores SIGTERM and waits for SIGKILL
 *   child report READY GOT CODE    writes the number of the first signal to GOT and exits with CODE
 *   child count READY GOT          writes to GOT how often it was continued before SIGUSR1
 *   child tick READY LOG           appends the milliseconds since boot to LOG, every 5 ms
 *   child daemon READY stay|leave  starts a daemon in another process group; it ignores SIGTERM and
 *                                  creates READY
 *   child parent READY             on SIGUSR1 kills its child and exits with 0, unless the child
 *                                  was dead already
 *   child descriptors LIST         writes the numbers of its open descriptors
 *
 * When it is ready, it creates READY with its process number.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEFECT = 99 };

static void write_file(const char *path, const char *text) {
    char draft[4096];

    (void)snprintf(draft, sizeof draft, "%s.%ld", path, (long)getpid());
    int descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (descriptor < 0 || write(descriptor, text, strlen(text)) != (ssize_t)strlen(text)
        || close(descriptor) != 0 || rename(draft, path) != 0) {
        _exit(DEFECT);
    }
}

static void be_ready(const char *path) {
    char number[32];

    (void)snprintf(number, sizeof number, "%ld\n", (long)getpid());
    write_file(path, number);
}

static _Noreturn void wait_for_end(void) {
    for (;;) {
        pause();
    }
}

static int report(const char *ready, const char *got, int code) {
    char number[32];
    sigset_t all;
    int signal;

    sigemptyset(&all);
    const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGWINCH};
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        sigaddset(&all, passed[i]);
    }
    sigprocmask(SIG_BLOCK, &all, NULL);
    be_ready(ready);
    sigwait(&all, &signal);
    (void)snprintf(number, sizeof number, "%d\n", signal);
    write_file(got, number);
    return code;
}

static int count(const char *ready, const char *got) {
    char number[32];
    sigset_t counted;
    int signal;
    int times = 0;

    sigemptyset(&counted);
    sigaddset(&counted, SIGCONT);
    sigaddset(&counted, SIGUSR1);
    sigprocmask(SIG_BLOCK, &counted, NULL);
    be_ready(ready);
    while (sigwait(&counted, &signal) == 0 && signal == SIGCONT) {
        times++;
    }
    (void)snprintf(number, sizeof number, "%d\n", times);
    write_file(got, number);
    return 0;
}

static _Noreturn void tick(const char *ready, const char *log) {
    const struct timespec pause_between = {.tv_nsec = 5000000};
    int descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    bool is_ready = false;

    for (;;) {
        struct timespec now;
        clock_gettime(CLOCK_BOOTTIME, &now);
        if (dprintf(descriptor, "%lld\n", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000)
            < 0) {
            _exit(DEFECT);
        }
        if (!is_ready) {
            be_ready(ready);
            is_ready = true;
        }
        nanosleep(&pause_between, NULL);
    }
}

static int be_parent(const char *ready) {
    sigset_t usr1;
    int signal;
    int status;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pid_t child = fork();
    if (child == 0) {
        wait_for_end();
    }
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    be_ready(ready);
    sigwait(&usr1, &signal);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : 1;
}

static int list_descriptors(const char *list) {
    char text[4096] = "";
    size_t size = 0;

    for (int descriptor = 0; descriptor < 1024 && size < sizeof text - 8; descriptor++) {
        if (fcntl(descriptor, F_GETFD) >= 0) {
            size += (size_t)snprintf(text + size, sizeof text - size, "%d ", descriptor);
        }
    }
    write_file(list, text);
    return 0;
}

static int start_daemon(const char *ready, bool stay) {
    int gate[2];
    char word;

    if (pipe(gate) != 0) {
        return DEFECT;
    }
    pid_t middle = fork();
    if (middle == 0) {
        setsid();
        if (fork() != 0) {
            _exit(0);
        }
        signal(SIGTERM, SIG_IGN);
        be_ready(ready);
        close(gate[0]);
        close(gate[1]);
        wait_for_end();
    }
    close(gate[1]);
    waitpid(middle, NULL, 0);
    (void)!read(gate[0], &word, 1); /* ends when the daemon is ready */
    if (stay) {
        wait_for_end();
    }
    return 0;
}

static int play(int argc, char **argv) {
    const char *part = argc > 2 ? argv[1] : "";

    if (strcmp(part, "leave") == 0 && setpgid(0, getpgid(getppid())) != 0) {
        return DEFECT;
    }
    if (strcmp(part, "hold") == 0 || strcmp(part, "leave") == 0) {
        be_ready(argv[2]);
        wait_for_end();
    }
    if (strcmp(part, "ignore-term") == 0) {
        signal(SIGTERM, SIG_IGN);
        be_ready(argv[2]);
        wait_for_end();
    }
    if (strcmp(part, "report") == 0 && argc == 5) {
        return report(argv[2], argv[3], atoi(argv[4]));
    }
    if (strcmp(part, "count") == 0 && argc == 4) {
        return count(argv[2], argv[3]);
    }
    if (strcmp(part, "tick") == 0 && argc == 4) {
        tick(argv[2], argv[3]);
    }
    if (strcmp(part, "parent") == 0) {
        return be_parent(argv[2]);
    }
    if (strcmp(part, "descriptors") == 0) {
        return list_descriptors(argv[2]);
    }
    if (strcmp(part, "daemon") == 0 && argc == 4) {
        return start_daemon(argv[2], strcmp(argv[3], "stay") == 0);
    }
    return DEFECT;
}

/* Not exit(): a leak checker stops the process to examine it, and hangs if lk continues the process
 * at that moment. */
int main(int argc, char **argv) {
    _exit(play(argc, argv));
}
