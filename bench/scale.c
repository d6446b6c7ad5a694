/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call costs against how much is kept, on any store, through the library:
 *
 *     bench-scale NAME URL      NAME stands in the charts; URL may be
 *     bench-scale NAME service LK
 *
 * Each section is a chart, each store a line of it. The points of a line grow one store, so that
 * what is there stays. A store that is too slow to be filled up to a point has none there. The
 * servers of databases are started without flushes, by which sizes would not show.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "store.h"

enum {
    SIZES_MAX = 8,
    CHARTS_MAX = 3, /* of one filling */
    FILLERS = 8,
    SAMPLES = 15,
    SAMPLES_MS = 3000, /* no more are taken after so long */
    FILL_MS = 300000,  /* a point that takes longer to be reached is left out */
    NAME_BYTES = 64,
};

struct scale {
    const char *name;
    lk_store *store;
    size_t turn; /* of the line: the number of its holder */
};

/* One chart: how the store is grown, what is measured, and how much dearer it may become. */
struct series {
    const char *title;
    const char *unit;
    size_t sizes[SIZES_MAX];
    double bars[SIZES_MAX]; /* times the cost at the first size; 0: none */
    void (*name)(size_t number, char path[NAME_BYTES], char owner[NAME_BYTES]);
    lk_style style; /* of those that fill */
    void (*measure)(struct scale *scale, size_t size, size_t sample);
};

/* Of the sample that is being taken: what does not belong to it, and how many share the rest. */
static int64_t excluded_ns;
static double shared_by;

/* Some calls after the other are one sample, so that a short one is not lost in the noise. */
enum { SAMPLE_NS = 2000000, CALLS_MAX = 50 };

/* ---- filling --------------------------------------------------------------------------------- */

struct filler {
    const struct series *series;
    lk_store *store;
    atomic_size_t next;
    size_t end;
    int64_t until_ns;
};

static void *fill_some(void *context) {
    struct filler *filler = context;
    size_t number;

    while (bench_now_ns() < filler->until_ns
           && (number = atomic_fetch_add(&filler->next, 1)) < filler->end) {
        char path[NAME_BYTES];
        char owner[NAME_BYTES];
        lk_error error = {0};
        lk_outcome outcome;

        filler->series->name(number, path, owner);
        outcome = bench_ask(filler->store, path, owner, filler->series->style, &error);
        if (outcome != LK_WAITING) {
            bench_must(outcome, LK_GRANTED, path, &error);
        }
    }
    return NULL;
}

/* From `from` to `to`; false: there is no time for that. A line is filled in its order. */
static bool fill(const struct scale *scale, const struct series *series, size_t from, size_t to) {
    struct filler filler = {.series = series, .store = scale->store, .end = to};
    size_t count = series->style == LK_QUEUE ? 1 : FILLERS;
    pthread_t threads[FILLERS];

    atomic_store(&filler.next, from);
    filler.until_ns = bench_now_ns() + bench_round_ns(FILL_MS);
    if (bench_is_smoke()) {
        filler.until_ns = INT64_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, fill_some, &filler) != 0) {
            bench_give_up("no thread");
        }
    }
    for (size_t i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return atomic_load(&filler.next) >= to;
}

/* ---- what is measured ------------------------------------------------------------------------ */

static void name_other(size_t number, char path[NAME_BYTES], char owner[NAME_BYTES]) {
    (void)snprintf(path, NAME_BYTES, "other%zu/table/%zu", number / 64, number);
    (void)snprintf(owner, NAME_BYTES, "other%zu", number);
}

static void name_child(size_t number, char path[NAME_BYTES], char owner[NAME_BYTES]) {
    (void)snprintf(path, NAME_BYTES, "parent/%zu", number);
    (void)snprintf(owner, NAME_BYTES, "child%zu", number);
}

static void name_waiter(size_t number, char path[NAME_BYTES], char owner[NAME_BYTES]) {
    (void)snprintf(path, NAME_BYTES, "line");
    (void)snprintf(owner, NAME_BYTES, "waiter%zu", number);
}

static void measure_pair(struct scale *scale, size_t size, size_t sample) {
    char path[NAME_BYTES];
    lk_error error = {0};

    (void)size;
    (void)snprintf(path, sizeof path, "own%zu/table/row", sample);
    bench_must(bench_ask(scale->store, path, "me", LK_TRY, &error), LK_GRANTED, path, &error);
    bench_must(bench_release(scale->store, path, "me", &error), LK_OK, path, &error);
}

static void measure_try(struct scale *scale, size_t size, size_t sample) {
    lk_error error = {0};

    (void)size;
    (void)sample;
    bench_must(bench_ask(scale->store, "parent", "me", LK_TRY, &error), LK_BUSY, "parent", &error);
}

