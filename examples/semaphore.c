/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At most so many at a time: a counting semaphore, here for the licences of a tool.
 *
 *     cc semaphore.c $(pkg-config --cflags --libs lockkeeper) && ./a.out [STORE]
 *
 * The limit is part of the request: it is not set up beforehand, and the next request may name
 * another.
 */
#include <lockkeeper/lockkeeper.h>
#include <stdio.h>
#include <stdlib.h>

enum { LICENCES = 3, WORKERS = 4 };

/* Takes one licence if there is one. Returns NULL when all are taken, or on an error. */
static lk_lease *take(lk_store *store, int worker) {
    const char *const parts[] = {"licences/compiler?limit=3"};
    lk_request request = lk_request_init(parts, 1);
    lk_lease *lease = NULL;
    lk_result *result;
    lk_error error;

    request.style = LK_TRY; /* no waiting: LK_BUSY means that none is free */
    if (lk_acquire(store, &request, &lease, &result, &error) == LK_GRANTED) {
        printf("worker %d: licence %d of %d\n", worker, (int)result->in_use, LICENCES);
    } else {
        printf("worker %d: %s %s\n", worker, lk_outcome_name(error.outcome), error.text);
    }
    lk_result_free(result);
    return lease;
}

int main(int argc, char **argv) {
    lk_lease *leases[WORKERS];
    lk_store *store;
    lk_error error;
    int taken = 0;

    if (lk_open(argc > 1 ? argv[1] : NULL, &store, &error) != LK_OK) {
        fprintf(stderr, "cannot open the store: %s\n", error.text);
        return EXIT_FAILURE;
    }
    for (int worker = 0; worker < WORKERS; worker++) {
        leases[worker] = take(store, worker);
        taken += leases[worker] != NULL;
    }
    for (int worker = 0; worker < WORKERS; worker++) {
        lk_outcome ended = leases[worker] != NULL ? lk_lease_release(leases[worker], NULL) : LK_OK;
        if (ended != LK_OK && ended != LK_LOST) {
            lk_lease_abandon(leases[worker]); /* the licence may be held until its deadline */
        }
    }
    lk_close(store);
    return taken == LICENCES ? EXIT_SUCCESS : EXIT_FAILURE;
}
