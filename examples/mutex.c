/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One at a time: a mutex between all programs that use the same store.
 *
 *     cc mutex.c $(pkg-config --cflags --libs lockkeeper) && ./a.out [STORE]
 *
 * Run it twice at the same moment: the second waits for the first, in the queue.
 */
#include <inttypes.h>
#include <lockkeeper/lockkeeper.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const char *const parts[] = {"mydatabase/mytest"};
    lk_request request = lk_request_init(parts, 1);
    lk_store *store;
    lk_lease *lease;
    lk_error error;

    /* Without a name this is $LK_STORE, or a file in your state directory. */
    if (lk_open(argc > 1 ? argv[1] : NULL, &store, &error) != LK_OK) {
        fprintf(stderr, "cannot open the store: %s\n", error.text);
        return EXIT_FAILURE;
    }
    request.note = "examples/mutex"; /* shown to requests that this one blocks */
    request.wait_ms = 30000;
    if (lk_acquire(store, &request, &lease, NULL, &error) != LK_GRANTED) {
        fprintf(stderr, "%s: %s\n", lk_outcome_text(error.outcome), error.text);
        lk_close(store);
        return EXIT_FAILURE;
    }

    /* Held exclusively. The lease is kept alive in the background during the work ... */
    for (int step = 1; step <= 3 && !lk_lease_is_lost(lease); step++) {
        /* ... and each write carries the token: the resource refuses smaller ones. */
        printf("step %d with token %" PRIu64 "\n", step, lk_lease_token(lease));
    }

    /* LK_LOST would mean that it was not held to the end, and that the work must be checked. */
    lk_outcome ended = lk_lease_release(lease, &error);
    if (ended != LK_OK && ended != LK_LOST) {
        lk_lease_abandon(lease); /* unknown: it could be released again, or ends at its deadline */
    }
    printf("%s\n", ended == LK_OK ? "held to the end" : lk_outcome_text(ended));
    lk_close(store);
    return ended == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
