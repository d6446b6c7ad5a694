/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand-off of one lock among many processes, on any store, through the library, beside the lock
 * that its users have without it (struct handoff_peer), in turn:
 *
 *     bench-handoff NAME URL [AT_MOST_US AT_LEAST]
 *     bench-handoff NAME service LK [AT_MOST_US AT_LEAST]
 *
 * Each process holds the lock for 2 ms and thinks for 1 ms. What is told is the time from a release
 * that is sent to the next grant that is received, and the grants a second, beside their bars.
 */
#include "handoff.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "store.h"

enum {
    PROCESSES = 20,
    PROCESSES_SMOKE = 3,
    ROUND_MS = 3000,
    SMOKE_MS = 300,
    GRANTS_MAX = 1 << 16,
    GRANTS_LEAST = 10, /* of a round, however long that takes */
    HOLD_NS = 2000000,
    THINK_NS = 1000000,
    WAIT_MS = 60000,
};

struct grant {
    int64_t granted_ns;
    int64_t released_ns; /* when the release was sent; 0: not yet */
};

/* What the processes of one round share. */
struct shared {
    atomic_size_t ready; /* processes that have held it once */
    atomic_llong begin_ns;
    int64_t end_ns;
    atomic_size_t count;
    struct grant grants[GRANTS_MAX];
};

struct handoff {
    const char *url;
    struct shared *shared;
    double grants_per_s[2][BENCH_ROUNDS_MAX + 1];
    size_t rounds[2];
};

static void nap(int64_t duration_ns) {
    const struct timespec duration = {.tv_nsec = (long)duration_ns};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, NULL);
}

/* ---- the two sides --------------------------------------------------------------------------- */

struct lock {
    void *peer; /* or else: */
    lk_store *store;
    char owner[32];
};

static lk_request request_of(const struct lock *lock) {
    static const char *const parts[] = {"handed/on"};
    lk_request request = lk_request_init(parts, 1);

    request.owner = lock->owner;
    request.wait_ms = WAIT_MS;
    return request;
}

static void take(const struct lock *lock) {
    lk_request request = request_of(lock);
    lk_error error = {0};

    if (lock->store != NULL) {
        bench_must(lk_ask(lock->store, &request, NULL, &error), LK_GRANTED, "a wait", &error);
    } else {
        handoff_peer.lock(lock->peer);
    }
}

static void leave(const struct lock *lock) {
    lk_request request = request_of(lock);
    lk_error error = {0};

    if (lock->store != NULL) {
        bench_must(lk_release(lock->store, &request, 0, NULL, &error), LK_OK, "a release", &error);
    } else {
        handoff_peer.unlock(lock->peer);
    }
}

static void take_part(struct shared *shared, const struct lock *lock) {
    take(lock); /* once, before the clock starts: connections and plans are made */
    leave(lock);
    (void)atomic_fetch_add(&shared->ready, 1);
    while (atomic_load(&shared->begin_ns) == 0) {
        nap(THINK_NS);
    }
    for (;;) {
        struct grant grant;
        size_t at;

        take(lock);
        grant.granted_ns = bench_now_ns();
        if (grant.granted_ns >= shared->end_ns && atomic_load(&shared->count) >= GRANTS_LEAST) {
            leave(lock);
            return;
        }
        nap(HOLD_NS);
        grant.released_ns = bench_now_ns();
        at = atomic_fetch_add(&shared->count, 1);
        if (at < GRANTS_MAX) {
            shared->grants[at] = grant;
        }
        leave(lock);
        nap(THINK_NS);
    }
}

static void run_process(const struct handoff *handoff, bool is_ours, int number) {
    struct lock lock = {.peer = NULL};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)snprintf(lock.owner, sizeof lock.owner, "process-%d", number);
    if (is_ours) {
        lock.store = bench_store_open(handoff->url);
        take_part(handoff->shared, &lock);
        lk_close(lock.store);
    } else {
        lock.peer = handoff_peer.open();
        take_part(handoff->shared, &lock);
        handoff_peer.close(lock.peer);
    }
    _exit(0);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* The middle of what is between a release and the next grant; none may begin before. */
