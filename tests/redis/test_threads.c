/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's threads block all signals, so that those of a program go to its own threads.
 *
 *     test_threads redis://SOCKET
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lockkeeper/lockkeeper.h"

enum { WAIT_MS = 100 };

/* A wait starts every thread that there is for waits. */
static lk_outcome ask(lk_store *store, const char *owner, lk_style style) {
    const char *const parts[] = {"root/path"};
    lk_request request = lk_request_init(parts, 1);

    request.owner = owner;
    request.style = style;
    request.wait_ms = WAIT_MS;
    return lk_ask(store, &request, NULL, NULL);
}

/* The signals that the thread blocks. */
static unsigned long long blocked(const char *thread) {
    unsigned long long signals = 0;
    char line[256];
    FILE *file;

    (void)snprintf(line, sizeof line, "/proc/self/task/%s/status", thread);
    file = fopen(line, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "SigBlk: %llx", &signals) == 1) {
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return signals;
}

int main(int argc, char **argv) {
    const unsigned long long stops = 1ULL << (SIGINT - 1) | 1ULL << (SIGTERM - 1);
    lk_store *store = NULL;
    int threads = 0, open = 0;

    if (argc != 2 || lk_open(argv[1], &store, NULL) != LK_OK) {
        return 2;
    }
    if (ask(store, "first", LK_TRY) != LK_GRANTED || ask(store, "second", LK_WAIT) != LK_TIMEOUT) {
        return 1;
    }
    DIR *directory = opendir("/proc/self/task");
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        long thread = strtol(entry->d_name, NULL, 10);

        threads += thread > 0 && thread != getpid();
        open += thread > 0 && thread != getpid() && (blocked(entry->d_name) & stops) != stops;
    }
    (void)closedir(directory);
    fprintf(stderr, "%d threads, %d with open signals\n", threads, open);
    lk_close(store);
    return threads > 0 && open == 0 ? 0 : 1;
}
