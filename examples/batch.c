/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All or nothing: several paths in one request, here the two accounts of a transfer.
 *
 *     cc batch.c $(pkg-config --cflags --libs lockkeeper) && ./a.out [STORE]
 *
 * Two transfers in opposite directions cannot deadlock: neither holds one account and waits for the
 * other. The order in which the paths are named does not matter.
 */
#include <inttypes.h>
#include <lockkeeper/lockkeeper.h>
#include <stdio.h>
#include <stdlib.h>

static bool transfer(lk_store *store, const char *from, const char *to) {
    /* The accounts exclusively; the rates shared with other readers. */
    const char *const parts[] = {from, to, "rates?shared"};
    lk_request request = lk_request_init(parts, sizeof parts / sizeof parts[0]);
    lk_lease *lease;
    lk_error error;

    request.ttl_ms = 10000; /* if this process dies, the accounts are free after ten seconds */
    request.wait_ms = 30000;
    if (lk_acquire(store, &request, &lease, NULL, &error) != LK_GRANTED) {
        fprintf(stderr, "%s: %s\n", lk_outcome_text(error.outcome), error.text);
        return false;
    }
    printf("from %s to %s under token %" PRIu64 "\n", from, to, lk_lease_token(lease));
    lk_outcome ended = lk_lease_release(lease, &error);
    if (ended != LK_OK && ended != LK_LOST) {
        lk_lease_abandon(lease); /* unknown: it could be released again, or ends at its deadline */
    }
    return ended == LK_OK;
}

int main(int argc, char **argv) {
    lk_store *store;
    lk_error error;

    if (lk_open(argc > 1 ? argv[1] : NULL, &store, &error) != LK_OK) {
        fprintf(stderr, "cannot open the store: %s\n", error.text);
        return EXIT_FAILURE;
    }
    bool is_done = transfer(store, "accounts/alice", "accounts/bob")
                   && transfer(store, "accounts/bob", "accounts/alice");
    lk_close(store);
    return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}
