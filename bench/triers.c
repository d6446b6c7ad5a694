/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside many that try in vain, on any store, through the library:
 *
 *     bench-triers NAME URL [URL-ELSEWHERE]
 *     bench-triers NAME service LK
 *
 * One lock is held and renewed, first in quiet, then while 25 processes ask for it without pause.
 * So many keep the processors from the holder, too, whatever they do. So it is also renewed beside
 * as many that only compute, and, where there is another store of the kind (of a service, another
 * one), beside as many that try there: what is beyond these is the store's part. Told besides is
 * what a refused try costs beside a lock that is taken and given back.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "store.h"

enum {
    TRIERS = 25,
    TRIERS_SMOKE = 2,
    ROUNDS = 5,
    ROUNDS_SMOKE = 1,
    SHORT = 2,
    ROUND_MS = 2000,
    RENEWALS_MAX = 1 << 15,
    CALLS = 200, /* of a figure of one call's cost */
    CALLS_SMOKE = 2,
    P99_TIMES = 3,
};

/* What goes on beside the renewals. */
enum beside { QUIET, COMPUTING, TRYING_ELSEWHERE, TRYING, BESIDE_COUNT };

struct triers {
    const char *name;
    const char *url;
    const char *elsewhere; /* NULL: there is no other store */
    lk_store *store;       /* of the holder */
    double samples_us[RENEWALS_MAX];
};

/* ---- those beside ---------------------------------------------------------------------------- */

/* Tells by a byte that it has begun. Never returns: it is killed. */
static _Noreturn void compute(int begun) {
    volatile uint64_t state = 0;

    (void)!write(begun, "", 1);
    for (;;) {
        state = state + 1;
    }
}

static _Noreturn void try_in_vain(const char *url, int begun) {
    lk_store *store = bench_store_open(url);
    lk_error error = {0};

    for (size_t i = 0;; i++) {
        bench_must(bench_ask(store, "held", "trier", LK_TRY, &error), LK_BUSY, "a try", &error);
        if (i == 0) {
            (void)!write(begun, "", 1);
        }
    }
}

/* Starts `count` processes, and waits until all of them have begun. */
static void start(const struct triers *triers, enum beside beside, pid_t *pids, size_t count) {
    int pipes[2];
    char ignored;

    if (pipe(pipes) != 0) {
        bench_give_up("no pipe");
    }
    for (size_t i = 0; i < count; i++) {
        pids[i] = fork();
        if (pids[i] < 0) {
            bench_give_up("no process");
        } else if (pids[i] == 0) {
            (void)close(pipes[0]);
            if (beside == COMPUTING) {
                compute(pipes[1]);
            }
            try_in_vain(beside == TRYING ? triers->url : triers->elsewhere, pipes[1]);
        }
    }
    (void)close(pipes[1]);
    for (size_t i = 0; i < count; i++) {
        if (read(pipes[0], &ignored, 1) != 1) {
            bench_give_up("one of those beside has ended");
        }
    }
    (void)close(pipes[0]);
}

static void end(const pid_t *pids, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int status = 0;

        (void)kill(pids[i], SIGKILL);
        if (waitpid(pids[i], &status, 0) != pids[i] || !WIFSIGNALED(status)) {
            bench_give_up("one of those beside has ended");
        }
    }
}

/* ---- figures --------------------------------------------------------------------------------- */

/* The 99th of a hundred renewals, in microseconds. */
static double renew_for_a_while(struct triers *triers) {
    static const char *const parts[] = {"held"};
    int64_t until_ns = bench_now_ns() + bench_round_ns(ROUND_MS);
    lk_request request = lk_request_init(parts, 1);
    size_t count = 0;

    request.owner = "holder";
    while (count < RENEWALS_MAX && (count < 2 || bench_now_ns() < until_ns)) {
        int64_t begun_ns = bench_now_ns();
        lk_error error = {0};

        bench_must(lk_renew(triers->store, &request, 0, NULL, &error), LK_OK, "a renewal", &error);
        triers->samples_us[count++] = (double)(bench_now_ns() - begun_ns) / 1e3;
    }
    (void)bench_median(triers->samples_us, count); /* puts them in order */
    return bench_quantile(triers->samples_us, count, 0.99);
}

static double renew_beside(struct triers *triers, enum beside beside) {
    pid_t pids[TRIERS];
    size_t count = beside == QUIET ? 0 : bench_count(TRIERS, TRIERS_SMOKE);
    double p99_us;

    start(triers, beside, pids, count);
    p99_us = renew_for_a_while(triers);
    end(pids, count);
    return p99_us;
}

