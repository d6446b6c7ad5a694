/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of work and a pool of workers: each item that is pushed is worked on, and retried if it
 * fails, until the queue is empty.
 *
 *     cc worker.c $(pkg-config --cflags --libs lockkeeper) && ./a.out [STORE]
 *
 * Run it on several machines with one store: each item is claimed by one worker at a time, and the
 * item of a worker that dies is claimed by another.
 */
#include <lockkeeper/lockkeeper.h>
#include <stdio.h>
#include <stdlib.h>

static bool announce(lk_store *store, const char *id, const char *text) {
    /* At most two letters at a time, whatever the number of workers and of processes. */
    static const char *const needs[] = {"mail-server?limit=2"};
    const lk_push_request request = {.size = sizeof request,
                                     .queue = "mail",
                                     .id = id,
                                     .value = text,
                                     .value_size = strlen(text),
                                     .needs = needs,
                                     .need_count = 1};
    bool is_added;
    lk_error error;

    if (lk_push(store, &request, &is_added, &error) != LK_OK) {
        fprintf(stderr, "%s: %s\n", lk_outcome_text(error.outcome), error.text);
        return false;
    }
    printf("%s: %s\n", id, is_added ? "added" : "is announced already");
    return true;
}

/* Runs in a worker's thread, while the claim is kept alive in the background. */
static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
    (void)context;
    if (strcmp(claim->id, "letter-3") == 0 && claim->attempt == 1) {
        return 1; /* the item is given back, and retried after a delay */
    }
    if (lk_lease_is_lost(lease)) {
        return 1; /* another worker may have it by now: stop, rather than send it twice */
    }
    return 0; /* the item is done, if the claim is still held; else it is counted as lost */
}

/* Called for one step at a time. */
static void say(void *context, const lk_work_progress *progress) {
    static const char *const steps[] = {"claimed", "done", "to be tried again",
                                        "parked",  "lost", "unknown"};

    (void)context;
    printf("%s: %s (attempt %u)\n", progress->claim->id, steps[progress->step],
           (unsigned)progress->claim->attempt);
}

static bool work(lk_store *store) {
    const lk_work_options options = {.size = sizeof options,
                                     .queue = "mail",
                                     .handle = handle,
                                     .progress = say,
                                     .workers = 3,
                                     .ttl_ms = 10000, /* then the item of a dead worker is free */
                                     .max_attempts = 5,
                                     .retry_min_ms = 20,
                                     .drain = true};
    lk_queue_stats stats;
    lk_work_counts counts;
    lk_error error;

    if (lk_work(store, &options, &counts, &error) != LK_OK
        || lk_stats(store, "mail", &stats, &error) != LK_OK) {
        fprintf(stderr, "%s: %s\n", lk_outcome_text(error.outcome), error.text);
        return false;
    }
    const char *hint = lk_stats_hint(&stats);
    if (hint != NULL) {
        printf("%s\n", hint);
    }
    return counts.done == 3 && counts.retried == 1 && stats.ready_now == 0;
}

int main(int argc, char **argv) {
    lk_store *store;
    lk_error error;

    if (lk_open(argc > 1 ? argv[1] : NULL, &store, &error) != LK_OK) {
        fprintf(stderr, "cannot open the store: %s\n", error.text);
        return EXIT_FAILURE;
    }
    bool is_right = announce(store, "letter-1", "Dear Anna") && announce(store, "letter-2", "Hello")
                    && announce(store, "letter-3", "Sir") && announce(store, "letter-1", "again")
                    && work(store);
    lk_close(store);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