/* Joins and withdraws. */
static void queue_and_leave(const struct scale *scale, const char *path) {
    lk_error error = {0};

    bench_must(bench_ask(scale->store, path, "me", LK_QUEUE, &error), LK_WAITING, path, &error);
    bench_must(bench_release(scale->store, path, "me", &error), LK_OK, path, &error);
}

static void measure_parent_queue(struct scale *scale, size_t size, size_t sample) {
    (void)size;
    (void)sample;
    queue_and_leave(scale, "parent");
}

static void measure_line_queue(struct scale *scale, size_t size, size_t sample) {
    (void)size;
    (void)sample;
    queue_and_leave(scale, "line");
}

/* In a line of ten, which the first measurement makes, and which stays. */
static void measure_short_line(struct scale *scale, size_t size, size_t sample) {
    enum { SHORT = 10 };
    char owner[NAME_BYTES];
    lk_error error = {0};

    (void)size;
    for (size_t i = 0; sample == SAMPLES && i <= SHORT; i++) {
        (void)snprintf(owner, sizeof owner, "short%zu", i);
        bench_must(bench_ask(scale->store, "short", owner, LK_QUEUE, &error),
                   i == 0 ? LK_GRANTED : LK_WAITING, "short", &error);
    }
    queue_and_leave(scale, "short");
}

/* What a list costs for each request that is in it. */
static void measure_show(struct scale *scale, size_t size, size_t sample) {
    lk_listing *listing = NULL;
    lk_error error = {0};

    (void)sample;
    bench_must(lk_show(scale->store, "line", &listing, &error), LK_OK, "line", &error);
    if (listing->count != size + 1) {
        bench_give_up("a line of %zu is shown as one of %zu", size + 1, listing->count);
    }
    lk_listing_free(listing);
    shared_by = (double)(size + 1);
}

/* The holder lets go and the first one in line asks; then the holder joins again, for nothing. */
static void measure_give_on(struct scale *scale, size_t size, size_t sample) {
    char path[NAME_BYTES];
    char holder[NAME_BYTES];
    char next[NAME_BYTES];
    lk_error error = {0};
    int64_t begun_ns;

    (void)sample;
    name_waiter(scale->turn % (size + 1), path, holder);
    scale->turn++;
    name_waiter(scale->turn % (size + 1), path, next);
    bench_must(bench_release(scale->store, path, holder, &error), LK_OK, path, &error);
    bench_must(bench_ask(scale->store, path, next, LK_QUEUE, &error), LK_GRANTED, path, &error);
    begun_ns = bench_now_ns();
    bench_must(bench_ask(scale->store, path, holder, LK_QUEUE, &error), LK_WAITING, path, &error);
    excluded_ns += bench_now_ns() - begun_ns;
}

/* ---- charts ---------------------------------------------------------------------------------- */

#define SIZES 10, 100, 1000, 10000, 100000

static const struct series beside = {
    .title = "Size: acquire + release beside N other locks",
    .sizes = {100, 1000, 10000, 100000, 1000000},
    .bars = {0, 1.3, 1.3, 1.3, 1.3},
    .name = name_other,
    .style = LK_TRY,
    .measure = measure_pair,
};
static const struct series crowded = {
    .title = "Size: queueing in a line of 10 beside N other locks, and withdrawing",
    .sizes = {100, 1000, 10000, 100000, 1000000},
    .bars = {0, 1.3, 1.3, 1.3, 1.3},
    .name = name_other,
    .style = LK_TRY,
    .measure = measure_short_line,
};
static const struct series refused = {
    .title = "Size: a try on the parent of N held children",
    .sizes = {SIZES},
    .bars = {0, 3, 3, 3, 3},
    .name = name_child,
    .style = LK_TRY,
    .measure = measure_try,
};
static const struct series parent = {
    .title = "Size: queueing on the parent of N held children, and withdrawing",
    .sizes = {SIZES},
    .bars = {0, 3, 3, 3, 3},
    .name = name_child,
    .style = LK_TRY,
    .measure = measure_parent_queue,
};
static const struct series line = {
    .title = "Size: queueing behind N waiters, and withdrawing",
    .sizes = {10, 100, 1000, 10000},
    .bars = {0, 3, 3, 5},
    .name = name_waiter,
    .style = LK_QUEUE,
    .measure = measure_line_queue,
};
static const struct series given = {
    .title = "Size: giving the lock on, with N in line",
    .sizes = {10, 100, 1000, 10000},
    .bars = {0, 2, 2, 2},
    .name = name_waiter,
    .style = LK_QUEUE,
    .measure = measure_give_on,
};

