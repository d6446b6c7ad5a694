/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand-off: many processes wait for one lock, and each that gets it releases it at once.
 *
 * Shown: grants in the order of the tickets. Measured and printed: from the release sent to the
 * next one's grant received. handoff URL [WAITERS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "lockkeeper/lockkeeper.h"

enum { WAITERS = 50, WAITERS_MAX = 500, ROUND_TRIPS_MAX_US = 5000000, OPENING_US = 60000000 };

/* What one waiter saw; written by it, in memory that all share. */
struct seen {
    uint64_t ticket;
    int64_t granted_us;
    int64_t released_us; /* when it sent its release */
};

static _Noreturn void give_up(const char *what, const char *why) {
    (void)fprintf(stderr, "handoff: %s: %s\n", what, why);
    exit(1);
}

/* All waiters connect at once, and a busy server may not come to one of them before it gives up. */
static lk_store *open_store(const char *url) {
    int64_t end_us = lk_clock_now_us() + OPENING_US;
    lk_outcome outcome;
    lk_store *store;
    lk_error error;

    do {
        store = NULL;
        outcome = lk_open(url, &store, &error);
    } while (outcome == LK_UNAVAILABLE && lk_clock_now_us() < end_us);
    if (outcome != LK_OK) {
        give_up(url, error.text);
    }
    return store;
}

/* One waiter: granted, noted, released. */
static int wait_in_line(const char *url, int index, struct seen *seen) {
    static const char *const parts[] = {"database"};
    lk_store *store = open_store(url);
    lk_request request = lk_request_init(parts, 1);
    lk_result *result = NULL;
    char owner[32];
    lk_error error;

    (void)snprintf(owner, sizeof owner, "waiter %d", index);
    request.owner = owner;
    request.wait_ms = 60000;
    if (lk_ask(store, &request, &result, &error) != LK_GRANTED) {
        give_up(owner, error.text);
    }
    seen->granted_us = lk_clock_now_us();
    seen->ticket = result->ticket;
    seen->released_us = lk_clock_now_us();
    if (lk_release(store, &request, result->token, NULL, &error) != LK_OK) {
        give_up(owner, error.text);
    }
    lk_result_free(result);
    lk_close(store);
    return 0;
}

static size_t count_in_line(lk_store *store) {
    lk_listing *listing = NULL;
    lk_error error;
    size_t count;

    if (lk_list(store, "database", &listing, &error) != LK_OK) {
        give_up("list", error.text);
    }
    count = listing->count;
    lk_listing_free(listing);
    return count;
}

/* Until all waiters are in the queue; ends with the first of them that ended. */
static void await_waiters(lk_store *store, int count) {
    while (count_in_line(store) < (size_t)count + 1) {
        if (waitpid(-1, NULL, WNOHANG) != 0) {
            give_up("a waiter", "it ended before all were in the queue");
        }
        (void)usleep(10000);
    }
}

static int compare_granted(const void *a, const void *b) {
    int64_t x = ((const struct seen *)a)->granted_us;
    int64_t y = ((const struct seen *)b)->granted_us;

    return (x > y) - (x < y);
}

static int compare_times(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Whether the order of the grants was that of the tickets; prints how long the hand-offs took. */
static int evaluate(struct seen *seen, int count, int64_t begun_us) {
    static int64_t times[WAITERS_MAX];
    int64_t ended_us;

    qsort(seen, (size_t)count, sizeof *seen, compare_granted);
    ended_us = seen[count - 1].released_us;
    for (int i = 1; i < count; i++) {
        if (seen[i].ticket < seen[i - 1].ticket) {
            (void)printf("not ok 1 - grants in the order of the tickets\n");
            return 1;
        }
        times[i - 1] = seen[i].granted_us - seen[i - 1].released_us;
    }
    (void)printf("ok 1 - grants in the order of the tickets\n");
    qsort(times, (size_t)count - 1, sizeof *times, compare_times);
    (void)printf("# hand-off: p50 %lld us, p99 %lld us, %.0f hand-offs/s\n",
                 (long long)times[count / 2], (long long)times[(count - 1) * 99 / 100],
                 (double)count * 1e6 / (double)(ended_us - begun_us));
    (void)printf("%s 2 - hand-offs wait for no poll\n",
                 times[count / 2] < ROUND_TRIPS_MAX_US ? "ok" : "not ok");
    return times[count / 2] < ROUND_TRIPS_MAX_US ? 0 : 1;
}

int main(int argc, char **argv) {
    static const char *const parts[] = {"database"};
    int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : WAITERS;
    struct seen *seen = mmap(NULL, sizeof *seen * WAITERS_MAX, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lk_request request = lk_request_init(parts, 1);
    lk_store *store;
    int64_t begun_us;
    bool good = true;

    if (argc < 2 || count < 2 || count > WAITERS_MAX || seen == MAP_FAILED) {
        give_up("usage", "handoff URL [WAITERS]");
    }
    request.owner = "first";
    request.style = LK_TRY;
    store = open_store(argv[1]);
    if (lk_ask(store, &request, NULL, NULL) != LK_GRANTED) {
        give_up("first", "the lock is not free");
    }
    lk_close(store); /* a child of fork() opens its own */
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            exit(wait_in_line(argv[1], i, &seen[i]));
        }
    }
    store = open_store(argv[1]);
    await_waiters(store, count);
    begun_us = lk_clock_now_us();
    (void)lk_release(store, &request, 0, NULL, NULL);
    for (int i = 0; i < count; i++) {
        int status = 0;

        good = wait(&status) > 0 && status == 0 && good;
    }
    lk_close(store);
    (void)printf("1..2\n");
    return good ? evaluate(seen, count, begun_us) : 1;
}
