/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals and the library, in a program that does not ignore SIGPIPE: test_signals redis://SOCKET
 *
 * The server ends all connections behind the back of the program, as a server that is restarted
 * does. The program goes on, and its next call connects again. And the library's threads block all
 * signals, so that those of a program go to its own threads.
 */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lockkeeper/lockkeeper.h"

enum { ROUNDS = 5, WAIT_MS = 100 };

static lk_outcome ask(lk_store *store, const char *owner, lk_style style) {
    const char *const parts[] = {"root/path"};
    lk_request request = lk_request_init(parts, 1);
    lk_error error;

    request.owner = owner;
    request.style = style;
    request.wait_ms = WAIT_MS;
    lk_outcome outcome = lk_ask(store, &request, NULL, &error);
    if (outcome != LK_GRANTED) {
        fprintf(stderr, "%s: %s\n", lk_outcome_name(outcome), error.text);
    }
    return outcome;
}

/* ---- connections that end -------------------------------------------------------------------- */

static bool connects_again(lk_store *store, const char *socket) {
    char command[512];

    snprintf(command, sizeof command, "redis-cli -s %s CLIENT KILL TYPE normal >/dev/null", socket);
    for (int round = 0; round < ROUNDS; round++) {
        if (ask(store, "first", LK_TRY) != LK_GRANTED || system(command) != 0
            || ask(store, "first", LK_TRY) != LK_GRANTED) {
            return false;
        }
    }
    return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

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

static bool threads_block_signals(lk_store *store) {
    const unsigned long long stops = 1ULL << (SIGINT - 1) | 1ULL << (SIGTERM - 1);
    int threads = 0, open = 0;

    /* A wait starts every thread that there is for waits. */
    if (ask(store, "first", LK_TRY) != LK_GRANTED || ask(store, "second", LK_WAIT) != LK_TIMEOUT) {
        return false;
    }
    DIR *directory = opendir("/proc/self/task");
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        long thread = strtol(entry->d_name, NULL, 10);

        threads += thread > 0 && thread != getpid();
        open += thread > 0 && thread != getpid() && (blocked(entry->d_name) & stops) != stops;
    }
    (void)closedir(directory);
    fprintf(stderr, "%d threads, %d with open signals\n", threads, open);
    return threads > 0 && open == 0;
}

int main(int argc, char **argv) {
    static const char scheme[] = "redis://";
    lk_store *store = NULL;
    bool is_connected;
    bool is_quiet;

    if (argc != 2 || strncmp(argv[1], scheme, strlen(scheme)) != 0
        || lk_open(argv[1], &store, NULL) != LK_OK) {
        return 2;
    }
    is_connected = connects_again(store, argv[1] + strlen(scheme));
    (void)printf("%s 1 - connections that end are opened again\n", is_connected ? "ok" : "not ok");
    is_quiet = threads_block_signals(store);
    (void)printf("%s 2 - threads of the library block signals\n1..2\n", is_quiet ? "ok" : "not ok");
    lk_close(store);
    return is_connected && is_quiet ? 0 : 1;
}