static const struct series shown = {
    .title = "Size: a line of N is shown, for each in it",
    .sizes = {10, 100, 1000, 10000},
    .bars = {0, 2, 2, 2},
    .name = name_waiter,
    .style = LK_QUEUE,
    .measure = measure_show,
};

struct costs {
    double medians_us[SIZES_MAX];
    size_t count;
};

/* The mean of some calls, in nanoseconds. */
static double take_sample(struct scale *scale, const struct series *series, size_t size,
                          size_t sample) {
    int64_t begun_ns = bench_now_ns();
    int64_t taken_ns = 0;
    int calls = 0;

    excluded_ns = 0;
    shared_by = 1;
    while (calls == 0 || (taken_ns < SAMPLE_NS && calls < CALLS_MAX)) {
        series->measure(scale, size, sample);
        calls++;
        taken_ns = bench_now_ns() - begun_ns - excluded_ns;
    }
    return (double)taken_ns / calls / shared_by;
}

static void take_samples(struct scale *scale, const struct series *series, size_t size,
                         struct costs *costs) {
    int64_t until_ns = bench_now_ns() + bench_round_ns(SAMPLES_MS);
    double samples[SAMPLES];
    size_t count = 0;

    series->measure(scale, size, SAMPLES); /* plans are made, and do not count */
    while (count < SAMPLES && (count == 0 || bench_now_ns() < until_ns)) {
        samples[count] = take_sample(scale, series, size, count) / 1e3;
        count++;
    }
    bench_title_print(series->title);
    bench_point_print(scale->name, size, samples, count, "us");
    costs->medians_us[costs->count++] = bench_median(samples, count);
}

static void print_growth(const struct scale *scale, const struct series *series,
                         const struct costs *costs) {
    for (size_t i = 1; i < costs->count; i++) {
        char what[BENCH_TEXT_BYTES];

        bench_title_print(series->title);
        (void)snprintf(what, sizeof what, "%s: %zu to %zu", scale->name, series->sizes[i],
                       series->sizes[0]);
        bench_growth_print(what, costs->medians_us[i] / costs->medians_us[0], series->bars[i]);
    }
}

/* All of the line at once: the next point begins with a new one, in the order of its numbers. */
static void end_line(struct scale *scale) {
    const lk_break_request all = {.size = sizeof all,
                                  .path = "line",
                                  .reason = "the next point",
                                  .by = "bench-scale",
                                  .at_once = true};
    lk_error error = {0};

    bench_must(lk_break(scale->store, &all, NULL, &error), LK_OK, "line", &error);
    scale->turn = 0;
}

/* Several charts of one filling: their sizes are the same, or the first ones of it. */
static void run(struct scale *scale, const struct series *const *charts, size_t count) {
    const struct series *series = charts[0];
    struct costs costs[CHARTS_MAX] = {{.count = 0}};
    size_t most = bench_is_short() ? 3 : bench_count(SIZES_MAX, 2);
    size_t there = 0;

    for (size_t i = 0; i < most && series->sizes[i] != 0; i++) {
        /* Of a line one holds, and so many wait. */
        size_t wanted = series->sizes[i] + (series->style == LK_QUEUE);

        bench_progress("%s: %s, %zu", scale->name, series->title, series->sizes[i]);
        if (!fill(scale, series, there, wanted)) {
            char why[BENCH_TEXT_BYTES];

            (void)snprintf(why, sizeof why, "filling up to %zu takes too long", series->sizes[i]);
            bench_title_print(series->title);
            bench_missing_print(scale->name, "itself", why);
            break;
        }
        there = wanted;
        for (size_t k = 0; k < count; k++) {
            take_samples(scale, charts[k], series->sizes[i], &costs[k]);
        }
        if (series->style == LK_QUEUE) {
            end_line(scale);
            there = 0;
        }
    }
    for (size_t k = 0; k < count; k++) {
        print_growth(scale, charts[k], &costs[k]);
    }
}

int main(int argc, char **argv) {
    static const struct series *const lines[] = {&line, &given, &shown};
    static const struct series *const pairs[] = {&beside, &crowded};
    static const struct series *const parents[] = {&refused, &parent};
    struct scale scale = {.name = argc > 1 ? argv[1] : ""};
    char title[BENCH_TEXT_BYTES];

    if (argc < 3) {
        bench_give_up("usage: bench-scale NAME URL | NAME service LK");
    }
    (void)snprintf(title, sizeof title, "Cost against size: %s", scale.name);
    bench_begin("bench-scale", title);
    scale.store = bench_store_open(bench_store_url(argv[2], argc > 3 ? argv[3] : NULL));
    run(&scale, lines, 3);
    run(&scale, pairs, 2);
    run(&scale, parents, 2);
    lk_close(scale.store);
    bench_store_end();
    return 0;
}
