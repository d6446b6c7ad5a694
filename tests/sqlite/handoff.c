/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand-off: many processes wait for one lock, and each that gets it holds it for 100 ms.
 *
 * Shown: grants in the order of the tickets. Measured and printed: from the release sent to the
 * next one's grant received, and the processor time of all waiters. Usage: handoff [WAITERS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fixture.h"

enum { WAITERS = 50, WAITERS_MAX = 500, HOLD_MS = 100 };

/* What one waiter saw; written by it, in memory that all share. */
struct seen {
    uint64_t ticket;
    uint64_t token;
    int64_t granted_us;
    int64_t released_us; /* when it sent its release */
    int64_t cpu_us;      /* from joining the queue to the grant */
};

static int64_t cpu_us(void) {
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000
           + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void hold(void) {
    const struct timespec duration = {.tv_nsec = HOLD_MS * 1000000L};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, NULL);
}

/* One waiter: queued, byte into `ready`, granted, held, released. */
static int wait_in_queue(const struct fixture *fixture, int index, int ready, struct seen *seen) {
    struct lk_engine *engine = fixture_open_durable(fixture->file);
    struct lk_patience patience = test_patience(60000000);
    lk_result result = {.outcome = LK_OK};
    struct test_parts parts;
    struct pending_call pending;
    char owner[32];
    struct lk_ask ask = {.style = LK_WAIT, .blockers_max = 1};
    int64_t begun_us;

    (void)snprintf(owner, sizeof owner, "waiter %d", index);
    test_parts_parse(&parts, "database");
    ask.owner = lk_slice_of(owner);
    ask.parts = parts.parts;
    ask.part_count = parts.count;
    if (call_ask_pending(engine, &ask, &patience, &result, &pending) != LK_WAITING
        || write(ready, "", 1) != 1) {
        return 1;
    }
    seen->ticket = result.ticket;
    begun_us = cpu_us();
    while (result.outcome == LK_WAITING) {
        (void)call_await(engine, &pending, lk_clock_now_us() + 15000000, NULL);
        lk_result_clear(&result);
        patience = test_patience(60000000);
        (void)call_ask_pending(engine, &ask, &patience, &result, &pending);
    }
    seen->granted_us = lk_clock_now_us();
    seen->cpu_us = cpu_us() - begun_us;
    seen->token = result.token;
    if (result.outcome != LK_GRANTED) {
        return 2;
    }
    hold();
    seen->released_us = lk_clock_now_us();
    if (fixture_release(engine, owner, "database", seen->token, &result) != LK_OK) {
        return 3;
    }
    lk_result_clear(&result);
    fixture_close(engine);
    return 0;
}

static int by_ticket(const void *a, const void *b) {
    const struct seen *left = a;
    const struct seen *right = b;

    return (left->ticket > right->ticket) - (left->ticket < right->ticket);
}

static int by_size(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* `released_us`: when the first holder let go. Returns whether all came in order. */
static bool evaluate(struct seen *seen, int count, int64_t released_us) {
    static int64_t delays[WAITERS_MAX];
    int64_t first_us = released_us;
    int64_t cpu = 0;
    int64_t wall;
    bool in_order = true;

    qsort(seen, (size_t)count, sizeof *seen, by_ticket);
    for (int i = 0; i < count; i++) {
        delays[i] = seen[i].granted_us - released_us;
        in_order = in_order && delays[i] >= 0 && (i == 0 || seen[i].token > seen[i - 1].token);
        released_us = seen[i].released_us;
        cpu += seen[i].cpu_us;
    }
    wall = seen[count - 1].granted_us - first_us;
    qsort(delays, (size_t)count, sizeof delays[0], by_size);
    (void)printf("# hand-off with %d waiting, held %d ms: p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, "
                 "greatest %.1f ms\n",
                 count, HOLD_MS, (double)delays[count / 2] / 1000.0,
                 (double)delays[count * 9 / 10] / 1000.0, (double)delays[count * 99 / 100] / 1000.0,
                 (double)delays[count - 1] / 1000.0);
    (void)printf("# processor time of all that wait: %.1f %% of one core\n",
                 100.0 * (double)cpu / (double)wall);
    return in_order;
}

int main(int argument_count, char **arguments) {
    int count = argument_count > 1 ? atoi(arguments[1]) : WAITERS;
    struct fixture fixture = fixture_make();
    struct lk_engine *engine = fixture_open_durable(fixture.file);
    struct seen *seen = mmap(NULL, WAITERS_MAX * sizeof *seen, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lk_result result = {.outcome = LK_OK};
    int64_t released_us;
    bool all_succeed = true;
    int ready[2];

    if (count < 1 || count > WAITERS_MAX || seen == MAP_FAILED || pipe(ready) != 0
        || fixture_ask(engine, "first", "database", LK_TRY, 3600000, &result) != LK_GRANTED) {
        test_die("no start");
    }
    for (int i = 0; i < count; i++) {
        char byte;
        if (test_fork() == 0) {
            _exit(wait_in_queue(&fixture, i, ready[1], &seen[i]));
        }
        if (read(ready[0], &byte, 1) != 1) {
            test_die("a waiter did not join the queue");
        }
    }
    released_us = lk_clock_now_us();
    all_succeed = fixture_release(engine, "first", "database", 0, &result) == LK_OK;
    for (int i = 0; i < count; i++) {
        all_succeed = test_exit_status(-1) == 0 && all_succeed;
    }
    all_succeed = all_succeed && evaluate(seen, count, released_us);
    (void)printf("1..1\n%s 1 - %d waiters are granted in the order of their tickets\n",
                 all_succeed ? "ok" : "not ok", count);
    lk_result_clear(&result);
    fixture_close(engine);
    fixture_remove(&fixture);
    return all_succeed ? 0 : 1;
}