static double cost_of_try(struct triers *triers) {
    size_t calls = bench_count(CALLS, CALLS_SMOKE);
    int64_t begun_ns = bench_now_ns();
    lk_error error = {0};

    for (size_t i = 0; i < calls; i++) {
        bench_must(bench_ask(triers->store, "held", "trier", LK_TRY, &error), LK_BUSY, "a try",
                   &error);
    }
    return (double)(bench_now_ns() - begun_ns) / 1e3 / (double)calls;
}

static double cost_of_pair(struct triers *triers) {
    size_t calls = bench_count(CALLS, CALLS_SMOKE);
    int64_t begun_ns = bench_now_ns();
    lk_error error = {0};

    for (size_t i = 0; i < calls; i++) {
        bench_must(bench_ask(triers->store, "free", "trier", LK_TRY, &error), LK_GRANTED, "a pair",
                   &error);
        bench_must(bench_release(triers->store, "free", "trier", &error), LK_OK, "a pair", &error);
    }
    return (double)(bench_now_ns() - begun_ns) / 1e3 / (double)calls;
}

static void hold(lk_store *store) {
    lk_error error = {0};

    bench_must(bench_ask(store, "held", "holder", LK_TRY, &error), LK_GRANTED, "held", &error);
}

static bool is_measured(const struct triers *triers, enum beside beside) {
    return beside != TRYING_ELSEWHERE || triers->elsewhere != NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void print(const struct triers *triers, const char *what, double *got, size_t count,
                  double bar, const char *unit) {
    char row[BENCH_TEXT_BYTES];

    (void)snprintf(row, sizeof row, "%s: %s", triers->name, what);
    bench_samples_print(row, got, count, bar, unit);
}

/* Rounds in turn: quiet and not, pairs and tries. */
static void measure(struct triers *triers) {
    static const char *const figures[BESIDE_COUNT] = {
        "p99 of a renewal, in quiet",
        "p99 of a renewal, beside 25 that only compute",
        "p99 of a renewal, beside 25 that try elsewhere",
        "p99 of a renewal, beside 25 that try",
    };
    static const char *const ratios[TRYING] = {
        "this last one, to that in quiet",
        "this last one, to that beside 25 that only compute",
        "this last one, to that beside 25 that try elsewhere",
    };
    size_t rounds = bench_is_short() ? SHORT : bench_count(ROUNDS, ROUNDS_SMOKE);
    double p99_us[BESIDE_COUNT][ROUNDS];
    double times[TRYING][ROUNDS];
    double pairs_us[ROUNDS];
    double tries_us[ROUNDS];

    for (size_t i = 0; i < rounds; i++) {
        bench_progress("%s: round %zu of %zu", triers->name, i + 1, rounds);
        for (enum beside beside = QUIET; beside < BESIDE_COUNT; beside++) {
            p99_us[beside][i] = is_measured(triers, beside) ? renew_beside(triers, beside) : 1;
        }
        for (enum beside beside = QUIET; beside < TRYING; beside++) {
            times[beside][i] = p99_us[TRYING][i] / p99_us[beside][i];
        }
        pairs_us[i] = cost_of_pair(triers);
        tries_us[i] = cost_of_try(triers);
    }
    for (enum beside beside = QUIET; beside < BESIDE_COUNT; beside++) {
        if (is_measured(triers, beside)) {
            print(triers, figures[beside], p99_us[beside], rounds, 0, "us");
        }
    }
    for (enum beside beside = QUIET; beside < TRYING; beside++) {
        if (is_measured(triers, beside)) {
            print(triers, ratios[beside], times[beside], rounds, P99_TIMES, "times");
        }
    }
    print(triers, "a lock is taken and given back", pairs_us, rounds, 0, "us");
    print(triers, "a refused try", tries_us, rounds, bench_median(pairs_us, rounds), "us");
}

int main(int argc, char **argv) {
    static struct triers triers;
    char title[BENCH_TEXT_BYTES];
    const char *more = argc > 3 ? argv[3] : NULL;

    if (argc < 3) {
        bench_give_up("usage: bench-triers NAME URL [URL-ELSEWHERE] | NAME service LK");
    }
    (void)snprintf(title, sizeof title, "Beside many that try in vain: %s", argv[1]);
    bench_begin("bench-triers", title);
    bench_title_print("Beside many that try in vain");
    triers.name = argv[1];
    triers.url = bench_store_url(argv[2], more);
    triers.elsewhere = bench_store_is_service(argv[2]) ? bench_store_url(argv[2], more) : more;
    if (triers.elsewhere != NULL) {
        lk_store *other = bench_store_open(triers.elsewhere);

        hold(other);
        lk_close(other);
    }
    triers.store = bench_store_open(triers.url);
    hold(triers.store);
    measure(&triers);
    lk_close(triers.store);
    bench_store_end();
    return 0;
}
