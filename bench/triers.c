/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside many that try in vain, on any store, through the library:
 *
 *     bench-triers NAME URL
 *     bench-triers NAME service LK
 *
 * One lock is held and renewed, first in quiet, then while others ask for it without pause, each
 * with a connection of its own. Told are the times of a renewal in both, and what a refused try
 * costs beside a lock that is taken and given back.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

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

struct triers {
    const char *url;
    lk_store *store; /* of the holder */
    atomic_bool is_over;
    double samples_us[RENEWALS_MAX];
};

static void *try_in_vain(void *context) {
    struct triers *triers = context;
    lk_store *store = bench_store_open(triers->url);
    lk_error error = {0};

    while (!atomic_load(&triers->is_over)) {
        bench_must(bench_ask(store, "held", "trier", LK_TRY, &error), LK_BUSY, "a try", &error);
    }
    lk_close(store);
    return NULL;
}

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

static double renew_beside_triers(struct triers *triers) {
    pthread_t threads[TRIERS];
    size_t count = bench_count(TRIERS, TRIERS_SMOKE);
    double p99_us;

    atomic_store(&triers->is_over, false);
    for (size_t i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, try_in_vain, triers) != 0) {
            bench_give_up("no thread");
        }
    }
    p99_us = renew_for_a_while(triers);
    atomic_store(&triers->is_over, true);
    for (size_t i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
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

/* Rounds in turn: quiet and not, pairs and tries. */
static void measure(struct triers *triers, const char *name) {
    size_t rounds = bench_is_short() ? SHORT : bench_count(ROUNDS, ROUNDS_SMOKE);
    double figures[4][ROUNDS];
    double times[ROUNDS];
    char what[BENCH_TEXT_BYTES];

    for (size_t i = 0; i < rounds; i++) {
        bench_progress("%s: round %zu of %zu", name, i + 1, rounds);
        figures[0][i] = renew_for_a_while(triers);
        figures[1][i] = renew_beside_triers(triers);
        figures[2][i] = cost_of_pair(triers);
        figures[3][i] = cost_of_try(triers);
        times[i] = figures[1][i] / figures[0][i];
    }
    (void)snprintf(what, sizeof what, "%s: p99 of a renewal, in quiet", name);
    bench_samples_print(what, figures[0], rounds, 0, "us");
    (void)snprintf(what, sizeof what, "%s: p99 of a renewal, beside %zu that try", name,
                   bench_count(TRIERS, TRIERS_SMOKE));
    bench_samples_print(what, figures[1], rounds, 0, "us");
    (void)snprintf(what, sizeof what, "%s: the one to the other", name);
    bench_samples_print(what, times, rounds, P99_TIMES, "times");
    (void)snprintf(what, sizeof what, "%s: a lock is taken and given back", name);
    bench_samples_print(what, figures[2], rounds, 0, "us");
    (void)snprintf(what, sizeof what, "%s: a refused try", name);
    bench_samples_print(what, figures[3], rounds, bench_median(figures[2], rounds), "us");
}

int main(int argc, char **argv) {
    static struct triers triers;
    lk_error error = {0};
    char title[BENCH_TEXT_BYTES];

    if (argc < 3) {
        bench_give_up("usage: bench-triers NAME URL | NAME service LK");
    }
    (void)snprintf(title, sizeof title, "Beside many that try in vain: %s", argv[1]);
    bench_begin("bench-triers", title);
    bench_title_print("Beside many that try in vain");
    triers.url = bench_store_url(argv[2], argc > 3 ? argv[3] : NULL);
    triers.store = bench_store_open(triers.url);
    bench_must(bench_ask(triers.store, "held", "holder", LK_TRY, &error), LK_GRANTED, "held",
               &error);
    measure(&triers, argv[1]);
    lk_close(triers.store);
    bench_store_end();
    return 0;
}