static double middle_us(const struct grant *grants, size_t count) {
    double *delays = malloc(count * sizeof *delays);
    double middle;

    if (delays == NULL || count < 2) {
        bench_give_up("no hand-offs");
    }
    for (size_t i = 1; i < count; i++) {
        delays[i - 1] = (double)(grants[i].granted_ns - grants[i - 1].released_ns) / 1e3;
        if (delays[i - 1] < 0) {
            bench_give_up("two held the lock at once");
        }
    }
    middle = bench_median(delays, count - 1);
    free(delays);
    return middle;
}

static double play(struct handoff *handoff, bool is_ours) {
    struct shared *shared = handoff->shared;
    size_t processes = bench_count(PROCESSES, PROCESSES_SMOKE);
    int64_t round_ns = bench_is_smoke() ? SMOKE_MS * INT64_C(1000000) : bench_round_ns(ROUND_MS);
    size_t count;

    memset(shared, 0, sizeof *shared);
    (void)fflush(NULL);
    for (size_t i = 0; i < processes; i++) {
        pid_t child = fork();

        if (child < 0) {
            bench_give_up("no process: %s", strerror(errno));
        }
        if (child == 0) {
            run_process(handoff, is_ours, (int)i);
        }
    }
    while (atomic_load(&shared->ready) < processes) {
        int status = 0;

        if (waitpid(-1, &status, WNOHANG) > 0) {
            bench_give_up("a process could not begin");
        }
        nap(THINK_NS);
    }
    shared->end_ns = bench_now_ns() + round_ns;
    atomic_store(&shared->begin_ns, bench_now_ns());
    for (size_t i = 0; i < processes; i++) {
        int status = 0;

        if (wait(&status) < 0 || status != 0) {
            bench_give_up("a process failed");
        }
    }
    count = atomic_load(&shared->count);
    count = count < GRANTS_MAX ? count : GRANTS_MAX;
    handoff->grants_per_s[is_ours][handoff->rounds[is_ours]++] =
        (double)count * 1e9
        / (double)(shared->grants[count - 1].released_ns - atomic_load(&shared->begin_ns));
    return middle_us(shared->grants, count);
}

static double play_ours(void *context) {
    return play(context, true);
}

static double play_theirs(void *context) {
    return play(context, false);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_grants(const struct handoff *handoff, const char *name, double at_least) {
    size_t warm = bench_is_smoke() ? 0 : 1;
    char what[BENCH_TEXT_BYTES];

    (void)snprintf(what, sizeof what, "%s: grants, held for 2 ms", name);
    bench_comparison_print(&(struct bench_comparison){.what = what,
                                                      .peer = handoff_peer.name,
                                                      .unit = "/s",
                                                      .own_bar = at_least,
                                                      .ours = handoff->grants_per_s[true] + warm,
                                                      .theirs = handoff->grants_per_s[false] + warm,
                                                      .count = handoff->rounds[true] - warm});
}

int main(int argc, char **argv) {
    bool is_service = argc > 2 && strcmp(argv[2], "service") == 0;
    int bars = is_service ? 4 : 3;
    struct handoff handoff = {.url = NULL};
    char title[BENCH_TEXT_BYTES];

    if (argc < bars) {
        bench_give_up("usage: bench-handoff NAME URL|service LK [AT_MOST_US AT_LEAST]");
    }
    (void)snprintf(title, sizeof title, "Hand-off: %s beside %s", argv[1], handoff_peer.name);
    bench_begin("bench-handoff", title);
    bench_title_print("Hand-off of one lock among 20 processes");
    handoff.url = bench_store_url(argv[2], is_service ? argv[3] : NULL);
    handoff.shared = mmap(NULL, sizeof *handoff.shared, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (handoff.shared == MAP_FAILED) {
        bench_give_up("no shared memory");
    }
    (void)snprintf(title, sizeof title, "%s: from a release to the next grant", argv[1]);
    bench_duel(&(struct bench_duel){.what = title,
                                    .peer = handoff_peer.name,
                                    .unit = "us",
                                    .is_cost = true,
                                    .own_bar = argc > bars ? strtod(argv[bars], NULL) : 0,
                                    .ours = play_ours,
                                    .theirs = play_theirs,
                                    .context = &handoff});
    print_grants(&handoff, argv[1], argc > bars + 1 ? strtod(argv[bars + 1], NULL) : 0);
    bench_store_end();
    return 0;
}
