/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds several leases in one process: lease_holder URL PART TTL_MS [PART TTL_MS]...
 *
 * Says "held" once it has all of them, "lost PART" for each that is lost, and ends, releasing
 * nothing, when its input does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lockkeeper/lockkeeper.h"

static void print_lost(void *context, lk_lease *lease) {
    (void)lease;
    (void)printf("lost %s\n", (const char *)context);
    (void)fflush(stdout);
}

int main(int argc, char **argv) {
    lk_store *store = NULL;
    lk_error error;
    char byte;

    if (argc < 4 || lk_open(argv[1], &store, &error) != LK_OK) {
        return EXIT_FAILURE;
    }
    for (int i = 2; i + 1 < argc; i += 2) {
        const char *part = argv[i];
        lk_request request = lk_request_init(&part, 1);
        lk_lease *lease = NULL;

        request.ttl_ms = strtol(argv[i + 1], NULL, 10);
        request.style = LK_TRY;
        if (lk_acquire(store, &request, &lease, NULL, &error) != LK_GRANTED) {
            (void)fprintf(stderr, "%s: %s\n", part, error.text);
            return EXIT_FAILURE;
        }
        lk_lease_on_lost(lease, print_lost, argv[i]);
    }
    (void)printf("held\n");
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return EXIT_SUCCESS; /* its end is not waited for by a node that is frozen */
}
