/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks share: a clock, random numbers, rounds in which two sides take turns, and the
 * one reporter of what they measure.
 *
 * A program begins with bench_begin() and then tells rows: figures, comparisons, points of a chart,
 * and what could not be measured. Each row is printed as a line of the table, and appended to the
 * file $LK_BENCH_CSV if that is set (bench/report.py knows its columns, which are in bench.c).
 * $LK_BENCH is `smoke` (each part once, as short as can be: shows that it runs), `short` (few
 * rounds) or `full`, the default.
 */
#ifndef LK_BENCH_H
#define LK_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_ROUNDS_MAX = 15, BENCH_TEXT_BYTES = 160 };

int64_t bench_now_ns(void);

/*
 * Processor time of this process: what a loop that never sleeps costs, whatever else the machine
 * does. Reading it costs more than a short step does; there bench_now_ns() and a median tell more.
 */
int64_t bench_processor_ns(void);

/* Resident memory of this process. */
uint64_t bench_resident_bytes(void);

/* Deterministic random numbers (splitmix64): the same figures can be had again. */
uint64_t bench_random(uint64_t *state);

/* ---- how much is measured -------------------------------------------------------------------- */

bool bench_is_smoke(void);
bool bench_is_short(void);

/* How long a round lasts that takes `full_ms` in a full run. */
int64_t bench_round_ns(int64_t full_ms);

/* A count of things, of which a smoke run needs but `few`. */
size_t bench_count(size_t full, size_t few);

/* The same, where a short run needs but a tenth, too. */
size_t bench_amount(size_t full, size_t few);

/* ---- rows ------------------------------------------------------------------------------------ */

/* The program's name in the rows, and a line about the machine and the build. */
void bench_begin(const char *program, const char *title);

/* A section: rows up to the next one are under this title. */
void bench_title_print(const char *title);

/* Prints a line of progress on stderr. */
void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A figure that has no bar. */
void bench_figure_print(const char *what, double got, const char *unit);

/* A figure with its bar, and whether it holds. */
void bench_at_most_print(const char *what, double got, double bar, const char *unit);
void bench_at_least_print(const char *what, double got, double bar, const char *unit);

/* The middle and the quartiles of several measurements of one thing. bar 0: none, else at most. */
void bench_samples_print(const char *what, double *got, size_t count, double bar, const char *unit);

/* A point of the chart that the section is: the cost at `size`, of the line called `line`. */
void bench_point_print(const char *line, uint64_t size, double *got, size_t count,
                       const char *unit);

/* The greatest of some costs to the least, of a line of a chart, beside its bar. */
void bench_growth_print(const char *what, double growth, double bar);

/* A row without figures, and the reason. */
void bench_missing_print(const char *what, const char *peer, const char *why);

/* ---- comparisons ----------------------------------------------------------------------------- */

/*
 * Both sides of one thing, round by round. The ratio says how many times as good ours is: of rates
 * ours to theirs, of costs theirs to ours. The bar is what the ratio must reach; 0: none.
 */
struct bench_comparison {
    const char *what;
    const char *peer;
    const char *unit;
    bool is_cost;
    double bar;
    double own_bar; /* of our figure alone, whatever the peer's: told as a row more; 0: none */
    const double *ours;
    const double *theirs;
    size_t count;
};

void bench_comparison_print(const struct bench_comparison *comparison);

/* One round of a side: what it did in a second, or what it cost. 0: it finished nothing. */
typedef double bench_side(void *context);

/*
 * The figure of a round that finished something. An empty one has no ratio to any other and is
 * played again, a hundred times at most.
 */
double bench_play(const char *what, bench_side *side, void *context);

struct bench_duel {
    const char *what;
    const char *peer;
    const char *unit;
    bool is_cost;
    double bar;
    double own_bar;
    bench_side *ours;
    bench_side *theirs;
    void *context;
};

/*
 * Both sides are warmed up by a round that does not count and then take turns, each one first every
 * other time, until the quartiles of the ratio are within a tenth of its median or the rounds are
 * BENCH_ROUNDS_MAX. Then the row is told.
 */
void bench_duel(const struct bench_duel *duel);

/* The middle of `count` figures, which are put in order. */
double bench_median(double *figures, size_t count);

/* Of figures that are in order: what `share` of all are below, between two of them if need be. */
double bench_quantile(const double *ordered, size_t count, double share);

/* Ends the program with a sentence: a benchmark that cannot go on has nothing to say. */
_Noreturn void bench_give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
