/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server ends all connections behind the back of a program that does not ignore SIGPIPE, as a
 * server that is restarted does. The program goes on, and its next call connects again.
 *
 *     test_broken_pipe redis://SOCKET
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockkeeper/lockkeeper.h"

enum { ROUNDS = 5 };

static lk_outcome ask(lk_store *store) {
    const char *const parts[] = {"root/path"};
    lk_request request = lk_request_init(parts, 1);
    lk_error error;

    request.owner = "me";
    lk_outcome outcome = lk_ask(store, &request, NULL, &error);
    if (outcome != LK_GRANTED) {
        fprintf(stderr, "%s: %s\n", lk_outcome_name(outcome), error.text);
    }
    return outcome;
}

int main(int argc, char **argv) {
    static const char scheme[] = "redis://";
    char command[512];
    lk_store *store = NULL;

    if (argc != 2 || strncmp(argv[1], scheme, strlen(scheme)) != 0
        || lk_open(argv[1], &store, NULL) != LK_OK) {
        return 2;
    }
    snprintf(command, sizeof command, "redis-cli -s %s CLIENT KILL TYPE normal >/dev/null",
             argv[1] + strlen(scheme));
    for (int round = 0; round < ROUNDS; round++) {
        if (ask(store) != LK_GRANTED || system(command) != 0 || ask(store) != LK_GRANTED) {
            return 1;
        }
    }
    lk_close(store);
    return 0;
}
